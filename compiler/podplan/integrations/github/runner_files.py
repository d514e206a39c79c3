"""The files by which a step passes data to the runner and to later steps."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping

from podplan.core.errors import UsageError

# of one step; the runner drops a longer one (docs/evidence/github-actions.md#summary-of-a-step)
MAX_SUMMARY_BYTES = 1024 * 1024
TRUNCATION_NOTE = "\n\nThe rest has no room in this summary.\n"


def format_outputs(values: Mapping[str, str]) -> str:
    """Format text for GITHUB_OUTPUT; the random delimiter prevents a value from setting other outputs."""
    text = ""
    for name, value in values.items():
        delimiter = f"podplan_{secrets.token_hex(16)}"
        text += f"{name}<<{delimiter}\n{value}\n{delimiter}\n"
    return text


def append_file(path: str, text: str) -> None:
    """Append ``text`` to a file of the runner; does nothing without a runner."""
    if path:
        with open(path, "a", encoding="utf-8", errors="backslashreplace", newline="") as stream:
            stream.write(text)


def truncate_summary(summary: str) -> str:
    """Return ``summary``, truncated at a line to the limit of the runner."""
    if len(summary.encode(errors="backslashreplace")) <= MAX_SUMMARY_BYTES:
        return summary
    max_bytes = MAX_SUMMARY_BYTES - len(TRUNCATION_NOTE)
    truncated = summary.encode(errors="backslashreplace")[:max_bytes].decode(errors="ignore")
    return truncated[: truncated.rfind("\n") + 1] + TRUNCATION_NOTE


def require_in_workspace(name: str, path: str, environ: Mapping[str, str]) -> None:
    """Raise UsageError if a file or folder is outside of the workspace and the temporary files of the runner.

    Links are resolved, because a link in the checkout may lead anywhere. For a file only its folder is
    resolved: writing replaces a link with this name, and reading checks its target.
    """
    written_path = os.path.normpath(os.path.join(os.path.realpath(os.curdir), path))
    real_path = os.path.realpath(path if os.path.isdir(path) else os.path.dirname(path) or os.curdir)
    for allowed_root in (
        environ.get("GITHUB_WORKSPACE") or os.curdir,
        environ.get("RUNNER_TEMP") or os.curdir,
    ):
        real_root = os.path.realpath(allowed_root)
        if _is_inside(real_path, real_root) and (
            _is_inside(written_path, real_root) or _is_inside(written_path, os.path.abspath(allowed_root))
        ):
            return
    raise UsageError(f"{name}: {path} is not in the workspace")


def _is_inside(path: str, folder: str) -> bool:
    return os.path.commonpath((path, folder)) == folder
