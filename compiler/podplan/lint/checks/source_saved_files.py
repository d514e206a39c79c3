"""Files that Python scripts whose text is known save, compared with the replicas that run them.

Sources:
https://www.tensorflow.org/tutorials/distribute/multi_worker_with_keras#model_saving_and_loading (each worker
saves to a folder of its own),
https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html#save-and-load-checkpoints (one process
saves).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_text
from podplan.lint.analysis.features import PYTHON_TEXT
from podplan.lint.analysis.jobs import has_isolated_replicas, list_replica_places
from podplan.lint.checks.outputs import ContainerPath, mount_of, volume_of
from podplan.lint.checks.python_sources import (
    PythonSource,
    find_constants,
    get_dotted_name,
    iter_certain_expressions,
    iter_certain_statements,
    list_python_sources,
)
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

_SHARED_VOLUMES = ("persistentVolumeClaim", "nfs", "cephfs", "hostPath")
_TENSORFLOW = "MultiWorkerMirroredStrategy"
_TORCH = ("init_process_group", "DistributedDataParallel")


@check(requires=(PYTHON_TEXT,))
def script_writes_one_file(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A file that each replica of a job saves. Values: ``script``, ``path``, ``pods``."""
    if has_isolated_replicas(target.job):
        return
    runs: dict[tuple[str, str], list[PythonSource]] = {}
    for source in list_python_sources(target.job):
        if not source.launch.is_launcher:
            runs.setdefault((source.doc.name, source.name), []).append(source)
    for same in runs.values():
        source = same[0]
        pods = sum(each.where.group.replicas for each in same)
        saved = _find_saved_path(source) if pods > 1 else None
        if saved is None or not all(_is_shared(each.where, saved[0]) for each in same):
            continue
        values = {"script": source.name, "path": saved[0], "pods": pods}
        related = [(source.doc, source.locate(saved[1]), "each of them saves")]
        related += list_replica_places(target.job)
        group, place = source.launch.group, source.launch.locate_word(source.script)
        yield Violation(place, values, related, doc=group.doc, group=group)


def _find_saved_path(source: PythonSource) -> tuple[str, ast.Call] | None:
    """Return the file that each process of a script saves, and the call."""
    constants = find_constants(source.tree)
    for statement in iter_certain_statements(source.tree, with_loops=True):
        for node in iter_certain_expressions(statement):
            if not isinstance(node, ast.Call):
                continue
            at = _find_path_argument(get_dotted_name(node.func), source.text)
            path = constants.find(node.args[at]) if 0 <= at < len(node.args) else None
            if isinstance(path, str) and path.startswith("/"):
                return normpath(path), node
    return None


def _find_path_argument(function: str, text: str) -> int:
    """Return the index of the argument of a function that saves, for the framework of a script; -1 for
    others."""
    module, _, name = function.rpartition(".")
    if _TENSORFLOW in text:
        if module.endswith("saved_model") and name == "save":
            return 1
        is_of_model = name in ("save", "save_weights", "export") and "model" in module.lower()
        return 0 if is_of_model else -1
    return 1 if function == "torch.save" and any(word in text for word in _TORCH) else -1


def _is_shared(where: ContainerPath, path: str) -> bool:
    """Whether all replicas share the files at a path."""
    found = mount_of(where.container, path)
    if found is None or "subPathExpr" in found[1]:
        return False
    volume = volume_of(where.group, get_text(found[1], "name"))
    return any(kind in volume for kind in _SHARED_VOLUMES)
