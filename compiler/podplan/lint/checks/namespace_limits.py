"""Pods that the API server refuses because of LimitRanges and ResourceQuotas of the repository.

Source: docs/evidence/kueue.md#namespaces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.typing import TYPE_CHECKING, Any
from podplan.kubernetes.accessors import get_entries, get_mapping
from podplan.lint.analysis.features import CLUSTER
from podplan.lint.analysis.jobs import namespace_of
from podplan.lint.analysis.queue_subjects import name_subject
from podplan.lint.analysis.resources import format_amount
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

if TYPE_CHECKING:
    from podplan.cluster.model import Cluster
    from podplan.cluster.namespace_limits import Excess


@check(requires=(CLUSTER,))
def outside_limit_range(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A Pod that a LimitRange of its namespace does not allow. Values: ``reason``."""
    cluster, namespace = target.job.cluster, namespace_of(target.job)
    if target.job.cr is None or cluster is None or not cluster.limit_ranges.get(namespace):
        return
    if _is_ambiguous(cluster, "LimitRange", namespace):
        return
    from podplan.cluster.namespace_limits import iter_range_excesses

    for excess in iter_range_excesses(get_mapping(target.data, "spec"), cluster.limit_ranges[namespace]):
        related = [(excess.limit.doc, excess.limit.path, "the LimitRange")]
        path = _find_amount(target.data, excess)
        yield Violation(path, {"reason": _explain_range(excess)}, related=related)


@check(requires=(CLUSTER,))
def over_resource_quota(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Pods that a ResourceQuota of the namespace does not allow. Values: ``reason``, ``quota``."""
    job, namespace = target.job, namespace_of(target.job)
    cluster = job.cluster
    if job.cr is None or cluster is None or not cluster.namespace_quotas.get(namespace):
        return
    if any(_is_ambiguous(cluster, kind, namespace) for kind in ("ResourceQuota", "LimitRange")):
        return
    from podplan.cluster.namespace_limits import iter_quota_excesses

    ranges = cluster.limit_ranges.get(namespace, ())
    pods = [(get_mapping(group.doc.data, "spec"), group.replicas) for group in job.pods]
    for quota in cluster.namespace_quotas[namespace]:
        if quota.is_scoped:
            continue
        for excess in iter_quota_excesses(pods, quota, ranges):
            related = [(excess.limit.doc, excess.limit.path, "the ResourceQuota")]
            values = {"reason": _explain_quota(excess, name_subject(job.cr)), "quota": quota.name}
            if excess.amount is not None:
                yield Violation(("spec",), values, at_key=True, related=related)
                break
            group = _find_group(job, excess)
            yield Violation(excess.path, values, related=related, doc=group.doc, group=group)
            break


def _is_ambiguous(cluster: Cluster, kind: str, namespace: str) -> bool:
    """Whether several files define an object of a namespace in different ways."""
    return any(one[:2] == (kind, namespace) for one in cluster.ambiguous)


def _find_group(job: LoweredJob, excess: Excess) -> Any:
    """Return the Pods that have the container of an excess."""
    _, field, index = excess.path
    for group in job.pods:
        entries = dict(get_entries(get_mapping(group.doc.data, "spec"), str(field)))
        if index in entries and entries[int(index)].get("name") == excess.subject:
            return group
    return job.pods[0]


def _find_amount(data: Any, excess: Excess) -> Path:
    """Return the path of an amount, else that of its container."""
    container = data
    for step in excess.path:
        container = container[step]
    resources = get_mapping(container, "resources")
    for field in ("limits", "requests") if excess.what in ("max", "ratio") else ("requests", "limits"):
        if excess.resource in get_mapping(resources, field):
            return (*excess.path, "resources", field, excess.resource)
    return excess.path


def _explain_range(excess: Excess) -> str:
    subject = f'container "{excess.subject}"' if excess.subject else "the Pod"
    resource = excess.resource
    allowed = format_amount(excess.allowed, resource)
    if excess.what == "default":
        requested = format_amount(excess.amount or 0, resource)
        return f"{subject} requests {requested} {resource}, and the default limit is {allowed}"
    if excess.what == "ratio":
        allowed = format_amount(excess.allowed, "")
        if excess.amount is None:
            return (
                f"{subject} needs a request and a limit of {resource}, whose ratio must be at most {allowed}"
            )
        ratio = format_amount(excess.amount, "")
        return (
            f"{subject} has a limit of {resource} {ratio} times its request, which must be at most {allowed}"
        )
    bound = "at most" if excess.what == "max" else "at least"
    if excess.amount is None:
        word = "limit" if excess.what == "max" else "request"
        return f"{subject} has no {word} of {resource}, which must be {bound} {allowed}"
    return (
        f"{subject} has {format_amount(excess.amount, resource)} {resource}, which must be {bound} {allowed}"
    )


def _explain_quota(excess: Excess, subject: str) -> str:
    if excess.amount is None:
        return f'container "{excess.subject}" states no {excess.what} of {excess.resource}, which it counts'
    name = excess.resource.rpartition(" ")[2]
    total, allowed = (format_amount(one, name) for one in (excess.amount, excess.allowed))
    if excess.resource == "Pods":
        return f"{subject} has {total} Pods, and it allows {allowed}"
    if subject == "the Pod":
        return f"{subject} has {total} as {excess.resource}, and it allows {allowed}"
    return f"the Pods of {subject} have {total} as {excess.resource}, and it allows {allowed}"
