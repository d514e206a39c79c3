"""Imports a CR: finds the shortest profile that compiles to it.

The ``decompile`` of a kind proposes fields; the proposal is compiled and compared with the CR, and the
differences become an ``override``. So the import is exact by construction, and proposals can be simple.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from podplan.core.findings import Diagnostic, Path
from podplan.core.provenance import TracedDocument, trace_to_source
from podplan.core.structural_diff import is_same_data
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple
from podplan.core.wording import join_words
from podplan.kinds.common.decompile import Fields, as_mapping, order_profile_fields
from podplan.kinds.common.schedule import KUEUE, KUEUE_LABELS
from podplan.kinds.compilation import compile_profile
from podplan.kinds.registry import (
    COMPILED_KINDS,
    OPERATOR_VERSIONS,
    GroupVersionKind,
    find_kind,
    load_module,
    load_spec,
    name_of,
)
from podplan.kubernetes import DEFAULT_VERSION
from podplan.schema import validate_against, validate_cr
from podplan.schema.pruning import UNKNOWN_FIELD_RULES, prune_unknown_fields
from podplan.tools.importer.normalization import Moves, apply_moves, normalize_cr
from podplan.yaml import Document

if TYPE_CHECKING:
    from podplan.tools.importer.comments import PlacedComment

Data = dict[str, Any]

PROFILE_METADATA = (
    *("name", "generateName", "namespace", "labels", "annotations", "finalizers", "ownerReferences"),
)
SERVER_METADATA = frozenset(
    ("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "managedFields")
) | {"deletionGracePeriodSeconds", "selfLink"}
MAX_PRUNING_ROUNDS = 100  # of searching for unknown fields, of which each round reports a hundred
LAST_APPLIED_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"


class ImportResult(NamedTuple):
    """The YAML text of a profile, "" if there is none; the paths of ``diagnostics`` are in the CR."""

    text: str
    diagnostics: list[Diagnostic]


class DecompiledJob(NamedTuple):
    """The shortest profile for a CR as data, with comments at their paths in it.

    ``profile`` is {} if there is none. ``cr`` is what the profile compiles to.
    """

    profile: Data
    comments: tuple[PlacedComment, ...]
    diagnostics: list[Diagnostic]
    cr: Data


def import_cr(cr: TracedDocument | Document | Data) -> ImportResult:
    """Return the shortest natural profile for a CR, as YAML with the comments of its file.

    It compiles to the same data, except for the status, metadata that the server sets, unknown fields, which
    the server drops, and old spellings, which are corrected.
    """
    job = decompile_cr(cr)
    return ImportResult(render_job(job.profile, job.comments) if job.profile else "", job.diagnostics)


def render_job(profile: Data, comments: Sequence[PlacedComment]) -> str:
    """Render an imported profile, or the base of several, as YAML."""
    from podplan.tools.importer.layout import render_profile

    return render_profile(_escape_expressions(profile), comments)


def decompile_cr(cr: TracedDocument | Document | Data) -> DecompiledJob:
    """Return the same as data, to be rendered by ``render_job``."""
    data = cr.data if isinstance(cr, TracedDocument | Document) else cr
    diagnostics = find_refusals(data)
    if any(problem.rule == "PROF025" for problem in diagnostics):
        return DecompiledJob({}, (), diagnostics, {})
    from podplan.tools.importer.comment_placement import move_comments
    from podplan.tools.importer.comments import extract_comments
    from podplan.workspace.documents import RENDER_HEADER_PREFIX

    written_cr = strip_server_fields(data)
    normalized = normalize_cr(written_cr, written_cr["kind"])
    known_cr, unknown = drop_unknown_fields(normalized.cr)
    diagnostics += [
        *_find_lost_metadata(data),
        *normalized.diagnostics,
        *(_build_dropped_diagnostic(problem, normalized.moves) for problem in unknown),
    ]
    if form_errors := _find_form_errors(_build_profile(known_cr, {})):
        refused = [
            Diagnostic("PROF025", f"no profile can say this: {error.message}", error.path)
            for error in form_errors
        ]
        return DecompiledJob({}, (), refused, {})
    profile = find_shortest_profile(known_cr)
    document, top = _find_source_document(cr)
    moved_comments = [
        comment._replace(path=apply_moves(comment.path, normalized.moves))
        for comment in (extract_comments(document, top) if document is not None else ())
        if not comment.text.startswith(RENDER_HEADER_PREFIX)
    ]
    return DecompiledJob(profile, tuple(move_comments(moved_comments, profile)), diagnostics, known_cr)


def _escape_expressions(value: Any) -> Any:
    """Return ``value`` with ``${{``, which begins an expression in a profile, escaped as ``$${{``."""
    if isinstance(value, dict):
        return {key: _escape_expressions(below) for key, below in value.items()}
    if isinstance(value, list):
        return [_escape_expressions(below) for below in value]
    return value.replace("${{", "$${{") if isinstance(value, str) else value


def _find_source_document(cr: TracedDocument | Document | Data) -> tuple[Document | None, Path]:
    """Return the document of a file that a CR is in, and its path there; None for plain data."""
    if isinstance(cr, TracedDocument) and (cr.source is not None or cr.origins):
        source_step = trace_to_source(cr, ())[-1]
        return source_step.doc.source, source_step.path
    return (cr, ()) if isinstance(cr, Document) else (None, ())


def find_refusals(data: Any) -> list[Diagnostic]:
    """Return why there can be no profile, or what the profile spells differently."""
    if not isinstance(data, dict) or not isinstance(data.get("spec", {}), dict):
        return [Diagnostic("PROF025", "this is not a job: its spec is not a mapping")]
    versions = dict.fromkeys(kind.api_version for kind in COMPILED_KINDS.values())
    if data.get("apiVersion") not in versions:
        message = f"only jobs of {', '.join(versions)} can be imported, not {data.get('apiVersion')}"
        return [Diagnostic("PROF025", message, ("apiVersion",))]
    kind = _find_kind(data)
    if kind not in COMPILED_KINDS.values():
        message = f"a {data.get('kind')} cannot be imported; there is {', '.join(COMPILED_KINDS)}"
        return [Diagnostic("PROF025", message, ("kind",))]
    assert kind is not None
    if data["kind"] != kind.kind:
        message = f"the kind is spelled {kind.kind}, not {data['kind']}; the profile has it right"
        return [Diagnostic("PROF026", message, ("kind",))]
    return []


def strip_server_fields(data: Data) -> Data:
    """Return a CR of a known kind without status, server metadata and nulls, with the spelling of its kind
    corrected."""
    metadata = data.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    kept_metadata = {key: metadata[key] for key in PROFILE_METADATA if metadata.get(key) is not None}
    annotations = kept_metadata.get("annotations")
    if isinstance(annotations, dict) and LAST_APPLIED_ANNOTATION in annotations:
        kept_metadata["annotations"] = {
            key: value for key, value in annotations.items() if key != LAST_APPLIED_ANNOTATION
        }
        if not kept_metadata["annotations"]:
            del kept_metadata["annotations"]
    kind = _find_kind(data)
    assert kind is not None
    cr = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": kept_metadata,
        "spec": data.get("spec") or {},
    }
    result: Data = remove_nulls(
        {key: value for key, value in cr.items() if key != "metadata" or kept_metadata}
    )
    return result


def drop_unknown_fields(cr: Data) -> tuple[Data, list[Diagnostic]]:
    """Return a CR without the fields that the API server drops, and a diagnostic for each of them.

    Of several versions of the operator, the first with the most known fields decides.
    """
    group = str(cr["apiVersion"]).partition("/")[0]
    versions = OPERATOR_VERSIONS.get(group) or ("",)
    results = (_drop_fields_unknown_to(cr, {group: version}) for version in versions)
    return min(results, key=lambda result: (len(result[1]), -len(str(result[0]))))


def _drop_fields_unknown_to(cr: Data, operator_versions: dict[str, str]) -> tuple[Data, list[Diagnostic]]:
    unknown: list[Diagnostic] = []
    for _ in range(MAX_PRUNING_ROUNDS):
        diagnostics = validate_cr(cr, DEFAULT_VERSION, operator_versions).diagnostics
        pruned_cr = prune_unknown_fields(TracedDocument("cr", cr), diagnostics).data
        if is_same_data(pruned_cr, cr):
            break
        unknown += (
            problem for problem in diagnostics if problem.rule in UNKNOWN_FIELD_RULES and problem.on_key
        )
        cr = pruned_cr
    return cr, unknown


def _build_dropped_diagnostic(problem: Diagnostic, moves: Moves) -> Diagnostic:
    message = f"{problem.message}; it is left out, as the API server drops it"
    return Diagnostic(
        "PROF026", message, apply_moves(problem.path, [(new, old) for old, new in reversed(moves)])
    )


def remove_nulls(value: Any) -> Any:
    """Return ``value`` without the null entries of its mappings, which count as missing."""
    if isinstance(value, dict):
        return {key: remove_nulls(entry) for key, entry in value.items() if entry is not None}
    return [remove_nulls(entry) for entry in value] if isinstance(value, list) else value


def find_shortest_profile(cr: Data) -> Data:
    """Return the profile that compiles exactly to ``cr``: the first without overrides, or with the fewest.

    A profile may contain the metadata of ``cr``.
    """
    proposals = []
    for fields in _iter_proposals(cr):
        profile = _accept_fields(cr, fields)
        if profile is not None and "override" not in profile["spec"]:
            return profile
        proposals += [profile] if profile is not None else []
    return min(proposals, key=lambda found: (len(str(found["spec"].get("override", ""))), len(str(found))))


def _iter_proposals(cr: Data) -> Iterator[Fields]:
    """Yield fields that may compile to the CR, natural ones first; the last leave everything to an override.

    Those in between leave replica types to it, because an override can only replace a list as a whole.
    """
    kind = find_kind(cr["apiVersion"], cr["kind"])
    assert kind is not None
    decompile = load_module(kind, "decompile").decompile
    queue = _decompile_queue(cr)
    yield {**decompile(cr["spec"]), **queue}
    lists = {field.path[1] for field in load_spec(kind).replica_types if field.form == "list"}
    yield {**decompile({key: value for key, value in cr["spec"].items() if key not in lists}), **queue}
    if queue:
        yield queue
    yield {}


def _decompile_queue(cr: Data) -> Fields:
    """Return the queue and the priority of a job that Kueue admits, as ``schedule``."""
    labels = _labels_of(cr)
    fields = {
        field: labels[label] for field, label in KUEUE_LABELS.items() if isinstance(labels.get(label), str)
    }
    schedulers = _find_schedulers(cr)
    if KUEUE not in schedulers or "queue" not in fields:
        return {}
    return {"schedule": {**({} if schedulers[0] == KUEUE else {"by": KUEUE}), **fields}}


def _build_metadata(cr: Data, fields: Fields) -> Any:
    """Return the metadata of a CR without the labels that ``fields`` have as ``schedule``."""
    metadata, schedule = cr.get("metadata"), as_mapping(fields.get("schedule"))
    stated = {label for field, label in KUEUE_LABELS.items() if field in schedule}
    if not stated or schedule.get("by", _find_schedulers(cr)[0]) != KUEUE:
        return metadata
    labels = {name: value for name, value in _labels_of(cr).items() if name not in stated}
    parts = {**as_mapping(metadata), "labels": labels}
    return {key: value for key, value in parts.items() if key != "labels" or labels}


def _find_schedulers(cr: Data) -> tuple[str, ...]:
    kind = find_kind(cr["apiVersion"], cr["kind"])
    assert kind is not None
    return load_spec(kind).schedulers


def _labels_of(cr: Data) -> Data:
    return as_mapping(as_mapping(cr.get("metadata")).get("labels"))


def _accept_fields(cr: Data, fields: Fields) -> Data | None:
    """Return a profile with the valid ones of ``fields``, the rest in an override; None if there is none.

    Fields that the schema of profiles or compiling rejects are left to an override, which accepts any part of
    a CR.
    """
    while True:
        profile, refused_paths = _complete_profile(cr, fields)
        if not refused_paths:
            return profile
        reduced = fields
        for path in refused_paths:
            reduced = _remove_field(reduced, path[1:]) if path[:1] == ("spec",) else reduced
        if is_same_data(reduced, fields):
            return None
        fields = reduced


def _complete_profile(cr: Data, fields: Fields) -> tuple[Data, list[Path]]:
    """Return a profile with ``fields`` and an override for the rest, and the paths that are rejected."""
    profile = _build_profile(cr, fields)
    compiled = compile_profile(TracedDocument("profile", profile), None)
    diagnostics = [*_find_form_errors(profile), *compiled.diagnostics]
    if compiled.cr is None or diagnostics:
        return profile, [problem.path for problem in diagnostics] or [("spec",)]
    patch = compute_merge_patch(compiled.cr.data["spec"], cr["spec"])
    if not patch:
        return profile, []
    reason = f"without this, {join_words(list(patch))} would differ from the imported CR"
    profile = _build_profile(cr, {**fields, "override": [{"reason": reason, "spec": patch}]})
    return profile, [problem.path for problem in _find_form_errors(profile)]


def _find_form_errors(profile: Data) -> list[Diagnostic]:
    """Return the errors of a profile under its schema."""
    return validate_against("JobProfile", _escape_expressions(profile))


def _remove_field(fields: Fields, path: Path) -> Fields:
    """Return ``fields`` without the one that contains ``path``; of a role, without its field."""
    field, rest = str(path[0]) if path else "", path[1:]
    if field not in fields:
        return fields
    field_value = fields[field]
    if field == "roles" and len(rest) > 1 and isinstance(field_value, list) and rest[1] != "name":
        roles = [
            _remove_field(role, rest[1:]) if i == rest[0] else role for i, role in enumerate(field_value)
        ]
        return {**fields, "roles": roles}
    if isinstance(field_value, dict) and rest and rest[0] in field_value:
        return {**fields, field: _remove_field(field_value, rest)}
    return {name: value for name, value in fields.items() if name != field}


def _build_profile(cr: Data, fields: Fields) -> Data:
    head = {"apiVersion": "podplan/v1", "kind": "JobProfile", "metadata": _build_metadata(cr, fields)}
    kind = find_kind(cr["apiVersion"], cr["kind"])
    assert kind is not None
    spec = order_profile_fields({"job": name_of(kind), **fields})
    return {**{key: value for key, value in head.items() if value is not None}, "spec": spec}


def compute_merge_patch(base: Any, target: Any) -> Any:
    """Compute the RFC 7386 merge patch from one mapping to the other."""
    patch: Data = {key: None for key in base if key not in target}
    for key, value in target.items():
        if key not in base:
            patch[key] = value
        elif isinstance(value, dict) and isinstance(base[key], dict):
            nested_patch = compute_merge_patch(base[key], value)
            if nested_patch:
                patch[key] = nested_patch
        elif not is_same_data(base[key], value):
            patch[key] = value
    return patch


def _find_kind(data: Data) -> GroupVersionKind | None:
    """Return the kind, also for an old spelling; None for an unknown one."""
    api_version, name = data.get("apiVersion"), data.get("kind")
    if (kind := find_kind(api_version, name)) is not None or not isinstance(name, str):
        return kind
    from podplan.schema.old_spellings import find_current_kind

    return find_kind(api_version, find_current_kind(name))


def _find_lost_metadata(data: Data) -> list[Diagnostic]:
    """Return a diagnostic for each part of the CR that a profile cannot express."""
    metadata = data.get("metadata")
    known_keys = SERVER_METADATA | set(PROFILE_METADATA)
    return [
        Diagnostic("PROF026", f"metadata.{key} has no place in a profile and is left out", ("metadata", key))
        for key in (metadata if isinstance(metadata, dict) else {})
        if key not in known_keys
    ]
