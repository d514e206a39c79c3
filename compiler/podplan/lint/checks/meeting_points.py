"""Rendezvous addresses and ids that scripts and launchers of each Pod get, compared between Pods.

Sources: https://docs.pytorch.org/docs/stable/distributed.html#tcp-initialization (all need one address),
https://docs.pytorch.org/docs/stable/elastic/run.html (the rdzv_id is the same on all nodes).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.analysis.jobs import has_isolated_replicas, is_mode_enabled
from podplan.lint.analysis.launches import (
    ContainerLaunch,
    find_launches,
    find_only_assignment,
    find_variable_path,
)
from podplan.lint.analysis.pod_hosts import is_loopback
from podplan.lint.analysis.script_options import ScriptOption, list_program_options
from podplan.lint.checks.outputs import mount_of, volume_of
from podplan.lint.checks.registration import check
from podplan.lint.checks.script_counts import PADDLE_LAUNCHERS
from podplan.lint.target import LoweredJob, Target, Violation

_METHODS = frozenset(("dist_url", "init_method", "dist_init_method", "init_url", "distributed_init_method"))
_ADDRESSES = frozenset(
    (
        "master_addr",
        "master_address",
        "master_ip",
        "main_process_ip",
        "coordinator_address",
        "coordinator_addr",
        "coordinator",
    )
)
_TCP = compile_lazily(r"tcp://(\[[^\]]+\]|[^:/]+)(?::\d+)?/?")
_HOST = compile_lazily(r"(\[[^\]]+\]|[^:/]+)(?::\d+)?")
_FILE = compile_lazily(r"file://(/[^?]*)(?:\?.*)?")
# Expansions that differ between Pods. All Pods of a job start on the same day.
_DIFFERS = compile_lazily(
    r"\$\{?(?:RANDOM|HOSTNAME|POD_NAME|POD_UID|POD_IP|SRANDOM|BASHPID)\b|\$\((?:POD_NAME|POD_UID|POD_IP|HOSTNAME)\)"
    r"|(?:\$\(|`)\s*(?:hostname|uuidgen|openssl rand|cat /proc/sys/kernel/random|cat /etc/hostname)\b"
    r"|(?:\$\(|`)\s*date\b(?!\s+(?:-u\s+)?[\"']?\+[\"']?(?:%[YymdFjUVG]|[-_./])+[\"']?\s*[)`])"
)
_VARIABLE = compile_lazily(r"\$\{?([A-Za-z_]\w*)\}?|\$\(([A-Za-z_]\w*)\)")
_DIFFERENT_FIELDS = ("metadata.name", "metadata.uid", "status.podIP", "status.podIPs")


@check(aliases=("meeting-point-not-shared",))
def rendezvous_point_not_shared(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A rendezvous address or file that differs in each Pod. Values: ``option``, ``value``, ``why``."""
    for launch in _find_common_launches(target.job):
        for option, doc, path in list_program_options(target.job, launch):
            value = option.value or ""
            why = ""
            if option.last in _METHODS:
                why = _explain_method(launch, value)
            elif _is_address_option(launch, option):
                host = _HOST.fullmatch(value)
                why = "is the Pod itself" if host is not None and is_loopback(host[1]) else ""
            if why:
                values = {"option": option.name, "value": value, "why": why}
                yield Violation(path, values, doc=doc, group=launch.group)


def _find_common_launches(job: LoweredJob) -> list[ContainerLaunch]:
    """Return the programs that run in each of several Pods that communicate."""
    is_alone = sum(group.replicas for group in job.pods) < 2 or has_isolated_replicas(job)
    if is_alone or is_mode_enabled(job, "debug"):
        return []
    launches = [each for each in find_launches(job) if not each.invocation.is_conditional]
    return [each for each in launches if each.invocation.launcher in ("python", "torchrun")]


def _is_address_option(launch: ContainerLaunch, option: ScriptOption) -> bool:
    """Whether an option of a script, or --master of the launcher of Paddle, is the address of rank 0."""
    script = launch.invocation.script
    is_paddle = script is not None and script.text in PADDLE_LAUNCHERS
    is_address = option.last in _ADDRESSES or (is_paddle and option.last == "master")
    return is_address and option.word in launch.invocation.arguments


def _explain_method(launch: ContainerLaunch, value: str) -> str:
    """Explain why an init method does not connect several Pods; "" if it may."""
    address, file = _TCP.fullmatch(value), _FILE.fullmatch(value)
    if address is not None and is_loopback(address[1]):
        return "is the Pod itself"
    if file is None or "$" in value:
        return ""
    mount = mount_of(launch.container, file[1])
    if mount is None:
        return "is a separate file in each container"
    volume = volume_of(launch.group, str(mount[1].get("name")))
    return "is a separate file in the emptyDir of each Pod" if "emptyDir" in volume else ""


@check()
def rendezvous_id_differs(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A rdzv_id that each Pod generates. Value: ``value``."""
    for launch in _find_common_launches(target.job):
        parsed = launch.torchrun
        if parsed is None or parsed.node_range is None or parsed.node_range[1] < 2:
            continue
        option = parsed.command_line.options.get("rdzv_id")
        if option is not None:
            path: Path | None = launch.locate_word(option.word)
            value = find_difference(option.word.text, launch) if not option.is_known else ""
        else:
            path = find_variable_path(launch, "PET_RDZV_ID")
            value = find_difference("$(PET_RDZV_ID)", launch) if path is not None else ""
        if path is not None and value:
            yield Violation(path, {"value": value}, doc=launch.group.doc, group=launch.group)


def find_difference(text: str, launch: ContainerLaunch) -> str:
    """Return the part of a text that differs between Pods, also through variables; "" if none does."""
    found = _DIFFERS.search(text)
    if found is not None:
        return found[0]
    for match in _VARIABLE.finditer(text):
        name = match[1] or match[2]
        written = find_only_assignment(launch, name) if match[1] else ""
        found = _DIFFERS.search(written)
        if found is not None:
            return f"{name}={written.strip()}"
        for _, entry in get_entries(launch.container, "env"):
            field = get_text(get_mapping(get_mapping(entry, "valueFrom"), "fieldRef"), "fieldPath")
            if not written and get_text(entry, "name") == name and field in _DIFFERENT_FIELDS:
                return f"{name} ({field})"
    return ""
