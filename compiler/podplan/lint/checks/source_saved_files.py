"""Files that Python scripts whose text is known save, compared with the processes that run them.

Sources:
https://www.tensorflow.org/tutorials/distribute/multi_worker_with_keras#model_saving_and_loading (each worker
saves to a folder of its own),
https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html#save-and-load-checkpoints (one process
saves).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from posixpath import normpath

from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_text
from podplan.lint.analysis.features import PYTHON_TEXT
from podplan.lint.analysis.jobs import has_isolated_replicas, list_replica_places
from podplan.lint.checks.outputs import ContainerPath, mount_of, volume_of
from podplan.lint.checks.python_sources import (
    PythonSource,
    find_values,
    get_constant,
    get_dotted_name,
    is_main_guard,
    iter_certain_expressions,
    iter_certain_statements,
    list_python_sources,
)
from podplan.lint.checks.registration import check
from podplan.lint.checks.source_ranks import count_processes_of_source, may_differ
from podplan.lint.target import Target, Violation

_SHARED_VOLUMES = ("persistentVolumeClaim", "nfs", "cephfs", "hostPath")
_TENSORFLOW = "MultiWorkerMirroredStrategy"
_TORCH_TEXT = """
    init_process_group DistributedDataParallel FullyShardedDataParallel deepspeed.initialize
    horovod.torch init_device_mesh
"""
_TORCH = tuple(_TORCH_TEXT.split())
_JOINS = ("os.path.join", "join", "Path", "pathlib.Path", "str")
_NO_FILES = ("/dev/", "/proc/")
_MOST_STEPS = 12  # parts of an expression and variables that are followed
_LONGEST_PATH = 4096
# Nodes of a test or path with the same value in each process, if their names have.
_PLAIN = (
    ast.Compare,
    ast.BinOp,
    ast.BoolOp,
    ast.UnaryOp,
    ast.Constant,
    ast.Name,
    ast.Attribute,
    ast.operator,
    ast.cmpop,
    ast.boolop,
    ast.unaryop,
    ast.expr_context,
)


@check(requires=(PYTHON_TEXT,))
def script_writes_one_file(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A file that each process of a job saves. Values: ``script``, ``path``, ``processes``."""
    if has_isolated_replicas(target.job):
        return
    runs: dict[tuple[str, str], list[PythonSource]] = {}
    for source in list_python_sources(target.job):
        if not source.launch.is_launcher or count_processes_of_source(target.job, source) is not None:
            runs.setdefault((source.doc.name, source.name), []).append(source)
    for same in runs.values():
        source = same[0]
        pods = sum(each.where.group.replicas for each in same)
        numbers = count_processes_of_source(target.job, source)
        per_pod = numbers.per_pod if numbers is not None else 1
        saved = _find_saved_path(source) if pods * per_pod > 1 else None
        if saved is None or saved[0].startswith(_NO_FILES):
            continue
        if per_pod == 1 and not all(_is_shared(each.where, saved[0]) for each in same):
            continue
        what = format_count(pods, "Pod")
        if numbers is not None and per_pod > 1:
            what = format_count(numbers.size, "process", "processes")
        values = {"script": source.name, "path": saved[0], "processes": what}
        related = [(source.doc, source.locate(saved[1]), "each of them saves")]
        related += list_replica_places(target.job)
        group, place = source.launch.group, source.launch.locate_word(source.script)
        yield Violation(place, values, related, doc=group.doc, group=group)


def _find_saved_path(source: PythonSource) -> tuple[str, ast.Call] | None:
    """Return the file that each process of a script saves, and the call."""
    values = find_values(source.tree)
    counters = _find_counters(source.tree)
    reader = _PathReader(values, counters)

    def is_common(test: ast.expr) -> bool:
        return is_main_guard(test) or _is_at_step(test, values, counters)

    for statement in iter_certain_statements(source.tree, with_loops=True, enters=is_common):
        for node in iter_certain_expressions(statement):
            if not isinstance(node, ast.Call):
                continue
            at = _find_path_argument(get_dotted_name(node.func), source.text)
            path = reader.read(node.args[at]) if 0 <= at < len(node.args) else ""
            if path.startswith("/"):
                return normpath(path), node
    return None


