"""Literal host names of replicas in env and in command lines that no Service resolves.

Source: docs/evidence/kubernetes-pods.md#hosts-that-exist, docs/evidence/t9k-genericjob.md#services.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, TextPath, value_at
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.lint.analysis import pod_hosts
from podplan.lint.analysis.jobs import (
    ReplicaSpec,
    find_kind_spec,
    format_type_of,
    get_replica_specs,
    has_trait,
    is_mode_enabled,
    spec_of,
)
from podplan.lint.analysis.launches import find_launches
from podplan.lint.checks.registration import check
from podplan.lint.checks.reserved_env import is_set_by_controller
from podplan.lint.target import LoweredJob, Target, Violation

_HOST_VARIABLE = compile_lazily(
    r".*(?:_ADDR|_ADDRESS|_HOST|_HOSTS|_ENDPOINT|_ENDPOINTS|_SERVER|_SERVERS|_MASTER)"
)
_HOST_OPTION = compile_lazily(r"--?(?:master[-_]addr|rdzv[-_]endpoint|main_process_ip|hosts?|H)")
_MEETING_VARIABLE = compile_lazily(
    r"(?:\w+_)?(?:MASTER|LEADER|COORDINATOR|HEAD|RDZV|RENDEZVOUS)(?:_(?:ADDR|ADDRESS|HOST|IP|ENDPOINT))?"
)
_MEETING_OPTION = compile_lazily(r"--(?:master[-_]addr|rdzv[-_]endpoint|main_process_ip)|MASTER_ADDR=")
_QUERY_COMMAND = r"\b(?:nslookup|getent\s+(?:ahosts|hosts)|ping(?:\s+-\S+)*|ssh|curl|nc(?:\s+-\S+)*)\s+"
_HOST_PREFIX = (
    r"(?:--(?:master[-_]addr|rdzv[-_]endpoint|main_process_ip|hosts?)[= ]|\bMASTER_ADDR="
    rf"|{_QUERY_COMMAND}|//)"
)
_PORT_SUFFIX = compile_lazily(r":\d{2,5}\Z")
_DOMAIN = r"(?:\.(?P<domain>[a-z0-9-]+)(?:\.[a-z0-9-]+)?(?:\.svc(?:\.[a-z0-9.-]+)?)?)?"


@check()
def unknown_replica_host(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A host name of a replica that does not exist; values ``host`` and ``why``."""
    job = target.job
    if has_trait(job, "host-by-index"):
        yield from _iter_unknown_pods(job)
        return
    strings = [found for group in job.pods for found in _iter_candidate_strings(job, group)]
    name_pattern = pod_hosts.build_replica_name_pattern(job) if strings else None
    if name_pattern is None or is_mode_enabled(job, "debug") or is_mode_enabled(job, "pause"):
        return
    bare_pattern = re.sub(r"\?P<\w+>", "", name_pattern.pattern)
    host_pattern = _build_host_pattern(bare_pattern)
    for group, path, value, is_host in strings:
        for match in host_pattern.finditer(value):
            if not (is_host or match["before"] or match["port"]):
                continue
            if pod_hosts.has_subdomain_name(job, match["host"], match["domain"] or ""):
                continue
            reason = pod_hosts.explain_missing_host(job, match["host"])
            if reason:
                place = TextPath(path, match.span("host"))
                yield Violation(place, {"host": match["host"], "why": reason}, doc=group.doc, group=group)
                break


