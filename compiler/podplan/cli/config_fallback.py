"""Loads a base revision with the current configuration if its own is invalid, so that the repair can be
checked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress

from podplan.cli.output import print_message
from podplan.core.errors import UsageError
from podplan.core.limits import LimitExceeded
from podplan.core.typing import TypeVar
from podplan.workspace.files import OutsideRoot, read_inside_root

Loaded = TypeVar("Loaded")
CONFIG_SUFFIX = ".toml"


def load_with_config_fallback(
    name: str, load: Callable[[], Loaded], folder: str, root: str, base: str, head: str = ""
) -> Loaded:
    """Return what ``load`` returns for the revision ``name``, whose files are in the current ``folder``.

    If its configuration is invalid, and that of ``head`` (a revision, "" for the work tree at ``root``) has
    changed since ``base`` and is valid, that one is used, with a message.

    Raises UsageError: about the revision.
    """
    try:
        return load()
    except UsageError as error:
        original_error = UsageError(f"at {name}: {error}")
    if not _copy_changed_config(folder, root, base, head):
        raise original_error
    try:
        loaded = load()
    except UsageError:
        raise original_error from None
    print_message(str(original_error), f"so {name} is read with the settings of {head or 'the work tree'}")
    return loaded


def _copy_changed_config(folder: str, root: str, base: str, head: str) -> bool:
    """Copy the configuration files that have changed to ``folder``; return whether there are any."""
    from podplan.workspace import revisions

    changes = revisions.find_changes(root, base, head or None)
    paths = {path for change in changes for path in (change.path, change.old_path) if path is not None}
    settings = [path for path in paths if path.endswith(CONFIG_SUFFIX)]
    if not settings:
        return False
    with (
        revisions.extract_tree(root, revisions.resolve_commit(root, head))
        if head
        else nullcontext(root) as source_folder
    ):
        return _copy_files(settings, folder, source_folder) > 0


def _copy_files(paths: Iterable[str], folder: str, source_folder: str) -> int:
    """Copy files of ``source_folder`` to ``folder``, and delete those that no longer exist; return how
    many."""
    copied = 0
    for path in sorted(paths):  # a file that a folder replaced is deleted before the files in that folder
        target = os.path.join(folder, path)
        parent = os.path.dirname(target)
        if not _is_inside(os.path.realpath(parent), folder):  # outside, through a link in the revision
            continue
        try:
            content = read_inside_root(source_folder, os.path.join(source_folder, path))
        except (OSError, OutsideRoot, LimitExceeded):
            content = None
        with suppress(OSError):  # a folder of the revision with this name stays
            if os.path.lexists(target):
                os.unlink(target)
            if content is not None:
                os.makedirs(parent, exist_ok=True)
                with open(target, "xb") as file:
                    file.write(content)
            copied += 1
    return copied


def _is_inside(path: str, folder: str) -> bool:
    return os.path.commonpath((path, os.path.realpath(folder))) == os.path.realpath(folder)
