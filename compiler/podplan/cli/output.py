"""Writing: whole texts to standard output, whole files to disk."""

from __future__ import annotations

import os
import stat
import sys

from podplan.requests import RequestError


def write(text: str) -> None:
    """``text`` to standard output as UTF-8, whatever the locale says.

    Raises RequestError where nothing can be written there, and BrokenPipeError where nobody reads on.
    """
    if sys.stdout is None:
        raise RequestError("cannot write to standard output: it is closed")
    try:
        sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_output()
        raise RequestError(f"cannot write to standard output: {reason(error)}") from None


def say(*sentences: str) -> None:
    """Sentences for people to standard error, a line each, the first one as podplan's."""
    if sys.stderr is not None:
        sys.stderr.write(
            "".join(f"{said}\n" for said in (f"podplan: {sentences[0]}", *sentences[1:]) if said)
        )
        sys.stderr.flush()


def drop_output() -> None:
    """Let go of what standard output still holds, so that the interpreter does not fail on it at its end."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def reason(error: OSError) -> str:
    """What the system says of an error, in words for the end of a sentence."""
    return (error.strerror or str(error)).lower()


def replace_file(path: str, text: str) -> bool:
    """``text`` as the whole content of ``path``, by rename; false where it is that already.

    Raises RequestError; then the file is as it was.
    """
    try:
        return _replaced(path, text.encode())
    except (FileExistsError, NotADirectoryError):
        raise RequestError(f"cannot write {path}: {not_a_folder(path)} is not a folder") from None
    except OSError as error:
        raise RequestError(f"cannot write {path}: {reason(error)}") from None


def replace_text(path: str, before: str, text: str) -> None:
    """The same for a file that had the text ``before``, where a link points; a link stays one.

    Raises RequestError also where the file has another text now.
    """
    now = _now(path)
    if now == text:  # written already, under another name
        return
    if now != before:
        raise RequestError(f"{path} has changed while it was looked at; nothing more is written")
    replace_file(os.path.realpath(path), text)


def _now(path: str) -> str:
    try:
        with open(path, encoding="utf-8", newline="") as stream:
            return stream.read()
    except (OSError, UnicodeDecodeError):
        return ""


def _replaced(path: str, content: bytes) -> bool:
    import tempfile

    folder = os.path.dirname(path) or "."
    os.makedirs(folder, exist_ok=True)
    if os.path.exists(path):
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise RequestError(f"cannot write {path}: it is not a regular file")
        with open(path, "rb") as stream:
            if stream.read() == content:
                return False
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".podplan-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        os.chmod(temporary, _mode(path))
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return True


def not_a_folder(path: str) -> str:
    """The first part of the way to ``path`` that is there and no folder."""
    folder = os.path.dirname(path)
    while folder and not os.path.exists(folder):
        folder = os.path.dirname(folder)
    return folder or path


def _mode(path: str) -> int:
    """The permissions of the file that is replaced, else what the umask gives."""
    try:
        return os.stat(path).st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
