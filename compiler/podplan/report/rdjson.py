"""The Diagnostic format of reviewdog; columns count bytes of UTF-8, 1-based.

Source: docs/evidence/report-formats.md#rdjson.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import accumulate

from podplan.checker.check import CheckResult
from podplan.core.findings import Edit, Finding, Location
from podplan.core.typing import Any
from podplan.report.json import encode_json
from podplan.report.sanitization import truncate_text
from podplan.workspace.files import relative_to_root
from podplan.yaml.positions import LINE_BREAK

STRIDE_CHARACTERS = 1024  # characters


def render(result: CheckResult) -> str:
    """Render one DiagnosticResult."""
    lines = {file: LINE_BREAK.split(text.lstrip("\ufeff")) for file, text in result.redacted_texts.items()}
    document = {
        "source": {"name": "podplan"},
        "diagnostics": [_build_diagnostic(found, lines) for found in result.findings],
    }
    return encode_json(document, indent=2) + "\n"


def _build_diagnostic(finding: Finding, lines: Mapping[str, list[str]]) -> dict[str, Any]:
    diagnostic: dict[str, Any] = {
        "message": "\n".join(
            [
                truncate_text(finding.message),
                *([f"help: {truncate_text(finding.help)}"] if finding.help else []),
            ]
        ),
        "location": _build_location(finding.location, lines),
        "severity": str(finding.severity).upper(),
        "code": {"value": finding.rule},
    }
    if finding.fix is not None and finding.fix.edits:
        diagnostic["suggestions"] = [
            {"range": _build_location(edit, lines)["range"], "text": edit.text}
            for edit in finding.fix.edits
            if edit.file == finding.location.file  # a suggestion always refers to the file of its diagnostic
        ]
    if finding.related:
        diagnostic["relatedLocations"] = [
            {"message": truncate_text(related.message), "location": _build_location(related.location, lines)}
            for related in finding.related
        ]
    return diagnostic


def _build_location(location: Location | Edit, lines: Mapping[str, list[str]]) -> dict[str, Any]:
    text = lines.get(location.file, [])
    return {
        "path": relative_to_root(location.file),
        "range": {
            "start": {
                "line": location.line,
                "column": _convert_to_byte_column(text, location.line, location.column),
            },
            "end": {
                "line": location.end_line,
                "column": _convert_to_byte_column(text, location.end_line, location.end_column),
            },
        },
    }


def _convert_to_byte_column(lines: list[str], line: int, column: int) -> int:
    """Convert a 1-based column in code points to bytes; unchanged if the text is not available."""
    if line > len(lines):
        return column
    text = lines[line - 1]
    if text.isascii():
        return min(column, len(text) + 1)
    stride_count, rest = divmod(min(column - 1, len(text)), STRIDE_CHARACTERS)
    start = stride_count * STRIDE_CHARACTERS
    return _compute_stride_offsets(text)[stride_count] + _count_bytes(text[start : start + rest]) + 1


@lru_cache(maxsize=8192)  # files with a stride in each line have no more lines
def _compute_stride_offsets(line: str) -> list[int]:
    """Return the bytes before every 1,024th character: a line may have megabytes, and thousands of
    findings."""
    sizes = (
        _count_bytes(line[start : start + STRIDE_CHARACTERS])
        for start in range(0, len(line), STRIDE_CHARACTERS)
    )
    return list(accumulate(sizes, initial=0))


def _count_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
