"""Cache of parsed base profiles and inventories, so that they are not parsed again at every keystroke."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import NamedTuple
from podplan.workspace.content_search import SearchedFolder
from podplan.workspace.file_loader import read_content
from podplan.workspace.loader import Loader
from podplan.workspace.references import DocumentIndex
from podplan.yaml import SourceFile, parse_yaml

MAX_CACHED_BYTES = 16 * 1024 * 1024  # bytes of the cached files, which take twenty times as much parsed


# The lines by which documents are found: separators, kinds, names and namespaces.
_NAMING_LINES = compile_lazily(r"(?m)^(?:---.*|.*\b(?:kind|name|namespace|items|group)\b.*)$")


class _CachedSource(NamedTuple):
    digest: bytes
    size: int
    source: SourceFile


class ParseCache:
    """What the loaders share between checks."""

    def __init__(self) -> None:
        self._sources_by_path: dict[str, _CachedSource] = {}  # the least recently used is first
        self.indexes: dict[tuple[object, ...], DocumentIndex] = {}

    def forget_files(self) -> None:
        """Forget which files exist, because files have changed."""
        self.indexes.clear()

    def create_reader(self, exclude: Sequence[str], unsaved_texts: Mapping[str, str]) -> Loader:
        """Return a Loader for one check, with ``exclude`` and ``unsaved_texts``."""
        return _CachingReader(self, exclude, unsaved_texts)

    def load_source(self, content: bytes, path: str) -> SourceFile:
        """Return the parsed file at ``path``, which has this content.

        Raises LimitExceeded: if it is too big.
        """
        digest = blake2b(content, digest_size=16).digest()
        cached = self._sources_by_path.pop(path, None)
        if cached is None or cached.digest != digest:
            cached = _CachedSource(digest, len(content), parse_yaml(content, path))
        self._sources_by_path[path] = cached
        remaining_bytes = MAX_CACHED_BYTES - sum(one.size for one in self._sources_by_path.values())
        while remaining_bytes < 0:
            remaining_bytes += self._sources_by_path.pop(next(iter(self._sources_by_path))).size
        return cached.source


class _CachingReader(Loader):
    def __init__(self, cache: ParseCache, exclude: Sequence[str], unsaved_texts: Mapping[str, str]) -> None:
        super().__init__(exclude=exclude, unsaved_texts=unsaved_texts)
        self._cache = cache

    def load_source(self, root: str, path: str) -> SourceFile:
        if path not in self._sources:
            self._sources[path] = self._cache.load_source(read_content(root, path, self.unsaved_texts), path)
        return super().load_source(root, path)

    def _build_index(self, root: str, places: Sequence[SearchedFolder]) -> DocumentIndex:
        names_key = self._get_names_key(root)
        key = (names_key, tuple(places))
        if key not in self._cache.indexes:
            current = {one: index for one, index in self._cache.indexes.items() if one[0] == names_key}
            self._cache.indexes = {**current, key: super()._build_index(root, places)}
        return self._cache.indexes[key]

    def _get_names_key(self, root: str) -> tuple[object, ...]:
        """Return a key that stays the same while no line that names a document changes."""
        names = tuple((path, *_NAMING_LINES.findall(text)) for path, text in self.unsaved_texts.items())
        return root, hash(names)
