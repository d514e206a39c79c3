"""What runs of ``podplan check`` said, kept for runs that would say the same.

An entry is a file of JSON with a checksum: the exit code, the texts that were printed, and a trace of what
was read. It counts for the same request to the same code on the same day, as long as the trace still holds.
A file that is anything else is no entry. Nothing here fails a run: what is not found is worked out anew.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b

from podplan import __version__
from podplan.config.files import NAMES, PYPROJECT
from podplan.core.limits import VARIABLE
from podplan.core.typing import Any, NamedTuple
from podplan.workspace.dependencies import FEWEST_FILES, Trace
from podplan.workspace.dependency_check import as_data, still_true
from podplan.workspace.files import root_of

OFF = "PODPLAN_NO_CACHE"
FOLDER = "PODPLAN_CACHE_DIR"
FORMAT = 1
MAX_ENTRY_BYTES = 32 * 1024 * 1024
MAX_ENTRIES = 64
MAX_BYTES = 128 * 1024 * 1024
SUFFIX = ".podplan"

# What else has a say in what is said; cel_expr_python may be missing, and has folders and no file of its own.
LIBRARIES = ("yaml", "jinja2", "jsonschema_rs", "cel_expr_python")


class Said(NamedTuple):
    """How a run ended: its exit code, and the text of each report that was asked for."""

    code: int
    texts: tuple[str, ...]


def folder(named: str, paths: Sequence[str]) -> str:
    """The folder of the cache, "" for none: nothing is kept in, or believed from, what is being checked."""
    real = "" if os.environ.get(OFF) else chosen(named)
    around = {place for path in paths for place in _around(path)}
    return "" if any(os.path.commonpath((real, place)) == place for place in around if real) else real


def _around(path: str) -> Iterator[str]:
    """The folders that strangers may have filled together with a path: its repository.

    Of files without one, such as those of an archive, nobody knows where they begin: that is the folder that
    holds them, and the one that one stands in, unless the home of the user is in there.
    """
    root = os.path.realpath(root_of(path))
    yield root
    if not os.path.lexists(os.path.join(root, ".git")):
        home = os.path.realpath(os.path.expanduser("~"))
        places = os.path.dirname(root), os.path.realpath(os.curdir)
        yield from (place for place in places if os.path.commonpath((home, place)) != place)


def chosen(named: str = "") -> str:
    """The folder that a flag names, else a variable, else that of the user; "" where there is none."""
    path = named or os.environ.get(FOLDER) or _of_user()
    return os.path.realpath(path) if path else ""


def _of_user() -> str:
    """https://specifications.freedesktop.org/basedir-spec: a path that is not absolute is none."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    base = base if os.path.isabs(base) else os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "podplan") if os.path.isabs(base) else ""


def key(paths: Sequence[str], flags: Mapping[str, Any], reports: Any) -> str:
    """What stands for a request to this code, on this day."""
    flags = {name: value for name, value in flags.items() if name != "jobs"}  # these say the same
    asked = [
        *(FORMAT, __version__, _code(), time.strftime("%Y-%m-%d", time.gmtime())),
        *(sys.version, sys.getfilesystemencoding()),  # names of files are told in it
        *(os.getcwd(), list(paths), sorted(flags.items()), reports, os.environ.get(VARIABLE, "")),
        [os.path.realpath(path) for path in (*paths, flags["config"])],
        sorted({place for path in paths for place in _above(path)}),
    ]
    return blake2b(json.dumps(asked, default=str).encode(), digest_size=20).hexdigest()


def _above(path: str) -> Iterator[str]:
    """The files above a path that a run goes by once they are there."""
    below, above = "", os.path.realpath(path)
    while above != below:
        places = (os.path.join(above, name) for name in (*NAMES, PYPROJECT, ".git"))
        yield from filter(os.path.lexists, places)
        below, above = above, os.path.dirname(above)


