"""Jobs made again from the text of their file: the way from a text to a job is a pure function.

So a run keeps no more of a job than where it came from, and of its file the text, packed to a third.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from contextlib import suppress
from functools import cache, lru_cache

from podplan.checking.before import Before, former
from podplan.groups import Group
from podplan.limits import BoundExceeded
from podplan.lint.subject import Job
from podplan.pipeline import Plan, Settings, plans
from podplan.reading import Reader
from podplan.reading.documents import Item, items
from podplan.source import read
from podplan.typing import NamedTuple


class Origin(NamedTuple):
    """Where a job came from: a file, which item of the file, which job of the item; from 0."""

    file: str
    item: int
    job: int = 0


class Again:
    """Items and jobs by where they came from.

    A job is made once, since several findings may point at it: what is kept grows with what they point at.
    """

    def __init__(self, settings: Settings, reader: Reader, before: Before | None) -> None:
        self._settings, self._reader, self._before = settings, reader, before
        self._jobs_of = cache(self._made)
        self._items = cache(self._read)
        self._latest = lru_cache(1)(self._read)
        self._packed: dict[str, bytes] = {}

    def keep(self, file: str, text: str) -> None:
        """Keeps the text of a file that jobs came from; each file once, and before they are asked for."""
        self._packed[file] = zlib.compress(text.encode(), 1)

    def texts(self, files: Iterable[str]) -> dict[str, str]:
        """The texts of those of ``files`` that are kept."""
        return {file: self._text(file) for file in files if file in self._packed}

    def item(self, origin: Origin) -> Item:
        """An item of a file, whose items are asked for one after the other."""
        return self._latest(origin.file)[origin.item]

    def job(self, origin: Origin) -> Job:
        """The job that came from there."""
        return self._jobs_of(origin._replace(job=0))[origin.job]

    def _made(self, origin: Origin) -> tuple[Job, ...]:
        item, made = self._items(origin.file)[origin.item], list[Job]()
        if item.what not in ("profile", "cr"):
            return (job_of_object(item, self._settings),)
        with suppress(BoundExceeded):  # it was told the first time
            for plan in plans(item, self._settings, self._reader):
                if plan.lowered:
                    made.append(job_of(plan, self._settings, self._before))
        return tuple(made)

    def _read(self, file: str) -> tuple[Item, ...]:
        return tuple(items(read(self._text(file).encode(), file)))

    def _text(self, file: str) -> str:
        return zlib.decompress(self._packed[file]).decode()


def job_of(plan: Plan, settings: Settings, before: Before | None) -> Job:
    """A plan as policies see it, beside what it was ``before``."""
    was = former(plan, before) if before is not None else None
    inventory, version, gitops = plan.inventory, settings.k8s_version, settings.gitops
    return Job(plan.cr, plan.groups, plan.profile, inventory, version, gitops, before is not None, was)


def job_of_object(item: Item, settings: Settings) -> Job:
    """A Kubernetes object as policies see it."""
    return Job(None, (Group(item.doc),), version=settings.k8s_version, gitops=settings.gitops)
