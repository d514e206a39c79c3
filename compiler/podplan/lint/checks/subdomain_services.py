"""Subdomains of Pods that are not the name of their headless Service.

Source: https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-s-hostname-and-subdomain-fields.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping

from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import NamedTuple
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.kubernetes.label_selectors import Labels, read_labels, sort_labels
from podplan.lint.analysis.cross_job import RebuildJob, find_common_place
from podplan.lint.analysis.jobs import is_mode_enabled, namespace_of
from podplan.lint.analysis.pod_hosts import get_subdomain
from podplan.lint.checks.own_hosts import iter_strings
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Violation


class SubdomainUse(NamedTuple):
    """Pods with these labels, which a job reaches below a subdomain that has no Service of the job."""

    subdomain: str
    host: str
    labels: Labels


class SubdomainSummary(NamedTuple):
    """The subdomains that a job uses, or a Service with its selector, if it is headless."""

    place: tuple[str, str]
    uses: tuple[SubdomainUse, ...] = ()
    service: str = ""
    selector: Labels = ()

    @property
    def keys(self) -> list[Hashable]:
        return [self.place]

    @property
    def owner(self) -> Hashable:
        return "services" if self.service else "jobs"


def summarize_subdomains(job: LoweredJob) -> SubdomainSummary | None:
    """Summarize a job by the subdomains it uses, a Service by its name and selector."""
    if job.cr is not None:
        uses = tuple(dict.fromkeys(use for use, _ in _iter_uses(job)))
        return SubdomainSummary(find_common_place(job.cr, namespace_of(job)), uses) if uses else None
    doc = job.groups[0].doc
    data = doc.data
    if (data.get("apiVersion"), data.get("kind")) != ("v1", "Service"):
        return None
    metadata, spec = get_mapping(data, "metadata"), get_mapping(data, "spec")
    selector = get_mapping(spec, "selector") if spec.get("clusterIP") == "None" else {}
    labels = sort_labels(selector)
    place = find_common_place(doc, get_text(metadata, "namespace"))
    return SubdomainSummary(place, (), get_text(metadata, "name"), labels)


@check(summarize=summarize_subdomains)
def subdomain_of_no_service(
    summaries: Mapping[int, SubdomainSummary], rebuild_job: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A subdomain beside a headless Service of another name. Values: ``subdomain``, ``service``, ``host``."""
    services: dict[tuple[str, str], dict[str, int]] = {}
    for number, one in summaries.items():
        if one.service:
            services.setdefault(one.place, {})[one.service] = number
    for number, one in summaries.items():
        named = services.get(one.place, {})
        for use in one.uses:
            found = next((name for name, at in named.items() if _selects(summaries[at], use)), "")
            if use.subdomain in named or not found:
                continue
            groups = (group for each, group in _iter_uses(rebuild_job(number)) if each == use)
            group = next(groups)
            service = rebuild_job(named[found]).groups[0].doc
            values = {"subdomain": use.subdomain, "service": found, "host": use.host}
            related = [(service, ("metadata", "name"), "the Service of these Pods")]
            yield number, Violation(("spec", "subdomain"), values, related, doc=group.doc, group=group)


def _selects(service: SubdomainSummary, use: SubdomainUse) -> bool:
    return bool(service.selector) and set(service.selector) <= set(use.labels)


def _iter_uses(job: LoweredJob) -> Iterator[tuple[SubdomainUse, ReplicaGroup]]:
    """Yield the subdomains below which the commands of a job name its Pods, with these Pods."""
    own = {
        get_text(get_mapping(group.doc.data, "metadata"), "name")
        for group in job.groups
        if group.doc.data["kind"] == "Service"
    }
    for group in job.pods if not is_mode_enabled(job, "debug") else ():
        subdomain = get_subdomain(group)
        hostname = get_text(get_mapping(group.doc.data, "spec"), "hostname")
        if not subdomain or not hostname or subdomain in own:
            continue
        stem = hostname.rstrip("0123456789")
        pattern = re.compile(rf"(?<![\w.-]){re.escape(stem)}\d*\.{re.escape(subdomain)}(?![\w-])")
        texts = (text for each in job.pods for _, text, _ in iter_strings(each.doc.data, f".{subdomain}"))
        found = next((match for text in texts if (match := pattern.search(text))), None)
        if found is not None:
            yield SubdomainUse(subdomain, found[0], read_labels(group.doc.data)), group
