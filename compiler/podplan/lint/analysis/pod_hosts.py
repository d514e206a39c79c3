"""The names by which the Pods of a job reach each other: Services, and the hostfile with its slots."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from podplan.core.indexed_text import Indexed, Listing
from podplan.core.lazy_regex import pattern
from podplan.core.replica_groups import Group
from podplan.core.typing import NamedTuple
from podplan.kubernetes.accessors import mapping, text
from podplan.lint.analysis.jobs import replicas_by_type, roles
from podplan.lint.target import Job, for_one

_SLOTS = pattern(r"\sslots=(\d+)")
_NUMBERED = pattern(r".*?(\d{1,9})\Z")
_LOOPBACK = pattern(r"localhost|ip6-localhost|127(?:\.\d{1,3}){3}|::1|0\.0\.0\.0")
_ADDRESS = pattern(r"\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]*:[0-9a-f:]*:[0-9a-f.:]*", re.IGNORECASE)
_IN_CLUSTER = pattern(r"[a-z0-9-]+(?:\.svc(?:\.[a-z0-9.-]+)?)?\.?")


class Hosts(NamedTuple):
    """Lines of a hostfile, folded: so many hosts with so many slots each (None where it does not say)."""

    line: Indexed
    start: int
    replicas: int
    slots: int | None


def hostfile(job: Job) -> list[Hosts]:
    """The hosts of the hostfile that the controller writes; empty where there is none."""
    found: list[Hosts] = []
    for group in job.groups:
        if group.doc.data["kind"] != "ConfigMap":
            continue
        listing = group.doc.varies.get(("data", "hostfile"))
        for piece in listing.pieces if isinstance(listing, Listing) else ():
            if not isinstance(piece, str):
                slots = _SLOTS.search(piece.line.text(piece.start))
                number = int(slots[1]) if slots else None
                found.append(Hosts(piece.line, piece.start, piece.replicas, number))
    return found


def listed(hosts: list[Hosts], host: str) -> Hosts | None:
    """The lines of a hostfile that ``host`` is in."""
    index = _index(host)
    for lines in hosts:
        within = index is not None and lines.start <= index < lines.start + lines.replicas
        if index is not None and within and lines.line.text(index).split()[:1] == [host]:
            return lines
    return None


def short(host: str) -> str:
    """A host without the domain of the cluster: train-worker-0 of train-worker-0.ns.svc.cluster.local."""
    first, dot, rest = host.partition(".")
    return first if dot and _IN_CLUSTER.fullmatch(rest) else host


def is_loopback(host: str) -> bool:
    return bool(_LOOPBACK.fullmatch(host))


def is_address(host: str) -> bool:
    """Whether a host is an IP address, and not that of the container itself."""
    return bool(_ADDRESS.fullmatch(host)) and not is_loopback(host)


def _named(found: Mapping[str, list[Group]], name: str) -> tuple[Group, int] | None:
    """The object of this name: its group and its index."""
    for group in (*found.get(_stem(name), ()), *found.get("", ())):
        varying = group.doc.varies.get(("metadata", "name"))
        if not isinstance(varying, Indexed):
            if text(mapping(group.doc.data, "metadata"), "name") == name:
                return group, group.start
            continue
        index = _index(name)
        if index is None or not group.start <= index < group.start + group.replicas:
            continue
        if varying.text(index) == name:
            return group, index
    return None


def pod(job: Job, host: str) -> tuple[Group, int] | None:
    """The Pod that a host name leads to, by the Service of the same name."""
    return _named(_pods(job), short(host)) if has_service(job, host) else None


def has_service(job: Job, host: str) -> bool:
    return _named(_services(job), short(host)) is not None


@for_one
def _pods(job: Job) -> Mapping[str, list[Group]]:
    return _by_stem(job.pods)


@for_one
def _services(job: Job) -> Mapping[str, list[Group]]:
    return _by_stem(group for group in job.groups if group.doc.data["kind"] == "Service")


def _by_stem(groups: Iterable[Group]) -> Mapping[str, list[Group]]:
    """Groups by what their names have before a number at the end; by "" with the index elsewhere."""
    found: dict[str, list[Group]] = {}
    for group in groups:
        varying = group.doc.varies.get(("metadata", "name"))
        name = text(mapping(group.doc.data, "metadata"), "name")
        if isinstance(varying, Indexed):
            name = str(varying.parts[0]) if varying.parts[1:] == (0,) else ""
        found.setdefault(_stem(name), []).append(group)
    return found


def _stem(name: str) -> str:
    return name.rstrip("0123456789")


def job_name(job: Job) -> str:
    """The name of the job, which those of its replicas begin with; "" where the API server makes it."""
    return text(mapping(job.cr.data, "metadata"), "name") if job.cr is not None else ""


@for_one
def replica_name(job: Job) -> re.Pattern[str] | None:
    """What names of replicas of the job look like: groups ``type`` and ``index``."""
    name = job_name(job)
    types = [re.escape(role.type) for role in roles(job) if role.type]
    if not name or not types:
        return None
    return re.compile(rf"{re.escape(name)}-(?P<type>{'|'.join(types)})-(?P<index>\d{{1,9}})")


def missing(job: Job, host: str) -> str:
    """Why a host that looks like a replica of the job does not exist; "" where it does, or is another's."""
    pattern = replica_name(job)
    found = pattern.fullmatch(short(host)) if pattern is not None else None
    if found is None or has_service(job, host):
        return ""
    index = int(found["index"])
    replicas = replicas_by_type(job).get(found["type"], 0)
    if index < replicas:
        return _other_name(job, found["type"], index) or (
            f"no Service gives {short(host)} a name; that takes spec.service"
        )
    ranks = f"the ranks 0 to {replicas - 1}" if replicas > 1 else "rank 0 only" if replicas else "no replicas"
    return f"{found['type']} has {ranks}"


def of_other_job(job: Job, host: str) -> str:
    """The job that a host of the form NAME-TYPE-INDEX is a replica of, where that is not this job; else "".

    Only types that this job has count. The name of a job may be followed by five digits of its uid.
    """
    name, called = job_name(job), short(host)
    types = "|".join(re.escape(role.type) for role in roles(job) if role.type)
    found = re.fullmatch(rf"([a-z0-9][a-z0-9.-]*)-(?:{types})-\d{{1,9}}", called) if name and types else None
    if found is None or has_service(job, host):
        return ""
    return "" if re.fullmatch(rf"{re.escape(name)}(?:-[0-9a-f]{{5}})?", found[1]) else found[1]


def _other_name(job: Job, type_: str, index: int) -> str:
    """How the Service of a replica is called, as a sentence; "" where it has none."""
    for group in job.groups:
        within = group.start <= index < group.start + group.replicas
        name = group.doc.varies.get(("metadata", "name"))
        if group.doc.data["kind"] == "Service" and group.role == type_ and within:
            called = name.text(index) if isinstance(name, Indexed) else group.doc.data["metadata"]["name"]
            return f"its Service is called {called}"
    return ""


def _index(name: str) -> int | None:
    found = _NUMBERED.fullmatch(name)
    return int(found[1]) if found else None
