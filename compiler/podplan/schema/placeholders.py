"""Manifests of a template that nobody filled in, such as ``cpu: $(params.cpu)`` in the step of a workflow."""

from __future__ import annotations

from podplan.core.findings import Problem, value_at
from podplan.core.lazy_regex import pattern
from podplan.core.typing import Any

_PLACEHOLDER = pattern(r"\$\(|\$\{|\{\{")
_OF_VALUES = frozenset({"SCHEMA002", "SCHEMA004", "SCHEMA006"})
_HELP = (
    "this looks like a placeholder; check the manifest once it is filled in, or leave it out with --exclude"
)


def with_placeholders(found: list[Problem], data: Any) -> list[Problem]:
    """The problems of ``data``, those of placeholders with what to do about them."""
    return [
        problem._replace(help=_HELP) if _is_of_placeholder(problem, data) else problem for problem in found
    ]


def _is_of_placeholder(problem: Problem, data: Any) -> bool:
    value = value_at(data, problem.path) if problem.rule in _OF_VALUES else None
    return isinstance(value, str) and _PLACEHOLDER.search(value) is not None
