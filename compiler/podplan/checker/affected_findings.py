"""Which findings a change of files is about: those on the files, and on all that depends on them."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping

from podplan.core.findings import Finding

# A policy that cannot be evaluated is one that was not looked at, whatever changed.
ALWAYS_REPORTED_RULES = frozenset({"POLICY001"})
# The document that is missing may be in a file that the change removed.
UNRESOLVED_RULES = frozenset({"CR901", "CR902"})


def find_affected_files(
    changed: Collection[str], dependencies: Mapping[str, Collection[str]]
) -> frozenset[str]:
    """``changed`` with all files that name one of them, or one that does: real paths.

    ``named`` is as in Result, and its paths may be any.
    """
    dependents: dict[str, list[str]] = {}
    for file, dependency_files in dependencies.items():
        for dependency_file in dependency_files:
            dependents.setdefault(os.path.realpath(dependency_file), []).append(os.path.realpath(file))
    affected_files, pending = set(changed), list(changed)
    while pending:
        for file in dependents.get(pending.pop(), ()):
            if file not in affected_files:
                affected_files.add(file)
                pending.append(file)
    return frozenset(affected_files)


def build_file_filter(files: Collection[str]) -> Callable[[Finding], bool]:
    """Whether a finding is about one of ``files`` (real paths): it lies there, or is of a document there.

    A fault of two jobs together is about both.
    """
    cache: dict[str, bool] = {}

    def is_in_files(file: str) -> bool:
        if file not in cache:
            cache[file] = os.path.abspath(file) in files or os.path.realpath(file) in files
        return cache[file]

    def is_about_files(finding: Finding) -> bool:
        if finding.rule in UNRESOLVED_RULES:
            return True
        if finding.rule in ALWAYS_REPORTED_RULES | UNRESOLVED_RULES:
            return True
        finding_files = (
            finding.location.file,
            *finding.subject_files,
            *(place.location.file for place in finding.related),
        )
        return any(map(is_in_files, finding_files))

    return is_about_files
