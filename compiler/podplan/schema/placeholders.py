"""Manifests with unfilled placeholders, such as ``cpu: $(params.cpu)`` in the step of a workflow."""

from __future__ import annotations

from podplan.core.findings import Diagnostic, value_at
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any

_PLACEHOLDER = compile_lazily(r"\$\(|\$\{|\{\{")
_VALUE_RULES = frozenset({"SCHEMA002", "SCHEMA004", "SCHEMA006"})
_HELP = (
    "this looks like a placeholder; check the manifest after it is filled in, or exclude it with --exclude"
)


def explain_placeholders(diagnostics: list[Diagnostic], data: Any) -> list[Diagnostic]:
    """Return the diagnostics of ``data``, with advice for those about placeholders."""
    return [
        problem._replace(help=_HELP) if _is_about_placeholder(problem, data) else problem
        for problem in diagnostics
    ]


def _is_about_placeholder(diagnostic: Diagnostic, data: Any) -> bool:
    value = value_at(data, diagnostic.path) if diagnostic.rule in _VALUE_RULES else None
    return isinstance(value, str) and _PLACEHOLDER.search(value) is not None
