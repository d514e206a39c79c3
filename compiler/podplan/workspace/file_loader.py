"""Loading the files that are checked: the content of each, or the reason why it is skipped."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from errno import EISDIR, ELOOP, ENOENT

from podplan.core.errors import UsageError
from podplan.core.limits import MAX_FILE_BYTES, LimitExceeded, limit_exceeded
from podplan.core.typing import NamedTuple
from podplan.workspace.documents import OWN_API_PREFIXES, mentions_own_api
from podplan.workspace.files import OutsideRoot, file_contains_any, find_root, read_inside_root
from podplan.yaml import SourceFile, parse_yaml

DENIED = "permission denied"
# Editors lock files by such links; one of them must not stop the search of a folder.
_LINK_REASONS = {ENOENT: "link to a missing file", ELOOP: "link in a loop", EISDIR: "link to a folder"}


class SkippedFile(NamedTuple):
    """A file that is not checked, and the reason in a few words."""

    file: str
    reason: str


def load_files(
    paths: Iterable[str], unsaved_texts: Mapping[str, str] = {}
) -> Iterator[SourceFile | SkippedFile]:
    """Yield each file, loaded or skipped.

    ``unsaved_texts`` replace the content of files.

    Raises UsageError: for a file that cannot be read at all. Raises LimitExceeded: for a file with an
    apiVersion that podplan knows and that exceeds a limit, after all other files.
    """
    limit_errors: list[str] = []
    for path in paths:
        try:
            yield load_file(path, unsaved_texts)
        except LimitExceeded as error:
            limit_errors.append(str(error))
    if limit_errors:
        raise LimitExceeded(summarize_limit_errors(limit_errors))


def load_file(path: str, unsaved_texts: Mapping[str, str] = {}) -> SourceFile | SkippedFile:
    """Load one file.

    Raises UsageError: if it cannot be read. Raises LimitExceeded: if it exceeds a limit and mentions an
    apiVersion that podplan knows.
    """
    root = find_root(path)
    try:
        try:
            return parse_yaml(read_content(root, path, unsaved_texts), path)
        except LimitExceeded:
            if _mentions_own_api(root, path, unsaved_texts):
                raise
            return SkippedFile(path, "too big or too deep")
    except OutsideRoot as error:
        return SkippedFile(path, error.reason)
    except PermissionError:
        return SkippedFile(path, DENIED)
    except OSError as error:  # also if the file is removed before it is searched
        if os.path.islink(path):  # found in a folder: `expand_paths` refuses paths of the user like this
            return SkippedFile(path, _LINK_REASONS.get(error.errno or 0, "link that cannot be followed"))
        raise UsageError(f"{path}: {describe_os_error(error)}") from None


def _mentions_own_api(root: str, path: str, unsaved_texts: Mapping[str, str]) -> bool:
    """Whether a file mentions an apiVersion that podplan knows; it may be too big to load, or missing."""
    text = unsaved_texts.get(path)
    return (
        file_contains_any(root, path, [name.encode() for name in OWN_API_PREFIXES])
        if text is None
        else mentions_own_api(text)
    )


def reload_file(path: str, unsaved_texts: Mapping[str, str] = {}) -> SourceFile:
    """Load a file again. Raises UsageError: if it changed since it was read."""
    with suppress(LimitExceeded):  # it became larger since then
        source = load_file(path, unsaved_texts)
        if isinstance(source, SourceFile):
            return source
    raise build_changed_error(path)


def build_changed_error(path: str) -> UsageError:
    """Return the error for a file that changed during the run."""
    return UsageError(f"{path} was changed while it was checked; run podplan again")


def summarize_limit_errors(limit_errors: Sequence[str]) -> str:
    """Return one sentence for one or more files that exceeded a limit: the first, and the number of
    others."""
    other_count = len(limit_errors) - 1
    return limit_errors[0] + (
        f" (and {other_count} more such file{'s' if other_count > 1 else ''})" if other_count else ""
    )


def read_standard_input(filename: str = "") -> SourceFile:
    """Read standard input as a file called ``filename``.

    Raises LimitExceeded: if it is too big. Raises UsageError: if it is closed.
    """
    if sys.stdin is None:
        raise UsageError("cannot read standard input: it is closed")
    content = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        message = f"standard input has more than {MAX_FILE_BYTES:,} bytes, and no more are read"
        raise LimitExceeded(limit_exceeded("file-bytes", message))
    return parse_yaml(content, filename or "<stdin>")


def read_content(root: str, path: str, unsaved_texts: Mapping[str, str]) -> bytes:
    """Return the bytes of a file, or of its unsaved text. Raises OSError, OutsideRoot and LimitExceeded."""
    text = unsaved_texts.get(path)
    return read_inside_root(root, path) if text is None else text.encode()


def describe_os_error(error: OSError) -> str:
    """Return the error text of the operating system."""
    return (error.strerror or str(error)).lower()
