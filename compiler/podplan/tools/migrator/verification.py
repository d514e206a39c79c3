"""Which migrated files check at least as well as before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from podplan.checker.check import Result, check
from podplan.core.findings import Severity
from podplan.pipeline import Settings
from podplan.workspace import Reader

# Faults of form keep what stands below them from being looked at.
OF_FORM = ("YAML", "SCHEMA", "PROF0")


def worse(
    paths: Sequence[str], settings: Settings, exclude: Sequence[str], texts: Mapping[str, str]
) -> dict[str, str]:
    """The files, with ``texts`` in the place of some, that check worse than they did; and how.

    More errors are not worse where there are fewer faults of form: then more is looked at than before.
    """
    before = check(paths, settings, Reader(exclude=exclude), exclude)
    after = check(paths, settings, Reader(exclude=exclude, instead=texts), exclude)
    was, now = _errors(before), _errors(after)
    found = {}
    for file in now:
        more = now[file] - was.get(file, Counter())
        fewer = was.get(file, Counter()) - now[file]
        of_form = [rule for rule in more if rule.startswith(OF_FORM)]
        mended = any(rule.startswith(OF_FORM) for rule in fewer)
        if of_form and sum(more[rule] for rule in of_form) > sum(
            number for rule, number in fewer.items() if rule.startswith(OF_FORM)
        ):
            found[file] = _said(after, file, of_form[0])
        elif more and not mended and sum(more.values()) > sum(fewer.values()):
            found[file] = _said(after, file, next(iter(more)))
    return found


def _errors(result: Result) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {}
    for finding in result.findings:
        if finding.severity is Severity.ERROR:
            counts.setdefault(finding.location.file, Counter())[finding.rule] += 1
    return counts


def _said(result: Result, file: str, rule: str) -> str:
    found = next(one for one in result.findings if one.location.file == file and one.rule == rule)
    return f"it would bring {rule}: {found.message}"
