"""SARIF 2.1.0, for code scanning (docs/evidence/report-formats.md#sarif;
https://docs.oasis-open.org/sarif/sarif/v2.1.0/).
"""

from __future__ import annotations

from urllib.parse import quote

from podplan import __version__
from podplan.checker.check import CheckResult
from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.core.findings import Edit, Finding, Fix, Location, Severity, to_json_pointer
from podplan.core.typing import Any
from podplan.lint.baseline import SUPPRESSION_REASON as BASELINE
from podplan.lint.registry import load_builtin_page, load_builtin_policies, load_policy_document
from podplan.report.fingerprint import compute_fingerprints
from podplan.report.json import encode_json
from podplan.report.rule_page import render_builtin_page, render_rule_page
from podplan.report.sanitization import truncate_text
from podplan.workspace.files import relative_to_root

SCHEMA_URL = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
SARIF_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
SECURITY_SEVERITIES = {Severity.ERROR: "7.5", Severity.WARNING: "5.0", Severity.INFO: "2.0"}


def render(result: CheckResult) -> str:
    """Render one run; suppressed findings are included, marked as such."""
    findings = result.all_findings
    rules = sorted({found.rule for found in findings})
    hashes = compute_fingerprints(findings, result.redacted_texts)
    first_findings = {found.rule: found for found in reversed(findings)}
    run = {
        "tool": {
            "driver": {
                "name": "podplan",
                "semanticVersion": __version__,
                "rules": [_build_rule(first_findings[code]) for code in rules],
            }
        },
        "automationDetails": {"id": "podplan/"},
        "columnKind": "unicodeCodePoints",
        "results": [
            _build_result(found, rules.index(found.rule), mark)
            for found, mark in zip(findings, hashes, strict=True)
        ],
    }
    document = {"$schema": SCHEMA_URL, "version": "2.1.0", "runs": [run]}
    return encode_json(document, indent=2) + "\n"


def _build_rule(finding: Finding) -> dict[str, Any]:
    """Build the description of a rule: its texts, and its default severity."""
    policy_rules = {policy.rule.code: policy.rule for policy in load_builtin_policies()}
    rule = BUILTIN_RULES.get(finding.rule) or policy_rules.get(finding.rule)
    short_description = rule.summary if rule else finding.name
    if finding.rule in policy_rules:
        data = load_policy_document(finding.rule)
        markdown, full_description = render_rule_page(data), data["why"].strip()
    elif rule:
        page = load_builtin_page(rule.code)
        markdown, full_description = render_builtin_page(rule, page), page["why"].strip()
    else:
        markdown = full_description = short_description
    severity = rule.severity if rule else finding.severity
    properties: dict[str, Any] = {
        "tags": [finding.rule.rstrip("0123456789").lower()],
        "precision": "high" if finding.basis == "documented" else "medium",
        "problem.severity": {"note": "recommendation"}.get(SARIF_LEVELS[severity], SARIF_LEVELS[severity]),
    }
    if finding.rule.startswith("SEC"):
        properties["security-severity"] = SECURITY_SEVERITIES[severity]
    return {
        "id": finding.rule,
        "name": "".join(part[:1].upper() + part[1:] for part in finding.name.split("-")),
        "shortDescription": {"text": short_description},
        "fullDescription": {"text": full_description},
        "help": {"text": full_description, "markdown": markdown},
        "defaultConfiguration": {"level": SARIF_LEVELS[severity]},
        "properties": properties,
    }


def _build_result(finding: Finding, index: int, fingerprint: str) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": SARIF_LEVELS[finding.severity],
        "message": {"text": _format_message(finding)},
        "locations": [_build_physical_location(finding.location) | _build_logical_locations(finding)],
        "partialFingerprints": {
            "podplan/v1": fingerprint,
            "primaryLocationLineHash": f"{fingerprint[:16]}:1",
        },
    }
    if finding.related:
        result["relatedLocations"] = [
            {
                "id": number,
                **_build_physical_location(related.location),
                "message": {"text": truncate_text(related.message)},
            }
            for number, related in enumerate(finding.related, 1)
        ]
    if finding.fix is not None and finding.fix.edits:
        result["fixes"] = [_build_fix(finding.fix)]
    if finding.suppressed:
        kind = "external" if finding.reason == BASELINE else "inSource"
        result["suppressions"] = [{"kind": kind, "status": "accepted", "justification": finding.reason}]
    return result


def _build_fix(fix: Fix) -> dict[str, Any]:
    return {
        "description": {"text": fix.title},
        "artifactChanges": [
            {
                "artifactLocation": {"uri": _build_uri(edit.file)},
                "replacements": [
                    {"deletedRegion": _build_region(edit), "insertedContent": {"text": edit.text}}
                ],
            }
            for edit in fix.edits
        ],
    }


def _format_message(finding: Finding) -> str:
    parts = [truncate_text(finding.message)]
    if finding.instances is not None:
        parts.append(f"in {finding.instances.hit} of {finding.instances.of} instances")
    if finding.help:
        parts.append(f"help: {truncate_text(finding.help)}")
    # Brackets would be the text of a link, braces a placeholder (§3.11.5, §3.11.6 of the format).
    return "; ".join(parts).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def _build_physical_location(location: Location) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": _build_uri(location.file)},
            "region": _build_region(location),
        }
    }


def _build_uri(file: str) -> str:
    return quote(relative_to_root(file), errors="surrogateescape")


def _build_region(location: Location | Edit) -> dict[str, int]:
    return {
        "startLine": location.line,
        "startColumn": location.column,
        "endLine": location.end_line,
        "endColumn": location.end_column,
    }


def _build_logical_locations(finding: Finding) -> dict[str, Any]:
    """Build the objects that a finding is about, each once: the written one, and the lowered one."""
    qualified_names: list[str] = []
    if finding.object is not None:
        parts = (finding.object["kind"], finding.object["namespace"], finding.object["name"])
        qualified_names.append(
            "/".join(str(part) for part in parts if part) + to_json_pointer(finding.location.path)
        )
    if finding.lowered is not None:
        qualified_names.append(
            f"{finding.lowered.kind}/{finding.lowered.name}{to_json_pointer(finding.lowered.path)}"
        )
    if not qualified_names:
        return {}
    return {
        "logicalLocations": [
            {"fullyQualifiedName": truncate_text(name), "kind": "object"}
            for name in dict.fromkeys(qualified_names)
        ]
    }
