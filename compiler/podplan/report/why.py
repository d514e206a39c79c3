"""One value and its way back to the line that somebody wrote, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise

from podplan.core.findings import pointer, value_at
from podplan.core.path_syntax import show
from podplan.core.provenance import Doc, Origin, Path, Place, Step, trace
from podplan.core.replica_groups import CONFIGURED
from podplan.core.typing import Any
from podplan.redaction.redactor import NOT_SHOWN, Redactor, build_redactor, redact_data

MAX_SHOWN = 100
MAX_SHOWN_FIRST = 1_000


def as_text(doc: Doc, path: Path) -> str:
    """The chain from the value at ``path`` back to its source, one step a block."""
    lines: list[str] = []
    steps = trace(doc, path)
    secrets = _secrets(steps)
    told = [step for step, after in pairwise(steps) if not _says_nothing(step, after)] + steps[-1:]
    for number, step in enumerate(told):
        lead = "" if number == 0 else "  from "
        lines.append(f"{lead}{_where(step.doc, step.path)}")
        indent = "         " if number else "    "
        lines.append(
            f"{indent}{_value(step.doc, step.path, secrets, MAX_SHOWN if number else MAX_SHOWN_FIRST)}"
        )
        if step.origin is not None:
            lines += [indent + secrets.text(note) for note in _notes(step.origin, secrets)]
    return "\n".join(lines) + "\n"


def _says_nothing(step: Step, after: Step) -> bool:
    """Whether a step only hands on what stands at the same path of the next one."""
    if step.origin is None or _notes(step.origin, Redactor()) or step.path != after.path:
        return False
    value = value_at(step.doc.data, step.path)
    return isinstance(value, dict | list) or value == value_at(after.doc.data, after.path)


def as_json(doc: Doc, path: Path) -> str:
    """The same for machines: ``{"format": 1, "steps": [...]}``, the nearest step first."""
    way = trace(doc, path)
    secrets = _secrets(way)
    steps = [_step(step, secrets) for step in way]
    return json.dumps({"format": 1, "steps": steps}, indent=2, ensure_ascii=False) + "\n"


def _where(doc: Doc, path: Path) -> str:
    if doc.source is None:
        kind = doc.data.get("kind") if isinstance(doc.data, dict) else None
        name = f"resolved {doc.name}" if kind == "JobProfile" else doc.name
        return f"{name}  {show(doc.data, path) or '(the whole)'}"
    span = doc.source.span(path)
    return f"{doc.source.file}:{span.line}:{span.column}  {show(doc.data, path) or '(the whole)'}"


def _secrets(steps: Sequence[Step]) -> Redactor:
    """What hides the secrets of the documents on a way."""
    origins = [step.origin for step in steps if step.origin is not None]
    beside = [place.doc for origin in origins for place in (*origin.places, *origin.overrides)]
    docs = {id(doc): doc for doc in (*(step.doc for step in steps), *beside)}
    return build_redactor(doc.data for doc in docs.values())


def _without(doc: Doc, path: Path, secrets: Redactor) -> Any:
    """The value at a path without secrets."""
    return secrets.value(value_at(redact_data(doc.data), path))


def _value(doc: Doc, path: Path, secrets: Redactor, limit: int = MAX_SHOWN) -> str:
    value = value_at(doc.data, path)
    if _is_secret(doc, path):
        return NOT_SHOWN
    text = json.dumps(_without(doc, path, secrets), ensure_ascii=False)
    if len(text) <= limit:
        return text
    if isinstance(value, dict | list):
        what = "a mapping of" if isinstance(value, dict) else "a list of"
        return f"({what} {len(value)})"
    return text[:limit] + " …"


def _is_secret(doc: Doc, path: Path) -> bool:
    """Whether a value is, or may hold, what a Secret keeps."""
    if not isinstance(doc.data, dict) or doc.data.get("kind") != "Secret":
        return False
    return not path or path[0] in ("data", "stringData", "metadata")


def _notes(origin: Origin, secrets: Redactor) -> list[str]:
    notes = []
    if origin.fact is not None:
        fact = origin.fact
        if fact.basis == CONFIGURED:
            notes.append(f"[configured] {fact.source} is {fact.value}; without that, {fact.text}")
        else:
            notes.append(f"[{fact.basis}] {fact.text}")
            notes.append(f"    {fact.id}; {fact.source}")
    if origin.flag is not None:
        notes.append(f"given by {origin.flag.name}")
    part = "worked out with" if origin.how == "computed" else "because of"
    notes += [f"{part} {_place(place)}" for place in origin.places[1:] if not _is_whole(place)]
    notes += [
        f"overrides {_place(place)}: {_value(place.doc, place.path, secrets)}" for place in origin.overrides
    ]
    return notes


def _is_whole(place: Place) -> bool:
    """Whether somebody wrote a place only as a whole document or spec, which explains nothing."""
    return len(trace(place.doc, place.path)[-1].path) <= 1


def _place(place: Place) -> str:
    """A place, at the line that somebody wrote where there is one."""
    end = trace(place.doc, place.path)[-1]
    return _where(end.doc, end.path) if end.doc.source is not None else _where(place.doc, place.path)


def _step(step: Step, secrets: Redactor) -> dict[str, Any]:
    doc, path, origin = step
    entry: dict[str, Any] = {
        "document": doc.source.file if doc.source is not None else doc.name,
        "path": pointer(path),
        "value": None if _is_secret(doc, path) else _without(doc, path, secrets),
    }
    if doc.source is not None:
        span = doc.source.span(path)
        entry |= {"line": span.line, "column": span.column}
    if origin is not None:
        entry["how"] = origin.how
        entry["fact"] = origin.fact and {
            "id": origin.fact.id,
            "text": origin.fact.text,
            "basis": origin.fact.basis,
            "source": origin.fact.source,
        }
        entry["flag"] = origin.flag and secrets.text(origin.flag.name)
        entry["overrides"] = _places(origin.overrides, secrets)
        entry["also"] = _places(origin.places[1:], secrets)
    return entry


def _places(places: Sequence[Place], secrets: Redactor) -> list[dict[str, Any]]:
    found = []
    for place in places:
        end = trace(place.doc, place.path)[-1]
        where: dict[str, Any] = {"document": end.doc.name, "path": pointer(end.path)}
        if end.doc.source is not None:
            span = end.doc.source.span(end.path)
            where |= {"line": span.line, "column": span.column}
        value = None if _is_secret(*place) else _without(place.doc, place.path, secrets)
        found.append(where | {"value": value})
    return found
