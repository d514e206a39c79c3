"""What a comparison keeps of each job: facts, since a lowered job takes a hundred kilobytes or more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from podplan.cluster.model import QUEUE_LABEL
from podplan.core.findings import Finding
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.kinds.change_effects import has_generated_name
from podplan.kinds.registry import find_kind, load_spec, lower_cr
from podplan.kinds.suspension import explain_missing_pods, find_suspension
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.pipeline import JobPlan, build_references
from podplan.tools.diff.job_size import QueueRequest, count_size, find_deadline, list_queue_requests
from podplan.workspace.documents import (
    ClassifiedDocument,
)

_KINDS_WITH_TEXT = ("Secret", "ConfigMap")
MAX_KEPT_ERRORS = 5  # of each broken profile


class JobReference(NamedTuple):
    """Where a job comes from: a file, the index of the document, and the index of the job; from 0."""

    file: str
    item: int
    number: int = 0


class LoadedJob(NamedTuple):
    """A job with all its lowered objects; another Kubernetes object has neither ``profile`` nor
    ``groups``. ``references`` are the documents that the CR refers to."""

    cr: TracedDocument
    profile: TracedDocument | None
    inventory: TracedDocument | None
    groups: tuple[ReplicaGroup, ...]
    lowered: bool
    references: tuple[TracedDocument, ...] = ()

    @property
    def weight(self) -> int:
        """Return the number of its parts with an origin, which is a measure of its memory."""
        docs = [self.cr, *([self.profile] if self.profile else []), *(group.doc for group in self.groups)]
        return 50 + sum(len(doc.origins) for doc in docs)


class JobFacts(NamedTuple):
    """The facts about a job, or about another Kubernetes object.

    ``path`` is the path of its file from the top, the same in both revisions, and ``depends_on`` are the
    paths of the files that the profile or CR depends on, directly and indirectly. ``origin`` is the name of
    its profile, or "" for a hand-written CR. ``findings`` are errors of a CR that the API server would
    reject; it then has no groups. ``name`` is the prefix and a star for a generateName, and the file if the
    name is not a string. ``content`` is a digest of its CR. ``deadline`` is the time in seconds after which
    it ends. ``is_referred_to``: it is a document that jobs refer to, such as a runtime. ``is_suspended``: it
    is suspended or paused, and so has no Pods.
    """

    ref: JobReference
    group: str
    kind: str
    namespace: str
    name: str
    is_named_later: bool
    path: str
    origin: str
    environment: str
    variant: str
    inventory: TracedDocument | None
    lowered: bool
    findings: tuple[Finding, ...]
    is_job: bool
    pods: int
    gpus: int
    queue_requests: tuple[QueueRequest, ...]
    content: bytes
    deadline: int | None = None
    depends_on: tuple[str, ...] = ()
    is_referred_to: bool = False
    is_suspended: bool = False

    @property
    def file(self) -> str:
        return self.ref.file

    @property
    def gpu_seconds(self) -> int | None:
        """GPUs × deadline; 0 without GPUs, None without a deadline."""
        if not self.gpus:
            return 0
        return None if self.deadline is None else self.gpus * self.deadline


class BrokenSource(NamedTuple):
    """A profile without a CR, possibly only in some environments; a base profile; a file with invalid YAML.

    ``environments`` and ``variants`` are the names and ids of the broken ones, None for all.
    """

    file: str
    origin: str
    kind: str
    namespace: str
    environments: tuple[str, ...] | None
    variants: tuple[str, ...] | None
    findings: tuple[Finding, ...]

    @property
    def is_shared(self) -> bool:
        """Whether it is something that jobs depend on, and no job."""
        return self.kind in ("JobProfileBase", "ClusterInventory", "WorkloadMapping")


class StaleFile(NamedTuple):
    """A file with a rendered CR that differs from what its profile, ``source``, renders."""

    file: str
    source: str


def digest(data: object) -> bytes:
    """Return a digest of the data of a CR, independent of the order of its keys."""
    from hashlib import blake2b

    written = json.dumps(data, sort_keys=True, default=str)
    return blake2b(written.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def load_job(plan: JobPlan) -> LoadedJob:
    """Return the job of a plan that has a CR."""
    assert plan.cr is not None
    groups = _lower_resumed(plan) if _waits_in_queue(plan) else plan.replica_groups
    return LoadedJob(
        plan.cr, plan.profile, plan.inventory, groups, plan.is_lowered, plan.referenced_documents
    )


def _waits_in_queue(plan: JobPlan) -> bool:
    """Whether a job is suspended until Kueue admits it, so that its queue decides when its Pods exist."""
    assert plan.cr is not None
    labels = get_mapping(get_mapping(plan.cr.data, "metadata"), "labels")
    return plan.is_lowered and bool(labels.get(QUEUE_LABEL)) and bool(find_suspension(plan.cr.data))


def _lower_resumed(plan: JobPlan) -> tuple[ReplicaGroup, ...]:
    assert plan.cr is not None
    references = build_references(plan.references)
    return tuple(lower_cr(plan.cr, references, plan.lowering_options._replace(resumed=True)))


def build_facts(
    item: ClassifiedDocument, plan: JobPlan, loaded: LoadedJob, ref: JobReference, errors: tuple[Finding, ...]
) -> JobFacts:
    """Return what a comparison keeps of a job."""
    data = loaded.cr.data
    group, kind, namespace, name = get_name(loaded.cr)
    generated = get_text(get_mapping(data, "metadata"), "generateName")
    pods, gpus = count_size(loaded.groups)
    known_kind = find_kind(data.get("apiVersion"), kind)
    return JobFacts(
        ref,
        group,
        kind,
        namespace,
        name or (f"{generated}*" if generated else ref.file),
        has_generated_name(data),
        "",
        _get_origin(item),
        plan.environment,
        plan.variant_id or "",
        loaded.inventory,
        loaded.lowered,
        errors[:MAX_KEPT_ERRORS],
        item.category != "object",
        pods,
        gpus,
        list_queue_requests(loaded.cr, loaded.groups),
        digest(data),
        find_deadline(loaded.cr),
        is_referred_to=known_kind is not None and bool(load_spec(known_kind).referring_kinds),
        is_suspended=bool(explain_missing_pods(data, loaded.groups)),
    )


def build_broken(item: ClassifiedDocument, plan: JobPlan, errors: tuple[Finding, ...]) -> BrokenSource:
    """Return the broken part of a document: one variant, some environments, or all of a profile."""
    environments = None if plan.failed_environments == ("",) else plan.failed_environments
    return BrokenSource(
        item.doc.name,
        _get_origin(item),
        (get_text(get_mapping(item.doc.data, "spec"), "job") if item.category == "profile" else "")
        or get_text(item.doc.data, "kind"),
        get_text(get_mapping(item.doc.data, "metadata"), "namespace"),
        environments if plan.variant_id is None else (plan.environment,),
        None if plan.variant_id is None else (plan.variant_id,),
        errors,
    )


def _get_origin(item: ClassifiedDocument) -> str:
    """Return the profile of a document, by its name, else by its location."""
    if item.category in ("cr", "object"):
        return ""
    return get_text(get_mapping(item.doc.data, "metadata"), "name") or item.doc.name


def get_name(cr: TracedDocument) -> tuple[str, str, str, str]:
    """Return group, kind, namespace and name of an object."""
    metadata = get_mapping(cr.data, "metadata")
    group = get_text(cr.data, "apiVersion").rpartition("/")[0]
    return group, get_text(cr.data, "kind"), get_text(metadata, "namespace"), get_text(metadata, "name")


def iter_documents_with_secrets(loaded: LoadedJob) -> Iterator[TracedDocument]:
    """Yield the documents of a job that may contain secrets: CR, profile, and lowered objects with text."""
    yield loaded.cr
    if loaded.profile is not None:
        yield loaded.profile
    yield from (group.doc for group in loaded.groups if group.doc.data["kind"] in _KINDS_WITH_TEXT)
