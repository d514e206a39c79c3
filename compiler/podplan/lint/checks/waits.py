"""Waiting for other Pods: loops without an end, init containers that wait for themselves, and launchers
that do not wait at all.

Source: docs/evidence/kubernetes-pods.md#waiting-for-a-name,
docs/evidence/mpirun.md#launcher-that-does-not-wait.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from podplan.core.findings import Path, TextPath, below
from podplan.core.lazy_regex import compile_lazily
from podplan.core.replica_groups import ReplicaGroup, build_folded_at_index
from podplan.core.typing import Any, NamedTuple
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.launchers import processes
from podplan.launchers.commands import MpirunCommand
from podplan.launchers.processes import ShellString
from podplan.launchers.shell_nodes import Block, Node
from podplan.lint.analysis.deadlines import list_deadlines
from podplan.lint.analysis.features import SHELL
from podplan.lint.analysis.jobs import (
    count_gpus,
    count_pods,
    find_clean_up,
    find_pod_group,
    get_replica_specs,
    has_trait,
    is_mode_enabled,
    leaves_replicas,
    spec_of,
)
from podplan.lint.analysis.launches import find_launches
from podplan.lint.analysis.pod_hosts import find_pod, get_job_name, is_loopback, strip_cluster_domain
from podplan.lint.analysis.pod_jobs import count_retries, is_created_after_others
from podplan.lint.analysis.processes import process_of
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

_WAIT_LOOP = compile_lazily(
    r"\b(?:until|while\s+!)\s+(?P<asks>[^;\s][^;\n]{0,499})[;\n]\s*do\b(?P<body>.{0,2000}?)\bdone\b",
    re.DOTALL,
)
_ENDLESS_LOOP = compile_lazily(
    r"\bwhile\s+(?:true|:|\[\s*1\s*\])[^\S\n]*[;\n]\s*do\b(?P<body>.{0,2000}?)\bdone\b", re.DOTALL
)
_QUERY_COMMAND = compile_lazily(r"\b(?:nslookup|getent|ping|nc|ncat|ssh|host|dig|curl|wget)\b|/dev/tcp/")
_LOOPBACK = compile_lazily(r"(?:^|[\s/@\[])(?:localhost|127\.0\.0\.1|::1)(?=[\s/:\]'\";]|$)")
# Words that end a waiting loop.
_LOOP_EXIT = compile_lazily(r"\b(?:break|exit|return|expr|let|SECONDS|date)\b|\(\(|-(?:lt|gt|le|ge|eq)\b")
_FAILURE = compile_lazily(r"\bexit\s+[1-9]")
_OTHER_EXIT = compile_lazily(r"\b(?:break|return)\b|\bexit\b(?!\s+[1-9])")
_BREAK_STATEMENT = compile_lazily(r"\bbreak\b")
# Programs that test whether a port is open; tests of a name succeed earlier.
_ASK_PORT = ("nc", "ncat", "netcat", "telnet")
_URL = compile_lazily(r"[a-z]+://(?:[^/@]*@)?([\w.-]+)")
_SERVICE_HOST = compile_lazily(r"\$\(service\.(?P<type>[a-z0-9-]+)\[(?P<index>\d{1,9})\]\.host\)")
_SERVICE_PORT = compile_lazily(r"\$\(service\.port\[[a-z0-9-]+\]\)")
_DEV_TCP = compile_lazily(r"/dev/tcp/([\w.-]+)/")
_HOST_NAME = compile_lazily(r"(?<![\w.-])[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?(?![\w-])")
ENOUGH_RETRIES = 3
_WAITING_COMMAND = compile_lazily(r"\b(?:until|while|for|sleep|wait)\b|ConnectionAttempts|wait-for|wait_for")


@check(aliases=("waits-unbounded",), requires=(SHELL,))
def unbounded_wait(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A loop that waits for another Pod and has no end; values ``asks`` and ``cause``.

    Init containers of Pods without GPUs may wait, as the Kubernetes documentation shows.
    """
    job = target.job
    if is_mode_enabled(job, "debug"):
        return
    for group in job.pods:
        if "activeDeadlineSeconds" in get_mapping(group.doc.data, "spec") or list_deadlines(job, group):
            continue
        has_gpus = count_gpus(group) > 0
        for path, value in _iter_strings(group):
            if path[1] == "initContainers" and not has_gpus:
                continue
            for asks, text_range, asked in _iter_endless_waits(value):
                if _comes_surely(job, group, value) or (not has_gpus and _ends_together(job, group, value)):
                    continue
                if has_trait(job, "host-by-index") and not has_gpus and get_job_name(job) not in asked:
                    continue  # a Job without training waits for a server outside of the job
                cause = (
                    "nothing in its Pod answers" if _LOOPBACK.search(asked) else "the other Pod never starts"
                )
                values = {"asks": asks, "cause": cause}
                yield Violation(TextPath(path, text_range), values, doc=group.doc, group=group)


