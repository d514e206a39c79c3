"""Revisions of a git repository: resolving names to commits, changes since a commit, and its files.

``root`` is always the top level of a work tree, as podplan.workspace.files.find_root returns it. Nothing is
written to the repository, nothing is fetched, and no program that the repository configures is run (see
``git``). Failures are a UsageError that says what to do.

A *base* is written as on the command line: ``main`` is the merge base of HEAD and ``main``, as a pull request
shows it, and ``main..`` is the commit ``main`` itself, as in ``git diff main``.
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
)  # a plain name of a branch, a tag or a commit, without operators such as ^ or ~
SPARSE_TAG = "S"  # the tag of git ls-files for files that a sparse checkout omits


class FileChange(NamedTuple):
    """A file that differs; both paths are relative to the root, with slashes.

    ``old_path`` is the previous path: a different one if the file was renamed, None if it is new. ``path`` of
    a deleted file is its previous one.
    """

    change_type: Literal["added", "modified", "deleted", "renamed"]
    path: str
    old_path: str | None


def resolve_commit(root: str, ref: str) -> str:
    """Return the full hash of the commit that ``ref`` names. Raises UsageError: if there is none."""
    _require_valid_ref(ref)
    _require_history(root)
    commit = _find_commit(root, ref)
    if commit is None:
        raise UsageError(_explain_unknown_revision(root, ref))
    return commit


def resolve_base(root: str, base: str, head: str | None = None) -> str:
    """Return the full hash of the commit to compare with: the merge base of ``base`` and ``head`` (None:
    HEAD).

    With ``base`` written as ``main..`` it is the commit ``main`` itself. Raises UsageError: if there is no
    merge base, or a shallow clone does not contain it.
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
    """Return the files that differ from ``base`` (see ``resolve_base``), sorted by path.

    ``head`` is the other revision; None is the work tree with every file that git does not ignore, committed
    or not. Submodules are skipped. Raises UsageError: if git fails.
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
    except GitError:  # a partial clone lacks the blobs that rename detection needs
        pass
    try:
        return run_git(root, "diff", *options, "--no-renames", *commits, "--", index=index)
    except GitError as error:
        raise UsageError(f"git cannot compare with {commits[0][:12]}: {error.output}") from None


@contextmanager
def _copy_index(root: str) -> Iterator[str]:
    """Yield the path of a copy of the index, because ``git diff`` refreshes the file times in it.

    The copy keeps the time of the index, by which git decides which files may have changed unnoticed
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
        except FileNotFoundError:  # nothing was ever added to the repository
            pass
        except OSError as error:
            raise UsageError(f"the index of git cannot be read: {(error.strerror or '').lower()}") from None
        yield copy


def find_present_files(root: str) -> frozenset[str]:
    """Return the files in the work tree that git does not ignore, committed or not, relative to ``root``.

    Files outside of a sparse checkout are not included. Raises UsageError: if git fails.
    """
    indexed = (path for tag, path in _iter_index(root) if tag != SPARSE_TAG)
    return frozenset((*indexed, *_find_untracked(root)))


def find_sparse_files(root: str) -> frozenset[str]:
    """Return the files that a sparse checkout omits, relative to ``root``.

    Raises UsageError: if git fails.
    """
    return frozenset(path for tag, path in _iter_index(root) if tag == SPARSE_TAG)


def _iter_index(root: str) -> Iterator[tuple[str, str]]:
    output = os.fsdecode(_read_git(root, "the index", "ls-files", "-z", "-t", "--cached"))
    for entry in filter(None, output.split("\0")):
        yield entry[0], entry[2:]


def find_tracked_files(root: str, folder: str) -> frozenset[str]:
    """Return the names of the files directly in ``folder``, below ``root``, that are in the git index.

    In a hook of ``git commit PATH`` that is the index of this commit. Raises UsageError: if git fails.
    """
    below = os.path.relpath(folder, root).replace(os.sep, "/")
    arguments = ("ls-files", "-z", "--cached", "--", below)
    output = os.fsdecode(_read_git(root, "the index", *arguments, index=_find_hook_index(root)))
    parent = "" if below == "." else below
    paths = filter(None, output.split("\0"))
    return frozenset(os.path.basename(path) for path in paths if os.path.dirname(path) == parent)


def _find_hook_index(root: str) -> str:
    """Return the index that git passes to a hook, if it belongs to the repository at ``root``, else ""."""
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
    # git lists a nested repository as a folder; its files are not part of this one.
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
    # All text after ":/" is a search in commit messages, which always gives a commit.
    name = ref if ref.startswith(":/") else ref + "^{commit}"
    try:
        output = run_git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", name)
    except GitError:
        return None
    return os.fsdecode(output).strip()


def _explain_unknown_revision(root: str, ref: str) -> str:
    """Return the message for a name without a commit, with what to fetch if it is a plain name."""
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
    """Return the type of a git object that is no commit ("tree", "blob"), or ""."""
    try:
        name = run_git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", ref)
        return os.fsdecode(run_git(root, "cat-file", "-t", os.fsdecode(name).strip())).strip()
    except GitError:
        return ""


def _is_shallow(root: str) -> bool:
    return _read_git(root, "the repository", "rev-parse", "--is-shallow-repository").strip() == b"true"
