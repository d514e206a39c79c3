"""The default base revision for a pull request."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.errors import UsageError
from podplan.core.typing import NamedTuple
from podplan.workspace.revisions import EXACT_SUFFIX, resolve_base, resolve_commit

# A pull request is checked out as a merge commit, whose first parent is the target branch.
PARENT_REVISION = "HEAD^1"


class BaseRevision(NamedTuple):
    """A revision for --base, or "" and the reason why there is none; both "" if none is needed."""

    revision: str
    reason: str = ""


def find_base_revision(requested: str, root: str, environ: Mapping[str, str]) -> BaseRevision:
    """Return the requested base revision, else for a pull request the head of its target branch.

    Raises UsageError: if the requested one does not exist, or git cannot read the checkout.
    """
    if requested:
        resolve_base(root, requested)
        return BaseRevision(requested)
    if environ.get("GITHUB_EVENT_NAME") != "pull_request":
        return BaseRevision("")
    head = resolve_commit(root, "HEAD")
    if head != environ.get("GITHUB_SHA", head):
        return BaseRevision("", "the checkout is not the merge of the pull request; set the input base")
    try:
        resolve_commit(root, "HEAD^2")
        resolve_commit(root, PARENT_REVISION)
    except UsageError:
        return BaseRevision(
            "", "the checkout has no history; give actions/checkout fetch-depth: 2, or set base"
        )
    return BaseRevision(PARENT_REVISION + EXACT_SUFFIX)
