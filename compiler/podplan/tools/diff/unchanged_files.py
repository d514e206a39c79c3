"""Which files hold jobs that a change does not touch, so that these are compiled and lowered only once."""

from __future__ import annotations

from collections.abc import Sequence

from podplan.tools.diff.repository_state import Job, Tree


class Unchanged:
    """Compares files of two trees with all that they depend on, each of them once."""

    def __init__(self, before: Tree, after: Tree) -> None:
        self._before, self._after = before, after
        self._has_same_settings = before.settings == after.settings
        self._same: dict[str, bool] = {}

    def holds(self, path: str, jobs: Sequence[Job]) -> bool:
        """Whether a file gives the same ``jobs`` on both sides, which are those of one side.

        Where a file holds more than jobs, that says nothing of the rest, and is false.
        """
        if not self._has_same_settings or not jobs or path in self._after.incomplete:
            return False
        return all(map(self._is_same, (path, *jobs[0].depends_on))) and (
            self._before.inventory(path) == self._after.inventory(path)
        )

    def _is_same(self, path: str) -> bool:
        if path not in self._same:
            content = self._after.content(path)
            self._same[path] = content is not None and content == self._before.content(path)
        return self._same[path]
