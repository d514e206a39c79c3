"""The page of the commands: what each prints for ``--help``."""

from __future__ import annotations

from pathlib import Path

HEAD = """\
# Commands

What `podplan COMMAND --help` prints. The [exit codes](findings.md#exit-codes) are the same for all commands.
"""


def build_command_page(folder: Path) -> str:
    """Return the page; the folder has the help of ``podplan render`` in ``podplan-render.txt``."""
    parts = [HEAD]
    for file in sorted(folder.glob("podplan*.txt"), key=lambda file: file.stem):
        command = file.stem.replace("-", " ")
        # A subcommand is below the group that it is in.
        heading = "##" if command.count(" ") < 2 else "###"
        parts.append(f"{heading} {command}\n\n```text\n{file.read_text('utf-8').rstrip()}\n```\n")
    return "\n".join(parts)
