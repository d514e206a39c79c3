"""The cache of ``podplan check``: stores the output of runs for identical ones.

An entry is a JSON file with a checksum: the exit code, the printed texts, and the dependencies of the run. It
is valid for the same request, code and day while the dependencies are unchanged. Any other file is ignored. A
failure of the cache never fails a run.
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
from podplan.core.limits import LIMITS_VARIABLE
from podplan.core.typing import Any, NamedTuple
from podplan.workspace.dependencies import MIN_FILES_FOR_CACHE, DependencyRecord
from podplan.workspace.dependency_check import export_record, is_record_valid
from podplan.workspace.files import CONFIG_NAMES, PYPROJECT, find_git_top, find_root, iter_ancestors

DISABLE_VARIABLE = "PODPLAN_NO_CACHE"
FOLDER_VARIABLE = "PODPLAN_CACHE_DIR"
FORMAT_VERSION = 2
MAX_ENTRY_BYTES = 32 * 1024 * 1024
MAX_ENTRIES = 64
MAX_BYTES = 128 * 1024 * 1024
ENTRY_SUFFIX = ".podplan"

# Libraries that affect the output; cel_expr_python may be missing, and is a namespace package without a file.
FINGERPRINTED_LIBRARIES = ("yaml", "jinja2", "jsonschema_rs", "cel_expr_python")


class CacheEntry(NamedTuple):
    """The result of a run: its exit code, and the text of each requested report."""

    exit_code: int
    texts: tuple[str, ...]


def select_folder(requested: str, paths: Sequence[str]) -> str:
    """Return the folder of the cache, "" for none: it must not be in the files that are checked."""
    cache_folder = "" if os.environ.get(DISABLE_VARIABLE) else resolve_folder(requested)
    untrusted_folders = {place for path in paths for place in _iter_untrusted_folders(path)}
    return (
        ""
        if any(
            os.path.commonpath((cache_folder, place)) == place for place in untrusted_folders if cache_folder
        )
        else cache_folder
    )


def _iter_untrusted_folders(path: str) -> Iterator[str]:
    """Yield the folders whose content may be as untrusted as a path: its repository.

    Outside of a repository, such as in an unpacked archive, these are the folder of the path, and also its
    parent, its root and the current folder, unless they contain the home of the user.
    """
    if git_top := find_git_top(path):
        yield git_top
        return
    folder = os.path.realpath(path if os.path.isdir(path) else os.path.dirname(path) or os.curdir)
    yield folder
    home = os.path.realpath(os.path.expanduser("~"))
    places = os.path.dirname(folder), find_root(path), os.path.realpath(os.curdir)
    yield from (place for place in places if os.path.commonpath((home, place)) != place)


def resolve_folder(requested: str = "") -> str:
    """Return the folder from a flag, else from a variable, else that of the user; "" if there is none."""
    path = requested or os.environ.get(FOLDER_VARIABLE) or _find_user_folder()
    return os.path.realpath(path) if path else ""


def _find_user_folder() -> str:
    """Return the cache folder of https://specifications.freedesktop.org/basedir-spec; relative paths are
    ignored."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    base = base if os.path.isabs(base) else os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "podplan") if os.path.isabs(base) else ""


def compute_key(paths: Sequence[str], flags: Mapping[str, Any], reports: Any) -> str:
    """Return a key for a request to this code, on this day."""
    flags = {name: value for name, value in flags.items() if value and name != "jobs"}
    key_parts = [
        *(FORMAT_VERSION, __version__, _fingerprint_code(), time.strftime("%Y-%m-%d", time.gmtime())),
        *(sys.version, sys.getfilesystemencoding()),  # messages contain names of files
        *(os.getcwd(), list(paths), sorted(flags.items()), reports, os.environ.get(LIMITS_VARIABLE, "")),
        [os.path.realpath(path) for path in (*paths, flags.get("config", ""))],
        sorted({place for path in paths for place in _iter_config_files(path)}),
    ]
    return blake2b(json.dumps(key_parts, default=str).encode(), digest_size=20).hexdigest()


def _iter_config_files(path: str) -> Iterator[str]:
    """Yield the configuration files above a path, which affect a run as soon as they exist."""
    for folder in iter_ancestors(os.path.realpath(path)):
        places = (os.path.join(folder, name) for name in (*CONFIG_NAMES, PYPROJECT, ".git", ".gitignore"))
        yield from filter(os.path.lexists, places)


