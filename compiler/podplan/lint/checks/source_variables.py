"""Variables that a Python script requires, and that nothing sets in its processes.

Sources: https://docs.python.org/3/library/os.html#os.environ (KeyError for a missing name),
docs/evidence/torchrun.md#variables-of-the-processes, docs/evidence/mpirun.md#variables-of-the-ranks.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_text
from podplan.launchers.process_variables import PROCESS_VARIABLES
from podplan.lint.analysis.features import PYTHON_TEXT
from podplan.lint.analysis.jobs import has_trait, spec_of
from podplan.lint.analysis.over_ssh import starts_over_ssh
from podplan.lint.analysis.processes import programs_of
from podplan.lint.analysis.python_code import parse_python
from podplan.lint.checks.python_sources import (
    PythonSource,
    get_constant,
    get_dotted_name,
    iter_certain_expressions,
    iter_certain_statements,
    list_python_sources,
)
from podplan.lint.checks.registration import check
from podplan.lint.checks.ssh_environment import EXPORTED_BY_DEEPSPEED
from podplan.lint.target import LoweredJob, Target, Violation

_ENVIRONMENTS = ("os.environ", "environ")
_GETTERS = ("os.getenv", "getenv", "os.environ.get", "environ.get")
_NUMBERS = ("int", "float")
_OF_RANKS = frozenset(PROCESS_VARIABLES["torchrun"]) | frozenset(PROCESS_VARIABLES["mpirun"])
_OF_MPI = frozenset(PROCESS_VARIABLES["mpirun"])
# Libraries that start the processes of a training themselves, or set these variables in their process.
_STARTERS = frozenset(
    [
        "accelerate",
        "colossalai",
        "composer",
        "deepspeed",
        "dotenv",
        "fire",
        "horovod",
        "ignite",
        "lightning",
        "lightning_fabric",
        "mpi4py",
        "pytorch_lightning",
        "ray",
        "submitit",
        "subprocess",
        "torch.multiprocessing",
        "multiprocessing",
        "idr_torch",
    ]
)
_TEXT_OF_STARTERS = ("spawn", "putenv", "dotenv", "exec", "Popen", "elastic_launch")
_READS_VARIABLES = ("source", ".", "eval", "set", "conda", "module", "envsubst", "env")


class RequiredVariable(NamedTuple):
    """A variable without which a script ends; ``error`` is what Python reports."""

    name: str
    node: ast.AST
    error: str


@check(requires=(PYTHON_TEXT,))
def source_variable_unset(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A variable that a script requires and that nothing sets.

    Values: ``name``, ``file``, ``why``, ``error``.
    """
    job = target.job
    if job.declared_kind is not None:
        return
    seen: set[tuple[int, str]] = set()
    for source in list_python_sources(job):
        for required in _list_required(source):
            found = _explain_absence(job, source, required.name)
            if found is None or (id(source.doc), required.name) in seen:
                continue
            seen.add((id(source.doc), required.name))
            why, related = found
            values = {"name": required.name, "file": source.name, "why": why, "error": required.error}
            places = [
                (
                    source.launch.group.doc,
                    source.launch.locate_word(source.launch.invocation.program_word),
                    "starts it",
                )
            ]
            yield Violation(
                source.locate(required.node), values, [*related, *places], doc=source.doc, group=source.group
            )


def _list_required(source: PythonSource) -> list[RequiredVariable]:
    """Return the variables that a script requires, and neither sets nor tests."""
    found = [
        required
        for statement in iter_certain_statements(source.tree)
        for required in _iter_required(statement)
    ]
    if not found:
        return []
    own: set[object] = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Subscript) and get_dotted_name(node.value) in _ENVIRONMENTS:
            if not isinstance(node.ctx, ast.Load):
                own.add(get_constant(node.slice))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if get_dotted_name(node.func.value) in _ENVIRONMENTS and node.func.attr in (
                "setdefault",
                "update",
            ):
                own.add(get_constant(node.args[0]) if node.args else None)
        elif isinstance(node, ast.Compare) and any(isinstance(one, (ast.In, ast.NotIn)) for one in node.ops):
            own.add(get_constant(node.left))
    if None in own:
        return []  # it sets variables that are not known
    return [required for required in found if required.name not in own]


