"""The format for machines, ``"format": 1``; docs/findings.md describes its fields, which are stable."""

from __future__ import annotations

import json
import re

from podplan.checker.check import CheckResult
from podplan.core.findings import Finding, Fix, to_json_pointer
from podplan.core.typing import Any

FORMAT_VERSION = 1
_SURROGATE = re.compile("[\ud800-\udfff]")


def render(result: CheckResult) -> str:
    """Render the findings and the summary as one JSON object."""
    findings = [build_finding(found) for found in result.all_findings]
    document = {"format": FORMAT_VERSION, "findings": findings, "summary": build_summary(result)}
    return encode_json(document, indent=2) + "\n"


def encode_json(document: Any, indent: int | None = None) -> str:
    """Encode ``document`` as JSON; half of a surrogate pair, as in odd file names, becomes U+FFFD."""
    return _SURROGATE.sub("\ufffd", json.dumps(document, indent=indent, ensure_ascii=False))


def build_summary(result: CheckResult) -> dict[str, Any]:
    """Return the counts of a run."""
    counts = result.summary
    return {
        "errors": counts.errors,
        "warnings": counts.warnings,
        "infos": counts.infos,
        "suppressed": counts.suppressed,
        "files": counts.files,
        "objects": counts.objects,
        "lowered": counts.lowered,
        "notChecked": dict(counts.not_checked),
        **({"leftOut": counts.omitted} if counts.omitted else {}),
        **({"unreadableFolders": len(counts.unreadable_folders)} if counts.unreadable_folders else {}),
        **({"today": counts.today} if counts.today else {}),
    }


def build_finding(finding: Finding) -> dict[str, Any]:
    """Return one finding, as described in docs/findings.md."""
    location, lowered, instances = finding.location, finding.lowered, finding.instances
    return {
        "rule": finding.rule,
        "name": finding.name,
        "severity": str(finding.severity),
        "message": finding.message,
        "basis": finding.basis,
        "file": location.file,
        "line": location.line,
        "column": location.column,
        "endLine": location.end_line,
        "endColumn": location.end_column,
        "path": to_json_pointer(location.path),
        "object": finding.object,
        "level": finding.level,
        "lowered": lowered
        and {
            "kind": lowered.kind,
            "name": lowered.name,
            "indexes": lowered.indexes,
            "path": to_json_pointer(lowered.path),
        },
        "instances": instances and {"hit": instances.hit, "of": instances.of, "ids": list(instances.ids)},
        "related": [
            {
                "file": related.location.file,
                "line": related.location.line,
                "column": related.location.column,
                "path": to_json_pointer(related.location.path),
                "message": related.message,
            }
            for related in finding.related
        ],
        "help": finding.help or None,
        "fix": _build_fix(finding.fix),
        "suppressed": finding.suppressed,
        "reason": finding.reason or None,
    }


def _build_fix(fix: Fix | None) -> dict[str, Any] | None:
    if fix is None or not fix.edits:
        return None
    return {
        "title": fix.title,
        "safe": fix.safe,
        "edits": [
            {
                "file": edit.file,
                "line": edit.line,
                "column": edit.column,
                "endLine": edit.end_line,
                "endColumn": edit.end_column,
                "text": edit.text,
            }
            for edit in fix.edits
        ],
    }
