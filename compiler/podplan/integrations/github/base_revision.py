"""What a pull request is compared with, where the workflow does not say."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.errors import RequestError
from podplan.core.typing import NamedTuple
from podplan.workspace.revisions import EXACT, base_of, commit_of

# A pull request is checked out as the merge that it would be; its first parent is the branch it goes into.
PARENT = "HEAD^1"


class Base(NamedTuple):
    """A revision as --base takes it, or "" and the reason why there is none; both "" where none is wanted."""

    revision: str
    reason: str = ""


def base(asked: str, root: str, environ: Mapping[str, str]) -> Base:
    """What a step compares with: what it asks for, else for a pull request what that would be merged into.

    Raises RequestError where what it asks for cannot be had, or git cannot read the checkout.
    """
    if asked:
        base_of(root, asked)
        return Base(asked)
    if environ.get("GITHUB_EVENT_NAME") != "pull_request":
        return Base("")
    head = commit_of(root, "HEAD")
    if head != environ.get("GITHUB_SHA", head):
        return Base("", "the checkout is not the merge of the pull request; set the input base")
    try:
        commit_of(root, "HEAD^2")
        commit_of(root, PARENT)
    except RequestError:
        return Base("", "the checkout has no history; give actions/checkout fetch-depth: 2, or set base")
    return Base(PARENT + EXACT)