def _find_counters(tree: ast.Module) -> frozenset[str]:
    """Return the variables that count steps or epochs, from the same number in each process."""
    counted: set[str] = set()
    others: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.For):
            name = get_dotted_name(node.iter.func) if isinstance(node.iter, ast.Call) else ""
            target = node.target
            if name == "enumerate" and isinstance(target, ast.Tuple):
                target = target.elts[0]
            if name in ("range", "enumerate", "trange") and isinstance(target, ast.Name):
                counted.add(target.id)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            is_step = isinstance(node.op, ast.Add) and type(get_constant(node.value)) is int
            (counted if is_step else others).add(node.target.id)
        elif isinstance(node, ast.Assign) and not _is_start(node.value):
            names = (one for target in node.targets for one in ast.walk(target))
            others.update(one.id for one in names if isinstance(one, ast.Name))
    return frozenset(counted - others)


def _is_start(value: ast.expr) -> bool:
    """Whether a value is a number, or one that a checkpoint has under its name."""
    if isinstance(value, ast.Subscript):
        return isinstance(value.value, ast.Name) and isinstance(get_constant(value.slice), str)
    return type(get_constant(value)) is int


def _is_at_step(test: ast.expr, values: Mapping[str, ast.expr], counters: frozenset[str]) -> bool:
    """Whether a test lets all processes save at the same steps, such as each thousandth."""
    nodes = list(ast.walk(test))
    is_plain = all(isinstance(node, _PLAIN) for node in nodes)
    names = [node.id for node in nodes if isinstance(node, ast.Name)]
    is_periodic = any(isinstance(node, ast.Mod) for node in nodes) and not counters.isdisjoint(names)
    return is_plain and is_periodic and _is_same(test, values, counters)


def _is_same(node: ast.expr, values: Mapping[str, ast.expr], counters: frozenset[str]) -> bool:
    """Whether each process has the same value of an expression."""
    unknown = [
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and one.id not in counters and one.id not in ("args", "cfg", "config")
    ]
    is_known = all(isinstance(values.get(name), ast.Constant) for name in unknown)
    return is_known and not may_differ(node, values)


class _PathReader:
    """Reads paths that are the same in each process of a script."""

    def __init__(self, values: Mapping[str, ast.expr], counters: frozenset[str]) -> None:
        self._values = values
        self._counters = counters
        self._read: dict[str, str] = {}

    def read(self, node: ast.AST, steps: int = _MOST_STEPS) -> str:
        """Return a path, with the names of counters in angle brackets; "" for one that is not known."""
        if isinstance(node, ast.Name):
            return self._read_variable(node.id, steps)
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else ""
        if isinstance(node, ast.FormattedValue):
            if isinstance(node.value, ast.Name) and node.value.id in self._counters:
                return f"<{node.value.id}>"
            return self.read(node.value, steps - 1)
        if steps == 0:
            return ""
        if isinstance(node, ast.JoinedStr):
            return self._join(node.values, "", steps)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Div):
            return self._join([node.left, node.right], "/" if isinstance(node.op, ast.Div) else "", steps)
        if isinstance(node, ast.Call) and get_dotted_name(node.func) in _JOINS:
            return self._join(node.args, "/", steps)
        return ""

    def _read_variable(self, name: str, steps: int) -> str:
        if name not in self._read:
            self._read[name] = ""  # of a variable that depends on itself
            if name in self._values and steps > 0:
                self._read[name] = self.read(self._values[name], steps - 1)
        return self._read[name]

    def _join(self, nodes: Sequence[ast.expr], separator: str, steps: int) -> str:
        parts = [self.read(one, steps - 1) for one in nodes]
        length = sum(map(len, parts))
        return separator.join(parts) if all(parts) and length < _LONGEST_PATH else ""


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
