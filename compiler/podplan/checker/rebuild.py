"""Jobs made again from the text of their file: the way from a text to a job is a pure function.

So a run keeps no more of a job than where it came from. A file that is read again and is not what it was is
refused: what was said of it may not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from podplan.checker.base_revision import Before, former
from podplan.checker.packed_store import Origin
from podplan.core.limits import BoundExceeded
from podplan.core.replay import Replay
from podplan.core.replica_groups import Group
from podplan.lint.target import Job
from podplan.pipeline import Plan, Settings, plans
from podplan.workspace import Reader
from podplan.workspace.documents import Item, items
from podplan.workspace.file_loader import changed
from podplan.yaml import Source

# A file by its name, read again.
Reread = Callable[[str], Source]
# The settings for an item, by where it is written.
SettingsOf = Callable[[Origin], Settings]
MOST_JOBS = 32  # that are kept: some that others point at, and those that are looked at in turn
MOST_ITEMS = 4  # whose jobs are being made, one after the other
MOST_FILES = 4  # that are kept however long they are
MOST_TEXT = 1024 * 1024  # characters of all files that are kept


class Again:
    """Items and jobs by where they came from.

    Jobs are mostly asked for in their order, beside a few others that several point at. So the next job of an
    item is made where the last one was, and the last few of all are kept.
    """

    def __init__(
        self, settings_of: SettingsOf, reader: Reader, before: Before | None, reread: Reread
    ) -> None:
        self._settings_of, self._reader, self._before, self._reread = settings_of, reader, before, reread
        self._jobs: dict[Origin, Job] = {}
        self._replay = Replay(self._jobs_of, MOST_ITEMS)
        self._files: dict[Origin, tuple[str, tuple[Item, ...]]] = {}
        self._room = MOST_TEXT
        self._texts: dict[str, str] = {}

    def texts(self, files: Iterable[str]) -> dict[str, str]:
        """The texts of those of ``files`` that jobs were made again from."""
        return {file: self._texts[file] for file in files if file in self._texts}

    def item(self, origin: Origin) -> tuple[Item, str]:
        """An item of a file, and the text of the file. Raises RequestError."""
        text, found = self._read(origin._replace(item=0, job=0))
        return found[origin.item], text

    def job(self, origin: Origin) -> Job:
        """The job that came from there. Raises RequestError."""
        if origin in self._jobs:
            job = self._jobs.pop(origin)
        else:
            job = self._replay.element(origin._replace(job=0), origin.job)
        self._jobs[origin] = job
        if len(self._jobs) > MOST_JOBS:
            del self._jobs[next(iter(self._jobs))]
        return job

    def _jobs_of(self, origin: Origin) -> Iterator[Job]:
        item, text = self.item(origin)
        self._texts[origin.file] = text
        settings = self._settings_of(origin)
        if item.what not in ("profile", "cr"):
            yield job_of_object(item, settings)
            return
        with suppress(BoundExceeded):  # it was told the first time
            for plan in plans(item, settings, self._reader):
                if plan.lowered:
                    yield job_of(plan, settings, self._before)

    def _read(self, first: Origin) -> tuple[str, tuple[Item, ...]]:
        """The text and the items of a file; the last files that were asked for are kept."""
        there = self._files.pop(first, None)
        if there is None:
            source = self._reread(first.file)
            if first.text is not None and hash(source.text) != first.text:
                raise changed(first.file)
            there = source.text, tuple(items(source))
            self._room -= len(source.text)
        self._files[first] = there
        while self._room < 0 and len(self._files) > MOST_FILES:
            self._room += len(self._files.pop(next(iter(self._files)))[0])
        return there


def job_of(plan: Plan, settings: Settings, before: Before | None) -> Job:
    """A plan as policies see it, beside what it was ``before``."""
    was = former(plan, before) if before is not None else None
    inventory, version, gitops = plan.inventory, settings.k8s_version, settings.gitops
    return Job(plan.cr, plan.groups, plan.profile, inventory, version, gitops, before is not None, was)


def job_of_object(item: Item, settings: Settings) -> Job:
    """A Kubernetes object as policies see it."""
    return Job(None, (Group(item.doc),), version=settings.k8s_version, gitops=settings.gitops)
