"""What becomes of a job: as text for people, as JSON, and as the YAML of its status."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence

from podplan.core.findings import Path, pointer
from podplan.core.path_syntax import show
from podplan.core.provenance import Doc, trace
from podplan.core.typing import Any
from podplan.tools.status.observed_job import Decision
from podplan.tools.status.replicas import named
from podplan.tools.status.result import After, Result
from podplan.tools.status.serializer import status
from podplan.yaml.writer import emit_document

_WIDTH = 112
_ORDER = ("Running", "Succeeded", "Failed", "Creating", "Pending", "Unknown", "Deleted")


def as_yaml(cr: Doc, result: Result) -> str:  # noqa: ARG001 (all formats are called alike)
    """The status alone, as ``kubectl get -o yaml`` prints it; without times, which nobody knows."""
    return emit_document({"status": status(result)})


def as_json(cr: Doc, result: Result) -> str:
    """Everything, for machines; see docs/status.md."""
    metadata = cr.data.get("metadata") or {}
    found = {
        "format": 1,
        "job": {
            "kind": cr.data["kind"],
            "name": metadata.get("name") or metadata.get("generateName"),
            "namespace": metadata.get("namespace"),
        },
        "phase": result.phase,
        "headline": result.headline,
        "basis": result.fact.basis,
        "restarts": result.restarts,
        "replicas": [_replica(one) for one in result.replicas],
        "restarted": [one.seen.name for one in result.replicas if one.restarted],
        "deleted": [one.seen.name for one in result.replicas if one.deleted],
        "decisions": [_decision(cr, one) for one in result.decisions],
        "conditions": [
            {"type": one.type, "basis": one.fact.basis, "fact": one.fact.id} for one in result.conditions
        ],
        "status": status(result),
    }
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _replica(one: After) -> dict[str, Any]:
    return {
        "type": one.seen.type,
        "index": one.seen.rank,
        "pod": one.seen.name,
        "seen": one.seen.phase,
        "exitCode": one.seen.code,
        "reason": one.seen.reason or None,
        "assumed": not one.seen.told,
        "phase": one.phase,
    }


def _decision(cr: Doc, one: Decision) -> dict[str, Any]:
    return {
        "topic": one.topic,
        "text": one.text,
        "pods": [replica.name for replica in one.replicas],
        "basis": one.fact.basis,
        "fact": {"id": one.fact.id, "text": one.fact.text, "source": one.fact.source},
        "path": pointer(one.path) if one.path else None,
        **_written_at(cr, one.path),
    }


def _written_at(cr: Doc, path: Path) -> dict[str, Any]:
    """The line where somebody wrote what a decision rests on."""
    nowhere = {"file": None, "line": None, "column": None}
    if not path:
        return nowhere
    end = trace(cr, path)[-1]
    if end.doc.source is None:
        return nowhere
    span = end.doc.source.span(end.path)
    return {"file": end.doc.source.file, "line": span.line, "column": span.column}


def as_text(cr: Doc, result: Result) -> str:
    """The headline, a table of the roles, decisions with their reasons, and the conditions."""
    name = f"{cr.data['kind']}/{result.job.name}"
    blocks = [
        [f"{name} is {result.phase}: {result.headline}"],
        _table(result),
        *[_told(cr, one) for one in result.decisions],
        _conditions(result),
        _assumed(result),
    ]
    return "\n".join("".join(f"{line}\n" for line in block) for block in blocks if block)


def _table(result: Result) -> list[str]:
    phases = [phase for phase in _ORDER if result.aggregate[phase.lower()]]
    rows = [["role", "replicas", *(phase.lower() for phase in phases), "restarts"]]
    for type_, own in result.by_type.items():
        numbers = [sum(one.phase == phase for one in own) for phase in phases]
        rows.append([type_, *(str(number) for number in (len(own), *numbers, result.restarts[type_]))])
    return _columns(rows, f"<{'>' * (len(rows[0]) - 1)}") if len(rows) > 1 else []


def _told(cr: Doc, one: Decision) -> list[str]:
    place = _written_at(cr, one.path)
    where = (
        f"{place['file']}:{place['line']}:{place['column']}  {show(cr.data, one.path)}"
        if place["line"]
        else ""
    )
    lines = _wrapped(f"{one.topic}: ", one.text)
    notes = [where] if where else []
    notes += textwrap.wrap(f"[{one.fact.basis}] {one.fact.text}", _WIDTH - 4)
    return [*lines, *(f"    {note}" for note in (*notes, f"{one.fact.id}; {one.fact.source}"))]


def _wrapped(lead: str, text: str) -> list[str]:
    return textwrap.wrap(
        lead + text, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _conditions(result: Result) -> list[str]:
    rows = [("condition", "", "reason", "basis", "message")]
    rows += [
        (one.type, str(one.status), one.reason, one.fact.basis, one.message) for one in result.conditions
    ]
    return _columns(rows, "<<<<<")


def _columns(rows: Sequence[Sequence[str]], aligned: str) -> list[str]:
    """Rows as lines, each column aligned to the left (<) or to the right (>)."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(f"{cell:{side}{w}}" for cell, side, w in zip(row, aligned, widths, strict=True)).rstrip()
        for row in rows
    ]


def _assumed(result: Result) -> list[str]:
    """Which states nobody told."""
    taken = [one.seen for one in result.replicas if not one.seen.told]
    return (
        [f"{named(taken)}: taken to be {taken[0].phase} (--others), for no state is given"] if taken else []
    )
