"""Shell completion of ``kubectl podplan``."""

from __future__ import annotations

import sys
from contextlib import suppress

# Whether kubectl completes files, too.
_FILES, _NO_FILES = 0, 4


def main() -> None:
    """Print the words that the last argument may become; the entry point that kubectl calls.

    kubectl expects a word in each line, with a description after a tab, and then a colon with a number.
    """
    with suppress(Exception):
        from click.shell_completion import ShellComplete

        from podplan.cli.commands import podplan
        from podplan.cli.output import write_stdout

        *before, incomplete = sys.argv[1:] or [""]
        items = ShellComplete(podplan, {}, "podplan", "").get_completions(before, incomplete)
        has_files = any(item.type in ("file", "dir") for item in items)
        lines = [f"{item.value}\t{item.help or ''}".rstrip() for item in items if item.type == "plain"]
        lines.append(f":{_FILES if has_files else _NO_FILES}")
        write_stdout("".join(f"{line}\n" for line in lines))
