"""The documents that an editor has open, and how files are called: URIs there, paths here."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from podplan.core.typing import NamedTuple

MAX_CHECKED_CHARACTERS = (
    512 * 1024
)  # characters of all documents that are checked together: a key must not take long
MAX_CHECKED_DOCUMENTS = 200  # that are checked together
_SURROGATE = re.compile("[\ud800-\udfff]")


class OpenDocument(NamedTuple):
    """A document as the editor has it, saved or not; ``path`` is absolute, ``real`` is without links."""

    uri: str
    path: str
    real_path: str
    version: int | None
    text: str


def uri_to_path(uri: str) -> str | None:
    """The path of a file: URI, None for any other."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or "\0" in unquote(parts.path):
        return None
    return os.path.abspath(url2pathname(parts.path))


def path_to_uri(path: str) -> str:
    """The file: URI of a path, percent-encoded."""
    return Path(os.path.abspath(path)).as_uri()


def replace_surrogates(text: str) -> str:
    """A text without halves of surrogate pairs, which JSON may have and UTF-8 may not."""
    return _SURROGATE.sub("\ufffd", text)


class OpenDocuments:
    """The open documents by path, and their texts in the place of files."""

    def __init__(self) -> None:
        self.by_path: dict[str, OpenDocument] = {}
        self._paths_by_change: dict[str, None] = {}  # paths, what changed last at the end
        self._paths_by_real_path: dict[
            str, list[str]
        ] = {}  # the paths of documents by the real path of their file

    def put(self, uri: str, version: int | None, text: str) -> OpenDocument | None:
        """A document opened or changed; None where it is no file."""
        path = uri_to_path(uri)
        if path is None:
            return None
        previous = self.by_path.get(path)
        real = previous.real_path if previous is not None else os.path.realpath(path)
        if previous is None:
            self._paths_by_real_path.setdefault(real, []).append(path)
        self.by_path[path] = OpenDocument(uri, path, real, version, replace_surrogates(text))
        self._paths_by_change.pop(path, None)
        self._paths_by_change[path] = None
        return self.by_path[path]

    def remove(self, uri: str) -> None:
        """A document closed: its file counts again."""
        closed = self.by_path.pop(uri_to_path(uri) or "", None)
        if closed is None:
            return
        del self._paths_by_change[closed.path]
        self._paths_by_real_path[closed.real_path].remove(closed.path)
        if not self._paths_by_real_path[closed.real_path]:
            del self._paths_by_real_path[closed.real_path]

    def get(self, uri: str) -> OpenDocument | None:
        """The document, if it is open."""
        return self.by_path.get(uri_to_path(uri) or "")

    def unsaved_texts(self) -> dict[str, str]:
        """The texts that take the place of files, by every path that a file is called by."""
        texts = {real: self.by_path[names[-1]].text for real, names in self._paths_by_real_path.items()}
        return texts | {one.path: one.text for one in self.by_path.values()}

    def uri(self, path: str) -> str:
        """How the editor calls a file: as it opened it, else by its path."""
        document = self.by_path.get(self.resolve_open_path(path))
        return document.uri if document is not None else path_to_uri(path)

    def resolve_open_path(self, path: str) -> str:
        """A path as an open document has it, if it is one of them under another name."""
        if path in self.by_path:
            return path
        names = self._paths_by_real_path.get(os.path.realpath(path))
        return names[-1] if names else path

    def list_skipped(self) -> dict[str, str]:
        """The documents that are not checked as somebody types, and why: what changed last has room first."""
        skipped: dict[str, str] = {}
        remaining, checked = MAX_CHECKED_CHARACTERS, 0
        for path in reversed(self._paths_by_change):
            size = len(self.by_path[path].text)
            if is_too_long(self.by_path[path]):
                skipped[path] = f"it has {size:,} characters, more than {MAX_CHECKED_CHARACTERS:,}"
            elif checked == MAX_CHECKED_DOCUMENTS or size > remaining:
                skipped[path] = "many documents are open; it is checked once it changes"
            else:
                remaining -= size
                checked += 1
        return skipped


def is_too_long(document: OpenDocument) -> bool:
    """Whether a document is too long to be checked or parsed as somebody types."""
    return len(document.text) > MAX_CHECKED_CHARACTERS
