"""From a CR to the shortest profile that compiles to it.

A kind's ``decompile`` proposes fields; the proposal is compiled and compared with the CR, and what differs
becomes an ``override``. So the way back is exact by construction, and proposals can afford to be simple.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Path, Problem
from podplan.core.provenance import Doc, trace
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.common.decompile import Fields, in_order, same
from podplan.kinds.common.profile import enumeration
from podplan.kinds.compilation import compile_profile
from podplan.kinds.registry import KIND_NAMES, PACKAGES, GroupVersionKind, find_kind, load_module
from podplan.kubernetes import DEFAULT_VERSION
from podplan.schema import check_against, check_cr
from podplan.schema.pruning import UNKNOWN, pruned
from podplan.tools.importer.normalization import Moves, after, repaired
from podplan.yaml import Document

Data = dict[str, Any]

PROFILE_METADATA = (
    *("name", "generateName", "namespace", "labels", "annotations", "finalizers", "ownerReferences"),
)
SERVER_METADATA = frozenset(
    ("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "managedFields")
) | {"deletionGracePeriodSeconds", "selfLink"}
MAX_ROUNDS = 100  # of looking for unknown fields, of which a hundred are told in each
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class Imported(NamedTuple):
    """The YAML text of a profile, "" where there can be none; the paths of ``problems`` are in the CR."""

    text: str
    problems: list[Problem]


def import_cr(cr: Doc | Document | Data) -> Imported:
    """The shortest natural profile for a CR, as YAML with the comments of the file it is from.

    Compiled again, it gives the same data but for the status, what the server sets in the metadata, unknown
    fields, which it drops, and old spellings, which are right then.
    """
    data = cr.data if isinstance(cr, Doc | Document) else cr
    problems = refusals(data)
    if any(problem.rule == "PROF025" for problem in problems):
        return Imported("", problems)
    from podplan.tools.importer.comment_placement import moved
    from podplan.tools.importer.comments import comments_of
    from podplan.tools.importer.layout import written

    wanted = as_written_by_people(data)
    now = repaired(wanted, wanted["kind"])
    kept, unknown = drop_unknown_fields(now.cr)
    problems += [*_lost(data), *now.problems, *(_dropped(problem, now.moves) for problem in unknown)]
    if refused := _faults(_profile(kept, {})):
        said = f"no profile can say this: {refused[0].message}"
        return Imported("", [Problem("PROF025", said, refused[0].path)])
    profile = profile_for(kept)
    document, top = _in_file(cr)
    found = [
        comment._replace(path=after(comment.path, now.moves))
        for comment in (comments_of(document, top) if document is not None else ())
    ]
    return Imported(written(_escaped(profile), moved(found, profile)), problems)


def _escaped(value: Any) -> Any:
    """``value`` with ``${{``, which begins an expression in a profile, written as ``$${{``."""
    if isinstance(value, dict):
        return {key: _escaped(below) for key, below in value.items()}
    if isinstance(value, list):
        return [_escaped(below) for below in value]
    return value.replace("${{", "$${{") if isinstance(value, str) else value


def _in_file(cr: Doc | Document | Data) -> tuple[Document | None, Path]:
    """The document of a file that a CR is, or is an entry of, and where in it; None for data alone."""
    if isinstance(cr, Doc) and (cr.source is not None or cr.origins):
        file = trace(cr, ())[-1]
        return file.doc.source, file.path
    return (cr, ()) if isinstance(cr, Document) else (None, ())


def refusals(data: Any) -> list[Problem]:
    """Why there can be no profile, or what the profile spells otherwise."""
    if not isinstance(data, dict) or not isinstance(data.get("spec", {}), dict):
        return [Problem("PROF025", "this is not a job: its spec is not a mapping")]
    versions = dict.fromkeys(kind.api_version for kind in PACKAGES)
    if data.get("apiVersion") not in versions:
        message = f"only jobs of {', '.join(versions)} can be imported, not {data.get('apiVersion')}"
        return [Problem("PROF025", message, ("apiVersion",))]
    kind = _kind_of(data)
    if kind is None:
        message = f"a {data.get('kind')} cannot be imported; there is {', '.join(KIND_NAMES)}"
        return [Problem("PROF025", message, ("kind",))]
    if data["kind"] != kind.kind:
        message = f"the kind is spelled {kind.kind}, not {data['kind']}; the profile has it right"
        return [Problem("PROF026", message, ("kind",))]
    return []


def as_written_by_people(data: Data) -> Data:
    """A CR of a known kind without status, server metadata and nulls, and its kind spelled right."""
    metadata = data.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    kept = {key: metadata[key] for key in PROFILE_METADATA if metadata.get(key) is not None}
    annotations = kept.get("annotations")
    if isinstance(annotations, dict) and LAST_APPLIED in annotations:
        kept["annotations"] = {key: value for key, value in annotations.items() if key != LAST_APPLIED}
        if not kept["annotations"]:
            del kept["annotations"]
    kind = _kind_of(data)
    assert kind is not None
    cr = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": kept,
        "spec": data.get("spec") or {},
    }
    result: Data = without_nulls({key: value for key, value in cr.items() if key != "metadata" or kept})
    return result


def drop_unknown_fields(cr: Data) -> tuple[Data, list[Problem]]:
    """A CR without the fields that the API server drops, and a problem for each of those."""
    unknown: list[Problem] = []
    for _ in range(MAX_ROUNDS):
        problems = check_cr(cr, DEFAULT_VERSION).problems
        kept = pruned(Doc("cr", cr), problems).data
        if same(kept, cr):
            break
        unknown += (problem for problem in problems if problem.rule in UNKNOWN and problem.on_key)
        cr = kept
    return cr, unknown


def _dropped(problem: Problem, moves: Moves) -> Problem:
    message = f"{problem.message}; it is left out, as the API server drops it"
    return Problem("PROF026", message, after(problem.path, [(new, old) for old, new in reversed(moves)]))


def without_nulls(value: Any) -> Any:
    """``value`` without the null entries of its maps, which count as not written."""
    if isinstance(value, dict):
        return {key: without_nulls(entry) for key, entry in value.items() if entry is not None}
    return [without_nulls(entry) for entry in value] if isinstance(value, list) else value


def profile_for(cr: Data) -> Data:
    """The profile that compiles to exactly ``cr``, the first without overrides or the one with the fewest.

    A profile may have the metadata of ``cr``.
    """
    proposals = []
    for fields in _proposals(cr):
        profile = _accepted(cr, fields)
        if profile is not None and "override" not in profile["spec"]:
            return profile
        proposals += [profile] if profile is not None else []
    return min(proposals, key=lambda found: (len(str(found["spec"].get("override", ""))), len(str(found))))


def _proposals(cr: Data) -> Iterator[Fields]:
    """Fields that may compile to the CR, the natural ones first; the last always leave it to an override.

    Those in between leave the replicas to it, a list that an override can only have whole.
    """
    kind = find_kind(cr["apiVersion"], cr["kind"])
    assert kind is not None
    decompile = load_module(kind, "decompile").decompile
    yield decompile(cr["spec"])
    yield decompile({key: value for key, value in cr["spec"].items() if key != "replicaSpecs"})
    yield {}


def _accepted(cr: Data, fields: Fields) -> Data | None:
    """A profile with those of ``fields`` that a profile may have, the rest in an override; None for no such.

    What the form of profiles or compiling refuses leaves the fields: an override takes what a CR may say.
    """
    while True:
        profile, refused = _completed(cr, fields)
        if not refused:
            return profile
        fewer = fields
        for path in refused:
            fewer = _without(fewer, path[1:]) if path[:1] == ("spec",) else fewer
        if same(fewer, fields):
            return None
        fields = fewer


def _completed(cr: Data, fields: Fields) -> tuple[Data, list[Path]]:
    """A profile with ``fields`` and an override for what they do not say, and the paths that are refused."""
    profile = _profile(cr, fields)
    compiled = compile_profile(Doc("profile", profile), None)
    problems = [*_faults(profile), *compiled.problems]
    if compiled.cr is None or problems:
        return profile, [problem.path for problem in problems] or [("spec",)]
    patch = difference(compiled.cr.data["spec"], cr["spec"])
    if not patch:
        return profile, []
    reason = f"without this, {enumeration(list(patch))} would differ from the imported CR"
    profile = _profile(cr, {**fields, "override": [{"reason": reason, "spec": patch}]})
    return profile, [problem.path for problem in _faults(profile)]


def _faults(profile: Data) -> list[Problem]:
    """What the form of profiles refuses in one, as it is written."""
    return check_against("JobProfile", _escaped(profile))


def _without(fields: Fields, path: Path) -> Fields:
    """``fields`` without the one that ``path`` leads to, or into a list of; of a role, without its field."""
    field, rest = str(path[0]) if path else "", path[1:]
    if field not in fields:
        return fields
    below = fields[field]
    if field == "roles" and len(rest) > 1 and isinstance(below, list) and rest[1] != "name":
        roles = [_without(role, rest[1:]) if i == rest[0] else role for i, role in enumerate(below)]
        return {**fields, "roles": roles}
    if isinstance(below, dict) and rest and rest[0] in below:
        return {**fields, field: _without(below, rest)}
    return {name: value for name, value in fields.items() if name != field}


def _profile(cr: Data, fields: Fields) -> Data:
    head = {"apiVersion": "podplan/v1", "kind": "JobProfile", "metadata": cr.get("metadata")}
    spec = in_order({"job": cr["kind"], **fields})
    return {**{key: value for key, value in head.items() if value is not None}, "spec": spec}


def difference(base: Any, wanted: Any) -> Any:
    """The RFC 7386 merge patch from one map to the other."""
    patch: Data = {key: None for key in base if key not in wanted}
    for key, value in wanted.items():
        if key not in base:
            patch[key] = value
        elif isinstance(value, dict) and isinstance(base[key], dict):
            below = difference(base[key], value)
            if below:
                patch[key] = below
        elif not same(base[key], value):
            patch[key] = value
    return patch


def _kind_of(data: Data) -> GroupVersionKind | None:
    """The kind, also where it has an old spelling; None for an unknown one."""
    api_version, name = data.get("apiVersion"), data.get("kind")
    if (kind := find_kind(api_version, name)) is not None or not isinstance(name, str):
        return kind
    from podplan.schema.old_spellings import old_kind

    return find_kind(api_version, old_kind(name))


def _lost(data: Data) -> list[Problem]:
    """A problem for each part of the CR that a profile has no place for."""
    metadata = data.get("metadata")
    known = SERVER_METADATA | set(PROFILE_METADATA)
    return [
        Problem("PROF026", f"metadata.{key} has no place in a profile and is left out", ("metadata", key))
        for key in (metadata if isinstance(metadata, dict) else {})
        if key not in known
    ]
