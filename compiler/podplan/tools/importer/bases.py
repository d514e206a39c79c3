"""Common bases of many imported profiles: the shared fields of all jobs of a kind or of a folder.

A field goes into a base if all profiles have it, without a comment: the value of all, or of most of them if
it is a scalar, which the others replace. Each profile is resolved with its bases and compiled again; one
whose CR would differ is written without bases.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Mapping, Sequence

from podplan.core.findings import Diagnostic, Path
from podplan.core.provenance import TracedDocument
from podplan.core.structural_diff import is_same_data
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.compilation import compile_profile
from podplan.profile.resolve import resolve_profile
from podplan.tools.importer import Data, DecompiledJob, render_job
from podplan.yaml import parse_yaml

BASES_FOLDER = "bases"
# Mappings whose order matters.
_ORDERED_MAPPINGS: tuple[Path, ...] = (("spec", "env"),)
# Fields that belong to one job.
_FIELDS_OF_ONE_JOB = frozenset(("job", "extends", "override", "params", "matrix", "environments"))


class ImportedJob(NamedTuple):
    """A profile to write to ``file``, a path with slashes; ``folder`` is where its CR was."""

    file: str
    folder: str
    job: DecompiledJob


class ImportedFiles(NamedTuple):
    """The texts by path, and the number of profiles that extend a base."""

    texts: dict[str, str]
    with_base: int


class _Base(NamedTuple):
    """A base to write to ``file``, with the fields that a profile gets from it and from those it extends."""

    file: str
    text: str
    inherited: Data


def factor_bases(jobs: Sequence[ImportedJob]) -> ImportedFiles:
    """Return the files of profiles and their bases; each profile compiles to the CR it was imported from."""
    profiles: dict[str, str] = {}
    used: dict[str, str] = {}
    with_base = 0
    by_kind: dict[str, list[ImportedJob]] = {}
    for one in jobs:
        by_kind.setdefault(one.job.profile["spec"]["job"], []).append(one)
    for kind, members in by_kind.items():
        stem = kind.rpartition("/")[2].lower()
        kind_bases = _build_base(stem, members, [])
        by_folder: dict[str, list[ImportedJob]] = {}
        for one in members:
            by_folder.setdefault(one.folder, []).append(one)
        for folder, folder_members in by_folder.items():
            bases = kind_bases
            if len(by_folder) > 1:
                bases = _build_base(
                    f"{stem}-{folder.replace('/', '-') or 'root'}", folder_members, kind_bases
                )
            for one in folder_members:
                text, count = _render_with_bases(one, bases)
                profiles[one.file] = text
                with_base += count > 0
                used |= {base.file: base.text for base in bases[:count]}
    return ImportedFiles({**used, **profiles}, with_base)


def _build_base(stem: str, members: Sequence[ImportedJob], lower: list[_Base]) -> list[_Base]:
    """Return the bases for the members, the lowest first: ``lower``, then one with further shared fields."""
    inherited = lower[-1].inherited if lower else {}
    fields = _find_common_fields(members, inherited) if len(members) > 1 else {}
    if not fields:
        return lower
    extends = {"extends": [posixpath.basename(lower[-1].file)]} if lower else {}
    page = {"apiVersion": "podplan/v1", "kind": "JobProfileBase", "spec": {**extends, **fields}}
    file = posixpath.join(BASES_FOLDER, f"{stem}.yaml")
    return [*lower, _Base(file, render_job(page, ()), _merge_fields(inherited, fields))]


def _render_with_bases(one: ImportedJob, bases: Sequence[_Base]) -> tuple[str, int]:
    """Return the text of a profile with as many bases as still give its CR, and their number."""
    texts = {base.file: base.text for base in bases}
    for count in range(len(bases), 0, -1):
        base = bases[count - 1]
        extends = posixpath.relpath(base.file, posixpath.dirname(one.file) or ".")
        spec = {"extends": [extends], **_subtract(one.job.profile["spec"], base.inherited)}
        text = render_job({**one.job.profile, "spec": spec}, one.job.comments)
        if is_same_data(_compile_text(text, one.file, texts), one.job.cr):
            return text, count
    return render_job(one.job.profile, one.job.comments), 0


def _find_common_fields(members: Sequence[ImportedJob], known: Data) -> Data:
    """Return the common fields of the specs of all members, without comments and without ``known`` fields."""
    commented = {
        comment.path[:cut]
        for one in members
        for comment in one.job.comments
        for cut in range(1, len(comment.path) + 1)
    }
    specs = [one.job.profile["spec"] for one in members]
    common = _intersect(specs, ("spec",), commented)
    return _subtract({key: value for key, value in common.items() if key not in _FIELDS_OF_ONE_JOB}, known)


def _intersect(values: Sequence[Data], path: Path, commented: set[Path]) -> Data:
    """Return the entries that mappings have in common, except for those with comments."""
    common: Data = {}
    is_ordered = path in _ORDERED_MAPPINGS
    for position, key in enumerate(values[0]):
        if is_ordered and any(list(one)[position : position + 1] != [key] for one in values):
            break  # entries of a base come first
        entry_path = (*path, key)
        entries = [one[key] for one in values if key in one]
        shared = None
        if len(entries) == len(values):
            if all(isinstance(entry, dict) for entry in entries) and not is_ordered:
                shared = _intersect(entries, entry_path, commented) or None
            elif entry_path not in commented:
                shared = _find_shared_value(entries)
        if shared is not None:
            common[key] = shared
        elif is_ordered:
            break
    return common


def _find_shared_value(entries: Sequence[Any]) -> Any:
    """Return the value of all entries, or of two thirds of them if all are scalars; else None."""
    if all(is_same_data(entries[0], other) for other in entries[1:]):
        return entries[0]
    if any(isinstance(entry, dict | list) for entry in entries):
        return None
    (_, value), count = Counter((type(entry), entry) for entry in entries).most_common(1)[0]
    return value if 3 * count >= 2 * len(entries) else None


def _subtract(fields: Data, known: Data) -> Data:
    """Return ``fields`` without those in ``known``."""
    rest: Data = {}
    for key, value in fields.items():
        if key not in known:
            rest[key] = value
        elif isinstance(value, dict) and isinstance(known[key], dict):
            below = _subtract(value, known[key])
            rest |= {key: below} if below else {}
        elif not is_same_data(value, known[key]):
            rest[key] = value
    return rest


def _merge_fields(lower: Data, upper: Data) -> Data:
    merged = dict(lower)
    for key, value in upper.items():
        below = merged.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            value = _merge_fields(below, value)
        merged[key] = value
    return merged


def _compile_text(text: str, file: str, texts: Mapping[str, str]) -> Any:
    """Return the CR of a profile whose bases are in ``texts``; None if it has errors."""

    def load_base(reference: str, referrer: TracedDocument) -> TracedDocument | Diagnostic:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(referrer.name), reference))
        return _parse_document(texts[path], path)

    resolution = resolve_profile(
        _parse_document(text, file), load_base=load_base, inventory=None, environments=None, sets={}
    )
    if resolution.diagnostics or len(resolution.variants) != 1:
        return None
    compiled = compile_profile(resolution.variants[0].doc, None)
    return None if compiled.cr is None or compiled.diagnostics else compiled.cr.data


def _parse_document(text: str, file: str) -> TracedDocument:
    document = parse_yaml(text.encode(), file).documents[0]
    return TracedDocument(file, document.data, source=document)
