"""Writing: whole texts to standard output, whole files to disk."""

from __future__ import annotations

import os
import sys
import tempfile


def write(text: str) -> None:
    """``text`` to standard output as UTF-8, whatever the locale says."""
    sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
    sys.stdout.buffer.flush()


def replace_file(path: str, text: str) -> bool:
    """``text`` as the whole content of ``path``, by rename; false where it is that already.

    Raises OSError; then the file is as it was.
    """
    content = text.encode("utf-8")
    try:
        with open(path, "rb") as stream:
            if stream.read() == content:
                return False
    except FileNotFoundError:
        pass
    folder = os.path.dirname(path) or "."
    os.makedirs(folder, exist_ok=True)
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


def _mode(path: str) -> int:
    """The permissions of the file that is replaced, else what the umask gives."""
    try:
        return os.stat(path).st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
