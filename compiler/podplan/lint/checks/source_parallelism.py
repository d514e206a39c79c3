"""The parallelism that a Python script sets up, with sizes that are constants or options of the script.

Sources: https://colossalai.org/docs/basics/booster_plugins/ (HybridParallelPlugin asserts that tp_size ×
pp_size divides the processes), https://docs.nvidia.com/megatron-core/ (initialize_model_parallel),
https://huggingface.co/docs/accelerate/usage_guides/megatron_lm (MegatronLMPlugin).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from podplan.core.typing import NamedTuple
from podplan.lint.analysis.process_worlds import ProcessWorld
from podplan.lint.analysis.script_options import PlacedOption, list_program_options
from podplan.lint.checks.python_sources import (
    PythonSource,
    get_constant,
    get_dotted_name,
    iter_certain_expressions,
    iter_certain_statements,
    list_python_sources,
)
from podplan.lint.target import LoweredJob

_OF_COLOSSALAI = {"tp_size": "tensor", "pp_size": "pipeline"}
_OF_MEGATRON = {
    "tensor_model_parallel_size": "tensor",
    "pipeline_model_parallel_size": "pipeline",
    "context_parallel_size": "context",
}
# Functions that split the processes into groups, with the dimensions of their arguments.
_FUNCTIONS = {
    "HybridParallelPlugin": _OF_COLOSSALAI,
    "MoeHybridParallelPlugin": _OF_COLOSSALAI,
    "initialize_model_parallel": _OF_MEGATRON,
    "MegatronStrategy": _OF_MEGATRON,
    "MegatronLMPlugin": {"tp_degree": "tensor", "pp_degree": "pipeline"},
}
# Those whose first arguments may be given without names.
_POSITIONAL = {
    "HybridParallelPlugin": ("tp_size", "pp_size"),
    "initialize_model_parallel": ("tensor_model_parallel_size", "pipeline_model_parallel_size"),
}


class SourceSplit(NamedTuple):
    """A call that splits the processes of a script into groups, the sizes that are known, and the options
    that have some of them."""

    source: PythonSource
    call: ast.Call
    sizes: dict[str, int]
    options: list[PlacedOption]


def list_source_splits(job: LoweredJob, world: ProcessWorld) -> list[SourceSplit]:
    """Return the calls of a launched script that certainly split its processes into groups."""
    splits = []
    for source in list_python_sources(job):
        if source.launch is not world.launch or not any(name in source.text for name in _FUNCTIONS):
            continue
        constants = _find_constants(source.tree)
        options = {one.option.key: one for one in list_program_options(job, source.launch)}
        for statement in iter_certain_statements(source.tree):
            for node in iter_certain_expressions(statement):
                name = get_dotted_name(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
                if isinstance(node, ast.Call) and name in _FUNCTIONS:
                    splits.append(_read_split(source, node, name, constants, options))
    return splits


def _read_split(
    source: PythonSource,
    call: ast.Call,
    function: str,
    constants: Mapping[str, object],
    options: Mapping[str, PlacedOption],
) -> SourceSplit:
    given = {one.arg: one.value for one in call.keywords if one.arg}
    given.update(zip(_POSITIONAL.get(function, ()), call.args, strict=False))
    sizes: dict[str, int] = {}
    used: list[PlacedOption] = []
    for argument, dimension in _FUNCTIONS[function].items():
        value = given.get(argument)
        size: object = get_constant(value)
        if isinstance(value, ast.Name):
            size = constants.get(value.id)
        elif isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) and value.attr in options:
            size = options[value.attr].option.number
            used.append(options[value.attr])
        if type(size) is int and size > 1:
            sizes[dimension] = size
    return SourceSplit(source, call, sizes, used)


def _find_constants(tree: ast.Module) -> dict[str, object]:
    """Return the names that a script binds once, to a constant."""
    bound = [
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    bound += [node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)]
    return {
        target.id: get_constant(statement.value)
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name) and bound.count(target.id) == 1
    }
