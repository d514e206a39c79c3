"""Revisions of a git repository: which commit a name stands for, what changed since, and its files.

``root`` is always the top level of a work tree, as ``reading.files.root_of`` gives it. Nothing is written
into the repository, nothing is fetched, and nothing that the repository names is run (see ``git``). What
cannot be had is a UsageError with a sentence that says what to do.

A *base* is written as on the command line: ``main`` is the commit where HEAD left ``main`` (the merge base,
as a pull request shows it), and ``main..`` is the commit ``main`` itself, as ``git diff main`` has it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

from podplan.core.errors import UsageError
from podplan.core.typing import Literal, NamedTuple
from podplan.workspace.revisions.file_tree import extract_tree
from podplan.workspace.revisions.git import GitError, run_git

__all__ = [
    "FileChange",
    "extract_tree",
    "find_changes",
    "find_present_files",
    "find_sparse_files",
    "find_tracked_files",
    "resolve_base",
    "resolve_commit",
]

MAX_REF_LENGTH = 1_000
EXACT_SUFFIX = ".."
PLAIN_REF = re.compile(
    r"\w[\w./+-]*"
)  # the name of a branch, a tag or a commit, and nothing that is worked out
SPARSE_TAG = "S"  # the tag of git ls-files for what a sparse checkout leaves out


class FileChange(NamedTuple):
    """A file that is not as it was; both paths are from the root, with slashes.

    ``before`` is the path that it had: another one where it was renamed, None where it is new.
    ``path`` of a file that is deleted is the one that it had.
    """

    change_type: Literal["added", "modified", "deleted", "renamed"]
    path: str
    old_path: str | None


def resolve_commit(root: str, ref: str) -> str:
    """The full name of the commit that ``ref`` stands for. Raises UsageError."""
    _require_valid_ref(ref)
    _require_history(root)
    commit = _find_commit(root, ref)
    if commit is None:
        raise UsageError(_explain_unknown_revision(root, ref))
    return commit


def resolve_base(root: str, base: str, head: str | None = None) -> str:
    """The full name of the commit to compare with: the merge base of ``base`` and ``head`` (None: HEAD).

    With ``base`` written as ``main..`` it is the commit that ``main`` stands for. Raises UsageError, also
    where the two have no merge base, or it is beyond what a shallow clone has.
    """
    name = base.removesuffix("...").removesuffix(EXACT_SUFFIX)
    base_commit = resolve_commit(root, name)
    if base == name + EXACT_SUFFIX:
        return base_commit
    head_commit = resolve_commit(root, "HEAD" if head is None else head)
    try:
        return os.fsdecode(run_git(root, "merge-base", base_commit, head_commit)).strip()
    except GitError as error:
        if error.code != 1:
            raise UsageError(f"git cannot compare {name} with {head or 'HEAD'}: {error.output}") from None
    reason = f"{name} and {head or 'HEAD'} have no common commit"
    if _is_shallow(root):
        raise UsageError(
            f"{reason} in what this shallow clone has of their history; fetch more of it"
            f" (git fetch --unshallow; in actions/checkout: fetch-depth: 2 and the base HEAD^1),"
            f" or compare with {name} as it is: {name}{EXACT_SUFFIX}"
        )
    raise UsageError(f"{reason}; to compare with {name} as it is, write {name}{EXACT_SUFFIX}")


def find_changes(root: str, base: str, head: str | None = None) -> list[FileChange]:
    """The files that differ from ``base`` (see ``base_of``), by path.

    ``head`` is the other revision; None is the work tree with everything in it that git does not ignore,
    committed or not. Submodules are no files. Raises UsageError.
    """
    base_commit = resolve_base(root, base, head)
    commits = (base_commit,) if head is None else (base_commit, resolve_commit(root, head))
    with _copy_index(root) if head is None else nullcontext("") as index:
        output = _run_diff(root, commits, index)
    changes = list(_parse_changes(os.fsdecode(output)))
    if head is None:
        changed_paths = {change.path for change in changes if change.change_type != "deleted"}
        changes += [
            FileChange("added", path, None) for path in _find_untracked(root) if path not in changed_paths
        ]
    return sorted(changes, key=lambda change: os.fsencode(change.path))


def _run_diff(root: str, commits: Sequence[str], index: str) -> bytes:
    options = (
        "--name-status",
        "-z",
        "--no-ext-diff",
        "--no-textconv",
        "--ignore-submodules=all",
        "--no-color",
    )
    try:
        return run_git(root, "diff", *options, "--find-renames", "-l1000", *commits, "--", index=index)
    except GitError:  # a partial clone has not what it takes to see that a file was renamed
        pass
    try:
        return run_git(root, "diff", *options, "--no-renames", *commits, "--", index=index)
    except GitError as error:
        raise UsageError(f"git cannot compare with {commits[0][:12]}: {error.output}") from None


@contextmanager
def _copy_index(root: str) -> Iterator[str]:
    """A copy of the index: ``git diff`` writes the times of files into it, whatever one asks.

    It keeps the time of the index, by which git knows which files may have changed since without a trace
    (https://git-scm.com/docs/racy-git).
    """
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="podplan-") as folder:
        copy = os.path.join(folder, "index")
        index_path = os.fsdecode(
            _read_git(root, "the index", "rev-parse", "--git-path", "index")
        ).removesuffix("\n")
        try:
            shutil.copy2(os.path.join(root, index_path), copy)
        except FileNotFoundError:  # of a repository where nothing was ever added
            pass
        except OSError as error:
            raise UsageError(f"the index of git cannot be read: {(error.strerror or '').lower()}") from None
        yield copy


def find_present_files(root: str) -> frozenset[str]:
    """The paths from ``root`` of the files in the work tree that git does not ignore, committed or not.

    Of a sparse checkout, those outside of it are not present. Raises UsageError.
    """
    indexed = (path for tag, path in _iter_index(root) if tag != SPARSE_TAG)
    return frozenset((*indexed, *_find_untracked(root)))


def find_sparse_files(root: str) -> frozenset[str]:
    """The paths from ``root`` of the files that a sparse checkout leaves out. Raises UsageError."""
    return frozenset(path for tag, path in _iter_index(root) if tag == SPARSE_TAG)


def _iter_index(root: str) -> Iterator[tuple[str, str]]:
    output = os.fsdecode(_read_git(root, "the index", "ls-files", "-z", "-t", "--cached"))
    for entry in filter(None, output.split("\0")):
        yield entry[0], entry[2:]


def find_tracked_files(root: str, folder: str) -> frozenset[str]:
    """The names of the files right in ``folder``, below ``root``, that git has in its index.

    In a hook of ``git commit PATH`` that is the index of this commit. Raises UsageError.
    """
    below = os.path.relpath(folder, root).replace(os.sep, "/")
    arguments = ("ls-files", "-z", "--cached", "--", below)
    output = os.fsdecode(_read_git(root, "the index", *arguments, index=_find_hook_index(root)))
    parent = "" if below == "." else below
    paths = filter(None, output.split("\0"))
    return frozenset(os.path.basename(path) for path in paths if os.path.dirname(path) == parent)


def _find_hook_index(root: str) -> str:
    """The index that git tells a hook to look at, where it is one of the repository at ``root``; else ""."""
    variable = os.environ.get("GIT_INDEX_FILE", "")
    if not variable:
        return ""
    git_folder = os.fsdecode(
        _read_git(root, "the repository", "rev-parse", "--absolute-git-dir")
    ).removesuffix("\n")
    path = os.path.realpath(os.path.join(root, variable))
    return path if os.path.dirname(path) == os.path.realpath(git_folder) else ""


def _find_untracked(root: str) -> list[str]:
    output = _read_git(root, "the index", "ls-files", "-z", "--others", "--exclude-standard")
    # A repository within this one is a folder to git, and none of its files are ours.
    return [path for path in os.fsdecode(output).split("\0") if path and not path.endswith("/")]


def _parse_changes(output: str) -> list[FileChange]:
    fields = iter(output.split("\0"))
    changes = []
    for status in fields:
        if not status:
            continue
        path = next(fields)
        if status[0] == "R":
            changes.append(FileChange("renamed", next(fields), path))
        elif status[0] == "A":
            changes.append(FileChange("added", path, None))
        elif status[0] == "D":
            changes.append(FileChange("deleted", path, path))
        else:  # modified, of another type, unmerged
            changes.append(FileChange("modified", path, path))
    return changes


def _read_git(root: str, subject: str, *arguments: str, index: str = "") -> bytes:
    try:
        return run_git(root, *arguments, index=index)
    except GitError as error:
        raise UsageError(f"git cannot read {subject}: {error.output}") from None


def _require_valid_ref(ref: str) -> None:
    shown = ref if ref.isprintable() and len(ref) <= 200 else ascii(ref[:200])
    if not ref.strip() or ref.startswith("-") or len(ref) > MAX_REF_LENGTH or not ref.isprintable():
        raise UsageError(f'"{shown}" cannot be the name of a revision; write a branch, a tag or a commit')
    if EXACT_SUFFIX in ref:
        raise UsageError(f'"{shown}" is a range; write the one revision to compare with, such as main')


def _require_history(root: str) -> None:
    if not os.path.exists(os.path.join(root, ".git")):
        raise UsageError(f"{root} is not a git repository; run this in a clone, or compare two folders")
    if _find_commit(root, "HEAD") is None and not _read_git(root, "the refs", "for-each-ref", "--count=1"):
        raise UsageError("this repository has no commits yet, so there is nothing to compare with")


def _find_commit(root: str, ref: str) -> str | None:
    # What follows ":/" is all text of a message, and what it finds is a commit.
    name = ref if ref.startswith(":/") else ref + "^{commit}"
    try:
        output = run_git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", name)
    except GitError:
        return None
    return os.fsdecode(output).strip()


def _explain_unknown_revision(root: str, ref: str) -> str:
    """That a name stands for no commit, with what to fetch; only a plain name is one to the remote."""
    is_remote_name = PLAIN_REF.fullmatch(ref) is not None
    if _is_shallow(root):
        single_fetch = (
            f", or git fetch --depth=1 origin {ref} and the base FETCH_HEAD{EXACT_SUFFIX}"
            if is_remote_name
            else ""
        )
        return (
            f'there is no revision "{ref}" in this shallow clone; fetch it (in actions/checkout: fetch-depth:'
            f" 2 and the base HEAD^1; else: git fetch --unshallow{single_fetch})"
        )
    if _find_object_type(root, ref):
        return (
            f'"{ref}" is a {_find_object_type(root, ref)} of this repository; write a branch, a tag or a'
            " commit"
        )
    hint = f"; if it is on the remote: git fetch origin {ref}" if is_remote_name else ""
    return f'there is no revision "{ref}" in this repository{hint}'


def _find_object_type(root: str, ref: str) -> str:
    """What a name stands for that is no commit: a tree or a blob; "" for nothing."""
    try:
        name = run_git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", ref)
        return os.fsdecode(run_git(root, "cat-file", "-t", os.fsdecode(name).strip())).strip()
    except GitError:
        return ""


def _is_shallow(root: str) -> bool:
    return _read_git(root, "the repository", "rev-parse", "--is-shallow-repository").strip() == b"true"
