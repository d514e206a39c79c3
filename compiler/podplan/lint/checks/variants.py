"""What is true of a profile only when all its environments and matrix instances are seen together."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping

from podplan.core.provenance import Doc, trace
from podplan.core.typing import Any
from podplan.kubernetes.accessors import mapping
from podplan.lint.analysis.profile_files import ALL, documents, leaves, own_file, params_read
from podplan.lint.target import Hit, Job, Subject

# What a base may give besides values: where it has one of these, it is not judged by its values alone.
_OF_THE_WHOLE = ("environments", "matrix", "naming")


class UsedFiles:
    """The files that the variants of a profile are made of, and those that values in them come from."""

    def __init__(self) -> None:
        self.docs: dict[str, Doc] = {}
        self.used: set[str] = set()

    def add(self, job: Job) -> None:
        """One more variant."""
        if job.profile is None or not _references(own_file(job.profile)):
            return
        for doc in documents(job.profile):
            if doc.source is not None and isinstance(doc.data, dict):
                self.docs.setdefault(doc.source.file, doc)
        if self.unused(own_file(job.profile)):  # else there is nothing more to find out
            self.used.update(_files_of_values(job.profile))

    def unused(self, own: Doc) -> dict[int, frozenset[str]]:
        """The bases, with their own, that no value comes from, by the number of the reference."""
        closures = {
            number: _with_bases(_beside(own, one), self.docs) for number, one in enumerate(_references(own))
        }
        return {number: closure for number, closure in closures.items() if self.used.isdisjoint(closure)}


def _references(own: Doc) -> list[Any]:
    references = mapping(own.data, "spec").get("extends")
    return references if isinstance(references, list) and own.source is not None else []


def unused_base(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A base of which no variant has anything; value ``base``."""
    own, kept = own_file(subject.doc), subject.kept
    unused = kept.unused(own)
    read = (
        frozenset[str]().union(*(params_read(doc) for doc in kept.docs.values())) if unused else frozenset()
    )
    for number, closure in unused.items():
        if not any(_gives_more(kept.docs[file], read) for file in closure if file in kept.docs):
            base = {"base": _references(own)[number]}
            where = ("spec", "extends", number)
            # A param of the base can be set from outside, which is an error without the base.
            docs = (kept.docs[file] for file in closure if file in kept.docs)
            safe = not any("params" in mapping(doc.data, "spec") for doc in docs)
            yield Hit(where, base, doc=own, change=("remove", where, None), safe=safe)


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


def _files_of_values(profile: Doc) -> Iterator[str]:
    """The files that the values of a resolved profile come from."""
    for path, _value in leaves(profile.data):
        source = trace(profile, path)[-1].doc.source
        if source is not None:
            yield source.file


def _gives_more(base: Doc, read: frozenset[str]) -> bool:
    """Whether a base gives what is not a value: environments and the like, or a param that is read."""
    spec = mapping(base.data, "spec")
    params = mapping(spec, "params")
    return any(key in spec for key in _OF_THE_WHOLE) or any(name in read or ALL in read for name in params)


class EqualContents:
    """The variants of a profile whose CRs are equal but for their names, as pairs of these."""

    def __init__(self) -> None:
        self._first: dict[bytes, str] = {}
        self.pairs: list[tuple[str, str]] = []

    def add(self, job: Job) -> None:
        """One more variant."""
        if job.profile is None or "matrix" not in mapping(own_file(job.profile).data, "spec"):
            return
        from hashlib import blake2b

        data = job.cr.data if job.cr is not None else {}
        name = str(mapping(data, "metadata").get("name"))
        metadata = {key: value for key, value in mapping(data, "metadata").items() if key != "name"}
        content = json.dumps([metadata, data.get("spec")], sort_keys=True)
        other = self._first.setdefault(blake2b(content.encode("utf-8", "surrogatepass")).digest(), name)
        if other != name:
            self.pairs.append((other, name))


def equal_instances(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Matrix instances that differ in their names only; values ``one``, ``other`` and ``more``."""
    equal = subject.kept.pairs
    if equal:
        others = len(equal) - 1
        more = f", and {others} more {'pair is' if others == 1 else 'pairs are'} equal too" if others else ""
        values = {"one": equal[0][0], "other": equal[0][1], "more": more}
        yield Hit(("spec", "matrix"), values, on_key=True, doc=own_file(subject.doc))
