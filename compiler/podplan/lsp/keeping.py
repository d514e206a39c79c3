"""Bases and inventories that were read before: parsed once, and not at every key, while they are the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b

from podplan.provenance import Doc
from podplan.reading import Reader
from podplan.reading.files import root_of
from podplan.reading.opening import content_of
from podplan.source import Source, read
from podplan.typing import NamedTuple

MOST_KEPT = 16 * 1024 * 1024  # bytes of the files that are kept parsed, which takes twenty times as much


class _Parsed(NamedTuple):
    digest: bytes
    size: int
    source: Source


class Kept:
    """What readers share from one key to the next."""

    def __init__(self) -> None:
        self._parsed: dict[str, _Parsed] = {}  # the last of them is the one that was asked for last
        self._without: set[str] = set()  # roots below which there is no inventory

    def forget(self) -> None:
        """Files have come or gone: inventories are looked for again. A text is compared in any case."""
        self._without.clear()

    def reader(self, exclude: Sequence[str], instead: Mapping[str, str]) -> Reader:
        """A Reader for one check; ``exclude`` and ``instead`` are those of a Reader."""
        return _KeepingReader(self, exclude, instead)

    def source(self, content: bytes, path: str) -> Source:
        """The file at ``path``, which has this content. Raises BoundExceeded."""
        digest = blake2b(content, digest_size=16).digest()
        known = self._parsed.pop(path, None)
        if known is None or known.digest != digest:
            known = _Parsed(digest, len(content), read(content, path))
        self._parsed[path] = known
        room = MOST_KEPT - sum(one.size for one in self._parsed.values())
        while room < 0:
            room += self._parsed.pop(next(iter(self._parsed))).size
        return known.source

    def has_no_inventory(self, root: str) -> bool:
        """Whether none was found below a root since files last came or went."""
        return root in self._without

    def note_none(self, root: str) -> None:
        """There is no inventory below a root."""
        self._without.add(root)


class _KeepingReader(Reader):
    def __init__(self, kept: Kept, exclude: Sequence[str], instead: Mapping[str, str]) -> None:
        super().__init__(exclude=exclude, instead=instead)
        self._kept = kept

    def source(self, root: str, path: str) -> Source:
        if path not in self._sources:
            self._sources[path] = self._kept.source(content_of(root, path, self.instead), path)
        return super().source(root, path)

    def inventory_for(self, doc: Doc, named: str = "") -> Doc | None:
        root = root_of(doc.source.file if doc.source is not None else doc.name)
        typed = any("ClusterInventory" in text for text in self.instead.values())
        if not named and not typed and self._kept.has_no_inventory(root):
            return None
        found = super().inventory_for(doc, named)
        if found is None:
            self._kept.note_none(root)
        return found
