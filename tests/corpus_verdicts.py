"""The verdicts in docs/corpus.md: rows that state whether findings of a rule on some manifests are right.

A row is ``| RULE | MANIFESTS | VERDICT | WHY |``. MANIFESTS is ``all``, or kinds with numbers and ranges:
``GenericJob/006; DeepSpeedJob/006–009, 021``. VERDICT is ``true``, ``false``, or ``–`` for findings about
podplan instead of the manifest. A row without a sentence counts as false.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Findings = Mapping[str, Sequence[Mapping[str, Any]]]
Rows = dict[tuple[str, str], list["Row"]]

ROW = re.compile(r"\| ([A-Z]+\d+) \| ([^|]*) \| (true|false|–) \| ?([^|]*)\|")
KIND = re.compile(r"(\w+)/([\d–, ]+)")
TRUE, FALSE, APART, ALL = "true", "false", "–", "all"
SEVERITIES = ("error", "warning", "info")
FALSE_AT_MOST = {"error": 0, "warning": 5}  # percent; the limit for warnings


class Row(NamedTuple):
    """A verdict on a rule for manifests, as written."""

    rule: str
    manifests: str
    verdict: str
    why: str


def rows(page: str) -> list[Row]:
    """Return the verdicts of a page, in order."""
    found = (ROW.fullmatch(line.strip()) for line in page.splitlines())
    return [
        Row(rule, ids.strip(), verdict if why.strip() else FALSE, why.strip())
        for rule, ids, verdict, why in (row.groups() for row in found if row)
    ]


def named(row: Row, findings: Findings) -> Iterator[str]:
    """Yield the manifests that a row judges; ``all`` are those with a finding of its rule."""
    if row.manifests == ALL:
        yield from (one for one, found in findings.items() if any(each["rule"] == row.rule for each in found))
        return
    for kind, numbers in KIND.findall(row.manifests):
        for part in numbers.replace(" ", "").strip(",").split(","):
            first, _, last = part.partition("–")
            for one in findings:
                of_kind, _, number = one.partition("/")
                if of_kind == kind and first <= number <= (last or first):
                    yield one


def judged(page: str, findings: Findings) -> Rows:
    """Return the rows for each rule and manifest."""
    found: Rows = defaultdict(list)
    for row in rows(page):
        for one in named(row, findings):
            found[row.rule, one].append(row)
    return found


def counts(page: str, findings: Findings) -> dict[str, Counter[str]]:
    """Count the findings of each severity that are true, false, or excluded; those without a row are
    false."""
    by_row = judged(page, findings)
    verdicts: dict[str, Counter[str]] = {severity: Counter() for severity in SEVERITIES}
    for one, found in findings.items():
        for each in found:
            here = by_row.get((each["rule"], one), [])
            verdicts[each["severity"]][here[0].verdict if here else FALSE] += 1
    return verdicts


def share(verdicts: Counter[str]) -> float:
    """Return the percentage of false findings among those with a verdict."""
    return 100 * verdicts[FALSE] / max(verdicts[TRUE] + verdicts[FALSE], 1)


def table(page: str, findings: Findings) -> Iterator[str]:
    """Yield the counts as lines of a table."""
    yield "| severity | findings | true | false | about podplan | false of those judged |"
    yield "|---|---|---|---|---|---|"
    for severity, found in counts(page, findings).items():
        numbers = f"{found.total()} | {found[TRUE]} | {found[FALSE]} | {found[APART]}"
        yield f"| {severity} | {numbers} | {share(found):.1f} % |"


def faults(page: str, findings: Findings) -> Iterator[str]:
    """Yield errors of the verdicts: findings without one, rows without a finding, too many false ones."""
    by_row = judged(page, findings)
    there = {(each["rule"], one) for one, found in findings.items() for each in found}
    yield from (f"no verdict on {rule} for {one}" for rule, one in sorted(there - by_row.keys()))
    stale = sorted(by_row.keys() - there)
    yield from (f"a verdict on {rule} for {one}, and no finding" for rule, one in stale)
    twice = [(key, len(here)) for key, here in by_row.items() if len(here) > 1]
    yield from (f"{number} verdicts on {rule} for {one}" for (rule, one), number in twice)
    empty = [row.rule for row in rows(page) if not any(named(row, findings))]
    yield from (f"a verdict on {rule} names no manifest" for rule in empty)
    found = counts(page, findings)
    for severity, most in FALSE_AT_MOST.items():
        if found[severity][FALSE] and share(found[severity]) >= most:
            yield f"{found[severity][FALSE]} false findings at {severity}: {share(found[severity]):.1f} %"
