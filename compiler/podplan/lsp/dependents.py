"""The profiles below a root that extend a file, so that a base is checked through them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from podplan.limits import BoundExceeded
from podplan.reading.documents import items
from podplan.reading.files import OutsideRoot, beside, expand, in_repository, read_inside, root_of
from podplan.source import read

MAX_FILES = 5_000  # of a root that are looked into
MAX_DEPENDENTS = 20  # more would take longer than somebody waits for a key


def dependents(path: str, text: str, exclude: Sequence[str]) -> tuple[str, ...]:
    """The files of profiles that extend the one at ``path``, at first hand or through others; at most
    ``MAX_DEPENDENTS``. Outside of a repository there are none."""
    if "podplan/" not in text or not in_repository(path):
        return ()
    extended: dict[str, list[str]] = {}
    for file, base in _references(root_of(path), exclude):
        extended.setdefault(base, []).append(file)
    found: dict[str, None] = {}
    waiting = [os.path.realpath(path)]
    while waiting and len(found) < MAX_DEPENDENTS:
        for file in extended.get(waiting.pop(), ()):
            if file not in found and len(found) < MAX_DEPENDENTS:
                found[file] = None
                waiting.append(os.path.realpath(file))
    return tuple(found)


def _references(root: str, exclude: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each file with the real path of a file that it extends."""
    for number, file in enumerate(expand([root], exclude)):
        if number >= MAX_FILES:
            return
        try:
            content = read_inside(root, file)
            if b"extends" not in content:
                continue
            found = list(items(read(content, file)))
        except (OSError, OutsideRoot, BoundExceeded):
            continue
        for item in found:
            spec = item.doc.data.get("spec") if item.what in ("profile", "base") else None
            listed = spec.get("extends") if isinstance(spec, dict) else None
            for reference in listed if isinstance(listed, list) else ():
                if isinstance(reference, str) and not os.path.isabs(reference):
                    yield file, os.path.realpath(beside(file, reference))
