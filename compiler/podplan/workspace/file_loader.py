"""Files that are checked, opened: what each holds, or why it is not read, and what is said if it changes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from podplan.core.errors import RequestError
from podplan.core.limits import MAX_FILE_BYTES, BoundExceeded, beyond
from podplan.core.typing import NamedTuple
from podplan.workspace.documents import OURS, mentions_ours
from podplan.workspace.files import OutsideRoot, mentions, read_inside, root_of
from podplan.yaml import Source, read

DENIED = "permission denied"


class Unread(NamedTuple):
    """A file that is not checked, and in a few words why."""

    file: str
    reason: str


def sources(paths: Iterable[str], instead: Mapping[str, str] = {}) -> Iterator[Source | Unread]:
    """Each file read, or why it is not. Raises RequestError for a file that cannot be read at all.

    ``instead`` has texts that are taken for the content of files.

    A file of ours that reaches a bound raises BoundExceeded, but only after all the others.
    """
    given_up: list[str] = []
    for path in paths:
        try:
            yield opened(path, instead)
        except BoundExceeded as error:
            given_up.append(str(error))
    if given_up:
        raise BoundExceeded(in_one(given_up))


def opened(path: str, instead: Mapping[str, str] = {}) -> Source | Unread:
    """One file. Raises RequestError, and BoundExceeded where it is ours and reaches a bound."""
    root = root_of(path)
    try:
        try:
            return read(content_of(root, path, instead), path)
        except BoundExceeded:
            if _is_ours(root, path, instead):
                raise
            return Unread(path, "too big or too deep")
    except OutsideRoot as error:
        return Unread(path, error.reason)
    except PermissionError:
        return Unread(path, DENIED)
    except OSError as error:  # also where a file is taken away before it is looked into once more
        raise RequestError(f"{path}: {reason_of(error)}") from None


def _is_ours(root: str, path: str, instead: Mapping[str, str]) -> bool:
    """Whether a file names an apiVersion of ours; it may be too big to be read, and need not be there."""
    text = instead.get(path)
    return mentions(root, path, [name.encode() for name in OURS]) if text is None else mentions_ours(text)


def reread(path: str, instead: Mapping[str, str] = {}) -> Source:
    """A file that was read before. Raises RequestError where it is not what it was."""
    with suppress(BoundExceeded):  # it has grown
        again = opened(path, instead)
        if isinstance(again, Source):
            return again
    raise changed(path)


def changed(path: str) -> RequestError:
    """What there is to say where a file changes while it is checked."""
    return RequestError(f"{path} was changed while it was checked; run podplan again")


def in_one(given_up: Sequence[str]) -> str:
    """One sentence for all files that reached a bound, one at least: the first, and how many others."""
    others = len(given_up) - 1
    return given_up[0] + (f" (and {others} more such file{'s' if others > 1 else ''})" if others else "")


def standard_input(filename: str = "") -> Source:
    """Standard input as a file called ``filename``. Raises BoundExceeded, RequestError if it is closed."""
    if sys.stdin is None:
        raise RequestError("cannot read standard input: it is closed")
    content = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        message = f"standard input has more than {MAX_FILE_BYTES:,} bytes, and no more are read"
        raise BoundExceeded(beyond("file-bytes", message))
    return read(content, filename or "<stdin>")


def content_of(root: str, path: str, instead: Mapping[str, str]) -> bytes:
    """The bytes of a file, or those taken for it. Raises OSError, OutsideRoot and BoundExceeded."""
    text = instead.get(path)
    return read_inside(root, path) if text is None else text.encode()


def reason_of(error: OSError) -> str:
    """What went wrong, in the words of the system."""
    return (error.strerror or str(error)).lower()
