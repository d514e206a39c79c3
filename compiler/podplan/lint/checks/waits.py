"""Waiting for other Pods: loops without an end, init containers that wait for themselves, and launchers
that do not wait at all.

Source: docs/evidence/kubernetes-pods.md#waiting-for-a-name,
docs/evidence/mpirun.md#launcher-that-does-not-wait.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from podplan.core.findings import Path, TextPath, below
from podplan.core.lazy_regex import pattern
from podplan.core.replica_groups import Group, at_index
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import entries, mapping, text, texts
from podplan.launchers import processes
from podplan.launchers.mpirun import Mpirun
from podplan.launchers.processes import ShellString
from podplan.launchers.shell import Block, Node
from podplan.lint.analysis.jobs import counted, mode, roles, spec_of
from podplan.lint.analysis.launches import launches
from podplan.lint.analysis.pod_hosts import is_loopback, pod, short
from podplan.lint.analysis.processes import process_of
from podplan.lint.target import Hit, Job, Subject

_LOOP = pattern(
    r"\b(?:until|while\s+!)\s+(?P<asks>[^;\s][^;\n]{0,499})[;\n]\s*do\b(?P<body>.{0,2000}?)\bdone\b",
    re.DOTALL,
)
_FOREVER = pattern(
    r"\bwhile\s+(?:true|:|\[\s*1\s*\])[^\S\n]*[;\n]\s*do\b(?P<body>.{0,2000}?)\bdone\b", re.DOTALL
)
_ASKS = pattern(r"\b(?:nslookup|getent|ping|nc|ncat|ssh|host|dig|curl|wget)\b|/dev/tcp/")
# What ends a loop that has not got what it waits for.
_ENDS = pattern(r"\b(?:break|exit|return|expr|let|SECONDS|date)\b|\(\(|-(?:lt|gt|le|ge|eq)\b")
_BREAK = pattern(r"\bbreak\b")
# Programs that ask whether something listens on a port; those that ask for a name are answered earlier.
_ASK_PORT = ("nc", "ncat", "netcat", "telnet")
_URL = pattern(r"[a-z]+://(?:[^/@]*@)?([\w.-]+)")
_SERVICE_HOST = pattern(r"\$\(service\.(?P<type>[a-z0-9-]+)\[(?P<index>\d{1,9})\]\.host\)")
_DEV_TCP = pattern(r"/dev/tcp/([\w.-]+)/")
ENOUGH_RETRIES = 3
_PATIENT = pattern(r"\b(?:until|while|for|sleep|wait)\b|ConnectionAttempts|wait-for|wait_for")


def waits_unbounded(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A loop that waits for another Pod and has no end; value ``asks``."""
    job = subject.job
    if mode(job, "debug") or _has_deadline(job):
        return
    for group in job.pods:
        if "activeDeadlineSeconds" in mapping(group.doc.data, "spec"):
            continue
        for path, value in _strings(group):
            for asks, text_range in _endless(value):
                yield Hit(TextPath(path, text_range), {"asks": asks}, doc=group.doc, group=group)


