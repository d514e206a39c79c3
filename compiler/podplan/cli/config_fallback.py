"""A revision whose configuration is broken, read with that of today, so that what repairs it is checked."""

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
    """What is read of the revision ``name``, whose files are in ``folder``, where one stands.

    Where its request is wrong and that of ``head`` (a revision, "" for the work tree at ``root``) is not,
    because settings have changed since ``base``, those of ``head`` are taken, and it is said. Raises
    UsageError, which speaks of the revision.
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
    """Whether settings have changed, which then are put into ``folder`` as they are now."""
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
    """Write files of ``now`` into ``folder``, and remove those that are there no more; how many that were."""
    copied = 0
    for path in sorted(paths):  # what made room for a folder goes before what is in there
        target = os.path.join(folder, path)
        parent = os.path.dirname(target)
        if not _is_inside(os.path.realpath(parent), folder):  # through a link of the revision
            continue
        try:
            content = read_inside_root(source_folder, os.path.join(source_folder, path))
        except (OSError, OutsideRoot, LimitExceeded):
            content = None
        with suppress(OSError):  # where the revision has a folder, or something else above, that stays
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