def _code() -> list[Any]:
    """All files of podplan with their sizes and times, and the libraries that it uses."""
    from importlib.util import find_spec

    from podplan.core import bundled

    package = bundled.PACKAGE
    folders = {package, bundled.folder("policies"), bundled.folder("schemas")}
    found = [one for top in sorted(folders) for one in _files(top)]
    for name in LIBRARIES:
        if spec := find_spec(name):
            places = [spec.origin] if spec.origin else spec.submodule_search_locations or ()
            found += ([name, *_stamp(os.stat(place))] for place in places)
    return found


def _files(top: str) -> Iterator[list[Any]]:
    """The files below a folder; what is gone before it is looked at was not there."""
    with suppress(FileNotFoundError), os.scandir(top) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _files(entry.path)
            elif not entry.name.endswith(".pyc"):
                with suppress(FileNotFoundError):
                    yield [entry.path, *_stamp(entry.stat())]


def _stamp(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns


def find(folder: str, key: str, reports: int) -> Said | None:
    """What was said to a request with as many reports, if it still holds."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        path = os.path.join(folder, key + SUFFIX)
        checksum, _, body = _content(path).partition(b"\n")
        if checksum.decode() != _checksum(key, body):
            return None
        entry = json.loads(body)
        code, texts = entry["code"], entry["texts"]
        sound = type(code) is int and len(texts) == reports and all(type(text) is str for text in texts)
        if sound and still_true(entry["trace"]):
            with suppress(OSError):  # so that it is not among the oldest, where the folder may be written
                os.utime(path)
            return Said(code, tuple(texts))
    return None


def _content(path: str) -> bytes:
    """The bytes of an entry that nobody but the user can have written; else OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0))
    with open(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        own = not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o022)
        if not stat.S_ISREG(status.st_mode) or not own or status.st_size > MAX_ENTRY_BYTES:
            raise OSError(f"{path} is no entry")
        return stream.read(MAX_ENTRY_BYTES)


def _checksum(key: str, body: bytes) -> str:
    return blake2b(body, digest_size=20, key=key.encode()).hexdigest()


def keep(folder: str, key: str, said: Said, trace: Trace) -> None:
    """Keep what was said, if it pays and the trace tells all; the oldest entries make place for it."""
    from tempfile import mkstemp

    from podplan.cli.signals import held

    if trace.useless or len(trace.files) < FEWEST_FILES:
        return
    with suppress(OSError, ValueError):
        body = json.dumps({"code": said.code, "texts": said.texts, "trace": as_data(trace)}).encode()
        if len(body) > MAX_ENTRY_BYTES - 100:
            return
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with held():
            descriptor, temporary = mkstemp(dir=folder, suffix=SUFFIX)
            try:
                with open(descriptor, "wb") as stream:
                    stream.write(_checksum(key, body).encode() + b"\n" + body)
                os.replace(temporary, os.path.join(folder, key + SUFFIX))
            except BaseException:
                with suppress(OSError):  # renamed already, or the folder is gone
                    os.unlink(temporary)
                raise
        evict(folder, MAX_ENTRIES, MAX_BYTES)


def evict(folder: str, entries: int, size: int) -> int:
    """Remove the oldest files of the cache beyond so many and so many bytes; how many that were.

    What a run that was killed left half-written is among them. Raises OSError.
    """
    removed = 0
    with os.scandir(folder) as scan:
        found = [entry for entry in scan if entry.name.endswith(SUFFIX)]
    newest = sorted(((entry.stat(follow_symlinks=False), entry.path) for entry in found), key=_age)
    for number, (status, path) in enumerate(newest):
        size -= status.st_size
        if number >= entries or size < 0:
            with suppress(FileNotFoundError):  # another run was faster
                os.unlink(path)
                removed += 1
    return removed


def _age(found: tuple[os.stat_result, str]) -> int:
    return -found[0].st_mtime_ns
