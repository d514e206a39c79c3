"""Files that a script saves in the process of rank 0, whose Pod deletes them with its emptyDir.

Source: docs/evidence/t9k-pytorchtrainingjob.md (ranks follow the order of the replica types),
https://kubernetes.io/docs/concepts/storage/volumes/#emptydir.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.analysis.features import PYTHON_TEXT
from podplan.lint.analysis.jobs import find_replica_places
from podplan.lint.checks.outputs import ContainerPath, mount_of, volume_of
from podplan.lint.checks.python_sources import (
    PythonSource,
    get_constant,
    get_dotted_name,
    list_python_sources,
)
from podplan.lint.checks.registration import check
from podplan.lint.checks.type_ranks import read_rank
from podplan.lint.target import Target, Violation

# Functions that save a file, with the position of its path.
_SAVING = {
    "torch.save": 1,
    "save_pretrained": 0,
    "save_checkpoint": 0,
    "save_model": 0,
    "save_weights": 0,
    "save_file": 1,
}
_JOINS = ("os.path.join", "Path", "pathlib.Path", "str")
_IS_FIRST = ("is_main_process", "is_world_process_zero", "is_global_zero", "is_main")
_KEPT = ("persistentVolumeClaim", "nfs", "cephfs", "hostPath")
_UPLOADS = ("upload", "boto3", "s3://", "gs://", "oss2", "push_to_hub", "shutil", "wandb", "mlflow", "rsync")


class SavedFile(NamedTuple):
    """A call that saves a file, the branch for rank 0 that contains it, and the path of the file."""

    call: ast.Call
    test: ast.expr
    path: str


@check(requires=(PYTHON_TEXT,))
def rank_zero_saves_in_pod(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A file of rank 0 on an emptyDir, which other Pods have on a claim. Values: ``type``, ``script``,
    ``path``, ``volume``, ``other``, ``claim``."""
    job = target.job
    sources = list_python_sources(job)
    first = next((one for one in sources if read_rank(one.where.group) == 0), None)
    others = [one for one in sources if first is not None and one.where.group is not first.where.group]
    if first is None or not others or any(name in first.text for name in _UPLOADS):
        return
    for saved in _iter_saved(first):
        volume = _find_volume(first.where, saved.path)
        kept = next((one for one in others if _get_claim(one.where, saved.path)), None)
        if (
            volume is None
            or kept is None
            or "emptyDir" not in volume[1]
            or _is_shared(first.where, volume[1])
        ):
            continue
        types = first.where.group.replica_type, kept.where.group.replica_type
        values = {
            "type": types[0],
            "script": first.name,
            "path": saved.path,
            "volume": get_text(volume[1], "name"),
            "other": types[1],
            "claim": _get_claim(kept.where, saved.path),
        }
        places = find_replica_places(job)
        related = [
            (first.doc, first.locate(saved.test), "only rank 0"),
            (first.doc, first.locate(saved.call), "saves the file"),
            *(places[one] for one in types if one in places),
        ]
        group = first.where.group
        yield Violation(
            ("spec", "volumes", volume[0], "emptyDir"), values, related, doc=group.doc, group=group
        )
        return


def _iter_saved(source: PythonSource) -> Iterator[SavedFile]:
    constants = _find_constants(source.tree)
    for branch in ast.walk(source.tree):
        if not isinstance(branch, ast.If) or not _is_for_first(branch.test):
            continue
        for node in (one for statement in branch.body for one in ast.walk(statement)):
            if not isinstance(node, ast.Call):
                continue
            name = get_dotted_name(node.func)
            last = node.func.attr if isinstance(node.func, ast.Attribute) else name
            at = _SAVING.get(name, _SAVING.get(last, -1))
            path = _read_path(node.args[at], constants) if 0 <= at < len(node.args) else ""
            if path.startswith("/"):
                yield SavedFile(node, branch.test, normpath(path))


def _find_constants(tree: ast.Module) -> dict[str, object]:
    """Return the variables of the module that have one assignment in the whole script, to a constant."""
    bound = [one.id for one in ast.walk(tree) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
    bound += [one.arg for one in ast.walk(tree) if isinstance(one, ast.arg)]
    return {
        target.id: get_constant(statement.value)
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name) and bound.count(target.id) == 1
    }


def _read_path(node: ast.expr, constants: Mapping[str, object]) -> str:
    """Return a path, or the folder of one whose last part is not known; "" for others."""
    if isinstance(node, ast.JoinedStr) and node.values:
        first = node.values[0]
        if isinstance(first, ast.FormattedValue):
            return _read_path(first.value, constants)
        return str(get_constant(first)).rpartition("/")[0]
    if isinstance(node, ast.Call) and get_dotted_name(node.func) in _JOINS and node.args:
        return _read_path(node.args[0], constants)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.Add):
        return _read_path(node.left, constants)
    value = constants.get(node.id) if isinstance(node, ast.Name) else get_constant(node)
    return value if isinstance(value, str) else ""


def _is_for_first(test: ast.expr) -> bool:
    """Whether a test is true in the process of rank 0 only."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _is_rank(test.operand)
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        return _is_rank(test.left) and get_constant(test.comparators[0]) in (0, "0")
    return _get_last_name(test) in _IS_FIRST


def _is_rank(node: ast.expr) -> bool:
    name = _get_last_name(node)
    return name.endswith("rank") and "local" not in name


def _get_last_name(node: ast.expr) -> str:
    called = node.func if isinstance(node, ast.Call) else node
    return get_dotted_name(called).rpartition(".")[2].lower()


def _find_volume(where: ContainerPath, path: str) -> tuple[int, Mapping[str, Any]] | None:
    """Return the volume of a path in a container, and its index."""
    mount = mount_of(where.container, path)
    name = get_text(mount[1], "name") if mount is not None else ""
    volumes = get_entries(get_mapping(where.group.doc.data, "spec"), "volumes")
    return next((one for one in volumes if name and get_text(one[1], "name") == name), None)


def _get_claim(where: ContainerPath, path: str) -> str:
    """Return the name of a volume that is kept after the Pod; "" for others."""
    mount = mount_of(where.container, path)
    volume = volume_of(where.group, get_text(mount[1], "name")) if mount is not None else {}
    if not any(kind in volume for kind in _KEPT):
        return ""
    return get_text(get_mapping(volume, "persistentVolumeClaim"), "claimName") or get_text(volume, "name")


def _is_shared(where: ContainerPath, volume: Mapping[str, Any]) -> bool:
    """Whether another container of the Pod mounts a volume, which may copy its files."""
    mounts = [
        get_text(mount, "name")
        for _, container in get_entries(get_mapping(where.group.doc.data, "spec"), "containers")
        for _, mount in get_entries(container, "volumeMounts")
    ]
    return mounts.count(get_text(volume, "name")) > 1
