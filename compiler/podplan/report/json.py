"""The format for machines, ``"format": 1``; docs/findings.md describes its fields, which do not change."""

from __future__ import annotations

import json
import re

from podplan.checker.check import Result
from podplan.core.findings import Finding, Fix, pointer
from podplan.core.typing import Any

FORMAT = 1
_SURROGATE = re.compile("[\ud800-\udfff]")


def render(result: Result) -> str:
    """The findings and the summary as one JSON object."""
    findings = [finding(found) for found in result.with_suppressed]
    document = {"format": FORMAT, "findings": findings, "summary": summary(result)}
    return json_text(document, indent=2) + "\n"


def json_text(document: Any, indent: int | None = None) -> str:
    """``document`` as JSON; half of a surrogate pair, as odd file names have it, becomes U+FFFD."""
    return _SURROGATE.sub("\ufffd", json.dumps(document, indent=indent, ensure_ascii=False))


def summary(result: Result) -> dict[str, Any]:
    """The counts of a run."""
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
        **({"leftOut": counts.left_out} if counts.left_out else {}),
        **({"unreadableFolders": len(counts.unreadable_folders)} if counts.unreadable_folders else {}),
        **({"today": counts.today} if counts.today else {}),
    }


def finding(found: Finding) -> dict[str, Any]:
    """One finding, as docs/findings.md has it."""
    where, lowered, instances = found.location, found.lowered, found.instances
    return {
        "rule": found.rule,
        "name": found.name,
        "severity": str(found.severity),
        "message": found.message,
        "basis": found.basis,
        "file": where.file,
        "line": where.line,
        "column": where.column,
        "endLine": where.end_line,
        "endColumn": where.end_column,
        "path": pointer(where.path),
        "object": found.object,
        "level": found.level,
        "lowered": lowered
        and {
            "kind": lowered.kind,
            "name": lowered.name,
            "indexes": lowered.indexes,
            "path": pointer(lowered.path),
        },
        "instances": instances and {"hit": instances.hit, "of": instances.of, "ids": list(instances.ids)},
        "related": [
            {
                "file": related.location.file,
                "line": related.location.line,
                "column": related.location.column,
                "path": pointer(related.location.path),
                "message": related.message,
            }
            for related in found.related
        ],
        "help": found.help or None,
        "fix": _fix(found.fix),
        "suppressed": found.suppressed,
        "reason": found.reason or None,
    }


def _fix(fix: Fix | None) -> dict[str, Any] | None:
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
