"""The files of a revision, extracted to a temporary folder that is read like a checkout."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from podplan.core.errors import UsageError
from podplan.core.limits import (
    MAX_FILE_BYTES,
    MAX_REVISION_BYTES,
    MAX_REVISION_FILES,
    LimitExceeded,
    limit_exceeded,
)
from podplan.core.typing import IO, NamedTuple
from podplan.workspace.revisions.git import GitError, run_git

READABLE_SUFFIXES = (".yaml", ".yml", ".toml", ".json")  # the files of a repository that podplan may read
LINK_MODE = "120000"
FILE_MODES = ("100644", "100755", "100664")
MAX_FOLDERS = 256  # nested folders; Python removes trees recursively, and fails for many more


class TreeEntry(NamedTuple):
    """A file or a symbolic link of a revision: mode, object name of its blob, size, path."""

    mode: str
    blob: str
    size: int
    path: str


@contextmanager
def extract_tree(
    root: str, commit: str, excluded: Collection[str] = (), all_files: bool = False
) -> Iterator[str]:
    """Yield a temporary folder with the files of a commit that podplan may read, usable as a root.

    Symbolic links stay links, so that readers decide whether they lead outside. Submodules are skipped.
    ``commit`` is a full hash; ``excluded`` are paths to skip. ``all_files`` extracts what other tools may
    read, too, such as the files of a ConfigMap.

    Raises UsageError: if git fails. Raises LimitExceeded: if the revision is too big.
    """
    import tempfile

    entries = [entry for entry in _list_entries(root, commit, all_files) if entry.path not in excluded]
    with tempfile.TemporaryDirectory(prefix="podplan-") as folder, tempfile.TemporaryFile() as objects:
        top = os.path.join(os.path.realpath(folder), "tree")
        os.makedirs(os.path.join(top, ".git"))
        try:
            blob_names = "".join(f"{entry.blob}\n" for entry in entries).encode()
            run_git(root, "cat-file", "--batch", input_bytes=blob_names, output_file=objects)
        except GitError as error:
            raise UsageError(_explain_missing_objects(commit, error.output)) from None
        objects.seek(0)
        for entry in entries:
            _write_entry(top, entry, _read_object(objects, commit))
        yield top


def _list_entries(root: str, commit: str, all_files: bool) -> list[TreeEntry]:
    try:
        output = os.fsdecode(run_git(root, "ls-tree", "-r", "-z", "-l", "--full-tree", commit))
    except GitError as error:
        raise UsageError(_explain_missing_objects(commit, error.output)) from None
    entries = []
    total = 0
    for line in filter(None, output.split("\0")):
        attributes, _, path = line.partition("\t")
        mode, _, blob, size = attributes.split()
        is_readable = path.endswith(READABLE_SUFFIXES)
        if all_files and not is_readable:
            is_readable = size.isdigit() and int(size) <= MAX_FILE_BYTES
        if mode != LINK_MODE and not (mode in FILE_MODES and is_readable):
            continue
        if any(part.lower() in ("", ".", "..", ".git") for part in path.split("/")):
            raise UsageError(f"{commit[:12]} holds the path {path!a}, which no checkout would make")
        if path.count("/") > MAX_FOLDERS:
            raise LimitExceeded(
                f"{commit[:12]} holds a file in {path.count('/'):,} folders within one another, and at most"
                f" {MAX_FOLDERS} are read"
            )
        entry = TreeEntry(mode, blob, int(size) if size.isdigit() else 0, path)
        if mode == LINK_MODE and entry.size > os.pathconf("/", "PC_PATH_MAX"):
            continue
        total += entry.size
        entries.append(entry)
    if len(entries) > MAX_REVISION_FILES:
        raise LimitExceeded(
            _explain_size_limit(commit, "revision-files", f"{len(entries):,} files that could be read")
        )
    if total > MAX_REVISION_BYTES:
        raise LimitExceeded(
            _explain_size_limit(commit, "revision-bytes", f"{total:,} bytes in files that could be read")
        )
    # Links come last: no file may be written through a link.
    return sorted(entries, key=lambda entry: entry.mode == LINK_MODE)


def _explain_size_limit(commit: str, limit: str, subject: str) -> str:
    return limit_exceeded(
        limit, f"{commit[:12]} has {subject}; compare smaller parts of the repository as two folders"
    )


def _read_object(objects: IO[bytes], commit: str) -> bytes:
    """Return the content of the next object of ``cat-file --batch``: a header line, its bytes, and a
    newline."""
    header = objects.readline().split()
    if len(header) != 3 or header[1] != b"blob":
        raise UsageError(_explain_missing_objects(commit, "an object is missing"))
    content = objects.read(int(header[2]))
    objects.read(1)
    return content


def _write_entry(top: str, entry: TreeEntry, content: bytes) -> None:
    path = os.path.join(top, entry.path)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if entry.mode == LINK_MODE:
            os.symlink(content, os.fsencode(path))
        else:
            with open(path, "xb") as file:
                file.write(content)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise UsageError(f"{entry.path!a} of that revision cannot be written: {reason}") from None


def _explain_missing_objects(commit: str, output: str) -> str:
    return (
        f"the files of {commit[:12]} are not all in this clone ({output});"
        " if it is a partial one, fetch them: git fetch --refetch --no-filter"
    )
