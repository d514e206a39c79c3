"""Matrix instances of a profile: unread axes, shared outputs, missing shards."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument, trace_to_source
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.analysis.launches import ContainerLaunch
from podplan.lint.analysis.profile_files import find_contributing_documents, find_own_document, iter_strings
from podplan.lint.analysis.script_options import list_program_options
from podplan.lint.checks.outputs import mount_of, outputs_of, trainings, volume_of
from podplan.lint.checks.registration import check
from podplan.lint.checks.shards import match_share
from podplan.lint.target import LoweredJob, Target, Violation

_READ_AXIS = compile_lazily(r"\bmatrix\s*(?:\.\s*(\w+)|\[\s*['\"]([^'\"]+)['\"]\s*\])?")
_IDENTIFIERS = frozenset(("id", "index"))
# Instances of one environment differ in command lines and variables.
_OF_INSTANCE = frozenset(("name", "command", "args", "env", "config", "torchConfig", "launcher"))


class Axes:
    """The axes of a profile, and those that its expressions read or that are params."""

    def __init__(self) -> None:
        self.unread: set[str] | None = None

    def add(self, job: LoweredJob) -> None:
        """Add a variant; an axis that any variant reads is read."""
        if job.profile is None:
            return
        documents = find_contributing_documents(job.profile)
        axes = {
            name
            for doc in documents
            for name, values in get_mapping(get_mapping(_spec(doc), "matrix"), "axes").items()
            if isinstance(values, list) and len(values) > 1
        }
        if not axes or self.unread == set():
            return
        read = {name for doc in documents for name in _iter_read_axes(doc)}
        params = {name for doc in documents for name in get_mapping(_spec(doc), "params")}
        unread = set() if "" in read else axes - read - params
        self.unread = unread if self.unread is None else self.unread & unread


def _spec(doc: TracedDocument) -> Mapping[str, Any]:
    return get_mapping(doc.data, "spec") if isinstance(doc.data, dict) else {}


def _iter_read_axes(doc: TracedDocument) -> Iterator[str]:
    """Yield the axes that expressions of a document read; "" if they read the whole matrix."""
    for text in iter_strings(doc.data):
        if "${{" in text:
            yield from (match[1] or match[2] or "" for match in _READ_AXIS.finditer(text))


@check(keeper=Axes)
def unread_axis(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """An axis that no expression reads and that is no param. Values: ``axis``, ``times``."""
    own = find_own_document(target.doc)
    axes = get_mapping(get_mapping(_spec(own), "matrix"), "axes")
    for name in sorted(target.kept.unread or ()):
        if name in axes:
            path: Path = ("spec", "matrix", "axes", name)
            yield Violation(path, {"axis": name, "times": len(axes[name])}, at_key=True, doc=own)


class InstanceOutput(NamedTuple):
    """An output of an instance: the option, and its path in the profile."""

    instance: str
    option: str
    path: str
    place: Path


class SharedOutputs:
    """Collects the folders on claims that instances write, and those that two instances write."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, str, str], InstanceOutput] = {}
        self.shared: dict[tuple[str, str], tuple[InstanceOutput, str]] = {}

    def add(self, job: LoweredJob) -> None:
        """One more variant."""
        if job.profile is None or job.cr is None or not _has_matrix(job):
            return
        instance = get_text(get_mapping(job.cr.data, "metadata"), "name")
        shape = json.dumps(_drop_instance(job.cr.data), sort_keys=True)
        for launch, where in trainings(job):
            for output in outputs_of(launch, where):
                mount = mount_of(where.container, output.path) if output.kind != "log" else None
                volume = volume_of(where.group, get_text(mount[1], "name")) if mount is not None else {}
                claim = get_text(get_mapping(volume, "persistentVolumeClaim"), "claimName")
                if not claim or mount is None or "subPathExpr" in mount[1]:
                    continue
                place = _find_own_place(job, launch, output.place)
                found = InstanceOutput(instance, output.name, output.path, place)
                first = self._first.setdefault((shape, claim, output.path), found)
                if first.instance != instance:
                    self.shared.setdefault((claim, output.path), (first, instance))


def _has_matrix(job: LoweredJob) -> bool:
    documents = find_contributing_documents(job.profile) if job.profile is not None else ()
    return any("matrix" in _spec(doc) for doc in documents)


def _drop_instance(value: Any) -> Any:
    """Return a CR without command lines and variables, in which instances of one environment differ."""
    if isinstance(value, dict):
        return {key: _drop_instance(inner) for key, inner in value.items() if key not in _OF_INSTANCE}
    return [_drop_instance(inner) for inner in value] if isinstance(value, list) else value


def _find_own_place(job: LoweredJob, launch: ContainerLaunch, place: Path) -> Path:
    """Return the path in the profile of a value in a Pod; the matrix if another file states the value."""
    own = find_own_document(job.profile) if job.profile is not None else None
    sources = trace_to_source(launch.group.doc, tuple(place))
    found = max((source.path for source in sources if source.doc is own), key=len, default=())
    return found or ("spec", "matrix")


@check(keeper=SharedOutputs)
def instances_share_output(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """An output that does not depend on the instance. Values: ``option``, ``path``, ``one``, ``other``."""
    own = find_own_document(target.doc)
    for output, other in target.kept.shared.values():
        values = {"option": output.option, "path": output.path, "one": output.instance, "other": other}
        related = [(own, ("spec", "matrix"), "the instances")] if "matrix" in _spec(own) else []
        yield Violation(output.place, values, related, doc=own)


class Shards:
    """Collects the shards that instances process, by the data that they are parts of."""

    def __init__(self) -> None:
        self.taken: dict[tuple[str, str, int], set[int]] = {}
        self.places: dict[tuple[str, str, int], Path] = {}

    def add(self, job: LoweredJob) -> None:
        """One more variant."""
        if job.profile is None or job.cr is None or not _has_matrix(job):
            return
        shape = json.dumps(_drop_instance(job.cr.data), sort_keys=True)
        for launch, _ in trainings(job):
            options = list(list_program_options(job, launch))
            for noun, index, count in match_share(options) if sum(g.replicas for g in job.pods) == 1 else ():
                total = count.option.number or 0
                key = (shape, f"{noun} of {count.option.name}", total)
                self.taken.setdefault(key, set()).add(int(index.option.value or 0))
                place = count.path if count.doc is not job.cr else ()
                self.places.setdefault(key, _find_own_place(job, launch, place))


@check(keeper=Shards)
def matrix_leaves_shards(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Fewer instances than shards, or a shard number that does not exist.

    Values: ``what``, ``taken``, ``total``.
    """
    own, kept = find_own_document(target.doc), target.kept
    for (shape, what, total), taken in kept.taken.items():
        is_range = taken == set(range(max(taken) + 1))
        if len(taken) > 1 and is_range and len(taken) != total:
            noun, _, option = what.partition(" of ")
            values = {"noun": noun, "option": option, "total": total, "taken": len(taken)}
            related = [(own, ("spec", "matrix"), "the instances")] if "matrix" in _spec(own) else []
            yield Violation(kept.places[shape, what, total], values, related, doc=own)
