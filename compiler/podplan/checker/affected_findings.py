"""Selects the findings about changed files, and about all files that depend on them."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping

from podplan.core.findings import Finding

# A policy that cannot be evaluated is always reported, because it would hide findings.
ALWAYS_REPORTED_RULES = frozenset({"POLICY001"})
# The missing document may be in a file that the change removed.
UNRESOLVED_RULES = frozenset({"CR901", "CR902"})


def find_affected_files(
    changed: Collection[str], dependencies: Mapping[str, Collection[str]]
) -> frozenset[str]:
    """Return ``changed`` with all files that depend on them, directly or indirectly, as real paths.

    ``dependencies`` is as in CheckResult; its paths need not be real paths.
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


def depends_on_any(file: str, changed: Collection[str], dependencies: Mapping[str, Collection[str]]) -> bool:
    """Whether a file is one of ``changed`` (real paths), or depends on one, directly or indirectly."""
    pending, visited = [file], {file}
    while pending:
        path = pending.pop()
        if os.path.realpath(path) in changed:
            return True
        new_paths = set(dependencies.get(path, ())) - visited
        visited |= new_paths
        pending.extend(new_paths)
    return False


def build_file_filter(files: Collection[str]) -> Callable[[Finding], bool]:
    """Return a filter for findings in ``files`` (real paths), or about a document there.

    A finding about two jobs is about the files of both.
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