def _iter_unknown_pods(job: LoweredJob) -> Iterator[Violation]:
    """Yield hosts that look like indexed host names of Pods, and are none."""
    prefix = f"{pod_hosts.get_job_name(job)}-"
    names_pattern = _build_pods_pattern()
    reported_paths: set[Path] = set()
    reported_hosts: set[str] = set()
    for group in job.pods if prefix != "-" else ():
        domains = [f".{one}" for one in {pod_hosts.get_subdomain(each) for each in job.pods} if one]
        strings = [found for part in (prefix, *domains) for found in iter_strings(group.doc.data, part)]
        expanded = _iter_expanded_strings(job, group)
        places = [(each, False) for each in strings] + [(each, True) for each in expanded]
        for (path, value, is_host), is_expanded in places:
            for match in names_pattern.finditer(value) if path not in reported_paths else ():
                host = match["host"]
                if not (is_host or match["before"] or match["port"]):
                    continue
                is_meeting_point = is_expanded or _is_meeting_point(group, path, match["before"])
                reason = pod_hosts.explain_missing_pod(job, host, is_meeting_point)
                if "env" in path and is_set_by_controller(group, path[: path.index("env") + 2]):
                    continue  # the error is in the value from which the controller derives it
                if reason and not (is_expanded and host in reported_hosts):
                    reported_paths.add(path)
                    reported_hosts.add(host)
                    place = path if is_expanded else TextPath(path, match.span("host"))
                    yield Violation(place, {"host": host, "why": reason}, doc=group.doc, group=group)
                    break


def _is_meeting_point(group: ReplicaGroup, path: Path, before: str | None) -> bool:
    """Whether a path has the rendezvous host of the job, and not the host of another server."""
    if "env" in path:
        entry = value_at(group.doc.data, path[: path.index("env") + 2])
        return (
            _MEETING_VARIABLE.fullmatch(get_text(entry if isinstance(entry, dict) else {}, "name"))
            is not None
        )
    previous = value_at(group.doc.data, (*path[:-1], int(path[-1]) - 1)) if path[-1] else ""
    return bool(before and _MEETING_OPTION.match(before)) or bool(_MEETING_OPTION.match(str(previous)))


def _build_pods_pattern() -> re.Pattern[str]:
    """Build the pattern of a host with its context."""
    return re.compile(
        rf"(?<![\w./$({{-])(?P<before>{_HOST_PREFIX})?(?P<host>[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)*)"
        r"(?P<port>:\d{2,5})?(?![\w.$({-])"
    )


def _iter_expanded_strings(job: LoweredJob, group: ReplicaGroup) -> Iterator[tuple[Path, str, bool]]:
    """Yield variables and options of launchers with references in a host, expanded."""
    for launch in find_launches(job):
        if launch.group is not group:
            continue
        variables = launch.resolve_environment()
        for index, entry in get_entries(launch.container, "env"):
            name, value = get_text(entry, "name"), get_text(entry, "value")
            if "$(" in value and _HOST_VARIABLE.fullmatch(name):
                yield (*launch.path, "env", index, "value"), variables.get(name) or "", True
        for name, option in launch.invocation.options.items():
            word = option.word
            written = value_at(launch.container, word.path)
            if _HOST_OPTION.fullmatch(f"--{name}") and word.is_known and "$" in str(written):
                yield (*launch.path, *word.path), (option.value or ""), True