def _comes_surely(job: LoweredJob, group: ReplicaGroup, text: str) -> bool:
    """Whether the replicas that a script names start together with the waiting ones, or the job ends.

    A gang is scheduled as one, the Pods pull the same images, and a failure of theirs ends the job.
    """
    gang, clean_up = find_pod_group(job), find_clean_up(job)
    if gang is None or clean_up is None or leaves_replicas(job, clean_up):
        return False
    if get_mapping(gang.doc.data, "spec").get("minMember") != count_pods(job):
        return False
    own_images = _list_images(group)
    return _ends_together(job, group, text) and all(
        _list_images(other) <= own_images for other, _ in _find_named_replicas(job, text)
    )


def _ends_together(job: LoweredJob, group: ReplicaGroup, text: str) -> bool:
    """Whether a script names other replicas whose failure fails the job.

    A Pod without GPUs may wait until the other is scheduled, which a time limit would prevent.
    """
    rules = [rule for _, rule in get_entries(spec_of(job), "failureRules")]
    found = _find_named_replicas(job, text)
    return bool(found) and all(
        other is not group and {other.replica_type: [index]} in rules for other, index in found
    )


def _find_named_replicas(job: LoweredJob, text: str) -> list[tuple[ReplicaGroup, int]]:
    """Return the replicas of the job that a script names as hosts, each with its index."""
    names = [*_HOST_NAME.findall(text), *(match[0] for match in _SERVICE_HOST.finditer(text))]
    return [pod for pod in (_replica(job, name) for name in dict.fromkeys(names)) if pod is not None]


def _list_images(group: ReplicaGroup) -> set[str]:
    spec = get_mapping(group.doc.data, "spec")
    keys = ("initContainers", "containers")
    return {get_text(one, "image") for key in keys for _, one in get_entries(spec, key)}


def _iter_endless_waits(text: str) -> Iterator[tuple[str, tuple[int, int], str]]:
    """Yield the tests of endless waiting loops in a text: program, its range, text."""
    if "done" not in text:
        return
    for match in _WAIT_LOOP.finditer(text):
        asks = _QUERY_COMMAND.search(match["asks"])
        if asks and not _LOOP_EXIT.search(match["body"]) and not _LOOP_EXIT.search(match["asks"]):
            yield asks[0], _shift_range(asks, match.start("asks")), match["asks"]
    for match in _ENDLESS_LOOP.finditer(text):
        asks = _QUERY_COMMAND.search(match["body"])
        once = _BREAK_STATEMENT.sub("", match["body"], count=1)
        if asks and once != match["body"] and not _LOOP_EXIT.search(once):
            yield asks[0], _shift_range(asks, match.start("body")), match["body"]


def _shift_range(found: re.Match[str], by: int) -> tuple[int, int]:
    return by + found.start(), by + found.end()


class Wait(NamedTuple):
    """A loop of an init container that goes on until a port of a host answers."""

    host: str
    path: Path
    container: str
    is_limited: bool = False  # the container fails after some time


