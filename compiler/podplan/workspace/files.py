"""Finding and reading files: never outside the root, and only regular files.

The root of a file is the git top level that contains it; without git, the nearest folder above it with a
configuration; else the current folder, if the file is below it; else its own folder. Files keep the path that
the user gave, so that printed paths can be opened from the current folder of the user.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatch

from podplan.core.errors import UsageError
from podplan.core.limits import MAX_FILE_BYTES, MAX_SEARCH_BYTES, LimitExceeded, limit_exceeded
from podplan.core.typing import BinaryIO, Literal
from podplan.workspace.dependencies import (
    record_file,
    record_folder,
    record_listing,
    record_unknown,
    record_unreadable,
)

YAML_SUFFIXES = (".yaml", ".yml")
GOLDEN_SUFFIX = ".golden"  # before the suffix: a.golden.yaml has the render of a.yaml
SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__"})
CONFIG_NAMES = ("podplan.toml", ".podplan.toml")
UNUSED_CONFIG = "configuration in a folder below, which is not used"
PYPROJECT = "pyproject.toml"
_LEADS_OUT = "leads out of the repository"
_LEADS_OUT_WITHOUT_GIT = (
    "leads out of the root, which without git is the nearest folder with a podplan.toml, else the current"
    " folder; run podplan in a folder above, or create podplan.toml there"
)
# O_NONBLOCK: opening a FIFO must not block until there is a writer.
_READ_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW


_BY_EFFECTIVE_USER = os.access in os.supports_effective_ids


class PathNotFound(Exception):
    """A path on the command line matches no file."""


class OutsideRoot(Exception):
    """A file that is outside of the root, or not a regular file; ``reason`` says which in a few words."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.reason = reason


def find_root(path: str) -> str:
    """Return the folder that a file may refer into: see the docstring of this module."""
    folder = _resolve_folder(path)
    if top := _search_git_top(folder) or _search_config_folder(folder):
        return top
    current = os.path.realpath(os.curdir)
    return current if os.path.commonpath((current, folder)) == current else folder


def is_bounded(root: str) -> bool:
    """Whether everything below a root belongs together, so that it is searched as a whole.

    Outside of a repository, the folders below may be unrelated, such as temporary ones, if the root is the
    folder of the file, or the home of the user.
    """
    if is_top(root) or has_config(root):
        return True
    home = os.path.realpath(os.path.expanduser("~"))
    return root == os.path.realpath(os.curdir) and os.path.commonpath((home, root)) != root


def find_git_top(path: str) -> str:
    """Return the git top level above a file or a folder, or ""."""
    return _search_git_top(_resolve_folder(path))


def _resolve_folder(path: str) -> str:
    folder = os.path.realpath(path if os.path.isdir(path) else os.path.dirname(path) or ".")
    while not os.path.isdir(folder):  # standard input may be named after a file that does not exist
        folder = os.path.dirname(folder)
    return folder


def _search_git_top(folder: str) -> str:
    return next((one for one in iter_ancestors(folder) if is_top(one)), "")


def _search_config_folder(folder: str) -> str:
    return next((one for one in iter_ancestors(folder) if has_config(one)), "")


def iter_ancestors(folder: str) -> Iterator[str]:
    """Yield an absolute path and the folders above it, the nearest first."""
    previous = ""
    while folder != previous:
        yield folder
        previous, folder = folder, os.path.dirname(folder)


def has_config(folder: str) -> bool:
    """Whether a folder has a configuration of podplan, valid or not."""
    return next(iter_configs(folder), "") != ""


def iter_configs(folder: str) -> Iterator[str]:
    """Yield the configurations in a folder, valid or not; only the first one is used."""
    yield from filter(os.path.lexists, (os.path.join(folder, name) for name in CONFIG_NAMES))
    pyproject = os.path.join(folder, PYPROJECT)
    with suppress(OSError, OutsideRoot, LimitExceeded):
        if os.path.isfile(pyproject) and b"tool.podplan" in _read_content(folder, pyproject):
            yield pyproject


def is_top(folder: str) -> bool:
    """Whether a folder, given by its real path, is the top of a repository."""
    return folder in _extra_roots or os.path.exists(os.path.join(folder, ".git"))


