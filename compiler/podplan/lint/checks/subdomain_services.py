"""Subdomains of Pods that are not the name of a headless Service that selects them.

Source: https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-s-hostname-and-subdomain-fields.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import NamedTuple
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.kubernetes.label_selectors import Labels, read_labels, sort_labels
from podplan.lint.analysis.cross_job import RebuildJob, find_common_place, find_written_file
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
    """The subdomains that a job uses, or a Service with its selector, empty if there is none."""

    place: tuple[str, str]
    file: str
    uses: tuple[SubdomainUse, ...] = ()
    service: str = ""
    selector: Labels = ()
    is_headless: bool = True

    @property
    def keys(self) -> list[Hashable]:
        return [self.place, self.file]

    @property
    def owner(self) -> Hashable:
        return "services" if self.service else "jobs"


def summarize_subdomains(job: LoweredJob) -> SubdomainSummary | None:
    """Summarize a job by the subdomains it uses, a Service by its name and selector."""
    if job.cr is not None:
        uses = tuple(dict.fromkeys(use for use, _ in _iter_uses(job)))
        place, file = find_common_place(job.cr, namespace_of(job)), find_written_file(job.cr)
        return SubdomainSummary(place, file, uses) if uses else None
    doc = job.groups[0].doc
    data = doc.data
    if (data.get("apiVersion"), data.get("kind")) != ("v1", "Service"):
        return None
    metadata, spec = get_mapping(data, "metadata"), get_mapping(data, "spec")
    if get_text(spec, "type") not in ("", "ClusterIP", "NodePort", "LoadBalancer"):
        return None
    labels = sort_labels(get_mapping(spec, "selector"))
    place, file = find_common_place(doc, get_text(metadata, "namespace")), find_written_file(doc)
    is_headless = spec.get("clusterIP") == "None"
    return SubdomainSummary(place, file, (), get_text(metadata, "name"), labels, is_headless)


@check(summarize=summarize_subdomains)
def subdomain_of_no_service(
    summaries: Mapping[int, SubdomainSummary], rebuild_job: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A host of a job without a headless Service that selects its Pods; values ``host``, ``why``."""
    services: dict[tuple[str, str], dict[str, list[int]]] = {}
    for number, one in summaries.items():
        if one.service:
            services.setdefault(one.place, {}).setdefault(one.service, []).append(number)
    for number, one in summaries.items():
        named = services.get(one.place, {})
        for use in one.uses:
            if use.subdomain in named:
                found = _explain_service(summaries, named[use.subdomain], use)
            else:
                found = _explain_other_name(summaries, named, use) or _explain_other_place(
                    summaries, one, use
                )
            if found is None:
                continue
            groups = (group for each, group in _iter_uses(rebuild_job(number)) if each == use)
            group = next(groups)
            service = rebuild_job(found.service).groups[0].doc
            related = [(service, path, "the Service") for path in found.paths]
            values = {"host": use.host, "why": found.why}
            yield number, Violation(("spec", "subdomain"), values, related, doc=group.doc, group=group)


class _Reason(NamedTuple):
    """Why a host does not resolve: a Service by its number, and the paths in it that are the reason."""

    why: str
    service: int
    paths: tuple[Path, ...]


def _explain_service(
    summaries: Mapping[int, SubdomainSummary], numbers: list[int], use: SubdomainUse
) -> _Reason | None:
    """Explain why the Services with the name of a subdomain give its Pods no name; None if one may."""
    if any(not summaries[at].selector for at in numbers):
        return None  # one without a selector, or a part of one
    selecting = [at for at in numbers if _selects(summaries[at], use)]
    if any(summaries[at].is_headless for at in selecting):
        return None
    if selecting:
        why = f"the Service {use.subdomain} is not headless, so its Pods have no names of their own"
        return _Reason(why, selecting[0], (("spec",), ("metadata", "name")))
    why = f"the selector of the Service {use.subdomain} does not match the labels of these Pods"
    selector, labels = summaries[numbers[0]].selector, dict(use.labels)
    key = next((key for key, value in selector if labels.get(key) != value), "")
    return _Reason(why, numbers[0], (("spec", "selector", key),))


def _explain_other_name(
    summaries: Mapping[int, SubdomainSummary], named: Mapping[str, list[int]], use: SubdomainUse
) -> _Reason | None:
    """Explain that the headless Service of the Pods has another name than their subdomain."""
    for name, numbers in named.items():
        at = next((at for at in numbers if summaries[at].is_headless and _selects(summaries[at], use)), None)
        if at is not None:
            why = f"the subdomain is {use.subdomain}"
            why += f", but the headless Service that selects these Pods is {name}"
            return _Reason(why, at, (("metadata", "name"),))
    return None


def _explain_other_place(
    summaries: Mapping[int, SubdomainSummary], job: SubdomainSummary, use: SubdomainUse
) -> _Reason | None:
    """Explain that the Service of the file is in another namespace than the Pods."""
    for at, one in summaries.items():
        there, here = one.place[0], job.place[0]
        is_named = one.service == use.subdomain and one.file == job.file
        if is_named and there and here and there != here and _selects(one, use):
            why = f"the Service {use.subdomain} is in the namespace {there}, not in {here}"
            return _Reason(why, at, (("metadata", "namespace"),))
    return None


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
