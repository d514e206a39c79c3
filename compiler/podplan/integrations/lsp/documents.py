"""The open documents of an editor, and the mapping between URIs and paths."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from podplan.core.typing import NamedTuple

MAX_CHECKED_CHARACTERS = (
    512 * 1024
)  # total characters of the documents that are checked together, for a fast answer
MAX_CHECKED_DOCUMENTS = 200  # that are checked together
_SURROGATE = re.compile("[\ud800-\udfff]")


class OpenDocument(NamedTuple):
    """A document in the editor, saved or not; ``path`` is absolute, ``real_path`` has links resolved."""

    uri: str
    path: str
    real_path: str
    version: int | None
    text: str


def uri_to_path(uri: str) -> str | None:
    """Return the path of a file: URI, None for any other URI."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or "\0" in unquote(parts.path):
        return None
    return os.path.abspath(url2pathname(parts.path))


def path_to_uri(path: str) -> str:
    """Return the percent-encoded file: URI of a path."""
    return Path(os.path.abspath(path)).as_uri()


def replace_surrogates(text: str) -> str:
    """Replace halves of surrogate pairs, which JSON may contain and UTF-8 may not."""
    return _SURROGATE.sub("\ufffd", text)


class OpenDocuments:
    """The open documents by path, and their unsaved texts."""

    def __init__(self) -> None:
        self.by_path: dict[str, OpenDocument] = {}
        self._paths_by_change: dict[str, None] = {}  # paths, the last changed one at the end
        self._paths_by_real_path: dict[
            str, list[str]
        ] = {}  # the paths of documents by the real path of their file

    def put(self, uri: str, version: int | None, text: str) -> OpenDocument | None:
        """Open or change a document; None if it is no file."""
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
        """Close a document, so that its file is used again."""
        closed = self.by_path.pop(uri_to_path(uri) or "", None)
        if closed is None:
            return
        del self._paths_by_change[closed.path]
        self._paths_by_real_path[closed.real_path].remove(closed.path)
        if not self._paths_by_real_path[closed.real_path]:
            del self._paths_by_real_path[closed.real_path]

    def get(self, uri: str) -> OpenDocument | None:
        """Return the document, if it is open."""
        return self.by_path.get(uri_to_path(uri) or "")

    def unsaved_texts(self) -> dict[str, str]:
        """The unsaved texts, by every path of a file."""
        texts = {real: self.by_path[names[-1]].text for real, names in self._paths_by_real_path.items()}
        return texts | {one.path: one.text for one in self.by_path.values()}

    def uri(self, path: str) -> str:
        """Return the URI of a file: as the editor opened it, else from its path."""
        document = self.by_path.get(self.resolve_open_path(path))
        return document.uri if document is not None else path_to_uri(path)

    def resolve_open_path(self, path: str) -> str:
        """Return the path under which a file is open, if it is open under another name."""
        if path in self.by_path:
            return path
        names = self._paths_by_real_path.get(os.path.realpath(path))
        return names[-1] if names else path

    def list_skipped(self) -> dict[str, str]:
        """Return the documents that are not checked while typing, with the reason; recently changed ones
        are checked first."""
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
    """Whether a document is too long to be checked or parsed while typing."""
    return len(document.text) > MAX_CHECKED_CHARACTERS