_extra_roots: list[str] = []  # roots of copies of repositories without .git


@contextmanager
def use_as_root(folder: str) -> Iterator[None]:
    """Inside the ``with`` block, ``folder`` is the root of the files below it, like a git top level."""
    _extra_roots.append(os.path.realpath(folder))
    try:
        yield
    finally:
        _extra_roots.pop()


def require_inside_repository(path: str) -> None:
    """Raise OutsideRoot if a link on ``path`` leads out of the repository that contains it.

    The user means a path in the repository; a pull request may have replaced a part of it by a link.
    """
    current, top = os.sep, ""
    for step in os.path.abspath(path).split(os.sep):
        current = os.path.join(current, step)
        if os.path.islink(current):  # otherwise its real path follows from that of its parent
            current = os.path.realpath(current)
        if top and os.path.commonpath((current, top)) != top:
            raise OutsideRoot(path, _LEADS_OUT)
        if current in _extra_roots or os.path.lexists(os.path.join(current, ".git")):
            top = current


def is_in_git_folder(path: str) -> bool:
    """Whether a path is in the ``.git`` of its repository, links followed: git runs programs from there."""
    real = os.path.realpath(path)
    steps = os.path.relpath(real, find_root(real)).split(os.sep)
    return any(step.casefold() == ".git" for step in steps)


def is_in_repository(path: str) -> bool:
    """Whether a file is in a git repository."""
    return os.path.exists(os.path.join(find_root(path), ".git"))


def expand_paths(
    paths: Sequence[str],
    exclude: Sequence[str] = (),
    unreadable: list[str] | None = None,
    skipped: Counter[str] | None = None,
) -> Iterator[str]:
    """Yield the files that the paths match, each once: files as given, YAML files below folders, sorted.

    Golden files next to their profile are skipped in folders. ``exclude`` are shell patterns for files in
    folders, matched against the path as printed. Folders that cannot be listed are skipped and added to
    ``unreadable``; ``skipped`` counts what git ignores, nested repositories and folders of Python packages.

    Raises PathNotFound: if a path does not exist. Raises UsageError: if one of ``paths`` cannot be read.
    """
    seen: set[str] = set()
    for path in paths:
        denied: list[str] = []
        if os.path.isdir(path):
            files: Iterator[str] = files_below(path, exclude, denied, skipped=skipped)
        elif os.path.lexists(path):
            _require_readable(path)
            files = iter((path,))
        else:
            raise PathNotFound(f"{path}: no such file or folder")
        for file in files:
            absolute = os.path.abspath(file)
            if absolute not in seen:
                seen.add(absolute)
                yield file
        if denied and (unreadable is None or denied[0] == path):
            raise UsageError(f"{denied[0]}: this folder cannot be read; make it readable, or exclude it")
        if unreadable is not None:
            unreadable += denied


def _require_readable(path: str) -> None:
    """Raise UsageError for a path that cannot be read, such as a link to a missing file."""
    try:
        os.stat(path)
    except PermissionError:
        return  # the file is skipped
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    if not os.access(path, os.R_OK, effective_ids=_BY_EFFECTIVE_USER):
        raise UsageError(f"{path}: permission denied")


