"""What becomes of a job: as text for people, as JSON, and as the YAML of its status."""

from __future__ import annotations

import json
import textwrap
from typing import Any

from podplan.emit import emit_document
from podplan.findings import Path, pointer
from podplan.provenance import Doc, trace
from podplan.selecting import show
from podplan.status.job import Decision
from podplan.status.replicas import PHASES, named
from podplan.status.result import After, Result
from podplan.status.written import status

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
    for type_, restarts in result.restarts.items():
        own = [one for one in result.replicas if one.seen.type == type_]
        numbers = [sum(one.phase == phase for one in own) for phase in phases]
        rows.append([type_, *(str(number) for number in (len(own), *numbers, restarts))])
    if len(rows) == 1:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    ]


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
    rows = [("condition", "", "reason", "message")]
    rows += [
        (one.type, str(one.status), one.reason, f"{one.message}  [{one.fact.basis}]")
        for one in result.conditions
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return [
        "  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[3]]) for row in rows
    ]


def _assumed(result: Result) -> list[str]:
    taken = [one.seen for one in result.replicas if not one.seen.told]
    phases = {one.phase for one in taken}
    return [
        f"{named([one for one in taken if one.phase == phase])}: taken to be {phase}"
        for phase in PHASES
        if phase in phases
    ]
