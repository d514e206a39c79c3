"""Calling git: the one place that does, and only to read what is in the repository, offline.

The checkout may come from a stranger, so nothing that it or its configuration names is run: no hooks, file
system monitors, filters, text conversions, external diffs or remotes. git does not prompt, does not lock the
index, and does not take one object for another. Links: git(1), git-config(1), gitattributes(5).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache

from podplan.core.errors import RequestError
from podplan.core.limits import BoundExceeded
from podplan.core.typing import IO

MAX_GIT_SECONDS = 60  # for one call
MAX_FILTERS = 1_000  # settings; git takes time by the square of their number
QUIET = (
    "--no-pager",
    "--no-replace-objects",
    "--literal-pathspecs",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.untrackedCache=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.quotePath=false",
    "-c",
    "protocol.allow=never",
    "-c",
    "submodule.recurse=false",
)
SAID = {
    "LC_ALL": "C",
    "LANGUAGE": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS": "true",
    "GIT_PAGER": "cat",
}
# Which configuration is the user's own says who may own a repository (safe.directory), and nothing that runs.
KEPT = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH")


class GitFailed(Exception):
    """git ended with an error; ``said`` is what it wrote, to be told by whoever knows what was asked."""

    def __init__(self, code: int, said: str) -> None:
        super().__init__(said)
        self.code = code
        self.said = said


def git(
    root: str, *arguments: str, given: bytes = b"", into: IO[bytes] | None = None, index: str = ""
) -> bytes:
    """What git writes, called in the work tree at ``root``; nothing, where it writes ``into`` a file.

    ``index`` is a copy of the index that it may refresh. Raises RequestError where there is no git or no
    repository that it would read, GitFailed for any other failure, and BoundExceeded where it takes too long.
    """
    drivers = _without_filters(root) if arguments[0] in ("diff", "ls-files") else {}
    at = {"GIT_INDEX_FILE": index} if index else {}
    return _run(root, arguments, {**environment(), **drivers, **at}, given, into)


def environment() -> dict[str, str]:
    """The environment of git: that of podplan without what would lead it elsewhere, as a git hook sets it."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in KEPT}
    return own | SAID


def _run(
    root: str, arguments: Sequence[str], env: Mapping[str, str], given: bytes, into: IO[bytes] | None
) -> bytes:
    above = {"GIT_CEILING_DIRECTORIES": os.path.dirname(os.path.realpath(root))}
    command = ["git", "-C", root, "--work-tree=.", *QUIET, *arguments]
    try:
        done = subprocess.run(
            command,
            input=given,
            stdout=subprocess.PIPE if into is None else into,
            stderr=subprocess.PIPE,
            env={**env, **above},
            timeout=MAX_GIT_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise RequestError(
            "git is not installed, and what is in a repository or its history cannot be told without it;"
            " install git, or compare two folders"
        ) from None
    except OSError as error:
        raise RequestError(f"git cannot be run: {(error.strerror or str(error)).lower()}") from None
    except subprocess.TimeoutExpired:
        raise BoundExceeded(
            f"git {arguments[0]} took more than {MAX_GIT_SECONDS} seconds, and is not waited for any longer"
        ) from None
    if done.returncode == 0:
        return done.stdout or b""
    said = one_line(done.stderr)
    if "dubious ownership" in said:
        raise RequestError(
            f"git refuses to read {root}, since another user owns it;"
            f" if you trust it: git config --global --add safe.directory {root}"
        )
    if "not a git repository" in said:
        raise RequestError(f"{root} is not a git repository; run this in a clone, or compare two folders")
    raise GitFailed(done.returncode, said)


def one_line(said: bytes) -> str:
    """What git wrote on standard error as one line that is safe to print."""
    text = " ".join(said.decode(errors="replace").split())[:500]
    return "".join(letter if letter.isprintable() else "?" for letter in text)


@cache
def _without_filters(root: str) -> dict[str, str]:
    """Variables that take the commands out of every filter of git's configuration, whoever wrote it.

    ``git diff`` runs filters to see whether a file of the work tree is the one in the index.
    """
    asked = (
        "config",
        "--null",
        "--name-only",
        "--get-regexp",
        r"^filter\..*\.(clean|smudge|process|required)$",
    )
    try:
        found = _run(root, asked, environment(), b"", None)
    except GitFailed as error:
        if error.code == 1:  # there is none
            return {}
        raise RequestError(f"git cannot read its configuration: {error.said}") from None
    names = dict.fromkeys(name for name in os.fsdecode(found).split("\0") if name)
    if len(names) > MAX_FILTERS:
        raise BoundExceeded(
            f"the git configuration of {root} has {len(names):,} settings of filters, and at most"
            f" {MAX_FILTERS:,} are turned off; remove them, or compare two folders"
        )
    said = {"GIT_CONFIG_COUNT": str(len(names))}
    for index, name in enumerate(names):
        said[f"GIT_CONFIG_KEY_{index}"] = name
        said[f"GIT_CONFIG_VALUE_{index}"] = "false" if name.endswith(".required") else ""
    return said
