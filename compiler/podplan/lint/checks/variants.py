"""Checks of all environments and matrix instances of a profile together."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping

from podplan.core.provenance import TracedDocument, trace_to_source
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_mapping
from podplan.lint.analysis.profile_files import (
    ALL_PARAMS,
    find_contributing_documents,
    find_own_document,
    find_read_params,
    iter_leaves,
)
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

# Fields with which a base contributes more than values.
_NON_VALUE_SECTIONS = ("environments", "matrix", "naming")


class UsedFiles:
    """Collects the files that variants of a profile extend, and the files from which values come."""

    def __init__(self) -> None:
        self.docs: dict[str, TracedDocument] = {}
        self.used: set[str] = set()

    def add(self, job: LoweredJob) -> None:
        """One more variant."""
        if job.profile is None or not _references(find_own_document(job.profile)):
            return
        for doc in find_contributing_documents(job.profile):
            if doc.source is not None and isinstance(doc.data, dict):
                self.docs.setdefault(doc.source.file, doc)
        if self.unused(find_own_document(job.profile)):  # skip if every base is used already
            self.used.update(_iter_value_files(job.profile))

    def unused(self, own: TracedDocument) -> dict[int, frozenset[str]]:
        """Return the bases (with their bases) that contribute no value, by the number of the reference."""
        closures = {
            number: _find_base_closure(_resolve_reference(own, one), self.docs)
            for number, one in enumerate(_references(own))
        }
        return {number: closure for number, closure in closures.items() if self.used.isdisjoint(closure)}


def _references(own: TracedDocument) -> list[Any]:
    references = get_mapping(own.data, "spec").get("extends")
    return references if isinstance(references, list) and own.source is not None else []


@check(keeper=UsedFiles)
def unused_base(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A base that contributes nothing to any variant; value ``base``."""
    own_document, kept = find_own_document(target.doc), target.kept
    unused = kept.unused(own_document)
    read_params = (
        frozenset[str]().union(*(find_read_params(doc) for doc in kept.docs.values()))
        if unused
        else frozenset()
    )
    for number, closure in unused.items():
        if not any(
            _contributes_beyond_values(kept.docs[file], read_params) for file in closure if file in kept.docs
        ):
            base = {"base": _references(own_document)[number]}
            path = ("spec", "extends", number)
            # Flags can set a param of the base, which would be an error without the base.
            docs = (kept.docs[file] for file in closure if file in kept.docs)
            safe = not any("params" in get_mapping(doc.data, "spec") for doc in docs)
            yield Violation(path, base, doc=own_document, change=("remove", path, None), safe=safe)


def _resolve_reference(doc: TracedDocument, reference: object) -> str:
    """Return the file to which a reference in a document resolves."""
    folder = os.path.dirname(doc.source.file) if doc.source is not None else ""
    return os.path.normpath(os.path.join(folder, str(reference)))


def _find_base_closure(file: str, files: Mapping[str, TracedDocument]) -> frozenset[str]:
    """Return a base and the bases that it extends."""
    closure: set[str] = set()
    pending = [file]
    while pending:
        file = pending.pop()
        if file not in closure:
            closure.add(file)
            extends = get_mapping(files[file].data, "spec").get("extends") if file in files else None
            pending += (
                [_resolve_reference(files[file], one) for one in extends] if isinstance(extends, list) else []
            )
    return frozenset(closure)


def _iter_value_files(profile: TracedDocument) -> Iterator[str]:
    """Yield the files from which the values of a resolved profile come."""
    for path, _value in iter_leaves(profile.data):
        source = trace_to_source(profile, path)[-1].doc.source
        if source is not None:
            yield source.file


def _contributes_beyond_values(base: TracedDocument, read_params: frozenset[str]) -> bool:
    """Whether a base contributes more than values, such as environments, or a param that is read."""
    spec = get_mapping(base.data, "spec")
    params = get_mapping(spec, "params")
    return any(key in spec for key in _NON_VALUE_SECTIONS) or any(
        name in read_params or ALL_PARAMS in read_params for name in params
    )


class EqualContents:
    """Collects pairs of variants whose CRs differ only in their names."""

    def __init__(self) -> None:
        self._first: dict[bytes, str] = {}
        self.pairs: list[tuple[str, str]] = []

    def add(self, job: LoweredJob) -> None:
        """One more variant."""
        if job.profile is None or "matrix" not in get_mapping(find_own_document(job.profile).data, "spec"):
            return
        from hashlib import blake2b

        data = job.cr.data if job.cr is not None else {}
        name = str(get_mapping(data, "metadata").get("name"))
        metadata = {key: value for key, value in get_mapping(data, "metadata").items() if key != "name"}
        content = json.dumps([metadata, data.get("spec")], sort_keys=True)
        other = self._first.setdefault(blake2b(content.encode("utf-8", "surrogatepass")).digest(), name)
        if other != name:
            self.pairs.append((other, name))


@check(keeper=EqualContents)
def equal_instances(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Matrix instances that differ only in their names; values ``one``, ``other`` and ``more``."""
    equal = target.kept.pairs
    if equal:
        other_count = len(equal) - 1
        more_text = (
            f", and {other_count} more {'pair is' if other_count == 1 else 'pairs are'} equal too"
            if other_count
            else ""
        )
        values = {"one": equal[0][0], "other": equal[0][1], "more": more_text}
        yield Violation(("spec", "matrix"), values, at_key=True, doc=find_own_document(target.doc))