def _fingerprint_code() -> list[Any]:
    """Return all files of podplan with sizes and times, and the libraries that it uses."""
    from importlib.util import find_spec

    from podplan.core import package_data

    package = package_data.PACKAGE_FOLDER
    folders = {
        package,
        package_data.find_bundled_folder("policies"),
        package_data.find_bundled_folder("schemas"),
    }
    signatures = [one for top in sorted(folders) for one in _iter_file_signatures(top)]
    for name in FINGERPRINTED_LIBRARIES:
        if spec := find_spec(name):
            places = [spec.origin] if spec.origin else spec.submodule_search_locations or ()
            signatures += ([name, *_build_signature(os.stat(place))] for place in places)
    return signatures


def _iter_file_signatures(top: str) -> Iterator[list[Any]]:
    """Yield the files below a folder; one that is deleted meanwhile is skipped."""
    with suppress(FileNotFoundError), os.scandir(top) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _iter_file_signatures(entry.path)
            elif not entry.name.endswith(".pyc"):
                with suppress(FileNotFoundError):
                    yield [entry.path, *_build_signature(entry.stat())]


def _build_signature(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns


def load_entry(folder: str, key: str, reports: int) -> CacheEntry | None:
    """Load the entry of a request with as many reports, if it is valid, else None."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        path = os.path.join(folder, key + ENTRY_SUFFIX)
        checksum, _, body = _read_entry(path).partition(b"\n")
        if checksum.decode() != _compute_checksum(key, body):
            return None
        entry = json.loads(body)
        code, texts = entry["code"], entry["texts"]
        is_valid = type(code) is int and len(texts) == reports and all(type(text) is str for text in texts)
        if is_valid and is_record_valid(entry["record"]):
            with suppress(OSError):  # mark as recently used, if the folder is writable
                os.utime(path)
            return CacheEntry(code, tuple(texts))
    return None


def _read_entry(path: str) -> bytes:
    """Return the bytes of an entry that only the user can have written. Raises OSError: otherwise."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0))
    with open(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        is_private = not hasattr(os, "getuid") or (
            status.st_uid == os.getuid() and not status.st_mode & 0o022
        )
        if not stat.S_ISREG(status.st_mode) or not is_private or status.st_size > MAX_ENTRY_BYTES:
            raise OSError(f"{path} is no entry")
        return stream.read(MAX_ENTRY_BYTES)


def _compute_checksum(key: str, body: bytes) -> str:
    return blake2b(body, digest_size=20, key=key.encode()).hexdigest()


def store_entry(folder: str, key: str, cache_entry: CacheEntry, record: DependencyRecord) -> None:
    """Store an entry, if that saves time and its dependencies are complete; evict the oldest entries."""
    from tempfile import mkstemp

    from podplan.cli.signals import defer_signals

    if record.is_incomplete or len(record.files) < MIN_FILES_FOR_CACHE:
        return
    with suppress(OSError, ValueError):
        body = json.dumps(
            {"code": cache_entry.exit_code, "texts": cache_entry.texts, "record": export_record(record)}
        ).encode()
        if len(body) > MAX_ENTRY_BYTES - 100:
            return
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with defer_signals():
            descriptor, temporary = mkstemp(dir=folder, suffix=ENTRY_SUFFIX)
            try:
                with open(descriptor, "wb") as stream:
                    stream.write(_compute_checksum(key, body).encode() + b"\n" + body)
                os.replace(temporary, os.path.join(folder, key + ENTRY_SUFFIX))
            except BaseException:
                with suppress(OSError):  # renamed already, or the folder is gone
                    os.unlink(temporary)
                raise
        evict_entries(folder, MAX_ENTRIES, MAX_BYTES)


def evict_entries(folder: str, max_entries: int, max_bytes: int) -> int:
    """Delete the oldest files of the cache beyond the limits; return how many.

    These include temporary files of killed runs. Raises OSError: if the folder cannot be read.
    """
    removed = 0
    with os.scandir(folder) as scan:
        files_found = [entry for entry in scan if entry.name.endswith(ENTRY_SUFFIX)]
    newest = sorted(
        ((entry.stat(follow_symlinks=False), entry.path) for entry in files_found), key=_negate_mtime
    )
    for number, (status, path) in enumerate(newest):
        max_bytes -= status.st_size
        if number >= max_entries or max_bytes < 0:
            with suppress(FileNotFoundError):  # another process was faster
                os.unlink(path)
                removed += 1
    return removed


def _negate_mtime(stat_and_path: tuple[os.stat_result, str]) -> int:
    return -stat_and_path[0].st_mtime_ns
