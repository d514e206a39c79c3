"""What is wrong with a policy of an organisation: its form, and what its check, schema or CEL cannot do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.builtin_rules import RULES
from podplan.core.findings import Path, Problem
from podplan.core.limits import MAX_SCHEMA_VISITS, BoundExceeded, beyond
from podplan.core.suggestions import meant_or_known
from podplan.core.typing import Any
from podplan.lint import checks
from podplan.lint.policy import PLACEHOLDER
from podplan.lint.registry import ours
from podplan.schema import check_against

FORM = "POLICY001"
AS_FORM = {code: FORM for code in RULES if code.startswith("SCHEMA")}
# What an evaluator other than a check gives to the message.
VALUES = {"schema": "value", "cel": "message"}


def faults(data: Mapping[str, Any]) -> list[Problem]:
    """What keeps a policy from being asked, at its paths.

    Raises BoundExceeded, and RequestError without the extra.
    """
    found = check_against("Policy", data, AS_FORM)
    if found:
        return found
    if "check" in data:
        found += _of_check(data)
    elif "schema" in data:
        found += _of_schema(data["schema"])
    else:
        from podplan.lint.cel.sandbox import faults as cel_faults
        from podplan.lint.checks.by_cel import fault_problem, rules_of

        found += (fault_problem(data["cel"], fault) for fault in cel_faults(rules_of(data["cel"])))
    return found + list(_of_texts(data))


def _of_check(data: Mapping[str, Any]) -> Iterator[Problem]:
    """A check is asked as our own policies ask it: at their level, about their kinds, with typed params."""
    name = data["check"]
    if name not in checks.CHECKS:
        yield Problem(FORM, f'there is no check "{name}"{meant_or_known(name, checks.CHECKS)}', ("check",))
        return
    scope = data["scope"]
    same = [policy for policy in ours() if policy.body == name]
    levels = sorted({policy.scope.level for policy in same})
    if scope["level"] not in levels:
        said = f'the check "{name}" is for the level {" or ".join(levels)}, not for {scope["level"]}'
        yield Problem(FORM, said, ("scope", "level"))
    parts = {policy.scope.containers for policy in same}
    if scope.get("containers", "") not in parts:
        wanted = " or ".join(sorted(f"containers: {part}" if part else "no containers" for part in parts))
        yield Problem(FORM, f'the check "{name}" wants {wanted} in the scope', ("scope", "containers"))
    kinds = {kind for policy in same for kind in policy.scope.kinds}
    strange = sorted(set(scope.get("kinds", ())) - kinds)
    if kinds and (strange or not scope.get("kinds")):
        wanted = ", ".join(sorted(kinds))
        yield Problem(FORM, f'the check "{name}" is about these kinds only: {wanted}', ("scope", "kinds"))
    needs = sorted({need for policy in same for need in policy.needs} - set(data.get("needs", ())))
    if needs:
        article = "an" if needs[0] == "inventory" else "a"
        said = f'the check "{name}" needs {article} {needs[0]}; write needs: [{needs[0]}]'
        yield Problem(FORM, said, ("needs",) if "needs" in data else ("check",))
    for problem in check_against("Checks", {name: data.get("params", {})}, AS_FORM):
        if problem.path == (name,) and problem.on_key:
            problem = problem._replace(message=f'the check "{name}" has no params', on_key=True)
        place = ("params", *problem.path[1:]) if "params" in data else ("check",)
        yield problem._replace(path=place)


def _of_schema(schema: Mapping[str, Any]) -> Iterator[Problem]:
    from podplan.schema.custom_schemas import Unusable, validator
    from podplan.schema.visit_limit import visits

    try:
        validator(schema)
    except Unusable as error:
        message = f"the schema cannot be used: {error.message}"
        yield Problem(FORM, message, ("schema", *error.path))
        return
    if visits(schema, MAX_SCHEMA_VISITS) > MAX_SCHEMA_VISITS:
        message = (
            f"the schema of a policy would be asked more than {MAX_SCHEMA_VISITS:,} times about one value; "
            "have fewer of its parts refer to the same one, and none to itself"
        )
        raise BoundExceeded(beyond("schema-visits", message))


def _of_texts(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Placeholders that nothing ever fills: some jobs would be told nothing, others a name in braces."""
    evaluator = next(key for key in ("check", "schema", "cel") if key in data)
    if evaluator == "check" and data["check"] not in checks.CHECKS:
        return
    known = _given(data["check"]) if evaluator == "check" else {VALUES[evaluator]}
    by = "this check" if evaluator == "check" else f"a policy with {evaluator}"
    gives = ", ".join(f"{{{name}}}" for name in sorted(known)) or "no values"
    for path, text in _texts(data):
        for name in dict.fromkeys(PLACEHOLDER.findall(text)):
            if name not in known:
                yield Problem(FORM, f"{{{name}}} stands for nothing; {by} gives {gives}", path)


def _given(check: str) -> set[str]:
    """The values that a check gives: those that our own policies with it tell."""
    same = [policy for policy in ours() if policy.body == check]
    texts = (
        text
        for one in same
        for text in (one.message, one.help, *one.help_for.values(), (one.fix or {}).get("title", ""))
    )
    return {name for text in texts for name in PLACEHOLDER.findall(text)}


def _texts(data: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """What people get to read of a policy where it is broken, each with its path."""
    yield from (((key,), data[key]) for key in ("message", "help") if key in data)
    yield from ((("helpFor", kind), text) for kind, text in data.get("helpFor", {}).items())
    if "fix" in data:
        yield ("fix", "title"), data["fix"]["title"]