@check()
def host_without_suffix(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A literal host name of a replica without the controller's suffix. Values: ``host``, ``real``."""
    job = target.job
    kind_spec = find_kind_spec(job)
    if (
        kind_spec is None
        or kind_spec.load_job_names is None
        or job.cr is None
        or get_text(get_mapping(job.cr.data, "metadata"), "uid")
        or is_mode_enabled(job, "debug")
    ):
        return
    name = pod_hosts.get_job_name(job)
    strings = [
        (role, list(iter_strings(get_mapping(role.data, "template"), f"{name}-")))
        for role in get_replica_specs(job)
    ]
    name_pattern = pod_hosts.build_replica_name_pattern(job) if any(found for _, found in strings) else None
    if name_pattern is None:
        return
    host_pattern = _build_host_pattern(re.sub(r"\?P<\w+>", "", name_pattern.pattern))
    for role, found in strings:
        template: Path = (*role.path, "template")
        for path, value, is_host in found:
            hosts = [
                match["host"]
                for match in host_pattern.finditer(value)
                if is_host or match["before"] or match["port"]
            ]
            # For a replica that does not exist, the other rule reports more.
            if (
                hosts
                and all(pod_hosts.has_service(job, host) for host in hosts)
                and _is_effective(job, role, path)
            ):
                values = {"host": hosts[0], "real": f"{name}-xxxxx{hosts[0].removeprefix(name)}"}
                yield Violation((*template, *path), values)


def _is_effective(job: LoweredJob, role: ReplicaSpec, path: Path) -> bool:
    """Whether a string of a template is not a variable that the controller overrides."""
    group = next((one for one in job.pods if one.replica_type == role.type), None)
    if group is None or path[-1] != "value":
        return True
    name = get_text(value_at(role.data, ("template", *path[:-1])), "name")
    container = value_at(group.doc.data, path[:3])
    return sum(get_text(entry, "name") == name for _, entry in get_entries(container, "env")) < 2


@check()
def no_headless_service(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A Pod of the job as a host, although its Pods have no subdomain; value ``host``."""
    groups = {
        hostname.rstrip("0123456789"): group
        for group in target.job.pods
        if (hostname := get_text(get_mapping(group.doc.data, "spec"), "hostname"))
        and not get_text(get_mapping(group.doc.data, "spec"), "subdomain")
    }
    for stem, named_group in groups.items():
        host_pattern = _build_host_pattern(rf"{re.escape(stem)}\d+")
        for group in target.job.pods:
            for path, value, is_host in iter_strings(group.doc.data, stem):
                for match in host_pattern.finditer(value):
                    # A server may have the name of a Job, below its own Service.
                    is_server = value[match.end("host") :].startswith(".") and not format_type_of(named_group)
                    if is_server and not _is_meeting_point(group, path, match["before"]):
                        continue
                    if is_host or match["before"] or match["port"]:
                        related = [
                            (named_group.doc, ("spec",), "the Pods"),
                            *_find_disabled_names(target.job),
                        ]
                        values = {"host": match["host"]}
                        place = TextPath(path, match.span("host"))
                        yield Violation(place, values, related, doc=group.doc, group=group)
                        break


def _find_disabled_names(job: LoweredJob) -> list[tuple[TracedDocument, Path, str]]:
    """Return the field by which a JobSet disables the Service of its subdomain, as a related location."""
    if job.cr is None or get_mapping(spec_of(job), "network").get("enableDNSHostnames") is not False:
        return []
    return [(job.cr, ("spec", "network", "enableDNSHostnames"), "no Service and no subdomain")]


def _build_host_pattern(names: str) -> re.Pattern[str]:
    """Build the pattern of a host with one of these names and its context."""
    return re.compile(
        rf"(?<![\w./-])(?P<before>{_HOST_PREFIX})?(?P<host>{names}){_DOMAIN}(?P<port>:\d{{2,5}})?(?![\w.-])"
    )


def _iter_candidate_strings(
    job: LoweredJob, group: ReplicaGroup
) -> Iterator[tuple[ReplicaGroup, Path, str, bool]]:
    """Yield the strings of a Pod that may name a missing replica; most jobs have none."""
    prefix = f"{pod_hosts.get_job_name(job)}-"
    for path, value, is_host in iter_strings(group.doc.data, prefix):
        if not pod_hosts.has_service(job, _PORT_SUFFIX.sub("", value)):
            yield group, path, value, is_host


def iter_strings(pod: Mapping[str, Any], substring: str) -> Iterator[tuple[Path, str, bool]]:
    """Yield the strings of all containers that contain a part, and whether they are certainly hosts."""
    spec = get_mapping(pod, "spec")
    for list_key in ("initContainers", "containers"):
        for number, container in get_entries(spec, list_key):
            base = ("spec", list_key, number)
            for index, entry in get_entries(container, "env"):
                value = get_text(entry, "value")
                if substring in value and not _is_overridden(container, index):
                    is_host = _HOST_VARIABLE.fullmatch(get_text(entry, "name")) is not None
                    yield (*base, "env", index, "value"), value, is_host
            for key in ("command", "args"):
                words = list(get_texts(container, key))
                for (index, value), (_, previous_word) in zip(words, [(-1, ""), *words], strict=False):
                    if substring in value:
                        yield (*base, key, index), value, bool(_HOST_OPTION.fullmatch(previous_word))


def _is_overridden(container: Mapping[str, Any], index: int) -> bool:
    """Whether a later variable has the name of this one, and so its place in the environment."""
    entries = dict(get_entries(container, "env"))
    name = get_text(entries[index], "name")
    return any(later > index and get_text(entry, "name") == name for later, entry in entries.items())
