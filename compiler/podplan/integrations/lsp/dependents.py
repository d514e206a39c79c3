"""Finds the profiles below a root that extend a file, so that a base profile is checked with them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from podplan.core.limits import LimitExceeded
from podplan.core.typing import NamedTuple
from podplan.integrations.lsp.documents import MAX_CHECKED_CHARACTERS
from podplan.workspace.documents import classify_documents
from podplan.workspace.files import (
    OutsideRoot,
    explain_invalid_path,
    files_below,
    read_inside_root,
    resolve_reference,
)
from podplan.yaml import parse_yaml

MAX_SCANNED_FILES = 5_000  # below a root
MAX_DEPENDENTS = 20  # more would delay the answer too long


class ExtendingFile(NamedTuple):
    """A file whose profiles extend others: digest and size of its content, and the real paths of those."""

    digest: bytes
    size: int
    bases: tuple[str, ...]


def find_extending_files(
    root: str, exclude: Sequence[str], cached: Mapping[str, ExtendingFile]
) -> dict[str, ExtendingFile]:
    """Return the files below a root that extend others, by path; unchanged ``cached`` ones are not parsed
    again."""
    from hashlib import blake2b

    extending_files: dict[str, ExtendingFile] = {}
    for number, file in enumerate(files_below(root, exclude, [])):
        if number >= MAX_SCANNED_FILES:
            break
        try:
            content = read_inside_root(root, file)
            if b"extends" not in content:
                continue
            digest = blake2b(content, digest_size=16).digest()
            entry = cached.get(file)
            if entry is None or entry.digest != digest:
                entry = ExtendingFile(digest, len(content), tuple(_iter_bases(content, file)))
            extending_files[file] = entry
        except (OSError, OutsideRoot, LimitExceeded):
            continue
    return extending_files


def find_dependents(path: str, extending_files: Mapping[str, ExtendingFile]) -> tuple[str, ...]:
    """Return the files that extend the one at ``path``, directly or indirectly: at most
    ``MAX_DEPENDENTS``, with ``MAX_CHECKED_CHARACTERS`` bytes in total."""
    files_by_base: dict[str, list[str]] = {}
    for file, extending_file in extending_files.items():
        for base in extending_file.bases:
            files_by_base.setdefault(base, []).append(file)
    dependents_found: dict[str, None] = {}
    remaining_bytes = MAX_CHECKED_CHARACTERS
    waiting = [os.path.realpath(path)]
    while waiting:
        for file in files_by_base.get(waiting.pop(), ()):
            if (
                file not in dependents_found
                and len(dependents_found) < MAX_DEPENDENTS
                and extending_files[file].size <= remaining_bytes
            ):
                remaining_bytes -= extending_files[file].size
                dependents_found[file] = None
                waiting.append(os.path.realpath(file))
    return tuple(dependents_found)


def _iter_bases(content: bytes, file: str) -> Iterator[str]:
    """Yield the real path of each file that the profiles extend."""
    for item in classify_documents(parse_yaml(content, file)):
        spec = item.doc.data.get("spec") if item.category in ("profile", "base") else None
        references = spec.get("extends") if isinstance(spec, dict) else None
        for reference in references if isinstance(references, list) else ():
            if isinstance(reference, str) and not (
                os.path.isabs(reference) or explain_invalid_path(reference)
            ):
                yield os.path.realpath(resolve_reference(file, reference))
