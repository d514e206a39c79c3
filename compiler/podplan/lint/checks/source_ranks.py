"""The processes that run a Python script whose text is known, and how the script tells them apart.

Sources: https://docs.pytorch.org/docs/stable/elastic/run.html#environment-variables (RANK counts all
processes, LOCAL_RANK those of one node), https://horovod.readthedocs.io/en/stable/api.html,
docs/evidence/mpirun.md#slots.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import NamedTuple
from podplan.lint.analysis.jobs import count_pods, has_trait
from podplan.lint.analysis.process_worlds import iter_worlds
from podplan.lint.checks.mpirun_ranks import iter_rank_counts
from podplan.lint.checks.python_sources import PythonSource, get_constant, get_dotted_name
from podplan.lint.target import LoweredJob

_MOST_STEPS = 4  # variables that are followed
_RANK_CALLS = (
    "hvd.rank",
    "dist.get_rank",
    "distributed.get_rank",
    "torch.distributed.get_rank",
    "MPI.COMM_WORLD.Get_rank",
)
_RANK_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")
_SPAWNING = ("spawn", "multiprocessing", "subprocess", "start_processes")
_COMMUNICATOR = "MPI.COMM_WORLD"
# Names in an expression whose value may differ from process to process.
_OWN = compile_lazily(
    r"(?:.*_)?(?:rank|ranks|world|local|shard|shards|shard_id|worker|process|proc|node|host|hostname|part|split|"
    r"pid|main|master|chief|primary|leader|index|environ|getenv|replica|id)(?:_.*)?"
)


class ProcessNumbers(NamedTuple):
    """The processes that run a script: ``size`` in all, and at most ``per_pod`` in each Pod."""

    size: int
    per_pod: int


def count_processes_of_source(job: LoweredJob, source: PythonSource) -> ProcessNumbers | None:
    """Return the processes of one training that run a script; None if they are not known."""
    launch = source.launch
    world = next((one for one in iter_worlds(job) if one.launch is launch), None)
    if world is not None:
        return ProcessNumbers(world.size, world.per_node)
    ranks = next((one for one in iter_rank_counts(job) if one.launch.group is launch.group), None)
    if ranks is not None:
        size = ranks.processes or ranks.places
        return ProcessNumbers(size, min(size, ranks.per_worker or size)) if size else None
    invocation = launch.invocation
    if invocation.launcher != "python" or invocation.started_by or not has_trait(job, "torch-env"):
        return None
    count = launch.resolve_environment().get("WORLD_SIZE") or ""
    is_set_by_shell = invocation.variables.get("WORLD_SIZE") != count
    if is_set_by_shell or count != str(count_pods(job)) or any(word in source.text for word in _SPAWNING):
        return None
    return ProcessNumbers(count_pods(job), 1)


def is_global_rank(node: ast.AST, values: Mapping[str, ast.expr], steps: int = _MOST_STEPS) -> bool:
    """Whether an expression is the number of a process among all of a job."""
    if isinstance(node, ast.Name):
        value = values.get(node.id)
        return value is not None and steps > 0 and is_global_rank(value, values, steps - 1)
    if isinstance(node, ast.Subscript):
        is_environment = get_dotted_name(node.value) in ("os.environ", "environ")
        return is_environment and get_constant(node.slice) in _RANK_VARIABLES
    if not isinstance(node, ast.Call):
        return False
    name = get_dotted_name(node.func)
    if name in ("int", "str") and len(node.args) == 1:
        return is_global_rank(node.args[0], values, steps)
    if name in ("os.environ.get", "os.getenv", "environ.get", "getenv"):
        return bool(node.args) and get_constant(node.args[0]) in _RANK_VARIABLES
    if node.args or node.keywords:
        return False
    owner, _, called = name.rpartition(".")
    if called == "Get_rank" and owner in values:
        return get_dotted_name(values[owner]) == _COMMUNICATOR
    return name in _RANK_CALLS


def may_differ(node: ast.AST, values: Mapping[str, ast.expr]) -> bool:
    """Whether the value of an expression may differ from process to process, judged by its names."""
    pending, followed = [node], set[str]()
    while pending:
        for one in ast.walk(pending.pop()):
            name = ""
            if isinstance(one, ast.Name):
                name = one.id
            elif isinstance(one, ast.Attribute):
                name = one.attr
            elif isinstance(one, ast.keyword):
                name = one.arg or "rank"
            if _OWN.fullmatch(name.lower()):
                return True
            if isinstance(one, ast.Name) and name in values and name not in followed:
                followed.add(name)
                pending.append(values[name])
    return False
