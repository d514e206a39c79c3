"""Terminal output: colours and width."""

from __future__ import annotations

from podplan.core.findings import Severity
from podplan.core.typing import NamedTuple

MAX_WIDTH = 160  # if the width is unknown, so that a line of a minified file is not shown completely

BOLD, RED, YELLOW, BLUE, CYAN = "1", "1;31", "1;33", "1;34", "36"
SEVERITY_STYLES = {Severity.ERROR: RED, Severity.WARNING: YELLOW, Severity.INFO: CYAN}


class Style(NamedTuple):
    """``width`` is in terminal columns; if the style ``wraps``, longer sentences continue on the next
    line; ``has_summary`` is whether the summary follows the findings, and ``lists_kinds`` whether it names
    all kinds that are not checked."""

    colour: bool = False
    width: int = MAX_WIDTH
    wraps: bool = False
    has_summary: bool = True
    lists_kinds: bool = False

    def paint(self, text: str, code: str) -> str:
        """Return ``text`` in a colour (a code of ECMA-48), if colours are enabled."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text

    def wrap_text(self, text: str, used_columns: int, indent: int) -> list[str]:
        """Wrap ``text`` after ``used_columns`` columns; all lines but the first begin with ``indent``
        blanks."""
        if not self.wraps or used_columns + len(text) <= self.width:
            return [text]
        from textwrap import wrap

        first = " " * min(used_columns, self.width - 20)
        wrapped = wrap(first + text, self.width, subsequent_indent=" " * indent, break_on_hyphens=False)
        return [
            wrapped[0][len(first) :] if wrapped[0].startswith(first) else wrapped[0].lstrip(),
            *wrapped[1:],
        ]


PLAIN = Style()
