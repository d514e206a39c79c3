"""Jobs made again from the text of their file: the way from a text to a job is a pure function.

So a run keeps no more of a job than where it came from.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache

from podplan.checking.before import Before, former
from podplan.groups import Group
from podplan.limits import BoundExceeded
from podplan.lint.subject import Job
from podplan.pipeline import Plan, Settings, plans
from podplan.reading import Reader
from podplan.reading.documents import Item, items
from podplan.source import read
from podplan.typing import NamedTuple

# As many of the last are kept; what many findings point at is then not made for each of them.
FILES, ITEMS, JOBS = 2, 2, 16


class Origin(NamedTuple):
    """Where a job came from: a file and its text, which item of the file, which job of the item; from 0."""

    file: str
    text: str
    item: int
    job: int = 0


class Again:
    """Items and jobs by where they came from."""

    def __init__(self, settings: Settings, reader: Reader, before: Before | None) -> None:
        self._settings, self._reader, self._before = settings, reader, before
        self.job = lru_cache(JOBS)(self._job)
        self._jobs_of = lru_cache(ITEMS)(self._made)
        self._items = lru_cache(FILES)(_items)

    def item(self, origin: Origin) -> Item:
        """The item that a job is of."""
        return self._items(origin.file, origin.text)[origin.item]

    def _job(self, origin: Origin) -> Job:
        return self._jobs_of(origin._replace(job=0))[origin.job]

    def _made(self, origin: Origin) -> tuple[Job, ...]:
        item, made = self.item(origin), list[Job]()
        if item.what not in ("profile", "cr"):
            return (job_of_object(item, self._settings),)
        with suppress(BoundExceeded):  # it was told the first time
            made += (
                job_of(plan, self._settings, self._before)
                for plan in plans(item, self._settings, self._reader)
                if plan.lowered
            )
        return tuple(made)


def _items(file: str, text: str) -> tuple[Item, ...]:
    return tuple(items(read(text.encode(), file)))


def job_of(plan: Plan, settings: Settings, before: Before | None) -> Job:
    """A plan as policies see it, beside what it was ``before``."""
    was = former(plan, before) if before is not None else None
    inventory, version, gitops = plan.inventory, settings.k8s_version, settings.gitops
    return Job(plan.cr, plan.groups, plan.profile, inventory, version, gitops, before is not None, was)


def job_of_object(item: Item, settings: Settings) -> Job:
    """A Kubernetes object as policies see it."""
    return Job(None, (Group(item.doc),), version=settings.k8s_version, gitops=settings.gitops)
