"""Runs in a checkout of another revision, with the corresponding current folder, paths and flags."""

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
    """Yield a checkout of a commit, with the corresponding current folder, so that typed paths are valid.

    ``excluded`` are paths from the root that are omitted.
    """
    from podplan.workspace import revisions

    with (
        revisions.extract_tree(root, commit, excluded) as folder,
        change_folder(find_place_in_checkout(root, folder)),
    ):
        yield folder


def find_place_in_checkout(root: str, folder: str) -> str:
    """Return the folder in a checkout that corresponds to the current folder; create it if necessary."""
    relative_path = os.path.relpath(os.path.realpath(os.curdir), root)
    place = folder if relative_path.startswith("..") else os.path.join(folder, relative_path)
    os.makedirs(place, exist_ok=True)
    return place


@contextmanager
def change_folder(folder: str) -> Iterator[None]:
    """Change the current folder to ``folder`` inside the ``with`` block."""
    previous_folder = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(previous_folder)


def make_portable(
    paths: Sequence[str], flags: Mapping[str, Any], root: str
) -> tuple[Sequence[str], Mapping[str, Any]]:
    """Return paths and flags in a form that is valid in a checkout of the repository.

    Outside of the repository they become absolute, because the current folder has no counterpart there.
    """
    if not os.path.relpath(os.path.realpath(os.curdir), root).startswith(".."):
        return paths, flags
    absolute_flags = {name: os.path.abspath(flags[name]) for name in FILE_FLAGS if flags.get(name)}
    return [os.path.abspath(path) for path in paths], {**flags, **absolute_flags}


def translate_to_checkout(
    paths: Sequence[str], flags: Mapping[str, Any], root: str, folder: str
) -> tuple[list[str], dict[str, Any]]:
    """Return the paths and flags relative to the current folder in the checkout at ``folder``."""
    path_flags = {name: flags[name] for name in FILE_FLAGS if flags.get(name)}
    for name, path in path_flags.items():
        moved = _translate_path(path, root, folder)
        inside = not relative_to_root(root, _resolve_absolute(path, root, folder)).startswith("..")
        path_flags[name] = (
            moved if inside and os.path.exists(moved) else _resolve_absolute(path, root, folder)
        )
    return [_translate_path(path, root, folder) for path in paths], {**flags, **path_flags}


def relative_to_root(root: str, path: str) -> str:
    """Return a path relative to the root; its last part may be a link, which is not resolved."""
    folder, name = os.path.split(path)
    return os.path.normpath(os.path.relpath(os.path.join(os.path.realpath(folder), name), root))


def load_at_revision(name: str, load: Callable[[], Loaded]) -> Loaded:
    """Return what ``load`` returns; a usage error names the revision."""
    try:
        return load()
    except UsageError as error:
        raise UsageError(f"at {name}: {error}") from None


def _resolve_absolute(path: str, root: str, folder: str) -> str:
    """Return the absolute path in the repository of ``path``, which is relative to a folder of its
    checkout."""
    return os.path.normpath(os.path.join(root, os.path.relpath(os.path.realpath("."), folder), path))


def _translate_path(path: str, root: str, folder: str) -> str:
    """Return the path in a checkout of a path in the repository, relative to the current folder there."""
    if not os.path.isabs(path):
        return path
    return os.path.relpath(os.path.join(folder, relative_to_root(root, path)))
