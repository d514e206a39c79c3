"""Findings as diagnostics of the protocol."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.findings import Finding, Location, Severity
from podplan.core.typing import Any
from podplan.integrations.lsp.documents import Documents
from podplan.integrations.lsp.positions import Encoding, lines, span
from podplan.integrations.lsp.workspace import Report
from podplan.report.sanitization import cut

SEVERITIES = {Severity.ERROR: 1, Severity.WARNING: 2, Severity.INFO: 3}
_MOST = 500  # diagnostics of one file: nobody reads more
_UNNECESSARY = 1
_UNUSED = ("unused", "without-effect", "equals-inherited")


class Places:
    """Ranges of findings, in the texts that they were found in."""

    def __init__(self, texts: Mapping[str, str], documents: Documents, encoding: Encoding) -> None:
        self._texts = texts
        self._lines: dict[str, list[str]] = {}
        self._instead = documents.instead()
        self._documents = documents
        self._encoding = encoding

    def range(self, where: Location) -> dict[str, Any]:
        return self.stretch(where.file, (where.line, where.column, where.end_line, where.end_column))

    def stretch(self, file: str, place: tuple[int, int, int, int], text: str = "") -> dict[str, Any]:
        """The range of a place in a file; ``text`` is that of a file that is not known here."""
        if file not in self._lines:
            self._lines[file] = lines(self._instead.get(file) or self._texts.get(file) or text)
        return span(self._lines[file], place, self._encoding)

    def uri(self, file: str) -> str:
        return self._documents.uri(file)


def diagnostics(report: Report, documents: Documents, encoding: Encoding) -> dict[str, list[dict[str, Any]]]:
    """The diagnostics by URI; every open document has an entry."""
    places = Places(report.texts, documents, encoding)
    told: dict[str, list[dict[str, Any]]] = {one.uri: [] for one in documents.open.values()}
    for file, reason in report.failures.items():
        told.setdefault(places.uri(file), []).append(_failure(reason))
    for file, reason in report.left_out.items():
        told[places.uri(file)] = [_left_out(reason)]
    for file, findings in report.findings.items():
        told.setdefault(places.uri(file), []).extend(
            diagnostic(found, places) for found in _most_severe(findings)
        )
    return told


def diagnostic(found: Finding, places: Places) -> dict[str, Any]:
    """One finding as a Diagnostic."""
    told: dict[str, Any] = {
        "range": places.range(found.location),
        "severity": SEVERITIES[found.severity],
        "code": found.rule,
        "source": "podplan",
        "message": message(found),
    }
    if found.name.endswith(_UNUSED) or found.name.startswith("unused"):
        told["tags"] = [_UNNECESSARY]
    if found.related:
        told["relatedInformation"] = [
            {
                "location": {"uri": places.uri(one.location.file), "range": places.range(one.location)},
                "message": cut(one.message) or "here",
            }
            for one in found.related
        ]
    return told


def message(found: Finding) -> str:
    """The sentence, in which environments and instances it holds, and what to write instead."""
    told = [cut(found.message)]
    if found.instances is not None and found.instances.of > 1:
        hit, of, ids = found.instances
        named = ", ".join(id_ or "as written" for id_ in ids[:3]) + (", …" if len(ids) > 3 else "")
        told.append(f"in {hit} of {of}: {named}" if hit < of else f"in all {of} environments and instances")
    if found.help:
        told.append(f"help: {cut(found.help)}")
    return "\n".join(told)


def _most_severe(findings: list[Finding]) -> list[Finding]:
    if len(findings) <= _MOST:
        return findings
    return sorted(findings, key=lambda found: -found.severity)[:_MOST]


def _failure(reason: str) -> dict[str, Any]:
    """What keeps a file from being checked."""
    return _at_the_top(SEVERITIES[Severity.ERROR], f"this file is not checked: {reason}")


def _left_out(reason: str) -> dict[str, Any]:
    """Why a file is not checked here, where ``podplan check`` would."""
    return _at_the_top(SEVERITIES[Severity.INFO], f"this file is not checked as you type: {reason}")


def _at_the_top(severity: int, message: str) -> dict[str, Any]:
    start = {"line": 0, "character": 0}
    return {
        "range": {"start": start, "end": {"line": 0, "character": 1}},
        "severity": severity,
        "source": "podplan",
        "message": message,
    }
