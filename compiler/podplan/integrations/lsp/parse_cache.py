"""Bases and inventories that were read before: parsed once, and not at every key, while they are the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b

from podplan.core.typing import NamedTuple
from podplan.workspace import Reader
from podplan.workspace.file_loader import content_of
from podplan.yaml import Source, read

MOST_KEPT = 16 * 1024 * 1024  # bytes of the files that are kept parsed, which takes twenty times as much


class _Parsed(NamedTuple):
    digest: bytes
    size: int
    source: Source


class Kept:
    """What readers share from one key to the next."""

    def __init__(self) -> None:
        self._parsed: dict[str, _Parsed] = {}  # the last of them is the one that was asked for last

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


class _KeepingReader(Reader):
    def __init__(self, kept: Kept, exclude: Sequence[str], instead: Mapping[str, str]) -> None:
        super().__init__(exclude=exclude, instead=instead)
        self._kept = kept

    def source(self, root: str, path: str) -> Source:
        if path not in self._sources:
            self._sources[path] = self._kept.source(content_of(root, path, self.instead), path)
        return super().source(root, path)
