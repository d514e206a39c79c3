"""The files and folders that a run depends on, recorded while it reads them.

The record has a digest of every file that was read, of every folder that was listed, and the roots that were
found. A dependency that cannot be recorded this way makes the record unusable, and the run is not cached.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from sys import intern

from podplan.core.typing import NamedTuple

_active_records: list[DependencyRecord] = []
# A run that reads fewer files is faster than a lookup in the cache.
MIN_FILES_FOR_CACHE = 10
UNREADABLE = ""  # the digest of a folder that cannot be listed


class DependencyRecord:
    """Digests by (root, file), and by folder; incomplete if a dependency could not be recorded."""

    def __init__(self) -> None:
        self.files: dict[tuple[str, str], str] = {}
        self.folders: dict[str, str] = {}
        self.ignored: dict[tuple[str, str], str] = {}  # by (git top level, folder)
        self.is_incomplete = False

    def merge(self, other: DependencyRecord) -> None:
        """Merge the record of another process."""
        for key, answer in other.files.items():
            self.is_incomplete |= self.files.setdefault(key, answer) != answer
        for folder, listed in other.folders.items():
            self.is_incomplete |= self.folders.setdefault(folder, listed) != listed
        self.ignored.update(other.ignored)
        self.is_incomplete |= other.is_incomplete


@contextmanager
def record_dependencies() -> Iterator[DependencyRecord]:
    """Record what is read inside the ``with`` block."""
    record = DependencyRecord()
    _active_records.append(record)
    try:
        yield record
    finally:
        _active_records.remove(record)


def restart_recording() -> DependencyRecord | None:
    """In a worker process: replace the record of the parent, if it records, by a new one; return that."""
    if not _active_records:
        return None
    _active_records[:] = [DependencyRecord()]
    return _active_records[0]


def merge_record(record: DependencyRecord) -> None:
    """Add the record of a worker process to the current one."""
    for active in _active_records:
        active.merge(record)


def record_file(root: str, path: str, content: bytes | Exception) -> None:
    """Record that a file below a root was read, or could not be."""
    for record in _active_records:
        digest = digest_file(path, content)
        record.is_incomplete |= (
            record.files.setdefault((root, path), digest) != digest
        )  # it changed meanwhile


def record_folder(folder: str, entries: Iterable[os.DirEntry[str]]) -> None:
    """Record that a folder was listed."""
    for record in _active_records:
        digest = digest_folder(entries)
        record.is_incomplete |= record.folders.setdefault(folder, digest) != digest


def record_listing(git_top: str, folder: str, ignored: Iterable[str]) -> None:
    """Record what git ignores below a folder."""
    for record in _active_records:
        record.ignored[git_top, folder] = digest_paths(ignored)


def record_unreadable(folder: str) -> None:
    """Record that a folder could not be listed."""
    for record in _active_records:
        record.is_incomplete |= record.folders.setdefault(folder, UNREADABLE) != UNREADABLE


def record_unknown() -> None:
    """Record a dependency that has no digest, which makes the record unusable."""
    for record in _active_records:
        record.is_incomplete = True


def digest_folder(entries: Iterable[os.DirEntry[str]]) -> str:
    names_and_types = sorted((entry.name, _describe_type(entry)) for entry in entries)
    return _hash_content(
        "\0".join(f"{name}/{kind}" for name, kind in names_and_types).encode(errors="surrogateescape")
    )


def digest_paths(paths: Iterable[str]) -> str:
    """Return a digest of paths, in any order."""
    return _hash_content("\0".join(sorted(paths)).encode(errors="surrogateescape"))


def _describe_type(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        with suppress(OSError):  # the folder can be listed, but not entered
            return f"link to {os.readlink(entry.path)}"
        return "link"
    return "folder" if entry.is_dir() else "file"


def digest_file(path: str, content: bytes | Exception) -> str:
    """Return a digest of the content of a file, or of the error, and of the target of a link, which
    messages show."""
    said = (
        f"{type(content).__name__}: {content}" if isinstance(content, Exception) else _hash_content(content)
    )
    return f"{said} in {os.path.realpath(path)}" if os.path.islink(path) else said


def _hash_content(content: bytes) -> str:
    from hashlib import blake2b

    return blake2b(content, digest_size=16).hexdigest()


class FileReferences(NamedTuple):
    """References that a Loader recorded: which files each file refers to, which are extended, which are
    inventories.

    ``roots`` and ``text_hashes`` have the root of each file that was read, and a hash of its text, to notice
    a change in this run. ``referenced_files`` contain documents that CRs refer to, and the WorkloadMappings
    of their kinds.
    """

    references: dict[str, tuple[str, ...]]
    extended_files: set[str]
    inventory_files: set[str]
    roots: dict[str, str]
    text_hashes: dict[str, int]
    referenced_files: set[str]

    def add_references(self, file: str, referenced: Iterable[str]) -> None:
        """Record that ``file`` refers to files that many others refer to as well."""
        known_references = self.references.get(file, ())
        self.references[file] = (
            *known_references,
            *(intern(one) for one in dict.fromkeys(referenced) if one not in known_references),
        )
