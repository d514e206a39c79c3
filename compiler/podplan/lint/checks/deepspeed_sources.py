"""Python scripts that give a configuration to DeepSpeed themselves, without a trainer of another library.

Source: https://deepspeed.readthedocs.io/en/latest/initialize.html (deepspeed.initialize takes the path of the
configuration, or the arguments with the option deepspeed_config).
"""

from __future__ import annotations

import ast

from podplan.core.findings import Path
from podplan.core.provenance import TracedDocument
from podplan.lint.analysis.script_options import PlacedOption
from podplan.lint.checks.deepspeed_zero import ConfiguredTraining
from podplan.lint.checks.python_sources import (
    PythonSource,
    get_constant,
    get_dotted_name,
    iter_certain_expressions,
    iter_certain_statements,
    list_python_sources,
)
from podplan.lint.target import LoweredJob

_LIBRARY = "deepspeed"
_FUNCTION = "initialize"
_CONFIG_KEYWORDS = ("config", "config_params")
_PLACE_OF_CONFIG = 9  # among the positional arguments
_OF_ARGUMENTS = "deepspeed_config"  # read by deepspeed.initialize from the arguments


def find_initialization(job: LoweredJob, training: ConfiguredTraining) -> tuple[TracedDocument, Path] | None:
    """Return the place where the script of a training gives its configuration to DeepSpeed as it is."""
    for source in list_python_sources(job):
        if source.launch is not training.launch or _changes_arguments(source.tree, training.placed):
            continue
        for call in _iter_initializations(source):
            if _takes_file(call, training.placed):
                return source.doc, source.locate(call)
    return None


def _iter_initializations(source: PythonSource) -> list[ast.Call]:
    names = [f"{_LIBRARY}.{_FUNCTION}"]
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom) and node.module == _LIBRARY:
            names += [one.asname or one.name for one in node.names if one.name == _FUNCTION]
        elif isinstance(node, ast.Import):
            names += [
                f"{one.asname}.{_FUNCTION}" for one in node.names if one.name == _LIBRARY and one.asname
            ]
    return [
        node
        for statement in iter_certain_statements(source.tree)
        for node in iter_certain_expressions(statement)
        if isinstance(node, ast.Call) and get_dotted_name(node.func) in names
    ]


def _takes_file(call: ast.Call, placed: PlacedOption) -> bool:
    """Whether a call takes the file that an option of the script names."""
    given = {one.arg: one.value for one in call.keywords}
    config = next((given[name] for name in _CONFIG_KEYWORDS if name in given), None)
    if config is None:
        takes_more = None in given or len(call.args) >= _PLACE_OF_CONFIG
        has_arguments = "args" in given or bool(call.args)
        return has_arguments and placed.option.last == _OF_ARGUMENTS and not takes_more
    if isinstance(config, ast.Attribute) and isinstance(config.value, ast.Name):
        return config.attr == placed.option.key
    return get_constant(config) == placed.option.value


def _changes_arguments(tree: ast.Module, placed: PlacedOption) -> bool:
    """Whether a script may replace the value of an option."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if node.attr == placed.option.key:
                return True
        elif isinstance(node, ast.Call) and get_dotted_name(node.func) in ("setattr", "vars"):
            return True
    return False
