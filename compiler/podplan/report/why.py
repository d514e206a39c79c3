"""The provenance of values back to lines in files, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise

from podplan.core.findings import to_json_pointer, value_at
from podplan.core.path_syntax import format_path
from podplan.core.provenance import DocumentPath, Origin, Path, TracedDocument, TraceStep, trace_to_source
from podplan.core.replica_groups import CONFIGURED_BASIS
from podplan.core.typing import Any, NamedTuple
from podplan.core.wording import format_count
from podplan.lint.analysis.process_variables import VariableSetting
from podplan.redaction.redactor import REDACTED_NOTICE, Redactor, build_redactor, redact_data
from podplan.redaction.secret_objects import has_secret_kind
from podplan.tools.value_search import Answer, build_group_document, format_group_name

MAX_VALUE_LENGTH = 100
MAX_FIRST_VALUE_LENGTH = 1_000
MAX_ANSWERS = 10  # different ones; further ones are counted
MAX_NAMES = 3  # of documents with the same answer
ASSIGNED_EVIDENCE = "torchrun.md#ranks-of-nodes"


class _RenderedAnswer(NamedTuple):
    """An answer as text and as JSON, with the documents and variants that have it in common."""

    lines: list[str]
    entry: dict[str, Any]
    names: dict[str, None]
    variants: dict[str, None]


class AnswerMerger:
    """Renders answers as they come, and merges those that several variants of a profile share.

    Keeps text and no documents, because a matrix may have many variants.
    """

    def __init__(self) -> None:
        self._answers: dict[str, _RenderedAnswer] = {}
        self._omitted = 0

    @property
    def is_empty(self) -> bool:
        return not self._answers

    def add(self, answer: Answer, variant_id: str) -> None:
        """Add the answer of a variant."""
        name, *lines = (
            _render_setting(answer.setting) if answer.setting is not None else _render_value(_trace(answer))
        )
        key = _build_key(lines, answer) if variant_id else "\n".join(lines)
        rendered = self._answers.get(key)
        if rendered is None and len(self._answers) >= MAX_ANSWERS:
            self._omitted += 1
            return
        if rendered is None:
            rendered = self._answers[key] = _RenderedAnswer(lines, _build_entry(answer), {}, {})
        if len(rendered.names) <= MAX_NAMES:
            rendered.names[name] = None
        if variant_id:
            rendered.variants[variant_id] = None

    def render_text(self) -> str:
        """Render the chain from each value back to its source, one block per step."""
        blocks = []
        for lines, _, names, variants in self._answers.values():
            more = ", …" if len(names) > MAX_NAMES else ""
            field, *rest = lines
            block = [f"{', '.join([*names][:MAX_NAMES])}{more}  {field}", *rest]
            if len(self._answers) > 1 and len(names) == 1 and len(variants) == 1:
                block[0] += f"  (variant {next(iter(variants))})"
            elif len(variants) > 1:
                block[0] += f"  ({len(variants)} variants)"
            blocks.append("\n".join(block) + "\n")
        if self._omitted:
            blocks.append(f"… and {self._omitted} more; name an object or an environment to see fewer\n")
        return "\n".join(blocks)

    def render_json(self) -> str:
        """Render for machines: ``{"format": 1, "steps": [...]}``, the nearest step first.

        ``steps`` is of the first answer, and ``others`` has the same of further ones.
        """
        first, *others = (
            {**one.entry, "variants": list(one.variants)} if one.variants else one.entry
            for one in self._answers.values()
        )
        page = {"format": 1, **first}
        if others:
            page |= {"others": others, "omitted": self._omitted}
        return json.dumps(page, indent=2, ensure_ascii=False) + "\n"


def _build_key(lines: Sequence[str], answer: Answer) -> str:
    """Return what two answers have in common if they differ only in the names of their CRs."""
    if answer.setting is not None:
        return "\n".join(lines)
    generated = {
        f"  from {_format_location(step.doc, step.path)}": f"  from {_format_field(step.doc, step.path)}"
        for step in _trace(answer)
        if step.doc.source is None
    }
    return "\n".join(generated.get(line, line) for line in lines)


def _trace(answer: Answer) -> list[TraceStep]:
    """Trace a value to its source, through the Jobs that made its Pods, not the first of their groups."""
    parents = {id(group.doc): build_group_document(group) for group in answer.parents}
    steps = trace_to_source(answer.doc, answer.path)
    return [step._replace(doc=parents.get(id(step.doc), step.doc)) for step in steps]


def _render_value(steps: Sequence[TraceStep]) -> list[str]:
    """Render the chain of a value: the name of its document, the field, and the lines below."""
    lines: list[str] = []
    secrets = _build_redactor(steps)
    shown_steps = [
        *(step for step, after in pairwise(steps) if not _is_pass_through(step, after)),
        steps[-1],
    ]
    for number, step in enumerate(shown_steps):
        if number == 0:
            lines += [_format_document(step.doc, step.path), _format_field(step.doc, step.path)]
        else:
            lines.append(f"  from {_format_location(step.doc, step.path)}")
        indent = "         " if number else "    "
        max_length = MAX_VALUE_LENGTH if number else MAX_FIRST_VALUE_LENGTH
        lines.append(f"{indent}{_format_value(step.doc, step.path, secrets, max_length)}")
        if step.origin is not None:
            lines += [indent + secrets.redact_text(note) for note in _format_notes(step.origin, secrets)]
    return lines


def _render_setting(setting: VariableSetting) -> list[str]:
    """Render what a launcher sets a variable to: the name of its Pods, the variable, and the lines below."""
    group_doc = setting.group.doc
    secrets = build_redactor([group_doc.data])
    lines = [
        format_group_name(setting.group),
        f"{setting.name}, set by {setting.launcher} in each process that it starts",
        f"    {setting.values or 'known only when the job runs'}",
        f"    = {setting.variable.formula}{_format_counts(setting)}",
        *_format_pod_values(setting),
        f"    [documented] {setting.evidence}",
    ]
    if setting.overridden_path is not None:
        place = DocumentPath(build_group_document(setting.group), setting.overridden_path)
        lines.append(f"    overrides {_format_place(place)}: {_format_value(*place, secrets)}")
    shown: dict[str, None] = {}
    for place in setting.count_sources or (DocumentPath(group_doc, setting.launcher_path),):
        steps = trace_to_source(*place)
        source = next((step for step in reversed(steps) if step.doc.source is not None), steps[-1])
        notes = [
            f"         {secrets.redact_text(note)}"
            for step in steps
            if step.origin is not None
            for note in _format_notes(step.origin, secrets)
        ]
        value = _format_value(source.doc, source.path, _build_redactor(steps))
        block = [f"  from {_format_location(source.doc, source.path)}", f"         {value}", *notes]
        shown["\n".join(block)] = None
    return [*lines, *shown]


def _format_counts(setting: VariableSetting) -> str:
    fewest, most = setting.nodes
    if not (most and setting.per_node and setting.values and setting.variable.range_of):
        return ""
    nodes = format_count(most, "node") if fewest == most else f"{fewest} to {most} nodes"
    return f", with {nodes} × {format_count(setting.per_node, 'process', 'processes')}"


def _format_pod_values(setting: VariableSetting) -> list[str]:
    """Format the values of the first Pods and of the last one, or that they are not fixed."""
    if setting.is_assigned:
        return [
            f"    which Pod gets which is decided when the nodes meet (docs/evidence/{ASSIGNED_EVIDENCE})"
        ]
    if setting.nodes[1] > 1 and any(one.replicas > 1 and not one.step for one in setting.spans):
        return [f"    all Pods are node {setting.spans[0].first_node}: nothing gives them other numbers"]
    values = [f"    {one.pod}: {one.values}" for one in setting.iter_pod_values()]
    if len(values) < setting.pod_count and values:
        values.insert(-1, f"    … {setting.pod_count} Pods in all")
    return values


def _build_entry(answer: Answer) -> dict[str, Any]:
    """Build the JSON of an answer."""
    setting = answer.setting
    if setting is None:
        steps = _trace(answer)
        secrets = _build_redactor(steps)
        return {"steps": [_build_step(step, secrets) for step in steps]}
    secrets = build_redactor([setting.group.doc.data])
    overridden = (
        [DocumentPath(build_group_document(setting.group), setting.overridden_path)]
        if setting.overridden_path
        else []
    )
    return {
        "steps": [],
        "processVariable": {
            "name": setting.name,
            "launcher": setting.launcher,
            "objects": format_group_name(setting.group),
            "values": setting.values or None,
            "formula": setting.variable.formula,
            "nodes": setting.nodes[1] or None,
            "fewestNodes": setting.nodes[0] or None,
            "byPod": [{"object": one.pod, "values": one.values} for one in setting.iter_pod_values()],
            "assignedAtRendezvous": setting.is_assigned,
            "processesPerNode": setting.per_node or None,
            "source": setting.evidence,
            "overrides": _build_places(overridden, secrets),
            "also": _build_places(setting.count_sources, secrets),
        },
    }


def _is_pass_through(step: TraceStep, after: TraceStep) -> bool:
    """Whether a step only copies the value at the same path of the next one."""
    if step.origin is None or _format_notes(step.origin, Redactor()) or step.path != after.path:
        return False
    value = value_at(step.doc.data, step.path)
    return isinstance(value, dict | list) or value == value_at(after.doc.data, after.path)


def _format_document(doc: TracedDocument, path: Path) -> str:
    """Format a document, with the line of the path if it is in a file."""
    if doc.source is None:
        kind = doc.data.get("kind") if isinstance(doc.data, dict) else None
        return f"resolved {doc.name}" if kind == "JobProfile" else doc.name
    span = doc.source.span(path)
    return f"{doc.source.file}:{span.line}:{span.column}"


def _format_field(doc: TracedDocument, path: Path) -> str:
    return format_path(doc.data, path) or "(the whole)"


def _format_location(doc: TracedDocument, path: Path) -> str:
    return f"{_format_document(doc, path)}  {_format_field(doc, path)}"


def _build_redactor(steps: Sequence[TraceStep]) -> Redactor:
    """Build the redactor for the secrets of the documents of a trace."""
    origins = [step.origin for step in steps if step.origin is not None]
    related_docs = [place.doc for origin in origins for place in (*origin.sources, *origin.overridden)]
    docs = {id(doc): doc for doc in (*(step.doc for step in steps), *related_docs)}
    # The CR lacks fields that the API server drops, such as a misspelt name of a variable; its text has them.
    written = {id(doc.source): doc.source.data for doc in docs.values() if doc.source is not None}
    return build_redactor((*(doc.data for doc in docs.values()), *written.values()))


def _redact_value(doc: TracedDocument, path: Path, secrets: Redactor) -> Any:
    """Return the value at a path with secrets redacted."""
    return secrets.redact_value(_read_value(redact_data(doc.data), path))


def _read_value(data: Any, path: Path) -> Any:
    """Return the value at a path. A variable without a value has the empty text, as in a container."""
    value = value_at(data, path)
    is_variable = len(path) > 2 and path[-3] == "env" and isinstance(path[-2], int) and path[-1] == "value"
    return "" if value is None and is_variable else value


def _format_value(doc: TracedDocument, path: Path, secrets: Redactor, limit: int = MAX_VALUE_LENGTH) -> str:
    value = _read_value(doc.data, path)
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
        "document": doc.file,
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
