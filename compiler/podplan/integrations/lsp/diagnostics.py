"""Findings as LSP diagnostics."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.findings import Finding, Location, Severity
from podplan.core.typing import Any
from podplan.integrations.lsp.documents import OpenDocuments
from podplan.integrations.lsp.positions import Encoding, split_lines, to_protocol_range
from podplan.integrations.lsp.workspace import CheckReport
from podplan.report.sanitization import truncate_text

SEVERITIES = {Severity.ERROR: 1, Severity.WARNING: 2, Severity.INFO: 3}
_MAX_DIAGNOSTICS = 500  # diagnostics of one file
_UNNECESSARY_TAG = 1
_UNUSED_RULE_SUFFIXES = ("unused", "without-effect", "equals-inherited")


class RangeMapper:
    """Converts locations of findings to LSP ranges, using the texts that they were found in."""

    def __init__(self, texts: Mapping[str, str], documents: OpenDocuments, encoding: Encoding) -> None:
        self._texts = texts
        self._lines: dict[str, list[str]] = {}
        self._unsaved_texts = documents.unsaved_texts()
        self._documents = documents
        self._encoding = encoding

    def map_location(self, location: Location) -> dict[str, Any]:
        return self.map_span(
            location.file, (location.line, location.column, location.end_line, location.end_column)
        )

    def map_span(
        self, file: str, span_positions: tuple[int, int, int, int], text: str = ""
    ) -> dict[str, Any]:
        """Return the range of a location in a file; ``text`` is that of a file that is not loaded."""
        if file not in self._lines:
            self._lines[file] = split_lines(self._unsaved_texts.get(file) or self._texts.get(file) or text)
        return to_protocol_range(self._lines[file], span_positions, self._encoding)

    def uri(self, file: str) -> str:
        return self._documents.uri(file)


def build_diagnostics(
    report: CheckReport, documents: OpenDocuments, encoding: Encoding
) -> dict[str, list[dict[str, Any]]]:
    """Return the diagnostics by URI; every open document has an entry."""
    ranges = RangeMapper(report.texts, documents, encoding)
    by_uri: dict[str, list[dict[str, Any]]] = {one.uri: [] for one in documents.by_path.values()}
    for file, reason in report.failures.items():
        by_uri.setdefault(ranges.uri(file), []).append(_build_failure(reason))
    for file, reason in report.skipped.items():
        by_uri[ranges.uri(file)] = [_build_skipped(reason)]
    for file, findings in report.findings.items():
        by_uri.setdefault(ranges.uri(file), []).extend(
            build_diagnostic(found, ranges) for found in _select_most_severe(findings)
        )
    return by_uri


def build_diagnostic(finding: Finding, ranges: RangeMapper) -> dict[str, Any]:
    """Build the diagnostic of one finding."""
    entry: dict[str, Any] = {
        "range": ranges.map_location(finding.location),
        "severity": SEVERITIES[finding.severity],
        "code": finding.rule,
        "source": "podplan",
        "message": format_message(finding),
    }
    if finding.name.endswith(_UNUSED_RULE_SUFFIXES) or finding.name.startswith("unused"):
        entry["tags"] = [_UNNECESSARY_TAG]
    if finding.related:
        entry["relatedInformation"] = [
            {
                "location": {
                    "uri": ranges.uri(one.location.file),
                    "range": ranges.map_location(one.location),
                },
                "message": truncate_text(one.message) or "here",
            }
            for one in finding.related
        ]
    return entry


def format_message(finding: Finding) -> str:
    """Return the message, its environments and instances, and the help."""
    parts = [truncate_text(finding.message)]
    if finding.instances is not None and finding.instances.of > 1:
        affected, total, ids = finding.instances
        instance_names = ", ".join(id_ or "as written" for id_ in ids[:3]) + (", …" if len(ids) > 3 else "")
        parts.append(
            f"in {affected} of {total}: {instance_names}"
            if affected < total
            else f"in all {total} environments and instances"
        )
    if finding.help:
        parts.append(f"help: {truncate_text(finding.help)}")
    return "\n".join(parts)


def _select_most_severe(findings: list[Finding]) -> list[Finding]:
    if len(findings) <= _MAX_DIAGNOSTICS:
        return findings
    return sorted(findings, key=lambda found: -found.severity)[:_MAX_DIAGNOSTICS]


def _build_failure(reason: str) -> dict[str, Any]:
    """Build the diagnostic of a file that could not be checked."""
    return _build_top_diagnostic(SEVERITIES[Severity.ERROR], f"this file is not checked: {reason}")


def _build_skipped(reason: str) -> dict[str, Any]:
    """Build the diagnostic of a file that the language server does not check, but ``podplan check`` does."""
    return _build_top_diagnostic(SEVERITIES[Severity.INFO], f"this file is not checked as you type: {reason}")


def _build_top_diagnostic(severity: int, message: str) -> dict[str, Any]:
    start = {"line": 0, "character": 0}
    return {
        "range": {"start": start, "end": {"line": 0, "character": 1}},
        "severity": severity,
        "source": "podplan",
        "message": message,
    }
