"""A policy: one file of data, read into plain values."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.builtin_rules import Rule
from podplan.core.findings import Diagnostic, Severity
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple
from podplan.lint.policy_scope import PolicyScope, parse_scope

if TYPE_CHECKING:
    import re

MAX_VALUE_LENGTH = 500  # characters
PLACEHOLDER = compile_lazily(r"\{([a-zA-Z_][a-zA-Z0-9_]*)\}")


class Policy(NamedTuple):
    """A rule and how it is evaluated: ``evaluator`` is check, schema or cel, ``body`` what it evaluates.

    ``needs`` are "base" and "inventory", without which the policy is not evaluated. ``origin_doc`` is the
    document of a custom policy, None for one of podplan. ``admission`` is the same requirement in CEL for the
    API server, or why CEL cannot express it. ``help_for`` has other help for CRs of a kind. ``tests_doc`` is
    the document with the examples of the policy.
    """

    rule: Rule
    scope: PolicyScope
    evaluator: str
    body: Any
    params: Mapping[str, Any]
    message: str
    help: str
    preset: str
    preview: bool
    needs: tuple[str, ...]
    file: str
    origin_doc: TracedDocument | None = None
    admission: Mapping[str, Any] | str | None = None
    help_for: Mapping[str, str] = {}
    tests_doc: TracedDocument | None = None
    fix: Mapping[str, Any] | None = None


class PolicyError(Exception):
    """A policy that could not be evaluated; ``diagnostics`` have paths in the document of the policy."""

    def __init__(self, policy: Policy, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__(f"{policy.file}: {diagnostics[0].message}")
        self.policy, self.diagnostics = policy, diagnostics


def parse_policy(data: Mapping[str, Any], file: str) -> Policy:
    """The policy that a file with the form of schemas/Policy.json describes."""
    evaluator = next(key for key in ("check", "schema", "cel") if key in data)
    rule = Rule(
        data["id"],
        data["name"],
        Severity[data["severity"].upper()],
        data["summary"],
        data["basis"],
        tuple(data.get("aliases", ())),
    )
    return Policy(
        rule,
        parse_scope(data["scope"]),
        evaluator,
        data[evaluator],
        data.get("params", {}),
        data["message"],
        data.get("help", ""),
        data.get("presets", ["default"])[0],
        data.get("preview", False),
        tuple(data.get("needs", ())),
        file,
        admission=data.get("admission"),
        help_for=data.get("helpFor", {}),
        fix=data.get("fix"),
    )


def fill_placeholders(template: str, values: Mapping[str, Any]) -> str:
    """``template`` with each ``{name}`` that ``values`` has replaced; nothing else is special in it.

    A value is cut that nobody would read to its end; a ``message`` is one of CEL, which is cut already.
    """

    def replace_placeholder(match: re.Match[str]) -> str:
        name = match[1]
        if name not in values:
            return match[0]
        text = str(values[name])
        return text if len(text) <= MAX_VALUE_LENGTH or name == "message" else f"{text[:MAX_VALUE_LENGTH]}…"

    return PLACEHOLDER.sub(replace_placeholder, template)


def fill_generic_placeholders(data: Mapping[str, Any], template: str) -> str:
    """``template`` of the policy with ``data`` as people read it where there is no finding: on its page.

    A placeholder without words of its own in ``placeholders`` becomes its name in capitals.
    """
    placeholder_words: Mapping[str, str] = data.get("placeholders", {})
    return PLACEHOLDER.sub(lambda match: placeholder_words.get(match[1], match[1].upper()), template)
