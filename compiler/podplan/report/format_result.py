"""The summary of ``podplan fmt``, and its errors."""

from __future__ import annotations

from podplan.report.sanitization import escape_text
from podplan.yaml import SourceFile


def format_counts(changed: int, unchanged: int, failed: int, dry_run: bool) -> str:
    """Return a summary such as "2 files reformatted, 1 file left unchanged"."""
    parts = [
        (changed, "would be reformatted" if dry_run else "reformatted"),
        (unchanged, "already formatted" if dry_run else "left unchanged"),
        (failed, "not formatted"),
    ]
    return ", ".join(f"{number} file{'' if number == 1 else 's'} {what}" for number, what in parts if number)


def format_source_error(source: SourceFile) -> str:
    """Return the first syntax error of a file, with its location."""
    fault = source.diagnostics[0]
    location_text = f"{source.file}:{fault.span.line}:{fault.span.column}"
    return escape_text(f"{location_text}: {fault.rule} {fault.message}; the file is left as it is")
