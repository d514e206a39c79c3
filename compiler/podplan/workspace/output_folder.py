"""What lies in one folder that files are written into, and how each begins; no link is followed."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from podplan.core.errors import RequestError
from podplan.workspace.files import SUFFIXES, OutsideRoot, read_inside

_HEAD = 4096


class Entry(NamedTuple):
    """Something in a folder: the first bytes of a regular file, or in words what it is instead."""

    head: bytes = b""
    is_not: str = ""


def entries(folder: str) -> dict[str, Entry]:
    """The YAML files of a folder, and what is called like one, by name; none where there is no folder.

    Raises NotADirectoryError, RequestError for a folder that cannot be read, and OutsideRoot where it leads
    out of its repository.
    """
    demand_inside(folder)
    try:
        with os.scandir(folder) as scan:
            names = sorted(entry.name for entry in scan if entry.name.endswith(SUFFIXES))
        return {name: _entry(os.path.join(folder, name)) for name in names}
    except FileNotFoundError:
        return {}
    except NotADirectoryError:
        raise
    except OSError as error:
        raise RequestError(f"cannot read {folder}: {(error.strerror or str(error)).lower()}") from None


def content(folder: str, name: str) -> bytes:
    """The bytes of a regular file in a folder. Raises BoundExceeded and RequestError."""
    path = os.path.join(folder, name)
    try:
        return read_inside(folder, path)
    except (OSError, OutsideRoot) as error:
        raise RequestError(f"cannot read {path}: {error}") from None


def demand_inside(folder: str) -> None:
    """Raises OutsideRoot for a folder in a repository that links lead out of it."""
    root = os.path.dirname(os.path.abspath(folder))
    while not os.path.exists(os.path.join(root, ".git")):
        if os.path.dirname(root) == root:
            return
        root = os.path.dirname(root)
    root = os.path.realpath(root)
    if os.path.commonpath((os.path.realpath(folder), root)) != root:
        raise OutsideRoot(folder, "leads out of the repository")


def _entry(path: str) -> Entry:
    mode = os.lstat(path).st_mode
    if not stat.S_ISREG(mode):
        is_not = (
            "a link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "not a regular file"
        )
        return Entry(is_not=is_not)
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as stream:
        return Entry(stream.read(_HEAD))
