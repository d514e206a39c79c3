"""The documents that an editor has open, and how files are called: URIs there, paths here."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from podplan.typing import NamedTuple

_SURROGATE = re.compile("[\ud800-\udfff]")


class Open(NamedTuple):
    """A document as the editor has it, saved or not; ``path`` is absolute."""

    uri: str
    path: str
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

    def put(self, uri: str, version: int | None, text: str) -> Open | None:
        """A document opened or changed; None where it is no file."""
        path = path_of(uri)
        if path is None:
            return None
        self.open[path] = Open(uri, path, version, clean(text))
        return self.open[path]

    def drop(self, uri: str) -> None:
        """A document closed: its file counts again."""
        self.open.pop(path_of(uri) or "", None)

    def get(self, uri: str) -> Open | None:
        """The document, if it is open."""
        return self.open.get(path_of(uri) or "")

    def instead(self) -> dict[str, str]:
        """The texts that take the place of files, by every path that a file is called by."""
        texts = {os.path.realpath(one.path): one.text for one in self.open.values()}
        return texts | {one.path: one.text for one in self.open.values()}

    def uri(self, path: str) -> str:
        """How the editor calls a file: as it opened it, else by its path."""
        if path in self.open:
            return self.open[path].uri
        real = os.path.realpath(path)
        return next(
            (one.uri for one in self.open.values() if os.path.realpath(one.path) == real), uri_of(path)
        )
