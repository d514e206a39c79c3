"""The contents of an output folder, and the first bytes of each file; no link is followed."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from podplan.core.errors import UsageError
from podplan.workspace.files import YAML_SUFFIXES, OutsideRoot, read_inside_root

_HEAD_LENGTH = 4096


class FolderEntry(NamedTuple):
    """An entry of a folder: the first bytes of a regular file, or the type of anything else in words."""

    head: bytes = b""
    other_type: str = ""


def list_yaml_files(folder: str) -> dict[str, FolderEntry]:
    """List the YAML files of a folder, and other entries with such a name, by name; empty if the folder is
    missing.

    Raises NotADirectoryError: if it is no folder. Raises UsageError: if it cannot be read. Raises
    OutsideRoot: if links lead out of its repository.
    """
    require_folder_inside(folder)
    try:
        with os.scandir(folder) as scan:
            names = sorted(entry.name for entry in scan if entry.name.endswith(YAML_SUFFIXES))
        return {name: _read_entry(os.path.join(folder, name)) for name in names}
    except FileNotFoundError:
        return {}
    except NotADirectoryError:
        raise
    except OSError as error:
        raise UsageError(f"cannot read {folder}: {(error.strerror or str(error)).lower()}") from None


def read_folder_file(folder: str, name: str) -> bytes:
    """Return the bytes of a regular file in a folder. Raises LimitExceeded and UsageError."""
    path = os.path.join(folder, name)
    try:
        return read_inside_root(folder, path)
    except (OSError, OutsideRoot) as error:
        raise UsageError(f"cannot read {path}: {error}") from None


def require_folder_inside(folder: str) -> None:
    """Raise OutsideRoot for a folder in a repository if links lead out of that."""
    root = os.path.dirname(os.path.abspath(folder))
    while not os.path.exists(os.path.join(root, ".git")):
        if os.path.dirname(root) == root:
            return
        root = os.path.dirname(root)
    root = os.path.realpath(root)
    if os.path.commonpath((os.path.realpath(folder), root)) != root:
        raise OutsideRoot(folder, "leads out of the repository")


def _read_entry(path: str) -> FolderEntry:
    mode = os.lstat(path).st_mode
    if not stat.S_ISREG(mode):
        other_type = (
            "a link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "not a regular file"
        )
        return FolderEntry(other_type=other_type)
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as stream:
        return FolderEntry(stream.read(_HEAD_LENGTH))