def _endless(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """What the loops in a text ask that have no other end than an answer, each with its range."""
    if "done" not in text:
        return
    for found in _LOOP.finditer(text):
        asks = _ASKS.search(found["asks"])
        if asks and not _ENDS.search(found["body"]) and not _ENDS.search(found["asks"]):
            yield asks[0], _shifted(asks, found.start("asks"))
    for found in _FOREVER.finditer(text):
        asks = _ASKS.search(found["body"])
        once = _BREAK.sub("", found["body"], count=1)
        if asks and once != found["body"] and not _ENDS.search(once):
            yield asks[0], _shifted(asks, found.start("body"))


def _shifted(found: re.Match[str], by: int) -> tuple[int, int]:
    return by + found.start(), by + found.end()


class Wait(NamedTuple):
    """A loop of an init container that goes on until a port of a host answers."""

    host: str
    path: Path
    container: str


def waits_for_itself(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """An init container that waits for a container which starts only after it.

    Values: ``container``, ``host``, ``why``.
    """
    job = subject.job
    if mode(job, "debug") or mode(job, "pause"):
        return
    for group in job.pods:
        for wait in _init_waits(group, group.start):
            why = _never_answers(job, group, wait)
            if why:
                values = {"container": wait.container, "host": wait.host, "why": why}
                yield Hit(wait.path, values, doc=group.doc, group=group)


def _never_answers(job: Job, group: Group, wait: Wait) -> str:
    """Why nothing listens on the host while an init container waits for it; "" where something may."""
    if is_loopback(wait.host):
        return "the containers of its own Pod start only when it has ended"
    target = _replica(job, wait.host)
    if target is None:
        return ""
    waited_for, index = target
    for other in _init_waits(waited_for, index):
        back = _replica(job, other.host) or (waited_for, index)
        if waited_for is group and (back[1] == index or is_loopback(other.host)):
            return (
                f"{short(wait.host)} is one of the Pods that wait, and its containers start only afterwards"
            )
        if waited_for is not group and back[0] is group:
            return f"{short(wait.host)} waits for {short(other.host)} in the same way"
    return ""


def _replica(job: Job, host: str) -> tuple[Group, int] | None:
    """The replica that a host names, also as a variable of a GenericJob that is not replaced here."""
    variable = _SERVICE_HOST.fullmatch(host)
    if variable is None:
        return pod(job, host)
    index = int(variable["index"])
    groups = (group for group in job.pods if group.role == variable["type"])
    return next(((one, index) for one in groups if one.start <= index < one.start + one.replicas), None)


def _init_waits(group: Group, index: int) -> Iterator[Wait]:
    """The hosts that the init containers of one replica wait for without an end, in its Pod."""
    spec = mapping(group.doc.data, "spec")
    if "initContainers" in spec and group.doc.varies:
        spec = at_index(group.doc, index)["spec"]
    for number, container in entries(spec, "initContainers"):
        if container.get("restartPolicy") == "Always":
            return  # a sidecar may be what listens
        process = process_of(container)
        if process.string is None or "timeout" in process.wrappers:
            continue
        for host, path in _waited_for(process.string.nodes, process.string):
            yield Wait(host, below(("spec", "initContainers", number), path), text(container, "name"))


def _waited_for(nodes: Sequence[Node], string: ShellString) -> Iterator[tuple[str, Path]]:
    for node in nodes:
        if node.before in ("&&", "||") or not isinstance(node, Block):
            continue
        if node.kind in ("{", "("):
            yield from _waited_for(node.nodes, string)
        asked = [one for one in node.nodes if one.part == ""]
        is_wait = len(asked) == 1 and (node.kind, asked[0].negated) in (("until", False), ("while", True))
        if is_wait and not _ENDS.search(string.text, node.start, node.end):
            host = _listener(asked[0], string)
            if host:
                yield host, string.place(asked[0])


def _listener(asked: Node, string: ShellString) -> str:
    """The host whose port the condition of a loop asks; "" where it asks for a name, or something else."""
    for command in processes.commands([asked]):
        process = string.process(command)
        words = [word.text for word in process.words[1:]]
        if process.name in _ASK_PORT:
            plain = _without_options(words)
            if len(plain) == 2 and plain[1].isdecimal():
                return plain[0]
        elif process.name in ("curl", "wget"):
            found = next((_URL.match(word) for word in words if "://" in word), None)
            return found[1] if found else ""
    device = _DEV_TCP.search(string.text, asked.start, asked.end)
    return device[1] if device else ""


def _without_options(words: list[str]) -> list[str]:
    """The arguments of nc and the like that are no options."""
    plain, skip = [], False
    for word in words:
        if skip or word.startswith("-"):
            skip = not skip and word in ("-w", "-i", "-p", "-s", "--wait")
        else:
            plain.append(word)
    return plain


def starts_without_wait(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """mpirun on other Pods, which nobody has waited for; values ``by`` and ``hosts``."""
    for launch in launches(subject.job):
        facts = launch.invocation.facts
        if not isinstance(facts, Mpirun) or not (facts.hosts or facts.hostfile is not None):
            continue
        others = [host for host in facts.hosts if not is_loopback(host.partition(":")[0])]
        if (facts.hosts and not others) or sum(group.replicas for group in subject.job.pods) < 2:
            continue
        spec = mapping(launch.group.doc.data, "spec")
        written = " ".join(value for key in ("command", "args") for _, value in texts(launch.container, key))
        patient = _PATIENT.search(written) or any(
            "ConnectionAttempts" in value for value in facts.mca.values()
        )
        by_env = any("ConnectionAttempts" in (value or "") for value in launch.invocation.variables.values())
        if patient or by_env or spec.get("initContainers") or _retries(subject.job, launch.group.role):
            continue
        hosts = counted(len(others), "host") if others else "the hosts of its hostfile"
        values = {"by": launch.invocation.word.name, "hosts": hosts}
        yield Hit(launch.place(launch.invocation.word), values, doc=launch.group.doc, group=launch.group)


def _retries(job: Job, type_: str) -> bool:
    """Whether a launcher that found no workers is started again, until they run."""
    own = next((mapping(role.data, "restartPolicy") for role in roles(job) if role.type == type_), {})
    limit = own.get("limit")
    return own.get("policy", "OnFailure") != "Never" and isinstance(limit, int) and limit >= ENOUGH_RETRIES


def _strings(group: Group) -> Iterator[tuple[Path, str]]:
    """The commands and args of a Pod, without those that run under timeout."""
    spec = mapping(group.doc.data, "spec")
    for listed in ("initContainers", "containers"):
        for at, container in entries(spec, listed):
            words = [
                (key, number, value) for key in ("command", "args") for number, value in texts(container, key)
            ]
            if any(word == "timeout" for _, _, word in words):
                continue
            for key, number, value in words:
                if "timeout" not in value.partition("until")[0]:
                    yield ("spec", listed, at, key, number), value


def _has_deadline(job: Job) -> bool:
    return "activeDeadlineSeconds" in mapping(spec_of(job), "runPolicy")
