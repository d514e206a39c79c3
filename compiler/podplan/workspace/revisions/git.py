"""Calls git; the only module that does, only to read the repository, and offline.

The checkout is untrusted, so nothing that it or its configuration names is run: no hooks, file system
monitors, filters, text conversions, external diffs or remotes. git does not prompt, does not lock the index,
and does not replace objects. See git(1), git-config(1), gitattributes(5).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache

from podplan.core.errors import UsageError
from podplan.core.limits import LimitExceeded
from podplan.core.typing import IO

MAX_GIT_SECONDS = 60  # of one call
MAX_FILTERS = 1_000  # git handles settings in quadratic time
SAFE_OPTIONS = (
    "--no-pager",
    "--no-replace-objects",
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
TAKES_NO_PATHSPECS = "check-ignore"  # takes paths, and refuses --literal-pathspecs
SAFE_ENVIRONMENT = {
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
# The configuration of the user decides who may own a repository (safe.directory); it runs no program.
KEPT_VARIABLES = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH")


class GitError(Exception):
    """git failed; ``output`` is its standard error, for callers that explain it to the user."""

    def __init__(self, code: int, output: str) -> None:
        super().__init__(output)
        self.code = code
        self.output = output


def run_git(
    root: str,
    *arguments: str,
    input_bytes: bytes = b"",
    output_file: IO[bytes] | None = None,
    index: str = "",
) -> bytes:
    """Run git in the work tree at ``root`` and return its output, or write that to ``output_file``.

    ``index`` is a copy of the index that git may refresh.

    Raises UsageError: if git is missing, or there is no repository that it would read. Raises GitError: if
    git fails. Raises LimitExceeded: if it times out.
    """
    filter_settings = _disable_filters(root) if arguments[0] in ("diff", "ls-files") else {}
    index_setting = {"GIT_INDEX_FILE": index} if index else {}
    return _run_command(
        root, arguments, {**build_environment(), **filter_settings, **index_setting}, input_bytes, output_file
    )


def build_environment() -> dict[str, str]:
    """Return the environment of git: that of podplan without variables that redirect git, as git hooks set
    them."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in KEPT_VARIABLES
    }
    return inherited | SAFE_ENVIRONMENT


def _run_command(
    root: str,
    arguments: Sequence[str],
    env: Mapping[str, str],
    input_bytes: bytes,
    output_file: IO[bytes] | None,
) -> bytes:
    ceiling = {"GIT_CEILING_DIRECTORIES": os.path.dirname(os.path.realpath(root))}
    pathspecs = () if arguments[0] == TAKES_NO_PATHSPECS else ("--literal-pathspecs",)
    command = ["git", "-C", root, "--work-tree=.", *SAFE_OPTIONS, *pathspecs, *arguments]
    try:
        process = subprocess.run(
            command,
            input=input_bytes,
            stdout=subprocess.PIPE if output_file is None else output_file,
            stderr=subprocess.PIPE,
            env={**env, **ceiling},
            timeout=MAX_GIT_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise UsageError(
            "git is not installed, and the files and the history of a repository cannot be read without it;"
            " install git, or compare two folders"
        ) from None
    except OSError as error:
        raise UsageError(f"git cannot be run: {(error.strerror or str(error)).lower()}") from None
    except subprocess.TimeoutExpired:
        raise LimitExceeded(
            f"git {arguments[0]} took more than {MAX_GIT_SECONDS} seconds, and is not waited for any longer"
        ) from None
    if process.returncode == 0:
        return process.stdout or b""
    output = to_one_line(process.stderr)
    if "dubious ownership" in output:
        raise UsageError(
            f"git refuses to read {root}, since another user owns it;"
            f" if you trust it: git config --global --add safe.directory {root}"
        )
    if "not a git repository" in output:
        raise UsageError(f"{root} is not a git repository; run this in a clone, or compare two folders")
    raise GitError(process.returncode, output)


def to_one_line(output: bytes) -> str:
    """Return the standard error of git as one line that is safe to print."""
    text = " ".join(output.decode(errors="replace").split())[:500]
    return "".join(letter if letter.isprintable() else "?" for letter in text)


@cache
def _disable_filters(root: str) -> dict[str, str]:
    """Return variables that disable the commands of all filters in the git configuration.

    ``git diff`` would run them to compare files of the work tree with the index.
    """
    arguments = (
        "config",
        "--null",
        "--name-only",
        "--get-regexp",
        r"^filter\..*\.(clean|smudge|process|required)$",
    )
    try:
        output = _run_command(root, arguments, build_environment(), b"", None)
    except GitError as error:
        if error.code == 1:  # none is configured
            return {}
        raise UsageError(f"git cannot read its configuration: {error.output}") from None
    names = dict.fromkeys(name for name in os.fsdecode(output).split("\0") if name)
    if len(names) > MAX_FILTERS:
        raise LimitExceeded(
            f"the git configuration of {root} has {len(names):,} settings of filters, and at most"
            f" {MAX_FILTERS:,} are turned off; remove them, or compare two folders"
        )
    settings = {"GIT_CONFIG_COUNT": str(len(names))}
    for index, name in enumerate(names):
        settings[f"GIT_CONFIG_KEY_{index}"] = name
        settings[f"GIT_CONFIG_VALUE_{index}"] = "false" if name.endswith(".required") else ""
    return settings
