"""The files of a revision, as a temporary folder that is read like a checkout."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from podplan.core.errors import RequestError
from podplan.core.limits import MAX_REVISION_BYTES, MAX_REVISION_FILES, BoundExceeded, beyond
from podplan.core.typing import IO, NamedTuple
from podplan.workspace.revisions.git import GitFailed, git

READ = (".yaml", ".yml", ".toml", ".json")  # what podplan may read of a repository
LINK = "120000"
FILES = ("100644", "100755", "100664")
MAX_FOLDERS = 256  # within one another; Python removes a tree of many more by recursion, and fails


class Entry(NamedTuple):
    """A file or a symbolic link of a revision: its mode, the object that holds it, its size, its path."""

    mode: str
    blob: str
    size: int
    path: str


@contextmanager
def tree(root: str, commit: str, without: Collection[str] = ()) -> Iterator[str]:
    """A temporary folder with what podplan may read of a commit; a root for ``reading.files.root_of``.

    Symbolic links are links again, so that whoever reads them judges where they lead. Submodules are left
    out, as they are in a checkout without them. ``commit`` is a full name, as ``commit_of`` and ``base_of``
    give it; ``without`` are paths to leave out. Raises RequestError, and BoundExceeded for a revision that is
    too big.
    """
    import tempfile

    entries = [entry for entry in _entries(root, commit) if entry.path not in without]
    with tempfile.TemporaryDirectory(prefix="podplan-") as folder, tempfile.TemporaryFile() as objects:
        top = os.path.join(os.path.realpath(folder), "tree")
        os.makedirs(os.path.join(top, ".git"))
        try:
            wanted = "".join(f"{entry.blob}\n" for entry in entries).encode()
            git(root, "cat-file", "--batch", given=wanted, into=objects)
        except GitFailed as error:
            raise RequestError(_not_here(commit, error.said)) from None
        objects.seek(0)
        for entry in entries:
            _write(top, entry, _next(objects, commit))
        yield top


def _entries(root: str, commit: str) -> list[Entry]:
    try:
        said = os.fsdecode(git(root, "ls-tree", "-r", "-z", "-l", "--full-tree", commit))
    except GitFailed as error:
        raise RequestError(_not_here(commit, error.said)) from None
    entries = []
    total = 0
    for line in filter(None, said.split("\0")):
        about, _, path = line.partition("\t")
        mode, _, blob, size = about.split()
        if mode != LINK and not (mode in FILES and path.endswith(READ)):
            continue
        if any(part.lower() in ("", ".", "..", ".git") for part in path.split("/")):
            raise RequestError(f"{commit[:12]} holds the path {path!a}, which no checkout would make")
        if path.count("/") > MAX_FOLDERS:
            raise BoundExceeded(
                f"{commit[:12]} holds a file in {path.count('/'):,} folders within one another, and at most"
                f" {MAX_FOLDERS} are read"
            )
        entry = Entry(mode, blob, int(size) if size.isdigit() else 0, path)
        if mode == LINK and entry.size > os.pathconf("/", "PC_PATH_MAX"):
            continue
        total += entry.size
        entries.append(entry)
    if len(entries) > MAX_REVISION_FILES:
        raise BoundExceeded(_too_much(commit, "revision-files", f"{len(entries):,} files that could be read"))
    if total > MAX_REVISION_BYTES:
        raise BoundExceeded(
            _too_much(commit, "revision-bytes", f"{total:,} bytes in files that could be read")
        )
    # Links come last: a file must never be written through one.
    return sorted(entries, key=lambda entry: entry.mode == LINK)


def _too_much(commit: str, limit: str, what: str) -> str:
    return beyond(limit, f"{commit[:12]} has {what}; compare smaller parts of the repository as two folders")


def _next(objects: IO[bytes], commit: str) -> bytes:
    """The content of the next object of ``cat-file --batch``: a line about it, its bytes, and a line end."""
    about = objects.readline().split()
    if len(about) != 3 or about[1] != b"blob":
        raise RequestError(_not_here(commit, "an object is missing"))
    content = objects.read(int(about[2]))
    objects.read(1)
    return content


def _write(top: str, entry: Entry, content: bytes) -> None:
    path = os.path.join(top, entry.path)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if entry.mode == LINK:
            os.symlink(content, os.fsencode(path))
        else:
            with open(path, "xb") as file:
                file.write(content)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise RequestError(f"{entry.path!a} of that revision cannot be written: {reason}") from None


def _not_here(commit: str, said: str) -> str:
    return (
        f"the files of {commit[:12]} are not all in this clone ({said});"
        " if it is a partial one, fetch them: git fetch --refetch --no-filter"
    )
