"""Finds migrated files with new errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from podplan.checker.check import CheckResult, check_files
from podplan.core.findings import Severity
from podplan.pipeline import PipelineSettings
from podplan.workspace.loader import Loader

# Errors of form prevent further checks of the document.
FORM_RULE_PREFIXES = ("YAML", "SCHEMA", "PROF0")


def find_regressions(
    paths: Sequence[str], settings: PipelineSettings, exclude: Sequence[str], texts: Mapping[str, str]
) -> dict[str, str]:
    """Return the files, with ``texts`` in place of some, that have new errors; and which.

    More errors are accepted if there are fewer errors of form, because then more is checked than before.
    """
    before, after = (
        check_files(paths, settings, Loader(exclude=exclude, unsaved_texts=one, named_files=paths), exclude)
        for one in ({}, texts)
    )
    old_errors, new_errors = _count_errors(before), _count_errors(after)
    regressions = {}
    for file in new_errors:
        added_errors = new_errors[file] - old_errors.get(file, Counter())
        removed_errors = old_errors.get(file, Counter()) - new_errors[file]
        new_form_rules = [rule for rule in added_errors if rule.startswith(FORM_RULE_PREFIXES)]
        fixes_form = any(rule.startswith(FORM_RULE_PREFIXES) for rule in removed_errors)
        if new_form_rules and sum(added_errors[rule] for rule in new_form_rules) > sum(
            number for rule, number in removed_errors.items() if rule.startswith(FORM_RULE_PREFIXES)
        ):
            regressions[file] = _format_regression(after, file, new_form_rules[0])
        elif added_errors and not fixes_form and sum(added_errors.values()) > sum(removed_errors.values()):
            regressions[file] = _format_regression(after, file, next(iter(added_errors)))
    return regressions


def _count_errors(result: CheckResult) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {}
    for finding in result.findings:
        if finding.severity is Severity.ERROR:
            counts.setdefault(finding.location.file, Counter())[finding.rule] += 1
    return counts


def _format_regression(result: CheckResult, file: str, rule: str) -> str:
    first_finding = next(one for one in result.findings if one.location.file == file and one.rule == rule)
    return f"it would bring {rule}: {first_finding.message}"
