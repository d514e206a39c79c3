"""The Diagnostic format of reviewdog; columns count bytes of UTF-8, 1-based.

Source: docs/evidence/report-formats.md#rdjson.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import accumulate

from podplan.checker.check import Result
from podplan.core.findings import Edit, Finding, Location
from podplan.core.typing import Any
from podplan.report.json import json_text
from podplan.report.sanitization import cut
from podplan.workspace.files import from_root
from podplan.yaml.positions import LINE_BREAK

STRIDE = 1024  # characters


def render(result: Result) -> str:
    """One DiagnosticResult."""
    lines = {file: LINE_BREAK.split(text.lstrip("\ufeff")) for file, text in result.texts.items()}
    document = {
        "source": {"name": "podplan"},
        "diagnostics": [_diagnostic(found, lines) for found in result.findings],
    }
    return json_text(document, indent=2) + "\n"


def _diagnostic(found: Finding, lines: Mapping[str, list[str]]) -> dict[str, Any]:
    diagnostic: dict[str, Any] = {
        "message": "\n".join([cut(found.message), *([f"help: {cut(found.help)}"] if found.help else [])]),
        "location": _location(found.location, lines),
        "severity": str(found.severity).upper(),
        "code": {"value": found.rule},
    }
    if found.fix is not None and found.fix.edits:
        diagnostic["suggestions"] = [
            {"range": _location(edit, lines)["range"], "text": edit.text}
            for edit in found.fix.edits
            if edit.file == found.location.file  # a suggestion has no file of its own
        ]
    if found.related:
        diagnostic["relatedLocations"] = [
            {"message": cut(related.message), "location": _location(related.location, lines)}
            for related in found.related
        ]
    return diagnostic


def _location(where: Location | Edit, lines: Mapping[str, list[str]]) -> dict[str, Any]:
    text = lines.get(where.file, [])
    return {
        "path": from_root(where.file),
        "range": {
            "start": {"line": where.line, "column": _bytes(text, where.line, where.column)},
            "end": {"line": where.end_line, "column": _bytes(text, where.end_line, where.end_column)},
        },
    }


def _bytes(lines: list[str], line: int, column: int) -> int:
    """The 1-based column in bytes for one in code points; as it is, where the text is not at hand."""
    if line > len(lines):
        return column
    text = lines[line - 1]
    if text.isascii():
        return min(column, len(text) + 1)
    whole, rest = divmod(min(column - 1, len(text)), STRIDE)
    start = whole * STRIDE
    return _strides(text)[whole] + _size(text[start : start + rest]) + 1


@lru_cache(maxsize=8192)  # no file has more lines than that of a stride each
def _strides(line: str) -> list[int]:
    """The bytes before every 1,024th character: a line may be megabytes, and have thousands of findings."""
    sizes = (_size(line[start : start + STRIDE]) for start in range(0, len(line), STRIDE))
    return list(accumulate(sizes, initial=0))


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
