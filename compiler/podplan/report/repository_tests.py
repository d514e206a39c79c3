"""The outcome of ``podplan test``, as text and for machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from podplan.core.typing import Any
from podplan.report.json import json_text
from podplan.report.sanitization import cut, visible
from podplan.tools.repository_tests import Failure, Outcome, Tested


def render_text(outcome: Outcome, coverage: bool) -> str:
    """A line for each failure with its diff, what was written, what has tests if asked, and a summary."""
    lines = [line for failure in outcome.failures for line in _failure(failure)]
    lines += (f"{file}: written" for file in outcome.written)
    if coverage:
        lines += (_covered(tested) for tested in outcome.tested)
    return "".join(f"{visible(cut(line))}\n" for line in [*lines, _summary(outcome)])


def render_json(outcome: Outcome, coverage: bool) -> str:
    """The same as one JSON object, ``"format": 1``; docs/testing.md describes its fields."""
    document: dict[str, Any] = {
        "format": 1,
        "tests": outcome.ran,
        "failures": [{**failure._asdict(), "diff": list(failure.diff)} for failure in outcome.failures],
        "written": list(outcome.written),
    }
    if coverage:
        document["coverage"] = [_entry(tested) for tested in outcome.tested]
    return json_text(document, indent=2) + "\n"


def _failure(failure: Failure) -> Iterator[str]:
    yield f"{failure.file}:{failure.line}:{failure.column}: {failure.test}: {failure.message}"
    yield from (f"    {line}" for line in failure.diff)


def _covered(tested: Tested) -> str:
    if tested.what == "policy":
        has = (
            ", ".join(f"{number} {verdict}" for verdict, number in _verdicts(tested).items()) or "no example"
        )
    else:
        has = tested.tests[0] if tested.tests else "no golden render"
    return f"{tested.what} {tested.name} ({tested.file}): {has}"


def _entry(tested: Tested) -> dict[str, Any]:
    here = {"what": tested.what, "name": tested.name, "file": tested.file, "enough": tested.enough}
    if tested.what == "policy":
        return {**here, "examples": _verdicts(tested)}
    return {**here, "golden": tested.tests[0] if tested.tests else None}


def _verdicts(tested: Tested) -> dict[str, int]:
    return dict(Counter(tested.tests))


def _summary(outcome: Outcome) -> str:
    parts = [_counted(outcome.ran, "test"), _counted(len(outcome.failures), "failure")]
    parts += [
        f"{_number(outcome.tested, what)} of {total} {plural} tested"
        for what, plural in (("policy", "policies"), ("profile", "profiles"))
        if (total := sum(one.what == what for one in outcome.tested))
    ]
    return ", ".join(parts)


def _number(tested: Iterable[Tested], what: str) -> int:
    return sum(one.what == what and bool(one.tests) for one in tested)


def _counted(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
