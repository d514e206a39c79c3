"""The predicted status of a job: as text for people, as JSON, and as YAML."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence

from podplan.core.findings import Path, to_json_pointer
from podplan.core.path_syntax import format_path
from podplan.core.provenance import TracedDocument, trace_to_source
from podplan.core.typing import Any
from podplan.tools.status.observed_job import ControllerDecision
from podplan.tools.status.replicas import format_replicas
from podplan.tools.status.result import ReplicaTransition, StatusResult
from podplan.tools.status.serializer import build_status
from podplan.yaml.writer import emit_document

_WIDTH = 112
_PHASE_ORDER = ("Running", "Succeeded", "Failed", "Creating", "Pending", "Unknown", "Deleted")


def render_yaml(cr: TracedDocument, result: StatusResult) -> str:  # noqa: ARG001 (all formats are called alike)
    """Render only the status, as ``kubectl get -o yaml`` prints it; without times, which are unknown."""
    return emit_document({"status": build_status(result)})


def render_json(cr: TracedDocument, result: StatusResult) -> str:
    """Render everything as JSON; see docs/status.md."""
    metadata = cr.data.get("metadata") or {}
    document = {
        "format": 1,
        "job": {
            "kind": cr.data["kind"],
            "name": metadata.get("name") or metadata.get("generateName"),
            "namespace": metadata.get("namespace"),
        },
        "phase": result.phase,
        "headline": result.headline,
        "basis": result.phase_behavior.basis,
        "restarts": result.restarts,
        "replicas": [_build_replica(one) for one in result.replicas],
        "restarted": [one.observed.name for one in result.replicas if one.is_restarted],
        "deleted": [one.observed.name for one in result.replicas if one.is_deleted],
        "decisions": [_build_decision(cr, one) for one in result.decisions],
        "conditions": [
            {"type": one.type, "basis": one.behavior.basis, "fact": one.behavior.id}
            for one in result.conditions
        ],
        "status": build_status(result),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _build_replica(transition: ReplicaTransition) -> dict[str, Any]:
    return {
        "type": transition.observed.type,
        "index": transition.observed.rank,
        "pod": transition.observed.name,
        "seen": transition.observed.phase,
        "exitCode": transition.observed.exit_code,
        "reason": transition.observed.reason or None,
        "assumed": not transition.observed.is_declared,
        "phase": transition.phase,
    }


def _build_decision(cr: TracedDocument, decision: ControllerDecision) -> dict[str, Any]:
    return {
        "topic": decision.topic,
        "text": decision.text,
        "pods": [replica.name for replica in decision.replicas],
        "basis": decision.behavior.basis,
        "fact": {
            "id": decision.behavior.id,
            "text": decision.behavior.text,
            "source": decision.behavior.source,
        },
        "path": to_json_pointer(decision.path) if decision.path else None,
        **_find_source_location(cr, decision.path),
    }


def _find_source_location(cr: TracedDocument, path: Path) -> dict[str, Any]:
    """Return the line in a file on which a decision is based."""
    no_location = {"file": None, "line": None, "column": None}
    if not path:
        return no_location
    source_step = trace_to_source(cr, path)[-1]
    if source_step.doc.source is None:
        return no_location
    span = source_step.doc.source.span(source_step.path)
    return {"file": source_step.doc.source.file, "line": span.line, "column": span.column}


def render_text(cr: TracedDocument, result: StatusResult) -> str:
    """Render the headline, a table of the replica types, decisions with their reasons, and the conditions."""
    name = f"{cr.data['kind']}/{result.job.name}"
    blocks = [
        [f"{name} is {result.phase}: {result.headline}"],
        _format_table(result),
        _format_waiting(result),
        *[_format_decision(cr, one) for one in result.decisions],
        _format_conditions(result),
        _format_assumed(result),
    ]
    return "\n".join("".join(f"{line}\n" for line in block) for block in blocks if block)


def _format_table(result: StatusResult) -> list[str]:
    phases = [phase for phase in _PHASE_ORDER if result.aggregate[phase.lower()]]
    rows = [["role", "replicas", *(phase.lower() for phase in phases), "restarts"]]
    for type_, transitions in result.by_type.items():
        numbers = [sum(one.phase == phase for one in transitions) for phase in phases]
        rows.append(
            [type_, *(str(number) for number in (len(transitions), *numbers, result.restarts[type_]))]
        )
    return _align_columns(rows, f"<{'>' * (len(rows[0]) - 1)}") if len(rows) > 1 else []


def _format_waiting(result: StatusResult) -> list[str]:
    """Format why Pods that have not ended wait, such as ImagePullBackOff."""
    names_by_reason: dict[str, list[str]] = {}
    for transition in result.replicas:
        observed = transition.observed
        if observed.reason and not observed.has_ended:
            names_by_reason.setdefault(observed.reason, []).append(observed.short_name)
    return [
        line
        for reason, names in names_by_reason.items()
        for line in _wrap_paragraph("waiting: ", f"{', '.join(names)}: {reason}")
    ]


def _format_decision(cr: TracedDocument, decision: ControllerDecision) -> list[str]:
    source_location = _find_source_location(cr, decision.path)
    location_text = (
        f"{source_location['file']}:{source_location['line']}:{source_location['column']} "
        f" {format_path(cr.data, decision.path)}"
        if source_location["line"]
        else ""
    )
    lines = _wrap_paragraph(f"{decision.topic}: ", decision.text)
    notes = [location_text] if location_text else []
    notes += textwrap.wrap(f"[{decision.behavior.basis}] {decision.behavior.text}", _WIDTH - 4)
    return [
        *lines,
        *(f"    {note}" for note in (*notes, f"{decision.behavior.id}; {decision.behavior.source}")),
    ]


def _wrap_paragraph(prefix: str, text: str) -> list[str]:
    return textwrap.wrap(
        prefix + text, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _format_conditions(result: StatusResult) -> list[str]:
    rows = [("condition", "", "reason", "basis", "message")]
    rows += [
        (one.type, str(one.status), one.reason, one.behavior.basis, one.message) for one in result.conditions
    ]
    return _align_columns(rows, "<<<<<") if result.conditions else []


def _align_columns(rows: Sequence[Sequence[str]], alignments: str) -> list[str]:
    """Format rows as lines, each column aligned to the left (<) or to the right (>)."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(f"{cell:{side}{w}}" for cell, side, w in zip(row, alignments, widths, strict=True)).rstrip()
        for row in rows
    ]


def _format_assumed(result: StatusResult) -> list[str]:
    """Return the states that were not declared."""
    assumed_replicas = [one.observed for one in result.replicas if not one.observed.is_declared]
    return (
        [
            f"{format_replicas(assumed_replicas)}: assumed to be {assumed_replicas[0].phase} (--others),"
            " because no state is given"
        ]
        if assumed_replicas
        else []
    )
