"""Revisions of a git repository: which commit a name stands for, what changed since, and its files.

``root`` is always the top level of a work tree, as ``reading.files.root_of`` gives it. Nothing is written
into the repository, nothing is fetched, and nothing that the repository names is run (see ``git``). What
cannot be had is a RequestError with a sentence that says what to do.

A *base* is written as on the command line: ``main`` is the commit where HEAD left ``main`` (the merge base,
as a pull request shows it), and ``main..`` is the commit ``main`` itself, as ``git diff main`` has it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

from podplan.core.errors import RequestError
from podplan.core.typing import Literal, NamedTuple
from podplan.workspace.revisions.file_tree import tree
from podplan.workspace.revisions.git import GitFailed, git

__all__ = ["Change", "base_of", "changed", "commit_of", "outside", "present", "tracked", "tree"]

MAX_REF_LENGTH = 1_000
EXACT = ".."
PLAIN = re.compile(r"\w[\w./+-]*")  # the name of a branch, a tag or a commit, and nothing that is worked out
OUTSIDE = "S"  # the tag of git ls-files for what a sparse checkout leaves out


class Change(NamedTuple):
    """A file that is not as it was; both paths are from the root, with slashes.

    ``before`` is the path that it had: another one where it was renamed, None where it is new.
    ``path`` of a file that is deleted is the one that it had.
    """

    how: Literal["added", "modified", "deleted", "renamed"]
    path: str
    before: str | None


def commit_of(root: str, ref: str) -> str:
    """The full name of the commit that ``ref`` stands for. Raises RequestError."""
    _demand_ref(ref)
    _demand_history(root)
    found = _commit(root, ref)
    if found is None:
        raise RequestError(_no_such(root, ref))
    return found


def base_of(root: str, base: str, head: str | None = None) -> str:
    """The full name of the commit to compare with: the merge base of ``base`` and ``head`` (None: HEAD).

    With ``base`` written as ``main..`` it is the commit that ``main`` stands for. Raises RequestError, also
    where the two have no merge base, or it is beyond what a shallow clone has.
    """
    name = base.removesuffix("...").removesuffix(EXACT)
    wanted = commit_of(root, name)
    if base == name + EXACT:
        return wanted
    other = commit_of(root, "HEAD" if head is None else head)
    try:
        return os.fsdecode(git(root, "merge-base", wanted, other)).strip()
    except GitFailed as error:
        if error.code != 1:
            raise RequestError(f"git cannot compare {name} with {head or 'HEAD'}: {error.said}") from None
    lacks = f"{name} and {head or 'HEAD'} have no common commit"
    if _shallow(root):
        raise RequestError(
            f"{lacks} in what this shallow clone has of their history; fetch more of it"
            f" (git fetch --unshallow; in actions/checkout: fetch-depth: 2 and the base HEAD^1),"
            f" or compare with {name} as it is: {name}{EXACT}"
        )
    raise RequestError(f"{lacks}; to compare with {name} as it is, write {name}{EXACT}")


def changed(root: str, base: str, head: str | None = None) -> list[Change]:
    """The files that differ from ``base`` (see ``base_of``), by path.

    ``head`` is the other revision; None is the work tree with everything in it that git does not ignore,
    committed or not. Submodules are no files. Raises RequestError.
    """
    start = base_of(root, base, head)
    sides = (start,) if head is None else (start, commit_of(root, head))
    with _own_index(root) if head is None else nullcontext("") as index:
        said = _differences(root, sides, index)
    found = list(_changes(os.fsdecode(said)))
    if head is None:
        known = {change.path for change in found if change.how != "deleted"}
        found += [Change("added", path, None) for path in _untracked(root) if path not in known]
    return sorted(found, key=lambda change: os.fsencode(change.path))


def _differences(root: str, sides: Sequence[str], index: str) -> bytes:
    asked = ("--name-status", "-z", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-color")
    try:
        return git(root, "diff", *asked, "--find-renames", "-l1000", *sides, "--", index=index)
    except GitFailed:  # a partial clone has not what it takes to see that a file was renamed
        pass
    try:
        return git(root, "diff", *asked, "--no-renames", *sides, "--", index=index)
    except GitFailed as error:
        raise RequestError(f"git cannot compare with {sides[0][:12]}: {error.said}") from None


@contextmanager
def _own_index(root: str) -> Iterator[str]:
    """A copy of the index: ``git diff`` writes the times of files into it, whatever one asks.

    It keeps the time of the index, by which git knows which files may have changed since without a trace
    (https://git-scm.com/docs/racy-git).
    """
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="podplan-") as folder:
        copy = os.path.join(folder, "index")
        own = os.fsdecode(_told(root, "the index", "rev-parse", "--git-path", "index")).removesuffix("\n")
        try:
            shutil.copy2(os.path.join(root, own), copy)
        except FileNotFoundError:  # of a repository where nothing was ever added
            pass
        except OSError as error:
            raise RequestError(f"the index of git cannot be read: {(error.strerror or '').lower()}") from None
        yield copy


def present(root: str) -> frozenset[str]:
    """The paths from ``root`` of the files in the work tree that git does not ignore, committed or not.

    Of a sparse checkout, those outside of it are not present. Raises RequestError.
    """
    held = (path for tag, path in _index(root) if tag != OUTSIDE)
    return frozenset((*held, *_untracked(root)))


def outside(root: str) -> frozenset[str]:
    """The paths from ``root`` of the files that a sparse checkout leaves out. Raises RequestError."""
    return frozenset(path for tag, path in _index(root) if tag == OUTSIDE)


def _index(root: str) -> Iterator[tuple[str, str]]:
    said = os.fsdecode(_told(root, "the index", "ls-files", "-z", "-t", "--cached"))
    for entry in filter(None, said.split("\0")):
        yield entry[0], entry[2:]


def tracked(root: str, folder: str) -> frozenset[str]:
    """The names of the files right in ``folder``, below ``root``, that git has in its index.

    In a hook of ``git commit PATH`` that is the index of this commit. Raises RequestError.
    """
    below = os.path.relpath(folder, root).replace(os.sep, "/")
    asked = ("ls-files", "-z", "--cached", "--", below)
    said = os.fsdecode(_told(root, "the index", *asked, index=_index_of_commit(root)))
    here = "" if below == "." else below
    paths = filter(None, said.split("\0"))
    return frozenset(os.path.basename(path) for path in paths if os.path.dirname(path) == here)


def _index_of_commit(root: str) -> str:
    """The index that git tells a hook to look at, where it is one of the repository at ``root``; else ""."""
    told = os.environ.get("GIT_INDEX_FILE", "")
    if not told:
        return ""
    own = os.fsdecode(_told(root, "the repository", "rev-parse", "--absolute-git-dir")).removesuffix("\n")
    path = os.path.realpath(os.path.join(root, told))
    return path if os.path.dirname(path) == os.path.realpath(own) else ""


def _untracked(root: str) -> list[str]:
    said = _told(root, "the index", "ls-files", "-z", "--others", "--exclude-standard")
    # A repository within this one is a folder to git, and none of its files are ours.
    return [path for path in os.fsdecode(said).split("\0") if path and not path.endswith("/")]


def _changes(said: str) -> list[Change]:
    fields = iter(said.split("\0"))
    found = []
    for letter in fields:
        if not letter:
            continue
        path = next(fields)
        if letter[0] == "R":
            found.append(Change("renamed", next(fields), path))
        elif letter[0] == "A":
            found.append(Change("added", path, None))
        elif letter[0] == "D":
            found.append(Change("deleted", path, path))
        else:  # modified, of another type, unmerged
            found.append(Change("modified", path, path))
    return found


def _told(root: str, what: str, *arguments: str, index: str = "") -> bytes:
    try:
        return git(root, *arguments, index=index)
    except GitFailed as error:
        raise RequestError(f"git cannot read {what}: {error.said}") from None


def _demand_ref(ref: str) -> None:
    shown = ref if ref.isprintable() and len(ref) <= 200 else ascii(ref[:200])
    if not ref.strip() or ref.startswith("-") or len(ref) > MAX_REF_LENGTH or not ref.isprintable():
        raise RequestError(f'"{shown}" cannot be the name of a revision; write a branch, a tag or a commit')
    if EXACT in ref:
        raise RequestError(f'"{shown}" is a range; write the one revision to compare with, such as main')


def _demand_history(root: str) -> None:
    if not os.path.exists(os.path.join(root, ".git")):
        raise RequestError(f"{root} is not a git repository; run this in a clone, or compare two folders")
    if _commit(root, "HEAD") is None and not _told(root, "the refs", "for-each-ref", "--count=1"):
        raise RequestError("this repository has no commits yet, so there is nothing to compare with")


def _commit(root: str, ref: str) -> str | None:
    # What follows ":/" is all text of a message, and what it finds is a commit.
    name = ref if ref.startswith(":/") else ref + "^{commit}"
    try:
        said = git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", name)
    except GitFailed:
        return None
    return os.fsdecode(said).strip()


def _no_such(root: str, ref: str) -> str:
    """That a name stands for no commit, with what to fetch; only a plain name is one to the remote."""
    remote = PLAIN.fullmatch(ref) is not None
    if _shallow(root):
        alone = f", or git fetch --depth=1 origin {ref} and the base FETCH_HEAD{EXACT}" if remote else ""
        return (
            f'there is no revision "{ref}" in this shallow clone; fetch it'
            f" (in actions/checkout: fetch-depth: 2 and the base HEAD^1; else: git fetch --unshallow{alone})"
        )
    if _kind(root, ref):
        return f'"{ref}" is a {_kind(root, ref)} of this repository; write a branch, a tag or a commit'
    hint = f"; if it is on the remote: git fetch origin {ref}" if remote else ""
    return f'there is no revision "{ref}" in this repository{hint}'


def _kind(root: str, ref: str) -> str:
    """What a name stands for that is no commit: a tree or a blob; "" for nothing."""
    try:
        name = git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", ref)
        return os.fsdecode(git(root, "cat-file", "-t", os.fsdecode(name).strip())).strip()
    except GitFailed:
        return ""


def _shallow(root: str) -> bool:
    return _told(root, "the repository", "rev-parse", "--is-shallow-repository").strip() == b"true"