def files_below(
    top: str,
    exclude: Sequence[str],
    unreadable: list[str],
    within: Literal["repository", "folder"] = "repository",
    skipped: Counter[str] | None = None,
) -> Iterator[str]:
    """Yield the YAML files below a folder, sorted; folders that cannot be listed are added to ``unreadable``.

    ``within`` limits the search to the same repository, without nested worktrees and submodules, or to the
    folder itself. What git ignores, and where Python packages were installed or unpacked, is not searched.
    These are counted in ``skipped``, by reason. Outside of a repository, the repositories below are searched.
    """
    git_top = find_git_top(top)
    is_ignored = _IgnoredPaths(git_top, top).contains
    if skipped is None:
        skipped = Counter()
    open_folders = [(top, iter(_list_folder(top, unreadable)))]  # no recursion: folders may be nested deeply
    while open_folders:
        folder, entries = open_folders[-1]
        entry = next(entries, None)
        if entry is None:
            open_folders.pop()
            continue
        path = entry.name if folder == "." else os.path.join(folder, entry.name)
        if any(fnmatch(path, pattern) or fnmatch(entry.name, pattern) for pattern in exclude):
            continue
        is_folder = entry.is_dir(follow_symlinks=False)
        is_candidate = is_folder or entry.name.endswith(YAML_SUFFIXES)
        if git_top and is_candidate and is_ignored(folder, entry.name):
            skipped["ignored by git (folder)" if is_folder else "ignored by git"] += 1
            continue
        if is_folder:
            is_skipped = entry.name.startswith(".") or entry.name in SKIPPED_FOLDERS or within == "folder"
            if not is_skipped:
                below = _list_folder(path, unreadable)
                if reason := _explain_foreign_folder(below, bool(git_top)):
                    skipped[reason] += 1
                else:
                    open_folders.append((path, iter(below)))
        elif entry.name.endswith(YAML_SUFFIXES) and not is_golden(path):
            yield path
        elif entry.name in CONFIG_NAMES and folder != top:
            skipped[f"{UNUSED_CONFIG} ({path})"] += 1


def _explain_foreign_folder(entries: Sequence[os.DirEntry[str]], in_repository: bool) -> str:
    """Return why the files of a folder are not those of the user, by what marks such folders, or "".

    Packages have YAML files of their own: the inventory and the queues of podplan's examples are not those of
    the user's cluster.
    """
    for entry in entries:
        if entry.name == ".git" and in_repository:
            return "nested repository"
        if entry.name == "pyvenv.cfg":
            return "virtual environment"
        if entry.name.endswith(".dist-info"):
            return "folder with installed Python packages"
        if entry.name == "PKG-INFO":
            return "unpacked Python package"
    return ""


class _IgnoredPaths:
    """What git ignores below a folder; git is asked only if there is a ``.gitignore`` on the way."""

    def __init__(self, git_top: str, shown_top: str) -> None:
        top = os.path.realpath(shown_top)
        self._git_top, self._shown_top, self._top = git_top, shown_top, top
        self._folder, self._real = "", ""
        self._paths: frozenset[str] = frozenset()
        is_inside = bool(git_top) and os.path.exists(os.path.join(git_top, ".git"))  # no copy of a repository
        self._is_open = is_inside
        if is_inside:
            for ancestor in iter_ancestors(os.path.dirname(top) if top != git_top else ""):
                self._look_into(ancestor)
                if ancestor == git_top:
                    break

    def contains(self, folder: str, name: str) -> bool:
        """Whether git ignores an entry of a folder that is searched."""
        if folder != self._folder:
            self._folder, self._real = folder, self._resolve(folder)
            self._look_into(self._real)
        return bool(self._paths) and os.path.join(self._real, name) in self._paths

    def _resolve(self, folder: str) -> str:
        """Return the real path of a folder that is searched: only the top of these may be a link."""
        if folder == self._shown_top:
            return self._top
        return os.path.join(self._top, folder.removeprefix(os.path.join(self._shown_top, "")))

    def _look_into(self, folder: str) -> None:
        if not self._is_open or not os.path.lexists(os.path.join(folder, ".gitignore")):
            return
        from podplan.workspace.ignored_files import find_ignored_paths

        self._is_open = False
        self._paths = find_ignored_paths(self._git_top, self._top)
        record_listing(self._git_top, self._top, self._paths)


