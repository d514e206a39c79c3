"""Output: complete texts to standard output, complete files to disk."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress

from podplan.cli.signals import defer_signals
from podplan.core.errors import UsageError
from podplan.core.typing import IO
from podplan.workspace.file_loader import DENIED, SkippedFile
from podplan.workspace.files import is_in_git_folder, require_inside_repository

# Replacing a file here would replace /dev/stdout for all users, if root runs podplan.
DEVICES_FOLDER = "/dev"


def write_stdout(text: str) -> None:
    """Write ``text`` to standard output as UTF-8, independent of the locale.

    Raises UsageError: if that fails. Raises BrokenPipeError: if the reader closed the pipe.
    """
    write_all([_encode_text(text)])


def write_all(pieces: Iterable[bytes]) -> None:
    """Write pieces of UTF-8 to standard output. Raises as ``write_stdout`` does."""
    if sys.stdout is None:
        raise UsageError("cannot write to standard output: it is closed")
    try:
        for piece in pieces:
            # Without a buffer (PYTHONUNBUFFERED), write() may succeed partially, such as on a full disk.
            rest = memoryview(piece)
            while rest:
                rest = rest[sys.stdout.buffer.write(rest) :]
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_stdout()
        raise UsageError(f"cannot write to standard output: {describe_os_error(error)}") from None


def _encode_text(text: str) -> bytes:
    """Encode as UTF-8; a byte of a file name that is not UTF-8 becomes ``\\udcff``, which JSON decodes to
    the original."""
    return text.encode("utf-8", "backslashreplace")


def write_escaped_stdout(text: str) -> None:
    """Write ``text`` to standard output without colours, with control characters and workflow commands
    escaped.

    Raises as ``write_stdout`` does.
    """
    write_stdout(_escape_lines(text))


def write_escaped_stderr(text: str) -> None:
    """Write escaped ``text`` to standard error."""
    import click

    click.echo(_escape_lines(text), err=True, nl=False)


def _escape_lines(text: str) -> str:
    from podplan.report.sanitization import escape_text, escape_workflow_commands

    return escape_workflow_commands("\n".join(map(escape_text, text.split("\n"))))


def print_message(*sentences: str) -> None:
    """Print sentences to standard error, one per line, the first with the prefix "podplan".

    Untrusted text in them is escaped. A failure to write is ignored: then only the exit code reports the
    error.
    """
    if sys.stderr is None:
        return
    lines = "".join(f"{said}\n" for said in (f"podplan: {sentences[0]}", *sentences[1:]) if said)
    try:
        sys.stderr.write(_escape_lines(lines))
        sys.stderr.flush()
    except OSError:
        _discard_stream(sys.stderr)


def say_unread(folders: Sequence[str], unread: Iterable[SkippedFile]) -> None:
    """Print which folders, and which skipped files, could not be read, if there are any."""
    files = [one.file for one in unread if one.reason == DENIED]
    if folders or files:
        from podplan.report.summary import unreadable

        print_message(f"{unreadable(folders, files)}, and nothing in there was looked at")


def discard_stdout() -> None:
    """Discard the buffer of standard output, so that the interpreter does not fail at exit."""
    _discard_stream(sys.stdout)


def _discard_stream(stream: IO[str] | None) -> None:
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def describe_os_error(error: OSError) -> str:
    """Return the error text of the operating system, for the end of a sentence."""
    return (error.strerror or str(error)).lower()


def replace_file(path: str, text: str) -> bool:
    """Replace the content of ``path`` atomically; return false if it is unchanged.

    Raises UsageError: if that fails, and for a file in ``.git``. Raises OutsideRoot: if a link leads out of
    the repository. In both cases the file is unchanged.
    """
    require_inside_repository(os.path.dirname(path) or ".")
    if is_in_git_folder(path):
        raise UsageError(f"cannot write {path}: it is in .git, where only git writes")
    try:
        return _replace_atomically(path, _encode_text(text))
    except (FileExistsError, NotADirectoryError):
        raise UsageError(f"cannot write {path}: {find_non_folder(path)} is not a folder") from None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {describe_os_error(error)}") from None


def replace_text(path: str, before: str, text: str) -> None:
    """Replace the content of a file that had the text ``before``; a link stays, and its target is replaced.

    Raises UsageError: if that fails, or the file has another text now.
    """
    try:
        current = _read_current_content(path)
    except OSError:
        current = None
    if current == text.encode():  # written already, under another name
        return
    if current != before.encode():
        raise UsageError(f"{path} has changed while it was looked at; nothing more is written")
    replace_file(os.path.realpath(path), text)


def _read_current_content(path: str) -> bytes | None:
    """Return the content of a file, None if it does not exist.

    Raises OSError: if it cannot be read. Raises UsageError: if it is a folder, a pipe or the like.
    """
    try:
        # O_NONBLOCK: opening a FIFO must not block until there is a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UsageError(f"cannot write {path}: it is not a regular file")
        with open(descriptor, "rb", closefd=False) as stream:
            return stream.read()
    finally:
        os.close(descriptor)


def _replace_atomically(path: str, content: bytes) -> bool:
    import tempfile

    folder = os.path.dirname(path) or "."
    if os.path.realpath(folder) == DEVICES_FOLDER:
        raise UsageError(f"cannot write {path}: {DEVICES_FOLDER} holds devices, and no files")
    os.makedirs(folder, exist_ok=True)
    if _read_current_content(path) == content:
        return False
    with defer_signals():  # also between creating and renaming the file
        descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".podplan-")
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(content)
            os.chmod(temporary, _select_mode(path))
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):  # renamed already, or the folder is gone
                os.unlink(temporary)
            raise
    return True


def find_non_folder(path: str) -> str:
    """Return the first ancestor of ``path`` that exists and is no folder."""
    folder = os.path.dirname(path)
    while folder and not os.path.exists(folder):
        folder = os.path.dirname(folder)
    return folder or path


def _select_mode(path: str) -> int:
    """Return the permissions of the replaced file, else those from the umask."""
    try:
        return os.stat(path).st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
