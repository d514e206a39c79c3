"""What is wrong with a policy of an organisation: its form, and what its check, schema or CEL cannot do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.core.findings import Diagnostic, Path
from podplan.core.limits import MAX_SCHEMA_VISITS, LimitExceeded, limit_exceeded
from podplan.core.suggestions import suggest_or_list
from podplan.core.typing import Any
from podplan.lint import checks
from podplan.lint.policy import PLACEHOLDER
from podplan.lint.policy_scope import list_kind_names, parse_scope
from podplan.lint.registry import load_builtin_policies
from podplan.schema import validate_against

POLICY_FORM_RULE = "POLICY001"
FORM_RULE_BY_SCHEMA_RULE = {code: POLICY_FORM_RULE for code in BUILTIN_RULES if code.startswith("SCHEMA")}
# What an evaluator other than a check gives to the message.
EVALUATOR_PLACEHOLDERS = {"schema": "value", "cel": "message"}


def validate_policy(data: Mapping[str, Any]) -> list[Diagnostic]:
    """What keeps a policy from being asked, at its paths.

    Raises LimitExceeded, and UsageError without the extra.
    """
    diagnostics = validate_against("Policy", data, FORM_RULE_BY_SCHEMA_RULE)
    if diagnostics:
        return diagnostics
    if "check" in data:
        diagnostics += _validate_check(data)
    elif "schema" in data:
        diagnostics += _validate_schema(data["schema"])
    else:
        from podplan.lint.cel.sandbox import find_compile_errors as cel_faults
        from podplan.lint.checks.by_cel import build_expression_diagnostic, build_rules

        diagnostics += (
            build_expression_diagnostic(data["cel"], fault) for fault in cel_faults(build_rules(data["cel"]))
        )
    return diagnostics + list(_validate_placeholders(data))


def _validate_check(data: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """Policies must use a check as podplan's own do: at their level, about their kinds, with typed params."""
    name = data["check"]
    if name not in checks.CHECK_MODULES:
        yield Diagnostic(
            POLICY_FORM_RULE,
            f'there is no check "{name}"{suggest_or_list(name, checks.CHECK_MODULES)}',
            ("check",),
        )
        return
    scope = data["scope"]
    policies_with_check = [policy for policy in load_builtin_policies() if policy.body == name]
    levels = sorted({policy.scope.level for policy in policies_with_check})
    if scope["level"] not in levels:
        message = f'the check "{name}" is for the level {" or ".join(levels)}, not for {scope["level"]}'
        yield Diagnostic(POLICY_FORM_RULE, message, ("scope", "level"))
    container_scopes = {policy.scope.containers for policy in policies_with_check}
    if scope.get("containers", "") not in container_scopes:
        expected = " or ".join(
            sorted(f"containers: {part}" if part else "no containers" for part in container_scopes)
        )
        yield Diagnostic(
            POLICY_FORM_RULE, f'the check "{name}" wants {expected} in the scope', ("scope", "containers")
        )
    kinds = {kind for policy in policies_with_check for kind in list_kind_names(policy.scope)}
    given_kinds = list_kind_names(parse_scope(scope))
    if kinds and not (given_kinds and kinds.issuperset(given_kinds)):
        expected = ", ".join(sorted(kinds))
        key = "traits" if "traits" in scope and "kinds" not in scope else "kinds"
        message = f'the check "{name}" is about these kinds only: {expected}'
        yield Diagnostic(POLICY_FORM_RULE, message, ("scope", key))
    missing_needs = sorted(
        {need for policy in policies_with_check for need in policy.needs} - set(data.get("needs", ()))
    )
    if missing_needs:
        article = "an" if missing_needs[0] == "inventory" else "a"
        message = f'the check "{name}" needs {article} {missing_needs[0]}; write needs: [{missing_needs[0]}]'
        yield Diagnostic(POLICY_FORM_RULE, message, ("needs",) if "needs" in data else ("check",))
    for diagnostic in validate_against("Checks", {name: data.get("params", {})}, FORM_RULE_BY_SCHEMA_RULE):
        if diagnostic.path == (name,) and diagnostic.on_key:
            diagnostic = diagnostic._replace(message=f'the check "{name}" has no params', on_key=True)
        path = ("params", *diagnostic.path[1:]) if "params" in data else ("check",)
        yield diagnostic._replace(path=path)


def _validate_schema(schema: Mapping[str, Any]) -> Iterator[Diagnostic]:
    from podplan.schema.custom_schemas import UnusableSchema, build_validator
    from podplan.schema.visit_limit import count_visits

    try:
        build_validator(schema)
    except UnusableSchema as error:
        message = f"the schema cannot be used: {error.message}"
        yield Diagnostic(POLICY_FORM_RULE, message, ("schema", *error.path))
        return
    if count_visits(schema, MAX_SCHEMA_VISITS) > MAX_SCHEMA_VISITS:
        message = (
            f"the schema of a policy would be asked more than {MAX_SCHEMA_VISITS:,} times about one value; "
            "have fewer of its parts refer to the same one, and none to itself"
        )
        raise LimitExceeded(limit_exceeded("schema-visits", message))


def _validate_placeholders(data: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """Reject placeholders without a value, which messages would show as names in braces."""
    evaluator = next(key for key in ("check", "schema", "cel") if key in data)
    if evaluator == "check" and data["check"] not in checks.CHECK_MODULES:
        return
    available = (
        _find_check_placeholders(data["check"])
        if evaluator == "check"
        else {EVALUATOR_PLACEHOLDERS[evaluator]}
    )
    source_label = "this check" if evaluator == "check" else f"a policy with {evaluator}"
    available_text = ", ".join(f"{{{name}}}" for name in sorted(available)) or "no values"
    for path, text in _iter_texts(data):
        for name in dict.fromkeys(PLACEHOLDER.findall(text)):
            if name not in available:
                yield Diagnostic(
                    POLICY_FORM_RULE,
                    f"{{{name}}} stands for nothing; {source_label} gives {available_text}",
                    path,
                )


def _find_check_placeholders(check: str) -> set[str]:
    """The values that a check returns: those in the messages of podplan's own policies with it."""
    policies_with_check = [policy for policy in load_builtin_policies() if policy.body == check]
    texts = (
        text
        for one in policies_with_check
        for text in (one.message, one.help, *one.help_for.values(), (one.fix or {}).get("title", ""))
    )
    return {name for text in texts for name in PLACEHOLDER.findall(text)}


def _iter_texts(data: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """What people get to read of a policy where it is broken, each with its path."""
    yield from (((key,), data[key]) for key in ("message", "help") if key in data)
    yield from ((("helpFor", kind), text) for kind, text in data.get("helpFor", {}).items())
    if "fix" in data:
        yield ("fix", "title"), data["fix"]["title"]
