"""Finds files whose jobs a change does not affect, so that these are compiled and lowered only once."""

from __future__ import annotations

from collections.abc import Sequence

from podplan.tools.diff.job_facts import JobFacts
from podplan.tools.diff.repository_state import RepositoryState


class UnchangedFiles:
    """Compares files of two revisions with everything that they depend on, each once."""

    def __init__(self, before: RepositoryState, after: RepositoryState) -> None:
        self._before, self._after = before, after
        self._has_same_settings = before.settings == after.settings
        self._same: dict[str, bool] = {}

    def has_same_jobs(self, path: str, jobs: Sequence[JobFacts]) -> bool:
        """Whether a file has the same ``jobs``, those of one revision, in both.

        False if the file contains more than jobs, which may differ.
        """
        if not self._has_same_settings or not jobs or path in self._after.incomplete:
            return False
        if path not in self._before.files.names:  # two files with different names are compared
            return False
        return (
            all(map(self._is_same, (path, *jobs[0].depends_on)))
            and self._before.read_inventory(path) == self._after.read_inventory(path)
            and self._before.read_operator_values(path) == self._after.read_operator_values(path)
        )

    def _is_same(self, path: str) -> bool:
        if path not in self._same:
            content = self._after.read_digest(path)
            self._same[path] = content is not None and content == self._before.read_digest(path)
        return self._same[path]