@check(aliases=("waits-for-itself",), requires=("initContainers",))
def init_container_waits_for_own_pod(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """An init container that waits for a container which starts only after it.

    Values: ``container``, ``host``, ``limit``, ``why``.
    """
    job = subject.job
    if is_mode_enabled(job, "debug") or is_mode_enabled(job, "pause"):
        return
    for group in job.pods:
        for wait in _init_waits(group, group.start):
            why = _never_answers(job, group, wait)
            if why:
                limit = "" if wait.is_limited else " without a timeout"
                values = {"container": wait.container, "host": wait.host, "limit": limit, "why": why}
                yield Violation(wait.path, values, doc=group.doc, group=group)


def _never_answers(job: LoweredJob, group: ReplicaGroup, wait: Wait) -> str:
    """Explain why nothing listens on the host while an init container waits for it; "" if something may."""
    if is_loopback(wait.host):
        return "the containers of its own Pod start only after it has ended"
    target = _replica(job, wait.host)
    if target is None:
        return ""
    waited_for, index = target
    for other in _init_waits(waited_for, index):
        back = _replica(job, other.host) or (waited_for, index)
        if waited_for is group and (back[1] == index or is_loopback(other.host)):
            return (
                f"{strip_cluster_domain(wait.host)} is one of the Pods that wait, and its containers start"
                " only afterwards"
            )
        if waited_for is not group and back[0] is group:
            return (
                f"{strip_cluster_domain(wait.host)} waits for {strip_cluster_domain(other.host)} in the"
                " same way"
            )
    return ""


def _replica(job: LoweredJob, host: str) -> tuple[ReplicaGroup, int] | None:
    """Return the replica that a host names, also as an unreplaced variable of a GenericJob."""
    variable = _SERVICE_HOST.fullmatch(host)
    if variable is None:
        return find_pod(job, host)
    index = int(variable["index"])
    groups = (group for group in job.pods if group.replica_type == variable["type"])
    return next(((one, index) for one in groups if one.start <= index < one.start + one.replicas), None)


def find_name_wait(job: LoweredJob, group: ReplicaGroup) -> tuple[Wait, ReplicaGroup] | None:
    """Return an init container that waits for the name of a Pod whose init containers wait for it, too.

    The Pod has the name when they have ended, unless its Service publishes it before. With the Pod.
    """
    for wait in _init_waits(group, group.start, _find_looked_up_name):
        target = find_pod(job, wait.host)
        for other in _init_waits(*target, _find_looked_up_name) if target is not None else ():
            back = find_pod(job, other.host)
            if target is not None and back is not None and (back == target or back[0] is group):
                return wait, target[0]
    return None


def _init_waits(
    group: ReplicaGroup, index: int, find_host: Callable[[Node, ShellString], str] | None = None
) -> Iterator[Wait]:
    """Yield the hosts for which the init containers of one replica wait, endlessly or until they fail.

    ``find_host`` reads the condition of a loop; by default it is a test of a port.
    """
    spec = get_mapping(group.doc.data, "spec")
    if "initContainers" in spec and group.doc.replica_texts:
        spec = build_folded_at_index(group.doc, index)["spec"]
    for number, container in get_entries(spec, "initContainers"):
        if container.get("restartPolicy") == "Always":
            return  # a sidecar may be what listens
        process = process_of(container)
        if process.string is None:
            continue
        for host, path, is_limited in _waited_for(
            process.string.nodes, process.string, find_host or _listener
        ):
            place = below(("spec", "initContainers", number), path)
            fails = is_limited or "timeout" in process.wrappers
            yield Wait(host, place, get_text(container, "name"), fails)


def _waited_for(
    nodes: Sequence[Node], string: ShellString, find_host: Callable[[Node, ShellString], str]
) -> Iterator[tuple[str, Path, bool]]:
    """Yield hosts that loops wait for, each with its place, and whether the shell fails after some time."""
    for node in nodes:
        if node.operator_before in ("&&", "||") or not isinstance(node, Block):
            continue
        if node.kind in ("{", "("):
            yield from _waited_for(node.nodes, string, find_host)
        asked = [one for one in node.nodes if one.part == ""]
        is_wait = len(asked) == 1 and (node.kind, asked[0].is_negated) in (("until", False), ("while", True))
        is_limited = _LOOP_EXIT.search(string.text, node.start, node.end) is not None
        if is_wait and (not is_limited or _fails_after_time(string.text[node.start : node.end])):
            host = find_host(asked[0], string)
            if host:
                yield host, string.place(asked[0]), is_limited


def _fails_after_time(loop: str) -> bool:
    """Whether a loop is only left by the failure of the shell."""
    return _FAILURE.search(loop) is not None and not _OTHER_EXIT.search(loop)


def _listener(asked: Node, string: ShellString) -> str:
    """Return the host whose port the condition of a loop tests; "" if it tests a name or something else."""
    for command in processes.iter_commands([asked]):
        process = string.process(command)
        words = [word.text for word in process.words[1:]]
        if process.name in _ASK_PORT:
            plain = _list_plain_arguments(words)
            if len(plain) == 2 and (plain[1].isdecimal() or _SERVICE_PORT.fullmatch(plain[1])):
                return plain[0]
        elif process.name in ("curl", "wget"):
            found = next((_URL.match(word) for word in words if "://" in word), None)
            return found[1] if found else ""
    device = _DEV_TCP.search(string.text, asked.start, asked.end)
    return device[1] if device else ""


def _find_looked_up_name(asked: Node, string: ShellString) -> str:
    """Return the name that the condition of a loop asks the DNS server for; "" for other conditions.

    Other programs also read /etc/hosts, in which a Pod has its own name.
    """
    for command in processes.iter_commands([asked]):
        process = string.process(command)
        plain = [word.text for word in process.words[1:] if not word.text.startswith(("-", "+"))]
        if process.name in ("nslookup", "host"):
            return plain[0] if plain and all(word.is_known for word in process.words) else ""
    return ""


def _list_plain_arguments(words: list[str]) -> list[str]:
    """Return the arguments of nc and similar programs that are no options."""
    plain, skip = [], False
    for word in words:
        if skip or word.startswith("-"):
            skip = not skip and word in ("-w", "-i", "-p", "-s", "--wait")
        else:
            plain.append(word)
    return plain


@check(requires=("mpirun", "horovodrun"))
def starts_without_wait(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """mpirun on other Pods without waiting for them; values ``by`` and ``hosts``."""
    for launch in find_launches(target.job):
        facts = launch.invocation.parsed
        if not isinstance(facts, MpirunCommand) or not (facts.hosts or facts.hostfile is not None):
            continue
        other_hosts = [host for host in facts.hosts if not is_loopback(host.partition(":")[0])]
        if (facts.hosts and not other_hosts) or sum(group.replicas for group in target.job.pods) < 2:
            continue
        spec = get_mapping(launch.group.doc.data, "spec")
        waits = waits_for_others(launch.container) or any(
            "ConnectionAttempts" in value for value in facts.mca_parameters.values()
        )
        waits_by_variable = any(
            "ConnectionAttempts" in (value or "") for value in launch.invocation.variables.values()
        )
        if (
            waits
            or waits_by_variable
            or spec.get("initContainers")
            or _retries(target.job, launch.group)
            or is_created_after_others(target.job, launch.group)
        ):
            continue
        hosts = format_count(len(other_hosts), "host") if other_hosts else "the hosts of its hostfile"
        values = {"by": launch.invocation.program_word.base_name, "hosts": hosts}
        yield Violation(
            launch.locate_word(launch.invocation.program_word),
            values,
            doc=launch.group.doc,
            group=launch.group,
        )


def waits_for_others(container: Mapping[str, Any]) -> bool:
    """Whether a container has a command that waits for other Pods."""
    words = (value for key in ("command", "args") for _, value in get_texts(container, key))
    return _WAITING_COMMAND.search(" ".join(words)) is not None


def _retries(job: LoweredJob, group: ReplicaGroup) -> bool:
    """Whether a launcher that finds no workers is restarted until they run."""
    type_, retries = group.replica_type, count_retries(job, group)
    if retries is not None:
        return retries.number >= ENOUGH_RETRIES
    own = next(
        (get_mapping(role.data, "restartPolicy") for role in get_replica_specs(job) if role.type == type_), {}
    )
    limit = own.get("limit")
    return own.get("policy", "OnFailure") != "Never" and isinstance(limit, int) and limit >= ENOUGH_RETRIES


def _iter_strings(group: ReplicaGroup) -> Iterator[tuple[Path, str]]:
    """Yield the commands and args of a Pod, except those that run under timeout."""
    spec = get_mapping(group.doc.data, "spec")
    for list_key in ("initContainers", "containers"):
        for index, container in get_entries(spec, list_key):
            words = [
                (key, number, value)
                for key in ("command", "args")
                for number, value in get_texts(container, key)
            ]
            if any(word == "timeout" for _, _, word in words):
                continue
            for key, number, value in words:
                if "timeout" not in value.partition("until")[0]:
                    yield ("spec", list_key, index, key, number), value