def _iter_required(statement: ast.stmt) -> Iterator[RequiredVariable]:
    for node in iter_certain_expressions(statement):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            name = get_constant(node.slice)
            if get_dotted_name(node.value) in _ENVIRONMENTS and isinstance(name, str):
                yield RequiredVariable(name, node, "a KeyError")
        elif isinstance(node, ast.Call) and get_dotted_name(node.func) in _NUMBERS and len(node.args) == 1:
            inner = node.args[0]
            if isinstance(inner, ast.Call) and len(inner.args) == 1 and not inner.keywords:
                name = get_constant(inner.args[0])
                if get_dotted_name(inner.func) in _GETTERS and isinstance(name, str):
                    yield RequiredVariable(name, node, "a TypeError")


def list_read_variables(text: str) -> frozenset[str]:
    """Return the variables that a script reads and does not set."""
    tree = parse_python(text)
    read: set[str] = set()
    written: set[str] = set()
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Subscript) and get_dotted_name(node.value) in _ENVIRONMENTS:
            name = get_constant(node.slice)
            if isinstance(name, str):
                (read if isinstance(node.ctx, ast.Load) else written).add(name)
        elif isinstance(node, ast.Call) and node.args:
            function, name = get_dotted_name(node.func), get_constant(node.args[0])
            if isinstance(name, str) and function in _GETTERS:
                read.add(name)
            elif isinstance(name, str) and function.endswith("environ.setdefault"):
                written.add(name)
    return frozenset(read - written)


def _explain_absence(
    job: LoweredJob, source: PythonSource, name: str
) -> tuple[str, list[tuple[TracedDocument, Path, str]]] | None:
    """Return why nothing sets a variable, with related places; None if something may."""
    if starts_over_ssh(job):
        return _explain_loss(job, source, name)
    invocation, container = source.launch.invocation, source.launch.container
    by = invocation.launcher
    is_set = name in source.launch.resolve_environment() or name in invocation.variables
    if is_set or container.get("envFrom") or invocation.is_assumed or invocation.started_by:
        return None
    if _may_start_itself(source.tree) or any(
        process.name in _READS_VARIABLES for _, process in programs_of(container)
    ):
        return None
    if by == "python" and name in _OF_RANKS:
        setter = "mpirun" if name in _OF_MPI else "torchrun"
        return f"python starts it, and only {setter} sets it", []
    if by in ("torchrun", "accelerate") and name in _OF_MPI:
        return f"{by} starts it, and only mpirun sets it", []
    return None


def _may_start_itself(tree: ast.Module) -> bool:
    """Whether a script may start itself again, with other variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(_is_starter(one.name) for one in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and (
            _is_starter(node.module or "")
            or any(_is_starter(f"{node.module}.{one.name}") for one in node.names)
        ):
            return True
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if name.startswith(_TEXT_OF_STARTERS) or "spawn" in name:
            return True
    return False


def _is_starter(module: str) -> bool:
    return module in _STARTERS or module.partition(".")[0] in _STARTERS


def _explain_loss(
    job: LoweredJob, source: PythonSource, name: str
) -> tuple[str, list[tuple[TracedDocument, Path, str]]] | None:
    """Return why a variable of the workers does not reach the processes that are started over ssh."""
    where = source.where
    entries = [at for at, entry in get_entries(where.container, "env") if get_text(entry, "name") == name]
    if not entries or ".deepspeed_env" in str(where.group.doc.data):
        return None
    related: list[tuple[TracedDocument, Path, str]] = [
        (where.group.doc, (*where.base, "env", entries[-1]), "what sets it")
    ]
    if has_trait(job, "deepspeed-by-controller"):
        if spec_of(job).get("disableCustomEnv") is not True or EXPORTED_BY_DEEPSPEED.match(name):
            return None
        if name in PROCESS_VARIABLES["deepspeed"]:
            return None
        if job.cr is not None:
            related.append((job.cr, ("spec", "disableCustomEnv"), "keeps it from the processes"))
        return "disableCustomEnv keeps the variables of the container from its processes", related
    if has_trait(job, "colossalai-by-controller"):
        launcher = source.launch.container
        if name in source.launch.resolve_environment() or launcher.get("envFrom"):
            return None
        if name in PROCESS_VARIABLES["colossalai"]:
            return None
        return "colossalai run passes on only the variables of the launcher", related
    return None
