"""The documents that an editor has open, and how files are called: URIs there, paths here."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from podplan.core.typing import NamedTuple

MAX_CHECKED = 512 * 1024  # characters of all documents that are checked together: a key must not take long
MAX_DOCUMENTS = 200  # that are checked together
_SURROGATE = re.compile("[\ud800-\udfff]")


class Open(NamedTuple):
    """A document as the editor has it, saved or not; ``path`` is absolute, ``real`` is without links."""

    uri: str
    path: str
    real: str
    version: int | None
    text: str


def path_of(uri: str) -> str | None:
    """The path of a file: URI, None for any other."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or "\0" in unquote(parts.path):
        return None
    return os.path.abspath(url2pathname(parts.path))


def uri_of(path: str) -> str:
    """The file: URI of a path, percent-encoded."""
    return Path(os.path.abspath(path)).as_uri()


def clean(text: str) -> str:
    """A text without halves of surrogate pairs, which JSON may have and UTF-8 may not."""
    return _SURROGATE.sub("\ufffd", text)


class Documents:
    """The open documents by path, and their texts in the place of files."""

    def __init__(self) -> None:
        self.open: dict[str, Open] = {}
        self._touched: dict[str, None] = {}  # paths, what changed last at the end
        self._names: dict[str, list[str]] = {}  # the paths of documents by the real path of their file

    def put(self, uri: str, version: int | None, text: str) -> Open | None:
        """A document opened or changed; None where it is no file."""
        path = path_of(uri)
        if path is None:
            return None
        before = self.open.get(path)
        real = before.real if before is not None else os.path.realpath(path)
        if before is None:
            self._names.setdefault(real, []).append(path)
        self.open[path] = Open(uri, path, real, version, clean(text))
        self._touched.pop(path, None)
        self._touched[path] = None
        return self.open[path]

    def drop(self, uri: str) -> None:
        """A document closed: its file counts again."""
        closed = self.open.pop(path_of(uri) or "", None)
        if closed is None:
            return
        del self._touched[closed.path]
        self._names[closed.real].remove(closed.path)
        if not self._names[closed.real]:
            del self._names[closed.real]

    def get(self, uri: str) -> Open | None:
        """The document, if it is open."""
        return self.open.get(path_of(uri) or "")

    def instead(self) -> dict[str, str]:
        """The texts that take the place of files, by every path that a file is called by."""
        texts = {real: self.open[names[-1]].text for real, names in self._names.items()}
        return texts | {one.path: one.text for one in self.open.values()}

    def uri(self, path: str) -> str:
        """How the editor calls a file: as it opened it, else by its path."""
        found = self.open.get(self.called(path))
        return found.uri if found is not None else uri_of(path)

    def called(self, path: str) -> str:
        """A path as an open document has it, if it is one of them under another name."""
        if path in self.open:
            return path
        names = self._names.get(os.path.realpath(path))
        return names[-1] if names else path

    def left_out(self) -> dict[str, str]:
        """The documents that are not checked as somebody types, and why: what changed last has room first."""
        left: dict[str, str] = {}
        room, checked = MAX_CHECKED, 0
        for path in reversed(self._touched):
            size = len(self.open[path].text)
            if too_long(self.open[path]):
                left[path] = f"it has {size:,} characters, more than {MAX_CHECKED:,}"
            elif checked == MAX_DOCUMENTS or size > room:
                left[path] = "many documents are open; it is checked once it changes"
            else:
                room -= size
                checked += 1
        return left


def too_long(document: Open) -> bool:
    """Whether a document is too long to be checked or parsed as somebody types."""
    return len(document.text) > MAX_CHECKED
