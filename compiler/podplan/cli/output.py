"""Writing: whole texts to standard output, whole files to disk."""

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

# Where a file would take the place of /dev/stdout, for everybody, if root runs podplan.
DEVICES_FOLDER = "/dev"


def write_stdout(text: str) -> None:
    """``text`` to standard output as UTF-8, whatever the locale says.

    Raises UsageError where nothing can be written there, and BrokenPipeError where nobody reads on.
    """
    write_all([_encode_text(text)])


def write_all(pieces: Iterable[bytes]) -> None:
    """The same for text in pieces, which are UTF-8 already."""
    if sys.stdout is None:
        raise UsageError("cannot write to standard output: it is closed")
    try:
        for piece in pieces:
            # Without a buffer, as PYTHONUNBUFFERED asks for, a full disk takes a part and says nothing of it.
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
    """A byte of a file name that is not UTF-8 becomes ``\\udcff``, which JSON reads as what it was."""
    return text.encode("utf-8", "backslashreplace")


def write_escaped_stdout(text: str) -> None:
    """``text`` for people, without colours, to standard output: no terminal and no workflow obeys any of it.

    Raises what ``write`` does.
    """
    write_stdout(_escape_lines(text))


def write_escaped_stderr(text: str) -> None:
    """The same to standard error."""
    import click

    click.echo(_escape_lines(text), err=True, nl=False)


def _escape_lines(text: str) -> str:
    from podplan.report.sanitization import escape_text, escape_workflow_commands

    return escape_workflow_commands("\n".join(map(escape_text, text.split("\n"))))


def print_message(*sentences: str) -> None:
    """Sentences for people to standard error, a line each, the first one as podplan's.

    What strangers wrote into them moves no cursor, and no workflow obeys it. Where nothing can be written
    there, nobody can be told so: the exit code has to say it alone.
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
    """Which folders, and which of the files that are not read, could not be read, if there are any."""
    files = [one.file for one in unread if one.reason == DENIED]
    if folders or files:
        from podplan.report.summary import unreadable

        print_message(f"{unreadable(folders, files)}, and nothing in there was looked at")


def discard_stdout() -> None:
    """Let go of what standard output still holds, so that the interpreter does not fail on it at its end."""
    _discard_stream(sys.stdout)


def _discard_stream(stream: IO[str] | None) -> None:
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def describe_os_error(error: OSError) -> str:
    """What the system says of an error, in words for the end of a sentence."""
    return (error.strerror or str(error)).lower()


def replace_file(path: str, text: str) -> bool:
    """``text`` as the whole content of ``path``, by rename; false where it is that already.

    Raises UsageError, also for a file in ``.git``, and OutsideRoot where a link leads out of the
    repository; then the file is as it was.
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
    """The same for a file that had the text ``before``, where a link points; a link stays one.

    Raises UsageError also where the file has another text now.
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
    """The content of a file, None where there is none.

    Raises OSError, and UsageError for a folder, a pipe or the like.
    """
    try:
        # O_NONBLOCK: opening a FIFO must not wait for somebody to write to it.
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
    with defer_signals():  # also between the making of the file and its name
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
    """The first part of the way to ``path`` that is there and no folder."""
    folder = os.path.dirname(path)
    while folder and not os.path.exists(folder):
        folder = os.path.dirname(folder)
    return folder or path


def _select_mode(path: str) -> int:
    """The permissions of the file that is replaced, else what the umask gives."""
    try:
        return os.stat(path).st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
