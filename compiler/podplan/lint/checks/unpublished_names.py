"""Init containers that wait for a name which a Service publishes only when their own Pod is ready.

Source: docs/evidence/kubernetes-pods.md#dns-of-headless-services.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import NamedTuple
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.kubernetes.label_selectors import Labels, read_labels, sort_labels
from podplan.lint.analysis.cross_job import RebuildJob, find_common_place
from podplan.lint.analysis.jobs import is_mode_enabled, namespace_of
from podplan.lint.analysis.pod_hosts import get_subdomain
from podplan.lint.checks.registration import check
from podplan.lint.checks.waits import Wait, find_name_wait
from podplan.lint.target import LoweredJob, Violation

_TOLERATE = "service.alpha.kubernetes.io/tolerate-unready-endpoints"


class AwaitedName(NamedTuple):
    """A job that waits for the name of its own Pods below ``service``, or a headless Service of that name.

    ``labels`` are those of the Pods, or the selector. ``is_ready_only`` if the Service publishes the names of
    ready Pods only.
    """

    place: tuple[str, str]
    service: str
    labels: Labels
    is_job: bool
    is_ready_only: bool = False

    @property
    def keys(self) -> list[Hashable]:
        return [(self.place, self.service)]

    @property
    def owner(self) -> Hashable:
        return "job" if self.is_job else "service"


def summarize_awaited_name(job: LoweredJob) -> AwaitedName | None:
    """Summarize a job by the name that it waits for, a Service by whose names it publishes."""
    if job.cr is not None:
        found = _find_wait(job)
        if found is None:
            return None
        place = find_common_place(job.cr, namespace_of(job))
        return AwaitedName(place, get_subdomain(found[2]), read_labels(found[2].doc.data), is_job=True)
    doc = job.groups[0].doc
    data = doc.data
    if (data.get("apiVersion"), data.get("kind")) != ("v1", "Service"):
        return None
    metadata, spec = get_mapping(data, "metadata"), get_mapping(data, "spec")
    is_ready_only = (
        spec.get("clusterIP") == "None"
        and spec.get("publishNotReadyAddresses") is not True
        and get_mapping(metadata, "annotations").get(_TOLERATE) != "true"
    )
    place = find_common_place(doc, get_text(metadata, "namespace"))
    selector = sort_labels(get_mapping(spec, "selector"))
    return AwaitedName(place, get_text(metadata, "name"), selector, is_job=False, is_ready_only=is_ready_only)


@check(summarize=summarize_awaited_name)
def waits_for_unpublished_name(
    summaries: Mapping[int, AwaitedName], rebuild_job: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A wait for a name that appears only after it. Values: ``container``, ``host``, ``service``."""
    services: dict[tuple[tuple[str, str], str], list[int]] = {}
    for number, one in summaries.items():
        if not one.is_job:
            services.setdefault((one.place, one.service), []).append(number)
    for number, one in summaries.items():
        named = services.get((one.place, one.service), []) if one.is_job else []
        if len(named) != 1 or not summaries[named[0]].is_ready_only:
            continue
        selector = summaries[named[0]].labels
        found = _find_wait(rebuild_job(number))
        if found is None or not selector or not set(selector) <= set(one.labels):
            continue
        wait, group, _ = found
        related = [
            (rebuild_job(named[0]).groups[0].doc, ("metadata", "name"), "it publishes ready Pods only")
        ]
        values = {"container": wait.container, "host": wait.host, "service": one.service}
        yield number, Violation(wait.path, values, related, doc=group.doc, group=group)


def _find_wait(job: LoweredJob) -> tuple[Wait, ReplicaGroup, ReplicaGroup] | None:
    """Return a wait for the name of a Pod of the job, the Pods that wait, and those of the name."""
    own = {
        get_text(get_mapping(group.doc.data, "metadata"), "name")
        for group in job.groups
        if group.doc.data["kind"] == "Service"
    }
    if is_mode_enabled(job, "debug") or is_mode_enabled(job, "pause"):
        return None
    for group in job.pods:
        if "initContainers" in get_mapping(group.doc.data, "spec"):
            found = find_name_wait(job, group)
            if found is not None and get_subdomain(found[1]) and get_subdomain(found[1]) not in own:
                return found[0], group, found[1]
    return None
