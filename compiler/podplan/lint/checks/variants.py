"""What is true of a profile only when all its environments and matrix instances are seen together."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping

from podplan.kubernetes.shape import mapping
from podplan.lint.checks._profile_files import ALL, documents, leaves, own_file, params_read
from podplan.lint.subject import Hit, Job, Subject
from podplan.provenance import Doc, trace
from podplan.typing import Any

# What a base may give besides values: where it has one of these, it is not judged by its values alone.
_OF_THE_WHOLE = ("environments", "matrix", "naming")


def unused_base(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A base of which no variant has anything; value ``base``."""
    own = own_file(subject.doc)
    references = mapping(own.data, "spec").get("extends")
    if not isinstance(references, list) or own.source is None:
        return
    files = {doc.source.file: doc for doc in _read_files(subject) if doc.source is not None}
    left = {number: _with_bases(_beside(own, one), files) for number, one in enumerate(references)}
    for job in subject.jobs:
        for file in _files_of_values(job):
            left = {number: closure for number, closure in left.items() if file not in closure}
        if not left:
            return
    read = frozenset[str]().union(*(params_read(doc) for doc in files.values()))
    for number, closure in left.items():
        if not any(_gives_more(files[file], read) for file in closure if file in files):
            base = {"base": references[number]}
            where = ("spec", "extends", number)
            # A param of the base can be set from outside, which is an error without the base.
            safe = not any("params" in mapping(files[file].data, "spec") for file in closure if file in files)
            yield Hit(where, base, doc=own, change=("remove", where, None), safe=safe)


def _read_files(subject: Subject) -> list[Doc]:
    docs = (doc for job in subject.jobs if job.profile is not None for doc in documents(job.profile))
    return [doc for doc in docs if doc.source is not None and isinstance(doc.data, dict)]


def _beside(doc: Doc, reference: object) -> str:
    """The file that a reference in a document means."""
    folder = os.path.dirname(doc.source.file) if doc.source is not None else ""
    return os.path.normpath(os.path.join(folder, str(reference)))


def _with_bases(file: str, files: Mapping[str, Doc]) -> frozenset[str]:
    """A base and the bases that it extends itself."""
    found: set[str] = set()
    left = [file]
    while left:
        file = left.pop()
        if file not in found:
            found.add(file)
            extends = mapping(files[file].data, "spec").get("extends") if file in files else None
            left += [_beside(files[file], one) for one in extends] if isinstance(extends, list) else []
    return frozenset(found)


def _files_of_values(job: Job) -> Iterator[str]:
    """The files that the values of a resolved profile come from."""
    profile = job.profile
    if profile is None:
        return
    for path, _value in leaves(profile.data):
        source = trace(profile, path)[-1].doc.source
        if source is not None:
            yield source.file


def _gives_more(base: Doc, read: frozenset[str]) -> bool:
    """Whether a base gives what is not a value: environments and the like, or a param that is read."""
    spec = mapping(base.data, "spec")
    params = mapping(spec, "params")
    return any(key in spec for key in _OF_THE_WHOLE) or any(name in read or ALL in read for name in params)


def equal_instances(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Matrix instances that differ in their names only; values ``one``, ``other`` and ``more``."""
    own = own_file(subject.doc)
    if "matrix" not in mapping(own.data, "spec"):
        return
    first: dict[str, str] = {}
    equal: list[tuple[str, str]] = []
    for job in subject.jobs:
        data = job.cr.data if job.cr is not None else {}
        name = str(mapping(data, "metadata").get("name"))
        metadata = {key: value for key, value in mapping(data, "metadata").items() if key != "name"}
        content = json.dumps([metadata, data.get("spec")], sort_keys=True)
        other = first.setdefault(content, name)
        if other != name:
            equal.append((other, name))
    if equal:
        others = len(equal) - 1
        more = f", and {others} more {'pair is' if others == 1 else 'pairs are'} equal too" if others else ""
        values = {"one": equal[0][0], "other": equal[0][1], "more": more}
        yield Hit(("spec", "matrix"), values, on_key=True, doc=own)