def _list_folder(folder: str, unreadable: list[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
    except OSError:
        unreadable.append(folder)
        record_unreadable(folder)
        return []
    record_folder(folder, entries)
    return entries


def is_golden(path: str, allow_missing_profile: bool = False) -> bool:
    """Whether a file is named as a golden file and its profile file is next to it, or
    ``allow_missing_profile``."""
    has_golden_name = os.path.splitext(path)[0].endswith(GOLDEN_SUFFIX) and path.endswith(YAML_SUFFIXES)
    return has_golden_name and (allow_missing_profile or os.path.lexists(profile_path(path)))


def golden_path(path: str) -> str:
    """Return the path of the golden file of the profiles in a file: ``jobs/a.golden.yaml`` for
    ``jobs/a.yaml``."""
    stem, suffix = os.path.splitext(path)
    return f"{stem}{GOLDEN_SUFFIX}{suffix}"


def profile_path(golden: str) -> str:
    """Return the path of the profile file of a golden file."""
    stem, suffix = os.path.splitext(golden)
    return stem.removesuffix(GOLDEN_SUFFIX) + suffix


def read_inside_root(root: str, path: str) -> bytes:
    """Read a regular file below ``root``; symbolic links are followed only inside it.

    Raises OutsideRoot: if it is outside or not regular. Raises LimitExceeded: if it is too big. Raises
    OSError: if it cannot be read.
    """
    try:
        content = _read_content(root, path)
    except (OutsideRoot, LimitExceeded, OSError) as error:
        record_file(root, path, error)
        raise
    record_file(root, path, content)
    return content


def read_found_file(root: str, path: str) -> bytes:
    """Read a file that ``files_below`` found below ``root``, where only the file itself can be a link.

    Takes a fifth of the time of ``read_inside_root``, which matters when a whole repository is searched.
    """
    if os.path.islink(path):
        return read_inside_root(root, path)
    with suppress(OSError):
        descriptor = os.open(path, _READ_FLAGS)
        try:
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_FILE_BYTES:
                content = os.read(descriptor, status.st_size + 1)
                if len(content) == status.st_size:
                    record_file(root, path, content)
                    return content
        finally:
            os.close(descriptor)
    return read_inside_root(root, path)


def _read_content(root: str, path: str) -> bytes:
    with _open_inside_root(root, path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > MAX_FILE_BYTES:
            message = f"{path} has {size:,} bytes, and at most {MAX_FILE_BYTES:,} are read from one file"
            raise LimitExceeded(limit_exceeded("file-bytes", message), path)
        return stream.read(MAX_FILE_BYTES + 1)


def file_contains_any(root: str, path: str, words: Sequence[bytes]) -> bool:
    """Whether a file contains one of ``words``; true for a file that is too big to be searched.

    Raises as ``read_inside_root`` does, except for LimitExceeded.
    """
    record_unknown()
    overlap = max(map(len, words))  # of the previous chunk, for a word that crosses the boundary
    with _open_inside_root(root, path) as stream:
        if os.fstat(stream.fileno()).st_size > MAX_SEARCH_BYTES:
            return True
        previous_tail = b""
        while chunk := stream.read(MAX_FILE_BYTES):
            window = previous_tail + chunk
            if any(word in window for word in words):
                return True
            previous_tail = window[-overlap:]
    return False


@contextmanager
def _open_inside_root(root: str, path: str) -> Iterator[BinaryIO]:
    real = os.path.realpath(path)
    top = os.path.realpath(root)
    if os.path.commonpath((real, top)) != top:
        raise OutsideRoot(path, _LEADS_OUT if is_top(top) else _LEADS_OUT_WITHOUT_GIT)
    descriptor = os.open(real, _READ_FLAGS)
    with open(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OutsideRoot(path, "not a regular file")
        yield stream


def explain_invalid_path(text: str) -> str:
    """Return why a text cannot be a path on this machine, in a few words, or "".

    Called on text from documents before it is used as a path, because system calls would raise ValueError.
    """
    try:
        return "a path has no null character (\\u0000)" if b"\0" in os.fsencode(text) else ""
    except UnicodeEncodeError as error:
        return f"no path here has the character \\u{ord(text[error.start]):04x}"


def resolve_reference(path: str, reference: str) -> str:
    """Resolve ``reference``, written in the file at ``path``, to a path as the user sees it."""
    return os.path.normpath(os.path.join(os.path.dirname(path), reference))


def relative_to_root(path: str) -> str:
    """Return ``path`` relative to its root, with forward slashes: the same on every machine."""
    return os.path.relpath(os.path.realpath(path), find_root(path)).replace(os.sep, "/")


def to_user_path(path: str, user_file: str) -> str:
    """Return the absolute ``path`` as a path in the style of ``user_file``, which the user gave."""
    folder = os.path.dirname(user_file)
    if os.path.isabs(user_file):
        return path
    return os.path.normpath(os.path.join(folder, os.path.relpath(path, os.path.realpath(folder or "."))))
