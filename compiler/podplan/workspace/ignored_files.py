"""The files that git ignores, as git itself determines them: tracked files are never ignored."""

from __future__ import annotations

import os

from podplan.core.errors import UsageError
from podplan.core.limits import LimitExceeded
from podplan.workspace.revisions.git import GitError, run_git


def find_ignored_paths(git_top: str, folder: str) -> frozenset[str]:
    """Return the real paths of the ignored files and folders below a folder; a folder stands for its content.

    Empty if git fails, and for a folder that is ignored itself, because the user named it.
    """
    below = os.path.relpath(folder, git_top)
    listing = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory", "--", below)
    try:
        output = os.fsdecode(run_git(git_top, *listing))
        paths = [path for path in output.split("\0") if path]
        if not paths or (below != os.curdir and _is_ignored(git_top, below)):
            return frozenset()
    except (UsageError, GitError, LimitExceeded):
        return frozenset()
    return frozenset(os.path.join(git_top, path.rstrip("/")) for path in paths)


def _is_ignored(git_top: str, below: str) -> bool:
    try:
        # "./", because a leading colon has a meaning
        run_git(git_top, "check-ignore", "--quiet", "--no-index", "--", f"./{below}")
    except GitError as error:
        if error.code == 1:
            return False
        raise
    return True
