"""Pods that select each other by labels: selectors without a match, and affinity to a single node.

Sources: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/,
https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.suggestions import suggest_name
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes import quantities
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.kubernetes.label_selectors import matches_selector
from podplan.lint.analysis.jobs import (
    count_gpus,
    find_gpu_path,
    find_replica_places,
    format_list,
    is_mode_enabled,
    namespace_of,
)
from podplan.lint.analysis.resources import count_accelerators, get_effective_request, list_containers
from podplan.lint.checks.node_shapes import most_on_a_node
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

HOSTNAME = "kubernetes.io/hostname"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_KINDS = {"podAffinity": "pod affinity", "podAntiAffinity": "pod anti-affinity"}
# Labels that controllers and webhooks add to Pods.
_OF_CLUSTER = ("tensorstack.dev", "kubernetes.io", "k8s.io", "volcano.sh", "istio.io", "linkerd.io")


class Term(NamedTuple):
    """A selector of Pods: ``what`` uses it, its path in the Pod, and the term that contains it."""

    what: str
    path: Path
    data: Mapping[str, Any]
    is_required: bool = True

    @property
    def selector(self) -> Mapping[str, Any] | None:
        found = self.data.get("labelSelector")
        return found if isinstance(found, dict) else None


@check(requires=("topologySpreadConstraints", "affinity"))
def selector_selects_nothing(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A selector that is intended for the Pods of the job and selects none of them.

    Values: ``what``, ``selector``, ``labels``, ``effect``.
    """
    group, job = subject.group, subject.job
    if group is None:
        return
    spec = get_mapping(subject.data, "spec")
    yield from _find_other_namespaces(job, spec)
    for term in (*_spreads(spec), *_affinities(spec)):
        if not _is_of_namespace(job, term.data) or any(_selects(term, one) for one in job.pods):
            continue
        found = _meant(job, group, term)
        if found is not None:
            place, selector = found
            values = {
                "what": term.what,
                "selector": selector,
                "labels": _labels_shown(group, term),
                "effect": _effect(term, job),
            }
            yield Violation(place, values, related=_label_places(subject, group, term))


def _find_other_namespaces(job: LoweredJob, spec: Mapping[str, Any]) -> Iterator[Violation]:
    """Find affinity with the labels of the job, limited to namespaces without its Pods."""
    own = namespace_of(job)
    for term in _affinities(spec) if own else ():
        listed = [name for _, name in get_texts(term.data, "namespaces")]
        is_meant = listed and own not in listed and "namespaceSelector" not in term.data
        if is_meant and any(_selects(term, one) for one in job.pods):
            shown = "namespace" if len(listed) == 1 else "namespaces"
            values = {
                "what": term.what,
                "selector": f"the {shown} {format_list(listed, 3)}",
                "labels": f"the namespace {own}",
                "effect": _effect(term, job),
            }
            yield Violation((*term.path, "namespaces"), values)


def _spreads(spec: Mapping[str, Any]) -> Iterator[Term]:
    for number, one in get_entries(spec, "topologySpreadConstraints"):
        yield Term("topology spread constraint", ("spec", "topologySpreadConstraints", number), one)


def _affinities(spec: Mapping[str, Any], kinds: Mapping[str, str] = _KINDS) -> Iterator[Term]:
    for kind, shown in kinds.items():
        affinity = get_mapping(get_mapping(spec, "affinity"), kind)
        base: Path = ("spec", "affinity", kind)
        for number, one in get_entries(affinity, _REQUIRED):
            yield Term(shown, (*base, _REQUIRED, number), one)
        for number, one in get_entries(affinity, _PREFERRED):
            inner = get_mapping(one, "podAffinityTerm")
            yield Term(shown, (*base, _PREFERRED, number, "podAffinityTerm"), inner, is_required=False)


