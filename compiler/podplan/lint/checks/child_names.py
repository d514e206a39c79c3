"""Names of lowered objects: length with the controller's suffix, and duplicates.

Source: docs/evidence/t9k-common.md#suffix-of-the-base-name: children are named after the job, a dash and five
hex digits.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from itertools import islice

from podplan.core.indexed_text import Indexed
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.kubernetes.schemas import parse_minor_version
from podplan.lint.analysis.cross_job import (
    NAME_PATH,
    RebuildJob,
    SharingJobs,
    are_alternatives,
    get_name_place,
)
from podplan.lint.analysis.jobs import (
    JobIdentity,
    JobNameSummary,
    build_name_summary,
    find_kind_spec,
    find_written_path,
    has_trait,
)
from podplan.lint.checks.registration import COUNT, check, object_schema
from podplan.lint.location import locate
from podplan.lint.target import LoweredJob, Target, Violation
from podplan.workspace.templates import is_template_file

# What must fit into a DNS label of 63 characters, and the consequence of a longer name.
LENGTH_CONSEQUENCES = {
    "Service": "the API server rejects the Service, and the replicas cannot find each other",
    "Pod": "the host name of the Pod is truncated and equals that of other replicas",
    "TensorBoard": "the Service of the TensorBoard cannot have that name",
}


@check(params=object_schema({"suffix": COUNT, "most": COUNT}))
def child_name_too_long(target: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """A name that is too long once the controller adds its suffix; the longest one, once per job.

    Values: ``kind``, ``name``, ``length``, ``suffix``, ``most``, ``over``, ``consequence``.
    A kind whose names do not depend on the uid has no suffix; then the last replica of a type may have a name
    that is too long for a Service. A job whose uid is known has its real names, and the API server's own
    rules are enough.
    """
    job = target.job
    if job.cr is None or get_text(get_mapping(job.cr.data, "metadata"), "uid"):
        return
    if has_trait(job, "own-name-rules"):
        return
    kind_spec = find_kind_spec(job)
    has_suffix = (
        kind_spec is None or kind_spec.load_job_names is not None or kind_spec.declaration is not None
    )
    suffix, kinds = (params["suffix"], LENGTH_CONSEQUENCES) if has_suffix else (0, ("Service",))
    longest: tuple[int, str, ReplicaGroup] | None = None
    for group in job.groups:
        if group.doc.data["kind"] not in kinds or get_mapping(group.doc.data, "metadata").get(
            "ownerReferences"
        ):
            continue
        if not has_suffix and len(get_text(group.doc.data["metadata"], "name")) > params["most"]:
            return  # the rules of Services report the first replica
        name = _get_last_name(group)
        if longest is None or len(name) > longest[0]:
            longest = len(name), name, group
    if longest is None or longest[0] + suffix <= params["most"]:
        return
    length, name, group = longest
    kind = group.doc.data["kind"]
    values = {
        "kind": kind,
        "name": name,
        "length": length + suffix,
        "suffix": " with the suffix of the controller" if suffix else "",
        "most": params["most"],
        "over": length + suffix - params["most"],
        "consequence": LENGTH_CONSEQUENCES[kind],
    }
    yield Violation(find_written_path(job.cr.data, *NAME_PATH), values)


@check(params=object_schema({"since": COUNT}))
def service_name_begins_with_digit(target: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """Services whose names begin with a digit, for a version that takes them. Values: ``name``, ``since``.

    The rules of Services report them for earlier versions.
    """
    job = target.job
    if job.cr is None or has_trait(job, "own-name-rules"):
        return
    if parse_minor_version(job.kubernetes_version) < params["since"]:
        return
    services = (_get_last_name(group) for group in job.groups if group.doc.data["kind"] == "Service")
    name = next((one for one in services if one[:1].isdecimal()), "")
    if name:
        place = find_written_path(job.cr.data, *NAME_PATH)
        yield Violation(place, {"name": name, "since": f"1.{params['since']}"})


def _get_last_name(group: ReplicaGroup) -> str:
    """The name of the last object of a group, which is the longest."""
    varying = group.doc.replica_texts.get(NAME_PATH)
    if isinstance(varying, Indexed):
        return varying.text_at(group.start + group.replicas - 1)
    return get_text(group.doc.data["metadata"], "name")


def summarize_name(job: LoweredJob) -> JobNameSummary | None:
    """Return the name of a job; None for other objects and templates, and if the API server generates the
    name."""
    if job.cr is None or is_template_file(job.cr.name):
        return None
    is_named = get_text(get_mapping(job.cr.data, "metadata"), "name")
    return build_name_summary(job) if is_named else None


@check(summarize=summarize_name)
def duplicate_job(
    summaries: Mapping[int, JobNameSummary], rebuild_job: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A second job of the same kind, namespace and name.

    Values: ``job``, ``first`` (the file and line of the other one), ``namespace``.
    """
    sharing_jobs: dict[tuple[str, str], SharingJobs] = {}
    for number, job in summaries.items():
        sharing_jobs.setdefault((job.namespace, job.job_label), SharingJobs()).add(number, job)
    for number, job in summaries.items():
        earlier_numbers, _ = sharing_jobs[job.namespace, job.job_label].find_earlier_jobs(job)
        other_numbers = [
            one
            for one in earlier_numbers
            if not are_alternatives(summaries[one].identity.file, job.identity.file)
        ]
        if other_numbers:
            values = {
                "job": job.job_label,
                "first": _format_name_location(rebuild_job(other_numbers[0])),
                "namespace": _describe_namespace(job.namespace),
            }
            yield number, _build_violation(number, values, other_numbers, rebuild_job)


