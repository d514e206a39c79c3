"""GPUs in the text of a Python script: calls that fail in a Pod without any, and devices of each process.

Sources: https://docs.pytorch.org/docs/stable/distributed.html#which-backend-to-use (NCCL is for GPUs),
https://docs.pytorch.org/docs/stable/generated/torch.cuda.set_device.html.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from podplan.core.replica_groups import ReplicaGroup
from podplan.lint.checks.python_sources import (
    PythonSource,
    get_constant,
    get_dotted_name,
    iter_certain_expressions,
    iter_certain_statements,
    list_python_sources,
)
from podplan.lint.target import LoweredJob

_STARTS_GROUP = ("dist.init_process_group", "torch.distributed.init_process_group", "init_process_group")


def iter_gpu_calls(job: LoweredJob) -> Iterator[tuple[PythonSource, ast.AST, str, str]]:
    """Yield the first such call of each script, its description, and what to write instead."""
    for source in list_python_sources(job):
        found = next(_iter_calls(source), None)
        if found is not None:
            yield source, *found


def multiplies_local_rank(job: LoweredJob, group: ReplicaGroup) -> bool:
    """Whether a script of a Pod numbers its devices by a multiple of its local rank: it uses several."""
    return any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mult)
        and "local_rank" in ast.unparse(node).lower()
        for source in list_python_sources(job)
        if source.where.group is group
        for node in ast.walk(source.tree)
    )


def _iter_calls(source: PythonSource) -> Iterator[tuple[ast.AST, str, str]]:
    for statement in iter_certain_statements(source.tree):
        for node in iter_certain_expressions(statement):
            name = get_dotted_name(node.func) if isinstance(node, ast.Call) else ""
            if not isinstance(node, ast.Call) or not name:
                continue
            if name in _STARTS_GROUP:
                stated = [one.value for one in node.keywords if one.arg == "backend"] or node.args[:1]
                if stated and get_constant(stated[0]) == "nccl":
                    yield node, f'{name}("nccl"), and NCCL requires GPUs', "use gloo"
            elif name == "torch.cuda.set_device":
                yield node, f"{name}, which requires a GPU", "use the device cpu"
