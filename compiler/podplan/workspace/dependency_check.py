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

RecordData = dict[str, Any]  # a record as JSON


def export_record(record: DependencyRecord) -> RecordData:
    """Return a record as plain data, with the current roots."""
    return {
        "files": [[root, path, digest] for (root, path), digest in record.files.items()],
        "folders": list(map(list, record.folders.items())),
        "ignored": [[*key, digest] for key, digest in record.ignored.items()],
        "roots": _find_roots(path for _, path in record.files),
    }


def is_record_valid(record_data: RecordData) -> bool:
    """Whether all files and folders still have the digests of a record."""
    return (
        all(_digest_folder_at(folder) == digest for folder, digest in record_data["folders"])
        and all(_digest_at(root, path) == digest for root, path, digest in record_data["files"])
        and all(digest_paths(find_ignored_paths(*key)) == digest for *key, digest in record_data["ignored"])
        and _find_roots(path for _, path, _ in record_data["files"]) == record_data["roots"]
    )


def _digest_at(root: str, path: str) -> str:
    try:
        return digest_file(path, read_inside_root(root, path))
    except (OutsideRoot, LimitExceeded, OSError) as error:
        return digest_file(path, error)


def _digest_folder_at(folder: str) -> str:
    try:
        with os.scandir(folder) as entries:
            return digest_folder(entries)
    except OSError:
        return UNREADABLE


def _find_roots(paths: Iterable[str]) -> list[list[Any]]:
    """Return for each folder with files: its real path, its root, and whether the root is a repository."""
    folders = sorted({os.path.dirname(path) or os.curdir for path in paths})
    return [
        [folder, os.path.realpath(folder), find_root(folder), is_in_repository(folder)] for folder in folders
    ]
