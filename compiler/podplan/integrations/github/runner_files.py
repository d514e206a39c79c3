"""The files by which a step tells the runner something, and those that it leaves for later steps."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping

from podplan.core.errors import RequestError

# of one step; the runner drops a bigger one (docs/evidence/github-actions.md#summary-of-a-step)
MAX_SUMMARY_BYTES = 1024 * 1024
LEFT_OUT = "\n\nThe rest has no room in this summary.\n"


def outputs(values: Mapping[str, str]) -> str:
    """Text for GITHUB_OUTPUT. A delimiter that nobody can know keeps a value from setting other outputs."""
    text = ""
    for name, value in values.items():
        delimiter = f"podplan_{secrets.token_hex(16)}"
        text += f"{name}<<{delimiter}\n{value}\n{delimiter}\n"
    return text


def append(path: str, text: str) -> None:
    """``text`` to the end of a file of the runner; nothing where there is no runner."""
    if path:
        with open(path, "a", encoding="utf-8", errors="backslashreplace", newline="") as stream:
            stream.write(text)


def fitting(summary: str) -> str:
    """``summary``, cut at a line where it is more than the runner takes."""
    if len(summary.encode(errors="backslashreplace")) <= MAX_SUMMARY_BYTES:
        return summary
    room = MAX_SUMMARY_BYTES - len(LEFT_OUT)
    kept = summary.encode(errors="backslashreplace")[:room].decode(errors="ignore")
    return kept[: kept.rfind("\n") + 1] + LEFT_OUT


def demand_inside(name: str, path: str, environ: Mapping[str, str]) -> None:
    """Raises RequestError where a file or folder is not in the workspace or among the runner's temporary
    files, whichever it is written as: a link in the checkout may lead anywhere. Of a file its folder counts:
    who writes it replaces a link in its place, and who reads it judges where that leads.
    """
    written = os.path.normpath(os.path.join(os.path.realpath(os.curdir), path))
    real = os.path.realpath(path if os.path.isdir(path) else os.path.dirname(path) or os.curdir)
    for home in (environ.get("GITHUB_WORKSPACE") or os.curdir, environ.get("RUNNER_TEMP") or os.curdir):
        top = os.path.realpath(home)
        if _is_in(real, top) and (_is_in(written, top) or _is_in(written, os.path.abspath(home))):
            return
    raise RequestError(f"{name}: {path} is not in the workspace")


def _is_in(path: str, folder: str) -> bool:
    return os.path.commonpath((path, folder)) == folder
