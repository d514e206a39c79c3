"""Whether the files that a run depended on are unchanged, so that its cached result is valid."""

from __future__ import annotations

import os
from collections.abc import Iterable

from podplan.core.limits import LimitExceeded
from podplan.core.typing import Any
from podplan.workspace.dependencies import (
    UNREADABLE,
    DependencyRecord,
    digest_file,
    digest_folder,
    digest_paths,
)
from podplan.workspace.files import OutsideRoot, find_root, is_in_repository, read_inside_root
from podplan.workspace.ignored_files import find_ignored_paths

Told = dict[str, Any]  # a record as JSON


def as_data(trace: DependencyRecord) -> Told:
    """Return a record as plain data, with the current roots."""
    return {
        "files": [[root, path, digest] for (root, path), digest in trace.files.items()],
        "folders": list(map(list, trace.folders.items())),
        "ignored": [[*key, digest] for key, digest in trace.ignored.items()],
        "roots": _roots(path for _, path in trace.files),
    }


def still_true(told: Told) -> bool:
    """Whether all files and folders still have the digests of a record."""
    return (
        all(_folder(folder) == digest for folder, digest in told["folders"])
        and all(_file(root, path) == digest for root, path, digest in told["files"])
        and all(digest_paths(find_ignored_paths(*key)) == digest for *key, digest in told["ignored"])
        and _roots(path for _, path, _ in told["files"]) == told["roots"]
    )


def _file(root: str, path: str) -> str:
    try:
        return digest_file(path, read_inside_root(root, path))
    except (OutsideRoot, LimitExceeded, OSError) as error:
        return digest_file(path, error)


def _folder(folder: str) -> str:
    try:
        with os.scandir(folder) as entries:
            return digest_folder(entries)
    except OSError:
        return UNREADABLE


def _roots(paths: Iterable[str]) -> list[list[Any]]:
    """Return for each folder with files: its real path, its root, and whether the root is a repository."""
    folders = sorted({os.path.dirname(path) or os.curdir for path in paths})
    return [
        [folder, os.path.realpath(folder), find_root(folder), is_in_repository(folder)] for folder in folders
    ]