def _is_of_namespace(job: LoweredJob, term: Mapping[str, Any]) -> bool:
    """Whether a term certainly selects Pods only in the namespace of the job."""
    if "namespaceSelector" in term:
        return False
    listed = [name for _, name in get_texts(term, "namespaces")]
    return not listed or listed == [namespace_of(job)]


def _selects(term: Term, group: ReplicaGroup) -> bool:
    """Whether a term selects the Pods of a group; a missing selector selects none."""
    labels = get_mapping(get_mapping(group.doc.data, "metadata"), "labels")
    return term.selector is not None and matches_selector(term.selector, labels)


def _meant(job: LoweredJob, group: ReplicaGroup, term: Term) -> tuple[Path, str] | None:
    """Return the path and text of a selector that is intended for the Pods of the job; None for others.

    A spread constraint counts the Pods that it places. Affinity may be to Pods of others. It is intended for
    Pods of the job if a label nearly matches, or if it names the job.
    """
    base: Path = (*term.path, "labelSelector")
    if term.selector is None:
        is_spread = term.path[1] == "topologySpreadConstraints"
        return (term.path, "no labelSelector") if is_spread else None
    wanted = [
        ((*base, "matchLabels", key), key, [value])
        for key, value in get_mapping(term.selector, "matchLabels").items()
        if isinstance(key, str) and isinstance(value, str)
    ]
    for number, one in get_entries(term.selector, "matchExpressions"):
        if one.get("operator") == "In":
            listed = [value for _, value in get_texts(one, "values")]
            wanted.append(((*base, "matchExpressions", number, "values"), get_text(one, "key"), listed))
    labels = get_mapping(get_mapping(group.doc.data, "metadata"), "labels")
    missing = [(path, key, values) for path, key, values in wanted if labels.get(key) not in values]
    # No other part of the selector may be for Pods that exist only in the cluster.
    if not missing or any(_is_of_cluster(key) and key not in labels for _, key, _ in missing):
        return None
    path, key, values = missing[0]
    is_meant = term.path[1] == "topologySpreadConstraints" or any(
        _nearly_agrees(job, labels, key, value) for _, key, values in missing for value in values
    )
    return (path, f"{key}={'|'.join(values[:3])}") if is_meant else None


def _is_of_cluster(key: str) -> bool:
    """Whether a label has a prefix of a controller; app.kubernetes.io is for everybody."""
    prefix = key.rpartition("/")[0]
    return prefix != "app.kubernetes.io" and any(
        prefix == one or prefix.endswith(f".{one}") for one in _OF_CLUSTER
    )


def _nearly_agrees(job: LoweredJob, labels: Mapping[str, Any], key: str, value: str) -> bool:
    """Whether a selected label is a label of the Pods in another spelling."""
    own = get_text(labels, key)
    job_name = get_text(get_mapping(job.cr.data, "metadata"), "name") if job.cr is not None else ""
    of_job = get_mapping(get_mapping(job.cr.data, "metadata"), "labels") if job.cr is not None else {}
    if own:
        return suggest_name(value, [own]) == own or (value == job_name and own.startswith(value))
    same_value = value in labels.values() and suggest_name(key, map(str, labels)) != ""
    return of_job.get(key) == value or value == job_name or same_value


def _labels_shown(group: ReplicaGroup, term: Term) -> str:
    """Format the labels of the Pods with the selected keys, else the labels from files."""
    labels = get_mapping(get_mapping(group.doc.data, "metadata"), "labels")
    selector = term.selector or {}
    keys = [
        *get_mapping(selector, "matchLabels"),
        *(get_text(one, "key") for _, one in get_entries(selector, "matchExpressions")),
    ]
    asked = list(dict.fromkeys(map(str, keys)))
    own = [f"{key}={labels[key]}" for key in asked if key in labels]
    return format_list(own, 3) or f"no label {format_list(asked, 3)}".strip()