class ChildrenSummary(NamedTuple):
    """The lowered objects of a job by kind and first name: groups with equal first names overlap."""

    job: JobNameSummary
    children: tuple[str, ...]

    @property
    def keys(self) -> list[Hashable]:
        return [(self.job.namespace, child) for child in self.children]

    @property
    def owner(self) -> Hashable:
        return self.job.identity


def summarize_children(job: LoweredJob) -> ChildrenSummary | None:
    """Return the names of the lowered objects of a job; None if no other job can have them."""
    name_summary = summarize_name(job)
    # A name that the API server completes is unique.
    data = (group.doc.data for group in job.groups if "name" in group.doc.data["metadata"])
    return name_summary and ChildrenSummary(
        name_summary, tuple(f"{one['kind']}/{one['metadata']['name']}" for one in data)
    )


@check(summarize=summarize_children)
def shared_child_name(
    summaries: Mapping[int, ChildrenSummary], rebuild_job: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A lowered object whose name another job uses for an object of the same kind.

    Values: ``child``, ``more``, ``other``, ``namespace``.
    """
    # The first job for each name of a child, and the first variant of each job.
    makers: dict[tuple[str, str], dict[str, int]] = {}
    variants: dict[tuple[str, str, JobIdentity], int] = {}
    for number, summary in summaries.items():
        for child in summary.children:
            namespace, job_label, identity = summary.job
            makers.setdefault((namespace, child), {}).setdefault(job_label, number)
            variants.setdefault((namespace, child, identity), number)
    for number, summary in summaries.items():
        shared: list[tuple[str, str, int]] = []
        for child in summary.children:
            namespace, job_label, identity = summary.job
            for other_label, first in islice(makers[namespace, child].items(), 2):
                if (
                    other_label != job_label
                    and first < variants[namespace, child, identity]
                    and not are_alternatives(summaries[first].job.identity.file, identity.file)
                ):
                    shared.append((child, other_label, first))
                    break
        if shared:
            child, other_label, first = shared[0]
            more = f" and {len(shared) - 1} more" if len(shared) > 1 else ""
            values = {
                "child": child,
                "more": more,
                "other": other_label,
                "namespace": _describe_namespace(summary.job.namespace),
            }
            yield number, _build_violation(number, values, [first], rebuild_job)


def _describe_namespace(namespace: str) -> str:
    return f'the namespace "{namespace}"' if namespace else "the same namespace"


def _format_name_location(job: LoweredJob) -> str:
    """Return the location of the name of a job: "jobs/train.yaml:5"."""
    doc, path, _ = get_name_place(job)
    location = locate(doc, path).location
    return f"{location.file}:{location.line}"


def _build_violation(
    number: int, values: Mapping[str, Any], other_numbers: list[int], rebuild_job: RebuildJob
) -> Violation:
    """Build the violation at the name of a job, with the names of the others as related locations."""
    return Violation(
        get_name_place(rebuild_job(number))[1],
        values,
        related=[get_name_place(rebuild_job(other)) for other in other_numbers],
    )
