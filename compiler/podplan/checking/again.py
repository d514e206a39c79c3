"""Jobs made again from the text of their file: the way from a text to a job is a pure function.

So a run keeps no more of a job than where it came from. A file that is read again and is not what it was is
refused: what was said of it may not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, lru_cache

from podplan.checking.before import Before, former
from podplan.checking.rows import Origin
from podplan.groups import Group
from podplan.limits import BoundExceeded
from podplan.lint.subject import Job
from podplan.pipeline import Plan, Settings, plans
from podplan.reading import Reader
from podplan.reading.documents import Item, items
from podplan.reading.opening import changed
from podplan.source import Source

# A file by its name, read again.
Reread = Callable[[str], Source]


class Again:
    """Items and jobs by where they came from.

    A job is made once, since several findings may point at it: what is kept grows with what they point at.
    """

    def __init__(self, settings: Settings, reader: Reader, before: Before | None, reread: Reread) -> None:
        self._settings, self._reader, self._before, self._reread = settings, reader, before, reread
        self._jobs_of = cache(self._made)
        self._read_once = cache(self._read)
        self._read_last = lru_cache(1)(self._read)
        self._texts: dict[str, str] = {}

    def texts(self, files: Iterable[str]) -> dict[str, str]:
        """The texts of those of ``files`` that jobs were made again from."""
        return {file: self._texts[file] for file in files if file in self._texts}

    def item(self, origin: Origin) -> tuple[Item, str]:
        """An item of a file, whose items are asked for one after the other, and the text of the file.

        Raises RequestError.
        """
        text, found = self._read_last(origin._replace(item=0))
        return found[origin.item], text

    def job(self, origin: Origin) -> Job:
        """The job that came from there. Raises RequestError."""
        return self._jobs_of(origin._replace(job=0))[origin.job]

    def _made(self, origin: Origin) -> tuple[Job, ...]:
        text, found = self._read_once(origin._replace(item=0))
        self._texts[origin.file] = text
        item, made = found[origin.item], list[Job]()
        if item.what not in ("profile", "cr"):
            return (job_of_object(item, self._settings),)
        with suppress(BoundExceeded):  # it was told the first time
            for plan in plans(item, self._settings, self._reader):
                if plan.lowered:
                    made.append(job_of(plan, self._settings, self._before))
        return tuple(made)

    def _read(self, first: Origin) -> tuple[str, tuple[Item, ...]]:
        source = self._reread(first.file)
        if first.text is not None and hash(source.text) != first.text:
            raise changed(first.file)
        return source.text, tuple(items(source))


def job_of(plan: Plan, settings: Settings, before: Before | None) -> Job:
    """A plan as policies see it, beside what it was ``before``."""
    was = former(plan, before) if before is not None else None
    inventory, version, gitops = plan.inventory, settings.k8s_version, settings.gitops
    return Job(plan.cr, plan.groups, plan.profile, inventory, version, gitops, before is not None, was)


def job_of_object(item: Item, settings: Settings) -> Job:
    """A Kubernetes object as policies see it."""
    return Job(None, (Group(item.doc),), version=settings.k8s_version, gitops=settings.gitops)
