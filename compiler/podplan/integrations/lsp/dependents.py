"""The profiles below a root that extend a file, so that a base is checked through them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from podplan.core.limits import BoundExceeded
from podplan.core.typing import NamedTuple
from podplan.integrations.lsp.documents import MAX_CHECKED
from podplan.workspace.documents import items
from podplan.workspace.files import OutsideRoot, beside, files_below, read_inside, why_no_path
from podplan.yaml import read

MAX_FILES = 5_000  # of a root that are looked into
MAX_DEPENDENTS = 20  # more would take longer than somebody waits for a key


class Extending(NamedTuple):
    """A file whose profiles extend others: digest and size of its content, and the real paths of those."""

    digest: bytes
    size: int
    bases: tuple[str, ...]


def extending(root: str, exclude: Sequence[str], known: Mapping[str, Extending]) -> dict[str, Extending]:
    """The files below a root that extend others, by their paths; those that are still as ``known`` are not
    parsed again."""
    from hashlib import blake2b

    found: dict[str, Extending] = {}
    for number, file in enumerate(files_below(root, exclude, [])):
        if number >= MAX_FILES:
            break
        try:
            content = read_inside(root, file)
            if b"extends" not in content:
                continue
            digest = blake2b(content, digest_size=16).digest()
            before = known.get(file)
            if before is None or before.digest != digest:
                before = Extending(digest, len(content), tuple(_bases(content, file)))
            found[file] = before
        except (OSError, OutsideRoot, BoundExceeded):
            continue
    return found


def dependents(path: str, of_root: Mapping[str, Extending]) -> tuple[str, ...]:
    """The files that extend the one at ``path``, at first hand or through others: at most ``MAX_DEPENDENTS``,
    and ``MAX_CHECKED`` bytes of them."""
    extended: dict[str, list[str]] = {}
    for file, one in of_root.items():
        for base in one.bases:
            extended.setdefault(base, []).append(file)
    found: dict[str, None] = {}
    room = MAX_CHECKED
    waiting = [os.path.realpath(path)]
    while waiting:
        for file in extended.get(waiting.pop(), ()):
            if file not in found and len(found) < MAX_DEPENDENTS and of_root[file].size <= room:
                room -= of_root[file].size
                found[file] = None
                waiting.append(os.path.realpath(file))
    return tuple(found)


def _bases(content: bytes, file: str) -> Iterator[str]:
    """The real path of each file that one of these profiles extends."""
    for item in items(read(content, file)):
        spec = item.doc.data.get("spec") if item.what in ("profile", "base") else None
        listed = spec.get("extends") if isinstance(spec, dict) else None
        for reference in listed if isinstance(listed, list) else ():
            if isinstance(reference, str) and not (os.path.isabs(reference) or why_no_path(reference)):
                yield os.path.realpath(beside(file, reference))