def _label_places(subject: Target, group: ReplicaGroup, term: Term) -> list[tuple[Any, Path, str]]:
    labels = get_mapping(get_mapping(group.doc.data, "metadata"), "labels")
    keys = get_mapping(term.selector or {}, "matchLabels")
    places: list[Path] = [("metadata", "labels", key) for key in keys if key in labels]
    return [(subject.doc, path, "the label of the Pods") for path in places]


def _effect(term: Term, job: LoweredJob) -> str:
    if term.what == "pod affinity":
        waits = "so that they stay Pending" if term.is_required else "so that it has no effect"
        return f"{waits} unless other Pods of the namespace have the labels"
    pods = sum(one.replicas for one in job.pods)
    return "so that they may share a node" if pods > 1 else "so that it has no effect"


class Colocation(NamedTuple):
    """Pods that must run on few nodes: the cause, its path, the Pods, and the maximum number of nodes."""

    by: str
    path: Path
    groups: list[ReplicaGroup]
    nodes: int = 1


@check(requires=("nodeSelector", "affinity"))
def affinity_to_one_node(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Pods that must share one or a few nodes and together request more GPUs than those have.

    Values: ``by``, ``where``, ``pods``, ``gpus``, ``most``, ``said``.
    """
    group, job = subject.group, subject.job
    if group is None or not count_gpus(group) or is_mode_enabled(job, "debug"):
        return
    at, gathered = find_gpu_path(group), _find_colocation(job, group)
    if gathered is None or at is None:
        return
    pods = sum(one.replicas for one in gathered.groups)
    for resource in sorted({count_accelerators(c).resource for _, c in list_containers(group)} - {""}):
        most, said = most_on_a_node(job, resource)
        asked = (
            sum(get_effective_request(one, resource) * one.replicas for one in gathered.groups)
            // quantities.UNITS_PER_ONE
        )
        if pods > 1 and 0 < most * gathered.nodes < asked:
            values = {
                "by": gathered.by,
                "where": "one node" if gathered.nodes == 1 else f"at most {gathered.nodes} nodes",
                "pods": pods,
                "gpus": asked,
                "most": most,
                "said": said,
            }
            related = [*find_replica_places(job).values(), (subject.doc, at, "the GPUs of each Pod")]
            yield Violation(gathered.path, values, related=related)


def _find_colocation(job: LoweredJob, group: ReplicaGroup) -> Colocation | None:
    """Return the setting that puts the Pods of a group on one node, or on the nodes of others; else None."""
    host = _host(group)
    if host:
        there = [one for one in job.pods if _host(one) == host]
        return Colocation(f"nodeSelector {HOSTNAME}", ("spec", "nodeSelector", HOSTNAME), there)
    for term in _host_terms(group):
        if not _is_of_namespace(job, term.data):
            continue
        selected = [one for one in job.pods if _selects(term, one)]
        bound = [one for one in selected if _host_terms(one)]
        if not selected or any(not _select_the_same(job, one, selected) for one in bound):
            continue
        nodes = sum(one.replicas for one in selected if one not in bound) + bool(bound)
        groups = bound if group in bound else [group]
        return Colocation("the required pod affinity", (*term.path, "topologyKey"), groups, nodes)
    return None


def _host(group: ReplicaGroup) -> str:
    return get_text(get_mapping(get_mapping(group.doc.data, "spec"), "nodeSelector"), HOSTNAME)


def _host_terms(group: ReplicaGroup) -> list[Term]:
    """Return the affinity terms by host name."""
    near = {"podAffinity": _KINDS["podAffinity"]}
    terms = _affinities(get_mapping(group.doc.data, "spec"), near)
    return [term for term in terms if term.is_required and get_text(term.data, "topologyKey") == HOSTNAME]


def _select_the_same(job: LoweredJob, group: ReplicaGroup, selected: list[ReplicaGroup]) -> bool:
    return any([one for one in job.pods if _selects(term, one)] == selected for term in _host_terms(group))
