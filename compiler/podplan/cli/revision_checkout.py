"""Running in the files of another revision: where one stands, and what paths and flags mean there."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from podplan.core.errors import UsageError
from podplan.core.typing import Any, TypeVar

Loaded = TypeVar("Loaded")
FILE_FLAGS = ("inventory", "config", "baseline")


@contextmanager
def enter_revision(root: str, commit: str, excluded: Collection[str] = ()) -> Iterator[str]:
    """The files of a commit, standing as in the repository, so that paths are those that people typed.

    ``without`` are paths from the root that are left out.
    """
    from podplan.workspace import revisions

    with (
        revisions.extract_tree(root, commit, excluded) as folder,
        change_folder(standing_place(root, folder)),
    ):
        yield folder


def standing_place(root: str, folder: str) -> str:
    """Where one stands in a copy of the repository, which is there then."""
    way = os.path.relpath(os.path.realpath(os.curdir), root)
    stand = folder if way.startswith("..") else os.path.join(folder, way)
    os.makedirs(stand, exist_ok=True)
    return stand


@contextmanager
def change_folder(folder: str) -> Iterator[None]:
    """While this lasts, the current folder is ``folder``."""
    previous_folder = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(previous_folder)


def make_portable(
    paths: Sequence[str], flags: Mapping[str, Any], root: str
) -> tuple[Sequence[str], Mapping[str, Any]]:
    """The same paths and files, so that they can be found from a copy of the repository.

    Who stands outside of it stands nowhere in the copy, and names them absolutely.
    """
    if not os.path.relpath(os.path.realpath(os.curdir), root).startswith(".."):
        return paths, flags
    absolute_flags = {name: os.path.abspath(flags[name]) for name in FILE_FLAGS if flags.get(name)}
    return [os.path.abspath(path) for path in paths], {**flags, **absolute_flags}


def translate_to_checkout(
    paths: Sequence[str], flags: Mapping[str, Any], root: str, folder: str
) -> tuple[list[str], dict[str, Any]]:
    """The same paths and files, seen from where one stands in a copy of the repository at ``folder``."""
    path_flags = {name: flags[name] for name in FILE_FLAGS if flags.get(name)}
    for name, path in path_flags.items():
        moved = _translate_path(path, root, folder)
        inside = not relative_to_root(root, _resolve_absolute(path, root, folder)).startswith("..")
        path_flags[name] = (
            moved if inside and os.path.exists(moved) else _resolve_absolute(path, root, folder)
        )
    return [_translate_path(path, root, folder) for path in paths], {**flags, **path_flags}


def relative_to_root(root: str, path: str) -> str:
    """A path from the root, with the last part as it is, which may be a link."""
    folder, name = os.path.split(path)
    return os.path.normpath(os.path.relpath(os.path.join(os.path.realpath(folder), name), root))


def load_at_revision(name: str, load: Callable[[], Loaded]) -> Loaded:
    """What is read; a request that is wrong there says of which revision it speaks."""
    try:
        return load()
    except UsageError as error:
        raise UsageError(f"at {name}: {error}") from None


def _resolve_absolute(path: str, root: str, folder: str) -> str:
    """Where ``path`` is in the repository itself, for one who stands in a copy of it."""
    return os.path.normpath(os.path.join(root, os.path.relpath(os.path.realpath("."), folder), path))


def _translate_path(path: str, root: str, folder: str) -> str:
    """A path of the repository as a path of a copy of it, seen from where one stands."""
    if not os.path.isabs(path):
        return path
    return os.path.relpath(os.path.join(folder, relative_to_root(root, path)))
