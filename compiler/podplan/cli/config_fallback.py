"""A revision whose configuration is broken, read with that of today, so that what repairs it is checked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress

from podplan.cli.output import say
from podplan.core.errors import RequestError
from podplan.core.limits import BoundExceeded
from podplan.core.typing import TypeVar
from podplan.workspace.files import OutsideRoot, read_inside

Something = TypeVar("Something")
SETTINGS = ".toml"


def told_or_mended(
    name: str, reading: Callable[[], Something], folder: str, root: str, base: str, head: str = ""
) -> Something:
    """What is read of the revision ``name``, whose files are in ``folder``, where one stands.

    Where its request is wrong and that of ``head`` (a revision, "" for the work tree at ``root``) is not,
    because settings have changed since ``base``, those of ``head`` are taken, and it is said. Raises
    RequestError, which speaks of the revision.
    """
    try:
        return reading()
    except RequestError as error:
        wrong = RequestError(f"at {name}: {error}")
    if not _mended(folder, root, base, head):
        raise wrong
    try:
        found = reading()
    except RequestError:
        raise wrong from None
    say(str(wrong), f"so {name} is read with the settings of {head or 'the work tree'}")
    return found


def _mended(folder: str, root: str, base: str, head: str) -> bool:
    """Whether settings have changed, which then are put into ``folder`` as they are now."""
    from podplan.workspace import revisions

    changes = revisions.changed(root, base, head or None)
    paths = {path for change in changes for path in (change.path, change.before) if path is not None}
    settings = [path for path in paths if path.endswith(SETTINGS)]
    if not settings:
        return False
    with revisions.tree(root, revisions.commit_of(root, head)) if head else nullcontext(root) as now:
        return _put(settings, folder, now) > 0


def _put(paths: Iterable[str], folder: str, now: str) -> int:
    """Write files of ``now`` into ``folder``, and remove those that are there no more; how many that were."""
    put = 0
    for path in sorted(paths):  # what made room for a folder goes before what is in there
        place = os.path.join(folder, path)
        above = os.path.dirname(place)
        if not _is_below(os.path.realpath(above), folder):  # through a link of the revision
            continue
        try:
            content = read_inside(now, os.path.join(now, path))
        except (OSError, OutsideRoot, BoundExceeded):
            content = None
        with suppress(OSError):  # where the revision has a folder, or something else above, that stays
            if os.path.lexists(place):
                os.unlink(place)
            if content is not None:
                os.makedirs(above, exist_ok=True)
                with open(place, "xb") as file:
                    file.write(content)
            put += 1
    return put


def _is_below(path: str, folder: str) -> bool:
    return os.path.commonpath((path, os.path.realpath(folder))) == os.path.realpath(folder)
