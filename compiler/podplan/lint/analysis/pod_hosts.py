"""The names by which the Pods of a job reach each other: Services, and the hostfile with its slots."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from podplan.core.indexed_text import Indexed, Listing, RepeatedLine
from podplan.core.lazy_regex import compile_lazily
from podplan.core.replica_groups import ReplicaGroup, find_name_text, find_object_name
from podplan.core.typing import NamedTuple
from podplan.kubernetes.accessors import get_mapping, get_text, get_texts
from podplan.lint.analysis.jobs import (
    count_replicas_by_type,
    find_kind_spec,
    format_type_of,
    get_replica_specs,
    has_trait,
)
from podplan.lint.target import LoweredJob, cache_latest

_SLOTS_PATTERN = compile_lazily(r"\sslots=(\d+)")
_TRAILING_NUMBER = compile_lazily(r".*?(\d{1,9})\Z")
_LOOPBACK = compile_lazily(r"localhost|ip6-localhost|127(?:\.\d{1,3}){3}|::1|0\.0\.0\.0")
_ADDRESS = compile_lazily(r"\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]*:[0-9a-f:]*:[0-9a-f.:]*", re.IGNORECASE)
_CLUSTER_DOMAIN = compile_lazily(r"[a-z0-9-]+(?:\.svc(?:\.[a-z0-9.-]+)?)?\.?")


_HOSTNAME_PATH = ("spec", "hostname")


class HostfileHosts(NamedTuple):
    """Lines of a hostfile, folded: the number of hosts, and the slots of each (None if not stated)."""

    line: Indexed
    start: int
    replicas: int
    slots: int | None


def read_hostfile(job: LoweredJob) -> list[HostfileHosts]:
    """Return the hosts of the hostfile that the controller writes; empty if there is none."""
    hosts: list[HostfileHosts] = []
    for group in job.groups:
        if group.doc.data["kind"] != "ConfigMap":
            continue
        listing = group.doc.replica_texts.get(("data", "hostfile"))
        for piece in listing.pieces if isinstance(listing, Listing) else ():
            if isinstance(piece, RepeatedLine):
                slots = _SLOTS_PATTERN.search(piece.line.text_at(piece.start))
                number = int(slots[1]) if slots else None
                hosts.append(HostfileHosts(piece.line, piece.start, piece.replicas, number))
    return hosts


def list_single_hosts(job: LoweredJob) -> list[str]:
    """The hosts with a line of their own in the hostfile, such as a launcher that also trains."""
    listings = (
        group.doc.replica_texts.get(("data", "hostfile"))
        for group in job.groups
        if group.doc.data["kind"] == "ConfigMap"
    )
    pieces = [piece for one in listings if isinstance(one, Listing) for piece in one.pieces]
    lines = (line for piece in pieces if isinstance(piece, str) for line in piece.splitlines())
    return [line.split()[0].partition(":")[0] for line in lines if line.strip()]


def count_hostfile_slots(job: LoweredJob) -> int:
    """Count the slots of all lines of the hostfile that the controller writes."""
    listings = (
        group.doc.replica_texts.get(("data", "hostfile"))
        for group in job.groups
        if group.doc.data["kind"] == "ConfigMap"
    )
    pieces = [piece for one in listings if isinstance(one, Listing) for piece in one.pieces]
    single_lines = "".join(piece for piece in pieces if isinstance(piece, str))
    repeated = sum((host.slots or 0) * host.replicas for host in read_hostfile(job))
    return repeated + sum(map(int, _SLOTS_PATTERN.findall(single_lines)))


def find_hostfile_hosts(hosts: list[HostfileHosts], host: str) -> HostfileHosts | None:
    """Return the lines of a hostfile that contain ``host``."""
    index = _parse_index(host)
    for lines in hosts:
        within = index is not None and lines.start <= index < lines.start + lines.replicas
        if index is not None and within and lines.line.text_at(index).split()[:1] == [host]:
            return lines
    return None


def strip_cluster_domain(host: str) -> str:
    """Return a host without the cluster domain: train-worker-0 for train-worker-0.ns.svc.cluster.local."""
    first, dot, domain = host.partition(".")
    return first if dot and _CLUSTER_DOMAIN.fullmatch(domain) else host


def is_loopback(host: str) -> bool:
    return bool(_LOOPBACK.fullmatch(host))


def is_address(host: str) -> bool:
    """Whether a host is an IP address other than loopback."""
    return bool(_ADDRESS.fullmatch(host)) and not is_loopback(host)


def _find_by_name(
    groups_by_stem: Mapping[str, list[ReplicaGroup]], name: str
) -> tuple[ReplicaGroup, int] | None:
    """Return the object of this name: its group and its index."""
    for group in (*groups_by_stem.get(_strip_number(name), ()), *groups_by_stem.get("", ())):
        varying = find_name_text(group.doc)
        if not isinstance(varying, Indexed):
            if get_text(get_mapping(group.doc.data, "metadata"), "name") == name:
                return group, group.start
            continue
        index = _parse_index(name)
        if index is None or not group.start <= index < group.start + group.replicas:
            continue
        if varying.text_at(index) == name:
            return group, index
    return None


def find_pod(job: LoweredJob, host: str) -> tuple[ReplicaGroup, int] | None:
    """Return the Pod of a host name, by the Service of the same name, or below a headless Service."""
    if has_service(job, host):
        return _find_by_name(_group_pods_by_stem(job), strip_cluster_domain(host))
    first, _, domain = host.partition(".")
    found = find_pod_by_hostname(job, first)
    return found if found is not None and domain.partition(".")[0] == get_subdomain(found[0]) else None


def find_pod_by_hostname(job: LoweredJob, name: str) -> tuple[ReplicaGroup, int] | None:
    """Return the Pod with this host name, which the controller derives from its index."""
    for group in job.pods:
        text = group.doc.replica_texts.get(_HOSTNAME_PATH)
        if isinstance(text, Indexed):
            index = text.find_index(name)
            if index is not None and group.start <= index < group.start + group.replicas:
                return group, index
        elif get_text(get_mapping(group.doc.data, "spec"), "hostname") == name:
            return group, group.start
    return None


def get_subdomain(group: ReplicaGroup) -> str:
    """Return the Service of the host names of a group of Pods; "" if they have none."""
    return get_text(get_mapping(group.doc.data, "spec"), "subdomain")


def format_hostnames(groups: Iterable[ReplicaGroup]) -> str:
    """Format the host names of the first and the last of these Pods."""
    names = []
    for group in groups:
        text = group.doc.replica_texts.get(_HOSTNAME_PATH)
        plain = get_text(get_mapping(group.doc.data, "spec"), "hostname")
        ends = (group.start, group.start + group.replicas - 1)
        names += [text.text_at(index) for index in ends] if isinstance(text, Indexed) else [plain]
    return names[0] if len(set(names)) == 1 else f"{names[0]} to {names[-1]}"


def has_service(job: LoweredJob, host: str) -> bool:
    return _find_by_name(_group_services_by_stem(job), strip_cluster_domain(host)) is not None


def has_subdomain_name(job: LoweredJob, host: str, domain: str) -> bool:
    """Whether a Pod resolves below the Service of its subdomain: train-worker-0 in the domain train.

    Without ``domain`` that is so if Pods look names up below that Service.
    """
    found = _find_by_name(_group_pods_by_stem(job), host)
    if found is None:
        return False
    spec = get_mapping(found[0].doc.data, "spec")
    subdomain = get_text(spec, "subdomain")
    searches = [search for _, search in get_texts(get_mapping(spec, "dnsConfig"), "searches")]
    is_named = domain == subdomain if domain else any(one.startswith(f"{subdomain}.") for one in searches)
    return bool(subdomain) and is_named and has_service(job, subdomain)


@cache_latest
def _group_pods_by_stem(job: LoweredJob) -> Mapping[str, list[ReplicaGroup]]:
    return _group_by_stem(job.pods)


@cache_latest
def _group_services_by_stem(job: LoweredJob) -> Mapping[str, list[ReplicaGroup]]:
    return _group_by_stem(group for group in job.groups if group.doc.data["kind"] == "Service")


def _group_by_stem(groups: Iterable[ReplicaGroup]) -> Mapping[str, list[ReplicaGroup]]:
    """Group by the name without the number at its end; by "" if the index is elsewhere."""
    groups_by_stem: dict[str, list[ReplicaGroup]] = {}
    for group in groups:
        varying = find_name_text(group.doc)
        name = get_text(get_mapping(group.doc.data, "metadata"), "name")
        if isinstance(varying, Indexed):
            name = str(varying.parts[0]) if varying.parts[1:] == (0,) else ""
        groups_by_stem.setdefault(_strip_number(name), []).append(group)
    return groups_by_stem


def _strip_number(name: str) -> str:
    return name.rstrip("0123456789")


def get_job_name(job: LoweredJob) -> str:
    """Return the name of the job, with which names of replicas begin; "" if the API server generates it."""
    return get_text(get_mapping(job.cr.data, "metadata"), "name") if job.cr is not None else ""


@cache_latest
def build_replica_name_pattern(job: LoweredJob) -> re.Pattern[str] | None:
    """Return a pattern for names of replicas of the job, with the groups ``type`` and ``index``."""
    name = get_job_name(job)
    types = [re.escape(role.type.lower()) for role in get_replica_specs(job) if role.type]
    if not name or not types:
        return None
    kind_spec = find_kind_spec(job)
    main_types = map(str.lower, kind_spec.main_replica_types if kind_spec is not None else ())
    any_type = "|".join((*types, *main_types))
    return re.compile(rf"{re.escape(name)}-(?P<type>{any_type})-(?P<index>\d{{1,9}})")


def explain_missing_host(job: LoweredJob, host: str) -> str:
    """Explain why a host that looks like a replica does not exist; "" for any other host."""
    pattern = build_replica_name_pattern(job)
    match = pattern.fullmatch(strip_cluster_domain(host)) if pattern is not None else None
    if match is None or has_service(job, host):
        return ""
    index = int(match["index"])
    counts = {type_.lower(): count for type_, count in count_replicas_by_type(job).items()}
    replicas = counts.get(match["type"], 0)
    if index < replicas:
        missing = "without spec.service there is" if has_trait(job, "service-on-request") else "there is"
        return _describe_service_name(job, match["type"], index) or (
            f"{missing} no Service {strip_cluster_domain(host)}"
        )
    ranks = f"the ranks 0 to {replicas - 1}" if replicas > 1 else "rank 0 only" if replicas else "no replicas"
    return f"{match['type']} has {ranks}"


def explain_missing_index(job: LoweredJob, host: str) -> str:
    """Explain that a host is the name of a replica without its index; "" for any other host."""
    called = strip_cluster_domain(host)
    first = f"{called}-0"
    is_type = any(called == f"{get_job_name(job)}-{role.type.lower()}" for role in get_replica_specs(job))
    if not is_type or has_service(job, host) or not has_service(job, first):
        return ""
    return f"there is no such Service: that of its first replica is {first}"


def explain_missing_pod(job: LoweredJob, host: str, is_meeting_point: bool) -> str:
    """Explain why a host that looks like a Pod with an indexed host name does not exist.

    Where processes do not meet, NAME-0 below another Service may be a server that has the name of the job.
    """
    (first, _, domain), name = host.partition("."), get_job_name(job)
    found = find_pod_by_hostname(job, first)
    service, _, namespace = domain.partition(".")
    types = "|".join({re.escape(group.replica_type) for group in job.pods if format_type_of(group)})
    if not types and not is_meeting_point and service not in map(get_subdomain, job.pods):
        return ""
    if found is not None:
        subdomain = get_subdomain(found[0])
        own_namespace = get_text(get_mapping(found[0].doc.data, "metadata"), "namespace")
        if not subdomain or (not domain and sum(group.replicas for group in job.pods) < 2):
            return ""
        if not domain:
            return f"the Pod resolves only below its Service, as {first}.{subdomain}"
        if service != subdomain:
            return f"the Pod is below the Service {subdomain}, as {first}.{subdomain}"
        other = namespace.partition(".")[0]
        return (
            f"the Pod is in the namespace {own_namespace}"
            if own_namespace and other not in ("", own_namespace)
            else ""
        )
    pattern = rf"-(?P<type>{types})(?:-\d{{1,9}}){{0,2}}" if types else r"-\d{1,9}"
    own_name = re.fullmatch(re.escape(name) + pattern, first)
    named = [group for group in job.pods if "hostname" in get_mapping(group.doc.data, "spec")]
    if own_name is None and not (domain and _has_own_service(job, service)):
        return ""
    if not named:
        return "Pods have host names only with completionMode: Indexed"
    if own_name is not None and not any(map(get_subdomain, named)):
        return ""
    type_ = own_name["type"] if own_name is not None and types else ""
    of_type = [group for group in named if group.replica_type == type_] or named
    suffix = format_type_of(of_type[0]) if type_ else ""
    if sum(group.replicas for group in of_type) == 1:
        return f"the Pod{suffix} is called {format_hostnames(of_type)}"
    return f"the Pods{suffix} are called {format_hostnames(of_type)}"


def _has_own_service(job: LoweredJob, name: str) -> bool:
    """Whether the controller creates this Service, so that only Pods of the job are below it."""
    services = (group.doc.data for group in job.groups if group.doc.data["kind"] == "Service")
    return any(get_text(get_mapping(one, "metadata"), "name") == name for one in services)


def find_job_of_host(job: LoweredJob, host: str) -> str:
    """Return the other job to which a host of the form NAME-TYPE-INDEX belongs; "" if there is none.

    Only types that this job has count. The name of a job may be followed by five digits of its uid.
    """
    if has_trait(job, "host-by-index"):
        return _find_job_of_host(job, host)
    name, called = get_job_name(job), strip_cluster_domain(host)
    types = "|".join(re.escape(role.type.lower()) for role in get_replica_specs(job) if role.type)
    found = re.fullmatch(rf"([a-z0-9][a-z0-9.-]*)-(?:{types})-\d{{1,9}}", called) if name and types else None
    if found is None or has_service(job, host):
        return ""
    return "" if re.fullmatch(rf"{re.escape(name)}(?:-[0-9a-f]{{5}})?", found[1]) else found[1]


def _find_job_of_host(job: LoweredJob, host: str) -> str:
    """Return the same for Pods with indexed host names: of a Job, or of another type and name."""
    name, (first, _, domain) = get_job_name(job), host.partition(".")
    types = {group.replica_type for group in job.pods if format_type_of(group)}
    if not name or find_pod_by_hostname(job, first) is not None:
        return ""
    if types:
        any_type = "|".join(map(re.escape, types))
        found = re.fullmatch(rf"([a-z0-9][a-z0-9-]*)-(?:{any_type})-\d{{1,9}}-\d{{1,9}}", first)
    else:
        is_below_own = any(get_subdomain(group) == domain.partition(".")[0] for group in job.pods)
        found = re.fullmatch(r"([a-z0-9][a-z0-9-]*)-\d{1,9}", first) if domain and is_below_own else None
    return "" if found is None or found[1] == name else found[1]


def _describe_service_name(job: LoweredJob, type_: str, index: int) -> str:
    """Describe the name of the Service of a replica as a sentence; "" if it has none."""
    for group in job.groups:
        within = group.start <= index < group.start + group.replicas
        name = find_name_text(group.doc)
        if group.doc.data["kind"] == "Service" and group.replica_type.lower() == type_ and within:
            service_name = name.text_at(index) if isinstance(name, Indexed) else find_object_name(group.doc)
            return f"its Service is called {service_name}"
    return ""


def _parse_index(name: str) -> int | None:
    match = _TRAILING_NUMBER.fullmatch(name)
    return int(match[1]) if match else None
