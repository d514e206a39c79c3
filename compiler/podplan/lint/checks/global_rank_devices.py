"""Scripts that take the number of a process among all of the job as the number of its GPU.

Sources: https://docs.pytorch.org/docs/stable/elastic/run.html#environment-variables (LOCAL_RANK),
https://horovod.readthedocs.io/en/stable/pytorch.html (the GPU of hvd.local_rank()),
https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/ (a container sees its own GPUs, from 0).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.lint.analysis.features import PYTHON_TEXT
from podplan.lint.analysis.jobs import list_replica_places
from podplan.lint.analysis.resources import count_accelerators
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
from podplan.lint.checks.source_ranks import count_processes_of_source, is_global_rank
from podplan.lint.target import Target, Violation

_PREFIXES = ("cuda:", "gpu:", "npu:")
_VISIBLE = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
_SELECTING = ("set_device", "device", "Device", "cuda", "to")  # functions whose argument is a GPU
_KEYWORDS = ("device_ids", "output_device")


@check(requires=(PYTHON_TEXT,))
def global_rank_as_device(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A GPU with the number of the global rank. Values: ``script``, ``processes``, ``gpus``, ``first``."""
    seen: set[Path] = set()
    for source in list_python_sources(target.job):
        amount = count_accelerators(source.where.container)
        node = _find_device(source) if amount.number else None
        numbers = count_processes_of_source(target.job, source) if node is not None else None
        if node is None or numbers is None or amount.path is None or numbers.size <= amount.number:
            continue
        place = source.locate(node)
        if place in seen or numbers.per_pod > amount.number:
            continue  # more-processes-than-gpus
        seen.add(place)
        values = {
            "script": source.name,
            "processes": format_count(numbers.size, "process", "processes"),
            "gpus": format_count(amount.number, "GPU"),
            "first": amount.number,
        }
        doc, path = source.where.group.doc, (*source.where.base, *amount.path)
        related = [(doc, path, "the GPUs of each Pod"), *list_replica_places(target.job)]
        yield Violation(place, values, related, doc=source.doc, group=source.group)


def _find_device(source: PythonSource) -> ast.AST | None:
    """Return the first expression with which all processes select the GPU of their global rank."""
    values = find_values(source.tree)
    for statement in iter_certain_statements(source.tree, enters=_is_entered_with_gpus):
        if (
            isinstance(statement, ast.Assign)
            and any(map(_is_list_of_devices, statement.targets))
            and is_global_rank(statement.value, values)
        ):
            return statement
        for node in iter_certain_expressions(statement):
            if _selects(node, values):
                return node
    return None


def _is_entered_with_gpus(test: ast.expr) -> bool:
    """Whether a container with GPUs enters a branch."""
    if isinstance(test, ast.Call):
        return get_dotted_name(test.func) == "torch.cuda.is_available"
    return is_main_guard(test) or get_dotted_name(test) in ("gpus", "physical_devices", "cuda", "use_cuda")


def _is_list_of_devices(target: ast.expr) -> bool:
    """Whether an assignment states the GPUs that a process sees."""
    if isinstance(target, ast.Subscript):
        return get_dotted_name(target.value) == "os.environ" and get_constant(target.slice) in _VISIBLE
    return get_dotted_name(target).endswith("gpu_options.visible_device_list")


def _selects(node: ast.AST, values: Mapping[str, ast.expr]) -> bool:
    """Whether an expression selects the GPU of the global rank."""
    if isinstance(node, ast.JoinedStr) and len(node.values) == 2:
        prefix, number = node.values
        is_device = get_constant(prefix) in _PREFIXES
        return is_device and isinstance(number, ast.FormattedValue) and is_global_rank(number.value, values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return get_constant(node.left) in _PREFIXES and is_global_rank(node.right, values)
    if not isinstance(node, ast.Call):
        return False
    last = node.func.attr if isinstance(node.func, ast.Attribute) else get_dotted_name(node.func)
    if last == "set_visible_devices" and node.args and isinstance(node.args[0], ast.Subscript):
        return is_global_rank(node.args[0].slice, values)
    for keyword in node.keywords:
        if keyword.arg in _KEYWORDS:
            elements = keyword.value.elts if isinstance(keyword.value, ast.List) else [keyword.value]
            if any(is_global_rank(one, values) for one in elements):
                return True
    at = 1 if last == "device" and node.args and get_constant(node.args[0]) == "cuda" else 0
    return last in _SELECTING and len(node.args) == at + 1 and is_global_rank(node.args[at], values)
