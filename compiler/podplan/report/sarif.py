"""SARIF 2.1.0, for code scanning (docs/evidence/report-formats.md#sarif;
https://docs.oasis-open.org/sarif/sarif/v2.1.0/).
"""

from __future__ import annotations

from urllib.parse import quote

from podplan import __version__
from podplan.checker.check import Result
from podplan.core.builtin_rules import RULES
from podplan.core.findings import Edit, Finding, Fix, Location, Severity, pointer
from podplan.core.typing import Any
from podplan.lint.baseline import REASON as BASELINE
from podplan.lint.registry import one, ours
from podplan.report.fingerprint import fingerprints
from podplan.report.json import json_text
from podplan.report.rule_page import builtin_page, page
from podplan.report.sanitization import cut
from podplan.workspace.files import from_root

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
SECURITY = {Severity.ERROR: "7.5", Severity.WARNING: "5.0", Severity.INFO: "2.0"}


def render(result: Result) -> str:
    """One run; suppressed findings are in it, as such."""
    findings = result.with_suppressed
    rules = sorted({found.rule for found in findings})
    marks = fingerprints(findings, result.texts)
    first = {found.rule: found for found in reversed(findings)}
    run = {
        "tool": {
            "driver": {
                "name": "podplan",
                "semanticVersion": __version__,
                "rules": [_rule(first[code]) for code in rules],
            }
        },
        "automationDetails": {"id": "podplan/"},
        "columnKind": "unicodeCodePoints",
        "results": [
            _result(found, rules.index(found.rule), mark) for found, mark in zip(findings, marks, strict=True)
        ],
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json_text(document, indent=2) + "\n"


def _rule(found: Finding) -> dict[str, Any]:
    """What is said once of a rule: its texts, and how much it weighs by itself."""
    ours_too = {policy.rule.code: policy.rule for policy in ours()}
    rule = RULES.get(found.rule) or ours_too.get(found.rule)
    short = rule.summary if rule else found.name
    if found.rule in ours_too:
        data = one(found.rule)
        markdown, full = page(data), data["why"].strip()
    else:
        markdown, full = (builtin_page(rule), short) if rule else (short, short)
    severity = rule.severity if rule else found.severity
    properties: dict[str, Any] = {
        "tags": [found.rule.rstrip("0123456789").lower()],
        "precision": "high" if found.basis == "documented" else "medium",
        "problem.severity": {"note": "recommendation"}.get(LEVELS[severity], LEVELS[severity]),
    }
    if found.rule.startswith("SEC"):
        properties["security-severity"] = SECURITY[severity]
    return {
        "id": found.rule,
        "name": "".join(part[:1].upper() + part[1:] for part in found.name.split("-")),
        "shortDescription": {"text": short},
        "fullDescription": {"text": full},
        "help": {"text": full, "markdown": markdown},
        "defaultConfiguration": {"level": LEVELS[severity]},
        "properties": properties,
    }


def _result(found: Finding, index: int, mark: str) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": found.rule,
        "ruleIndex": index,
        "level": LEVELS[found.severity],
        "message": {"text": _message(found)},
        "locations": [_physical(found.location) | _logical(found)],
        "partialFingerprints": {"podplan/v1": mark, "primaryLocationLineHash": f"{mark[:16]}:1"},
    }
    if found.related:
        result["relatedLocations"] = [
            {"id": number, **_physical(related.location), "message": {"text": cut(related.message)}}
            for number, related in enumerate(found.related, 1)
        ]
    if found.fix is not None and found.fix.edits:
        result["fixes"] = [_fix(found.fix)]
    if found.suppressed:
        kind = "external" if found.reason == BASELINE else "inSource"
        result["suppressions"] = [{"kind": kind, "status": "accepted", "justification": found.reason}]
    return result


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "description": {"text": fix.title},
        "artifactChanges": [
            {
                "artifactLocation": {"uri": _uri(edit.file)},
                "replacements": [{"deletedRegion": _region(edit), "insertedContent": {"text": edit.text}}],
            }
            for edit in fix.edits
        ],
    }


def _message(found: Finding) -> str:
    parts = [cut(found.message)]
    if found.instances is not None:
        parts.append(f"in {found.instances.hit} of {found.instances.of} instances")
    if found.help:
        parts.append(f"help: {cut(found.help)}")
    # Brackets would be the text of a link, braces a placeholder (§3.11.5, §3.11.6 of the format).
    return "; ".join(parts).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def _physical(where: Location) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(where.file)},
            "region": _region(where),
        }
    }


def _uri(file: str) -> str:
    return quote(from_root(file), errors="surrogateescape")


def _region(where: Location | Edit) -> dict[str, int]:
    return {
        "startLine": where.line,
        "startColumn": where.column,
        "endLine": where.end_line,
        "endColumn": where.end_column,
    }


def _logical(found: Finding) -> dict[str, Any]:
    """The objects that a finding is about, each once: what is written, and what it becomes."""
    named: list[str] = []
    if found.object is not None:
        parts = (found.object["kind"], found.object["namespace"], found.object["name"])
        named.append("/".join(str(part) for part in parts if part) + pointer(found.location.path))
    if found.lowered is not None:
        named.append(f"{found.lowered.kind}/{found.lowered.name}{pointer(found.lowered.path)}")
    if not named:
        return {}
    return {
        "logicalLocations": [
            {"fullyQualifiedName": cut(name), "kind": "object"} for name in dict.fromkeys(named)
        ]
    }
