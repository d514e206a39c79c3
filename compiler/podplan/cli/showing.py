"""Differences of files as a command may show them: nothing in them is obeyed, and secrets are stars."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.lint.masking import masked, secrets_written
from podplan.reading.documents import items
from podplan.report.fixing import difference
from podplan.report.style import Style
from podplan.report.visible import unheard
from podplan.source import Source, read


def shown_difference(before: Mapping[str, Source], after: Mapping[str, str], style: Style) -> str:
    """A unified diff between files and their texts ``after``; none of a file that holds a Secret."""
    files = [file for file in after if not before[file].holds_secret]
    old = {file: _starred(before[file]) for file in files}
    new = {file: _starred(read(after[file].encode(), file)) for file in files}
    return unheard(difference(old, new, style))


def _starred(source: Source) -> str:
    """The text of a file, with stars for values of variables that look secret."""
    places = [place for item in items(source) for place in secrets_written(item.doc)]
    return masked({source.file: source.text}, places)[source.file]
