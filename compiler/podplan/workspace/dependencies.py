"""The files and folders that a run depends on, recorded while it reads them.

A trace has a digest of every file that was read, of every folder that was listed, and the root that was found
above them. What cannot be told so briefly makes it useless, and nothing is kept of the run.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

_open: list[Trace] = []
# A run that reads fewer files is faster than a look into the cache.
FEWEST_FILES = 10
UNREADABLE = ""  # the answer of a folder that cannot be listed


class Trace:
    """The answers by what was asked: (root, file), and folder; ``useless`` where some are not in it."""

    def __init__(self) -> None:
        self.files: dict[tuple[str, str], str] = {}
        self.folders: dict[str, str] = {}
        self.useless = False

    def add(self, other: Trace) -> None:
        """Takes over what was asked in another process."""
        for asked, answer in other.files.items():
            self.useless |= self.files.setdefault(asked, answer) != answer
        for folder, listed in other.folders.items():
            self.useless |= self.folders.setdefault(folder, listed) != listed
        self.useless |= other.useless


@contextmanager
def traced() -> Iterator[Trace]:
    """Traces what is read while this lasts."""
    trace = Trace()
    _open.append(trace)
    try:
        yield trace
    finally:
        _open.remove(trace)


def trace_anew() -> Trace | None:
    """In a process of its own: traces what is read from now on instead of before, if anything is traced."""
    if not _open:
        return None
    _open[:] = [Trace()]
    return _open[0]


def note_other(trace: Trace) -> None:
    """What was asked in another process was asked."""
    for mine in _open:
        mine.add(trace)


def note_file(root: str, path: str, content: bytes | Exception) -> None:
    """A file below a root was read, or could not be."""
    for trace in _open:
        digest = digest_file(path, content)
        trace.useless |= trace.files.setdefault((root, path), digest) != digest  # it changed meanwhile


def note_folder(folder: str, entries: Iterable[os.DirEntry[str]]) -> None:
    """A folder was listed."""
    for trace in _open:
        digest = digest_folder(entries)
        trace.useless |= trace.folders.setdefault(folder, digest) != digest


def note_unreadable(folder: str) -> None:
    """A folder could not be listed."""
    for trace in _open:
        trace.useless |= trace.folders.setdefault(folder, UNREADABLE) != UNREADABLE


def note_unknown() -> None:
    """Something was asked that a trace cannot tell."""
    for trace in _open:
        trace.useless = True


def digest_folder(entries: Iterable[os.DirEntry[str]]) -> str:
    told = sorted((entry.name, _kind(entry)) for entry in entries)
    return _digest("\0".join(f"{name}/{kind}" for name, kind in told).encode(errors="surrogateescape"))


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        with suppress(OSError):  # a folder that can be listed and not entered
            return f"link to {os.readlink(entry.path)}"
        return "link"
    return "folder" if entry.is_dir() else "file"


def digest_file(path: str, content: bytes | Exception) -> str:
    """What a file holds, or what is said of it, and where a link leads: what is said goes by that, too."""
    said = f"{type(content).__name__}: {content}" if isinstance(content, Exception) else _digest(content)
    return f"{said} in {os.path.realpath(path)}" if os.path.islink(path) else said


def _digest(content: bytes) -> str:
    from hashlib import blake2b

    return blake2b(content, digest_size=16).hexdigest()
