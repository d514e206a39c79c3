"""Differences of files as a command may show them: nothing in them is obeyed, and secrets are stars."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.lint.masking import masked, secrets_written
from podplan.reading.documents import items
from podplan.report.fixing import difference
from podplan.report.style import Style
from podplan.report.visible import unheard
from podplan.source import Source, read


def shown_difference(before: Mapping[str, str], after: Mapping[str, str], style: Style) -> str:
    """A unified diff between texts of files, by their names; none of a file that holds a Secret."""
    old = {file: read(before[file].encode(), file) for file in after}
    new = {file: read(text.encode(), file) for file, text in after.items() if not old[file].holds_secret}
    return unheard(
        difference(
            {file: _starred(old[file]) for file in new}, {file: _starred(new[file]) for file in new}, style
        )
    )


def _starred(source: Source) -> str:
    """The text of a file, with stars for values of variables that look secret."""
    places = [place for item in items(source) for place in secrets_written(item.doc)]
    return masked({source.file: source.text}, places)[source.file]
