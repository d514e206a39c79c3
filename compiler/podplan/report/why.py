"""The provenance of one value back to a line in a file, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise

from podplan.core.findings import to_json_pointer, value_at
from podplan.core.path_syntax import format_path
from podplan.core.provenance import DocumentPath, Origin, Path, TracedDocument, TraceStep, trace_to_source
from podplan.core.replica_groups import CONFIGURED_BASIS
from podplan.core.typing import Any
from podplan.redaction.redactor import REDACTED_NOTICE, Redactor, build_redactor, redact_data
from podplan.redaction.secret_objects import has_secret_kind

MAX_VALUE_LENGTH = 100
MAX_FIRST_VALUE_LENGTH = 1_000


def render_text(doc: TracedDocument, path: Path) -> str:
    """Render the chain from the value at ``path`` back to its source, one block per step."""
    lines: list[str] = []
    steps = trace_to_source(doc, path)
    secrets = _build_redactor(steps)
    shown_steps = [step for step, after in pairwise(steps) if not _is_pass_through(step, after)] + steps[-1:]
    for number, step in enumerate(shown_steps):
        prefix = "" if number == 0 else "  from "
        lines.append(f"{prefix}{_format_location(step.doc, step.path)}")
        indent = "         " if number else "    "
        max_length = MAX_VALUE_LENGTH if number else MAX_FIRST_VALUE_LENGTH
        lines.append(f"{indent}{_format_value(step.doc, step.path, secrets, max_length)}")
        if step.origin is not None:
            lines += [indent + secrets.redact_text(note) for note in _format_notes(step.origin, secrets)]
    return "\n".join(lines) + "\n"


def _is_pass_through(step: TraceStep, after: TraceStep) -> bool:
    """Whether a step only copies the value at the same path of the next one."""
    if step.origin is None or _format_notes(step.origin, Redactor()) or step.path != after.path:
        return False
    value = value_at(step.doc.data, step.path)
    return isinstance(value, dict | list) or value == value_at(after.doc.data, after.path)


def render_json(doc: TracedDocument, path: Path) -> str:
    """Render for machines: ``{"format": 1, "steps": [...]}``, the nearest step first."""
    trace_steps = trace_to_source(doc, path)
    secrets = _build_redactor(trace_steps)
    steps = [_build_step(step, secrets) for step in trace_steps]
    return json.dumps({"format": 1, "steps": steps}, indent=2, ensure_ascii=False) + "\n"


def _format_location(doc: TracedDocument, path: Path) -> str:
    if doc.source is None:
        kind = doc.data.get("kind") if isinstance(doc.data, dict) else None
        name = f"resolved {doc.name}" if kind == "JobProfile" else doc.name
        return f"{name}  {format_path(doc.data, path) or '(the whole)'}"
    span = doc.source.span(path)
    return f"{doc.source.file}:{span.line}:{span.column}  {format_path(doc.data, path) or '(the whole)'}"


def _build_redactor(steps: Sequence[TraceStep]) -> Redactor:
    """Build the redactor for the secrets of the documents of a trace."""
    origins = [step.origin for step in steps if step.origin is not None]
    related_docs = [place.doc for origin in origins for place in (*origin.sources, *origin.overridden)]
    docs = {id(doc): doc for doc in (*(step.doc for step in steps), *related_docs)}
    return build_redactor(doc.data for doc in docs.values())


def _redact_value(doc: TracedDocument, path: Path, secrets: Redactor) -> Any:
    """Return the value at a path with secrets redacted."""
    return secrets.redact_value(value_at(redact_data(doc.data), path))


def _format_value(doc: TracedDocument, path: Path, secrets: Redactor, limit: int = MAX_VALUE_LENGTH) -> str:
    value = value_at(doc.data, path)
    if _is_secret(doc, path):
        return REDACTED_NOTICE
    text = json.dumps(_redact_value(doc, path, secrets), ensure_ascii=False)
    if len(text) <= limit:
        return text
    if isinstance(value, dict | list):
        description = "a mapping of" if isinstance(value, dict) else "a list of"
        return f"({description} {len(value)})"
    return text[:limit] + " …"


def _is_secret(doc: TracedDocument, path: Path) -> bool:
    """Whether a value is, or may contain, a value of a Secret."""
    return has_secret_kind(doc.data) and (not path or path[0] in ("data", "stringData", "metadata"))


def _format_notes(origin: Origin, secrets: Redactor) -> list[str]:
    notes = []
    if origin.behavior is not None:
        behavior = origin.behavior
        if behavior.basis == CONFIGURED_BASIS:
            notes.append(f"[configured] {behavior.source} is {behavior.value}; without that, {behavior.text}")
        else:
            notes.append(f"[{behavior.basis}] {behavior.text}")
            notes.append(f"    {behavior.id}; {behavior.source}")
    if origin.flag is not None:
        notes.append(f"given by {origin.flag.name}")
    reason = "worked out with" if origin.derivation == "computed" else "because of"
    notes += [
        f"{reason} {_format_place(place)}" for place in origin.sources[1:] if not _is_whole_document(place)
    ]
    notes += [
        f"overrides {_format_place(place)}: {_format_value(place.doc, place.path, secrets)}"
        for place in origin.overridden
    ]
    return notes


def _is_whole_document(place: DocumentPath) -> bool:
    """Whether a place is a whole document or spec, which explains nothing."""
    return len(trace_to_source(place.doc, place.path)[-1].path) <= 1


def _format_place(place: DocumentPath) -> str:
    """Format a place, with its line if it is in a file."""
    source_step = trace_to_source(place.doc, place.path)[-1]
    return (
        _format_location(source_step.doc, source_step.path)
        if source_step.doc.source is not None
        else _format_location(place.doc, place.path)
    )


def _build_step(step: TraceStep, secrets: Redactor) -> dict[str, Any]:
    doc, path, origin = step
    entry: dict[str, Any] = {
        "document": doc.source.file if doc.source is not None else doc.name,
        "path": to_json_pointer(path),
        "value": None if _is_secret(doc, path) else _redact_value(doc, path, secrets),
    }
    if doc.source is not None:
        span = doc.source.span(path)
        entry |= {"line": span.line, "column": span.column}
    if origin is not None:
        entry["how"] = origin.derivation
        entry["fact"] = origin.behavior and {
            "id": origin.behavior.id,
            "text": origin.behavior.text,
            "basis": origin.behavior.basis,
            "source": origin.behavior.source,
        }
        entry["flag"] = origin.flag and secrets.redact_text(origin.flag.name)
        entry["overrides"] = _build_places(origin.overridden, secrets)
        entry["also"] = _build_places(origin.sources[1:], secrets)
    return entry


def _build_places(places: Sequence[DocumentPath], secrets: Redactor) -> list[dict[str, Any]]:
    entries = []
    for place in places:
        source_step = trace_to_source(place.doc, place.path)[-1]
        entry: dict[str, Any] = {"document": source_step.doc.name, "path": to_json_pointer(source_step.path)}
        if source_step.doc.source is not None:
            span = source_step.doc.source.span(source_step.path)
            entry |= {"line": span.line, "column": span.column}
        value = None if _is_secret(*place) else _redact_value(place.doc, place.path, secrets)
        entries.append(entry | {"value": value})
    return entries
