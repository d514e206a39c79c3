"""The result of ``podplan test``, as text and for machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from podplan.core.typing import Any
from podplan.report.json import encode_json
from podplan.report.sanitization import escape_text, truncate_text
from podplan.tools.repository_tests import CoveredItem, FailedTest, SuiteOutcome


def render_text(outcome: SuiteOutcome, coverage: bool, has_summary: bool = True) -> str:
    """Render a line for each failure with its diff, written files, coverage and a summary if requested."""
    lines = [line for failure in outcome.failures for line in _format_failure(failure)]
    lines += (f"{file}: written" for file in outcome.written)
    if coverage:
        lines += (_format_coverage(tested) for tested in outcome.covered_items)
    if has_summary:
        lines.append(_format_summary(outcome))
    return "".join(f"{escape_text(truncate_text(line))}\n" for line in lines)


def render_json(outcome: SuiteOutcome, coverage: bool) -> str:
    """Render one JSON object, ``"format": 1``; docs/testing.md describes its fields."""
    document: dict[str, Any] = {
        "format": 1,
        "tests": outcome.test_count,
        "failures": [{**failure._asdict(), "diff": list(failure.diff)} for failure in outcome.failures],
        "written": list(outcome.written),
    }
    if coverage:
        document["coverage"] = [_build_coverage_entry(tested) for tested in outcome.covered_items]
    return encode_json(document, indent=2) + "\n"


def _format_failure(failure: FailedTest) -> Iterator[str]:
    yield f"{failure.file}:{failure.line}:{failure.column}: {failure.test}: {failure.message}"
    yield from (f"    {line}" for line in failure.diff)


def _format_coverage(item: CoveredItem) -> str:
    if item.category == "policy":
        tests_text = (
            ", ".join(f"{number} {verdict}" for verdict, number in _count_verdicts(item).items())
            or "no example"
        )
    else:
        tests_text = item.tests[0] if item.tests else "no golden render"
    return f"{item.category} {item.name} ({item.file}): {tests_text}"


def _build_coverage_entry(item: CoveredItem) -> dict[str, Any]:
    entry = {"what": item.category, "name": item.name, "file": item.file, "enough": item.is_covered}
    if item.category == "policy":
        return {**entry, "examples": _count_verdicts(item)}
    return {**entry, "golden": item.tests[0] if item.tests else None}


def _count_verdicts(item: CoveredItem) -> dict[str, int]:
    return dict(Counter(item.tests))


def _format_summary(outcome: SuiteOutcome) -> str:
    parts = [_format_count(outcome.test_count, "test"), _format_count(len(outcome.failures), "failure")]
    parts += [
        f"{_count_tested(outcome.covered_items, what)} of {total} {plural} tested"
        for what, plural in (("policy", "policies"), ("profile", "profiles"))
        if (total := sum(one.category == what for one in outcome.covered_items))
    ]
    return ", ".join(parts)


def _count_tested(items: Iterable[CoveredItem], category: str) -> int:
    return sum(one.category == category and bool(one.tests) for one in items)


def _format_count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
