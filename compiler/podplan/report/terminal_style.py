"""How text looks where it is shown: with colours or without, and how wide it may be."""

from __future__ import annotations

from podplan.core.findings import Severity
from podplan.core.typing import NamedTuple

MAX_WIDTH = 160  # where nobody says how wide: a line of a minified file is not shown whole

BOLD, RED, YELLOW, BLUE, CYAN = "1", "1;31", "1;33", "1;34", "36"
SEVERITY_STYLES = {Severity.ERROR: RED, Severity.WARNING: YELLOW, Severity.INFO: CYAN}


class Style(NamedTuple):
    """``width`` is in columns of a terminal; where it ``wraps``, longer sentences go on in the next line."""

    colour: bool = False
    width: int = MAX_WIDTH
    wraps: bool = False

    def paint(self, text: str, code: str) -> str:
        """``text`` in a colour (a code of ECMA-48), where there are colours."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text

    def wrap_text(self, text: str, used_columns: int, indent: int) -> list[str]:
        """``text`` behind ``used`` columns, in lines that begin with ``indent`` blanks but for the first."""
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
