"""Files that are checked, opened: what each holds, or why it is not read, and what is said if it changes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from podplan.core.errors import UsageError
from podplan.core.limits import MAX_FILE_BYTES, LimitExceeded, limit_exceeded
from podplan.core.typing import NamedTuple
from podplan.workspace.documents import OWN_API_PREFIXES, mentions_own_api
from podplan.workspace.files import OutsideRoot, file_contains_any, find_root, read_inside_root
from podplan.yaml import SourceFile, parse_yaml

DENIED = "permission denied"


class SkippedFile(NamedTuple):
    """A file that is not checked, and in a few words why."""

    file: str
    reason: str


def load_files(
    paths: Iterable[str], unsaved_texts: Mapping[str, str] = {}
) -> Iterator[SourceFile | SkippedFile]:
    """Each file read, or why it is not. Raises UsageError for a file that cannot be read at all.

    ``instead`` has texts that are taken for the content of files.

    A file of ours that reaches a bound raises LimitExceeded, but only after all the others.
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
    """One file. Raises UsageError, and LimitExceeded where it is ours and reaches a bound."""
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
    except OSError as error:  # also where a file is taken away before it is looked into once more
        raise UsageError(f"{path}: {describe_os_error(error)}") from None


def _mentions_own_api(root: str, path: str, unsaved_texts: Mapping[str, str]) -> bool:
    """Whether a file names an apiVersion of ours; it may be too big to be read, and need not be there."""
    text = unsaved_texts.get(path)
    return (
        file_contains_any(root, path, [name.encode() for name in OWN_API_PREFIXES])
        if text is None
        else mentions_own_api(text)
    )


def reload_file(path: str, unsaved_texts: Mapping[str, str] = {}) -> SourceFile:
    """A file that was read before. Raises UsageError where it is not what it was."""
    with suppress(LimitExceeded):  # it has grown
        source = load_file(path, unsaved_texts)
        if isinstance(source, SourceFile):
            return source
    raise build_changed_error(path)


def build_changed_error(path: str) -> UsageError:
    """What there is to say where a file changes while it is checked."""
    return UsageError(f"{path} was changed while it was checked; run podplan again")


def summarize_limit_errors(limit_errors: Sequence[str]) -> str:
    """One sentence for all files that reached a bound, one at least: the first, and how many others."""
    other_count = len(limit_errors) - 1
    return limit_errors[0] + (
        f" (and {other_count} more such file{'s' if other_count > 1 else ''})" if other_count else ""
    )


def read_standard_input(filename: str = "") -> SourceFile:
    """Standard input as a file called ``filename``. Raises LimitExceeded, UsageError if it is closed."""
    if sys.stdin is None:
        raise UsageError("cannot read standard input: it is closed")
    content = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        message = f"standard input has more than {MAX_FILE_BYTES:,} bytes, and no more are read"
        raise LimitExceeded(limit_exceeded("file-bytes", message))
    return parse_yaml(content, filename or "<stdin>")


def read_content(root: str, path: str, unsaved_texts: Mapping[str, str]) -> bytes:
    """The bytes of a file, or those taken for it. Raises OSError, OutsideRoot and LimitExceeded."""
    text = unsaved_texts.get(path)
    return read_inside_root(root, path) if text is None else text.encode()


def describe_os_error(error: OSError) -> str:
    """What went wrong, in the words of the system."""
    return (error.strerror or str(error)).lower()
