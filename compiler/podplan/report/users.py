"""The profiles and variants that a finding is about, if its line does not name them."""

from __future__ import annotations

from collections.abc import Iterable

from podplan.core.findings import Finding

_MAX_NAMED = 3


def find_user_files(finding: Finding) -> list[str]:
    """Return the files whose jobs draw a finding in a file that they use, such as a base; else none."""
    files = list(dict.fromkeys(finding.subject_files))
    return [] if finding.location.file in files else files


def format_users(finding: Finding) -> str:
    """Return "in jobs/a.yaml, 1 of 2 instances: dev" for a finding in a base or in some variants; else ""."""
    files = find_user_files(finding)
    parts = [name_some(files)] if files else []
    instances = finding.instances
    if instances is not None and instances.hit < instances.of:
        parts.append(f"{instances.hit} of {instances.of} instances: {name_some(instances.ids)}")
    return f"in {', '.join(parts)}" if parts else ""


def name_some(names: Iterable[str]) -> str:
    """Return the first names, and how many more there are."""
    all_names = list(dict.fromkeys(names))
    more = len(all_names) - _MAX_NAMED
    shown = all_names if more <= 1 else all_names[:_MAX_NAMED]
    return ", ".join(shown) + (f" and {more} more" if more > 1 else "")


def group_by_message(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Group findings that several profiles draw on one line of a base, in the order of the first of each."""
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        key = (finding.rule, finding.severity, finding.message, finding.location)
        groups.setdefault(key, []).append(finding)
    return list(groups.values())
