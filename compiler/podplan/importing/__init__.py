"""From a CR to the shortest profile that compiles to it.

A kind's ``decompile`` proposes fields; the proposal is compiled and compared with the CR, and what differs
becomes an ``override``. So the way back is exact by construction, and proposals can afford to be simple.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.findings import Path, Problem
from podplan.kinds import API_VERSION, KINDS, kind
from podplan.kinds._decompile import Fields, in_order, same
from podplan.kinds._profile import enumeration
from podplan.kinds.compiling import compile_profile
from podplan.provenance import Doc, trace
from podplan.source import Document
from podplan.typing import Any, NamedTuple

Data = dict[str, Any]

PROFILE_METADATA = (
    *("name", "generateName", "namespace", "labels", "annotations", "finalizers", "ownerReferences"),
)
SERVER_METADATA = frozenset(
    ("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "managedFields")
) | {"deletionGracePeriodSeconds", "selfLink"}
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class Imported(NamedTuple):
    """The YAML text of a profile, "" where there can be none; the paths of ``problems`` are in the CR."""

    text: str
    problems: list[Problem]


def import_cr(cr: Doc | Document | Data) -> Imported:
    """The shortest natural profile for a CR, as YAML with the comments of the file it is from.

    Compiled again, it gives the same data but for the status, what the server sets in the metadata, and
    old spellings, which it has right.
    """
    data = cr.data if isinstance(cr, Doc | Document) else cr
    problems = refusals(data)
    if any(problem.rule == "PROF025" for problem in problems):
        return Imported("", problems)
    from podplan.importing.comments import comments_of
    from podplan.importing.layout import written
    from podplan.importing.moving import moved
    from podplan.importing.repairing import after, repaired

    wanted = as_written_by_people(data)
    now = repaired(wanted, wanted["kind"])
    problems += [*_lost(data), *now.problems]
    profile = profile_for(now.cr)
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
    if data.get("apiVersion") != API_VERSION:
        message = f"only jobs of {API_VERSION} can be imported, not {data.get('apiVersion')}"
        return [Problem("PROF025", message, ("apiVersion",))]
    if _kind_of(data) is None:
        return [
            Problem(
                "PROF025", f"a {data.get('kind')} cannot be imported; there is {', '.join(KINDS)}", ("kind",)
            )
        ]
    if data["kind"] not in KINDS:
        message = f"the kind is spelled {_kind_of(data)}, not {data['kind']}; the profile has it right"
        return [Problem("PROF026", message, ("kind",))]
    return []


def as_written_by_people(data: Data) -> Data:
    """A CR without status, without what the server sets, without nulls, and its kind spelled right."""
    metadata = data.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    kept = {key: metadata[key] for key in PROFILE_METADATA if metadata.get(key) is not None}
    annotations = kept.get("annotations")
    if isinstance(annotations, dict) and LAST_APPLIED in annotations:
        kept["annotations"] = {key: value for key, value in annotations.items() if key != LAST_APPLIED}
        if not kept["annotations"]:
            del kept["annotations"]
    cr = {"apiVersion": API_VERSION, "kind": _kind_of(data), "metadata": kept, "spec": data.get("spec") or {}}
    result: Data = without_nulls({key: value for key, value in cr.items() if key != "metadata" or kept})
    return result


def without_nulls(value: Any) -> Any:
    """``value`` without the null entries of its maps, which count as not written."""
    if isinstance(value, dict):
        return {key: without_nulls(entry) for key, entry in value.items() if entry is not None}
    return [without_nulls(entry) for entry in value] if isinstance(value, list) else value


def profile_for(cr: Data) -> Data:
    """The profile that compiles to exactly ``cr``, the first without overrides or the one with the fewest."""
    proposals = []
    for fields in _proposals(cr):
        profile = _completed(cr, fields)
        if profile is not None and "override" not in profile["spec"]:
            return profile
        proposals += [profile] if profile is not None else []
    return min(proposals, key=lambda found: (len(str(found["spec"].get("override", ""))), len(str(found))))


def _proposals(cr: Data) -> Iterator[Fields]:
    """Fields that may compile to the CR, the natural ones first; the last always leave it to an override.

    Those in between leave the replicas to it, a list that an override can only have whole.
    """
    decompile = kind(cr["kind"], "decompile").decompile
    yield decompile(cr["spec"])
    yield decompile({key: value for key, value in cr["spec"].items() if key != "replicaSpecs"})
    yield {}


def _completed(cr: Data, fields: Fields) -> Data | None:
    """A profile with ``fields`` and an override for what they do not say; None where they do not compile."""
    profile = _profile(cr, fields)
    compiled = compile_profile(Doc("profile", profile), None)
    if compiled.cr is None or compiled.problems:
        return None
    patch = difference(compiled.cr.data["spec"], cr["spec"])
    if not patch:
        return profile
    reason = f"without this, {enumeration(list(patch))} would differ from the imported CR"
    return _profile(cr, {**fields, "override": [{"reason": reason, "spec": patch}]})


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


def _kind_of(data: Data) -> str | None:
    """The kind as it is spelled now; None for one that is not in the table."""
    name = data.get("kind")
    if not isinstance(name, str) or name in KINDS:
        return name if isinstance(name, str) else None
    from podplan.schema.spelling import old_kind

    now = old_kind(name)
    return now if now in KINDS else None


def _lost(data: Data) -> list[Problem]:
    """A problem for each part of the CR that a profile has no place for."""
    metadata = data.get("metadata")
    known = SERVER_METADATA | set(PROFILE_METADATA)
    return [
        Problem("PROF026", f"metadata.{key} has no place in a profile and is left out", ("metadata", key))
        for key in (metadata if isinstance(metadata, dict) else {})
        if key not in known
    ]
