"""Ports of probes, compared with the ports in the command line of the container.

Source: https://kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, below
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.launchers.exit_status import HELPERS
from podplan.launchers.kubelet import resolve_environment
from podplan.launchers.processes import Process
from podplan.launchers.words import Word
from podplan.lint.analysis.colossalai_line import find_colossalai_line
from podplan.lint.analysis.deepspeed_line import find_deepspeed_line
from podplan.lint.analysis.jobs import has_trait, is_mode_enabled, spec_of
from podplan.lint.analysis.launches import (
    TRAINING_LAUNCHERS,
    ContainerLaunch,
    find_launches,
    find_variable_path,
)
from podplan.lint.analysis.pod_hosts import is_loopback
from podplan.lint.analysis.processes import find_endless_process, programs_of
from podplan.lint.analysis.resources import find_training_container
from podplan.lint.checks.registration import check
from podplan.lint.checks.sshd_port import DEFAULT_PORT, iter_sshd_ports
from podplan.lint.target import LoweredJob, Target, Violation

_PORT_OPTIONS = ("rdzv_endpoint", "master_port")
_EFFECT = {
    "livenessProbe": "the kubelet repeatedly kills the working container",
    "readinessProbe": "the Pod never becomes ready",
    "startupProbe": "the kubelet repeatedly kills the working container",
}
_DEEPSPEED_CONFIG: Path = ("spec", "config")
# Options and variables for the health port of a program, and for its only port.
_HEALTH = compile_lazily(
    r"(?:\w+[-_.])*(?:health|healthz|healthcheck|health[-_]check|liveness|readiness|live|ready|probe|status)"
    r"[-_.](?:\w+[-_.])*port"
)
_ONLY = compile_lazily(r"(?:(?:http|web|server|api|listen|serve|rest)[-_.]?)?port")
_OTHER_NAMES = compile_lazily(r"(?:health|liveness|readiness|probe)port")
_TRAINING = compile_lazily(r"train|pretrain|finetune|fine_tune|sft|distil|ppo|dpo|grpo|main|run")
_SERVER = compile_lazily(r"serv|api|http|health|metrics|probe|prometheus|uvicorn|gunicorn|flask|port")
_NUMBER = compile_lazily(r"(?<![\w.])\d{2,5}(?!\w|\.\d)")
_SSHD_PORT = compile_lazily(r"-p\d{1,5}|-oPort=\d{1,5}")
_LOCAL = compile_lazily(r"(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0):(\d{2,5})")


class ProbedPort(NamedTuple):
    """A port of a probe, and its path."""

    probe: str
    port: str
    place: Path


class ServedPort(NamedTuple):
    """A port in an option or a variable of the container: its health port, or its only port."""

    name: str
    port: str
    place: Path
    for_health: bool


@check(requires=tuple(_EFFECT))
def probe_of_other_port(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A probe of a port that no program serves.

    Values: ``probe``, ``port``, ``option``, ``served``, ``effect``.
    """
    asked = list(_iter_probed_ports(subject.data))
    if not asked:
        return
    served = list(iter_served_ports(subject.data))
    if not served or len({one.port for one in served if one.for_health}) > 1:
        return
    declared = {str(entry.get("containerPort")) for _, entry in get_entries(subject.data, "ports")}
    named = list_numbers(get_mapping(subject.doc.data, "spec"))
    is_server = find_endless_process(subject.data) is not None and not declared
    for one in asked:
        meant = {served[0].port} if is_server else declared
        found = next((other for other in served if _is_meant(other, served, meant)), None)
        if found is None or one.port in named:
            continue
        effect = _EFFECT[one.probe]
        if one.probe == "readinessProbe" and _waits_for_ready_workers(subject):
            effect += ", and the launcher is not created before all workers are"
        values = {
            "probe": one.probe,
            "port": one.port,
            "option": found.name,
            "served": found.port,
            "effect": effect,
        }
        related = [(subject.doc, below(subject.base_path, found.place), "the port that it serves")]
        yield Violation(one.place, values, related=related)


@check(requires=tuple(_EFFECT))
def probe_without_server(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A liveness probe of a training on a port that nothing in its Pod mentions.

    Values: ``probe``, ``port``.
    """
    if target.group is None or is_mode_enabled(target.job, "debug"):
        return
    launches = [
        each
        for each in find_launches(target.job)
        if each.group is target.group and each.path == target.base_path
    ]
    if not launches or not all(_is_training(each) for each in launches):
        return
    named = list_numbers(get_mapping(target.doc.data, "spec"))
    named |= {*map(str, iter_sshd_ports(target.job)), *_find_port_of_first_worker(target.job)}
    for probe, port, place in _iter_probed_ports(target.data):
        if probe != "readinessProbe" and place[1] != "exec" and port not in named:
            yield Violation(place, {"probe": probe, "port": port})


@check(requires=tuple(_EFFECT))
def probe_of_rendezvous(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A probe in all replicas for a port that only the first one opens. Values: ``probe``, ``port``,
    ``effect``."""
    group = target.group
    if group is None or is_mode_enabled(target.job, "debug"):
        return
    same = [one.replicas for one in target.job.pods if one.replica_type == group.replica_type]
    if sum(same) < 2:
        return
    ports: dict[str, tuple[TracedDocument, Path]] = {}
    for launch in find_launches(target.job):
        facts = launch.torchrun
        if (
            launch.group is not group
            or launch.path != target.base_path
            or facts is None
            or facts.port is None
        ):
            continue
        if facts.standalone or facts.host is None or is_loopback(facts.host):
            continue
        name = next((name for name in _PORT_OPTIONS if name in launch.invocation.options), "")
        word = facts.find_option_word(name, launch.invocation.program_word)
        ports[str(facts.port)] = group.doc, launch.locate_word(word)
    if not ports and has_trait(target.job, "torch-env"):
        ports = {port: (group.doc, path) for port, path in _find_master_port(target).items()}
    if not ports and _is_training_container(target):
        ports = _find_port_of_first_worker(target.job)
    for probe, port, place in _iter_probed_ports(target.data):
        if port in ports and place[1] != "exec":
            values = {"probe": probe, "port": port, "effect": _EFFECT[probe]}
            yield Violation(place, values, [(*ports[port], "the port of the rendezvous")])


def _is_training_container(target: Target) -> bool:
    found = find_training_container(target.group) if target.group is not None else None
    return found is not None and found[0] == target.base_path


def _find_port_of_first_worker(job: LoweredJob) -> dict[str, tuple[TracedDocument, Path]]:
    """Return the port that deepspeed or colossalai gives to rank 0, which is on the first worker."""
    line, colossalai = find_deepspeed_line(job), find_colossalai_line(job)
    if line is not None and job.cr is not None:
        command_line = line.command_line.command_line
        option = command_line.options.get("master_port")
        word = option.word if option is not None else command_line.script
        place = line.locate_word(word) if word is not None else _DEEPSPEED_CONFIG
        port, is_certain = line.command_line.master_port, command_line.is_certain
        return {str(port): (job.cr, place)} if is_certain and port is not None else {}
    if colossalai is not None and not colossalai.torchrun.standalone:
        launch, port = colossalai.launch, colossalai.torchrun.port
        place = launch.locate_word(launch.invocation.program_word)
        return {str(port): (launch.group.doc, place)} if port is not None else {}
    return {}


def _find_master_port(target: Target) -> dict[str, Path]:
    """Return MASTER_PORT of a container whose only program is a torch script: only rank 0 opens it."""
    launches = [
        each
        for each in find_launches(target.job)
        if each.group is target.group and each.path == target.base_path
    ]
    if not launches or any(each.invocation.launcher != "python" for each in launches):
        return {}
    path = find_variable_path(launches[0], "MASTER_PORT")
    port = resolve_environment(target.data).get("MASTER_PORT") or ""
    return {port: path} if path is not None and port.isdecimal() else {}


def _is_training(launch: ContainerLaunch) -> bool:
    """Whether a program is a training whose command line mentions no server."""
    invocation = launch.invocation
    words = [invocation.program_word, *invocation.words]
    is_started = invocation.launcher in (*TRAINING_LAUNCHERS, "python")
    is_training = invocation.script is not None and _TRAINING.search(invocation.script.base_name.lower())
    return bool(is_started and is_training) and not any(_SERVER.search(word.text.lower()) for word in words)


def _is_meant(one: ServedPort, served: list[ServedPort], declared: set[str]) -> bool:
    """Whether probes must use a port: a health port, or the only declared one."""
    if one.for_health:
        return True
    return len({other.port for other in served}) == 1 and declared == {one.port}


def _iter_probed_ports(container: Mapping[str, Any]) -> Iterator[ProbedPort]:
    for probe in _EFFECT:
        handler = get_mapping(container, probe)
        for action in ("httpGet", "tcpSocket"):
            asks = get_mapping(handler, action)
            port = asks.get("port")
            port = port if isinstance(port, int) else get_text(asks, "port")
            if str(port).isdecimal() and not asks.get("host"):
                yield ProbedPort(probe, str(port), (probe, action, "port"))
        for at, word in get_texts(get_mapping(handler, "exec"), "command"):
            if found := _LOCAL.search(word):
                yield ProbedPort(probe, found[1], (probe, "exec", "command", at))


def iter_served_ports(container: Mapping[str, Any]) -> Iterator[ServedPort]:
    """Yield the ports in command line options and variables."""
    programs = [process for _, process in programs_of(container)]
    servers = [process for process in programs if process.name == "sshd" or process.name not in HELPERS]
    for process in programs:
        words = process.words
        if process.name == "sshd" and len(servers) == 1:
            yield from _iter_sshd_ports(process, container)
        for word, after in zip(words, (*words[1:], None), strict=False):
            option, equals, value = word.text.partition("=")
            if not option.startswith("-"):
                continue
            value = value if equals else after.text if after is not None else ""
            name = option.lstrip("-").lower()
            if value.isdecimal() and (kind := _kind(name)):
                yield ServedPort(option, value, word.place, kind == "health")
    for number, entry in get_entries(container, "env"):
        name, value = get_text(entry, "name"), get_text(entry, "value")
        if value.isdecimal() and _kind(name.lower()) == "health":
            yield ServedPort(name, value, ("env", number, "value"), for_health=True)


def _iter_sshd_ports(process: Process, container: Mapping[str, Any]) -> Iterator[ServedPort]:
    """Yield the port of sshd, of its command line or the default, if its configuration has no other."""
    port = _find_sshd_port(process)
    if port is not None:
        yield ServedPort("sshd", port.text.lstrip("-poPrt="), port.place, for_health=True)
        return
    declared = get_entries(container, "ports")
    is_default = len(declared) == 1 and declared[0][1].get("containerPort") == DEFAULT_PORT
    if is_default and not any(word.text.startswith(("-f", "-o", "-p")) for word in process.words):
        place: Path = ("ports", declared[0][0], "containerPort")
        yield ServedPort("sshd", str(DEFAULT_PORT), place, for_health=True)


def _find_sshd_port(process: Process) -> Word | None:
    """Return the word with the only port of sshd; None if its configuration may have another."""
    words = process.words[1:]
    ports = [
        word
        for word, before in zip(words, process.words, strict=False)
        if _SSHD_PORT.fullmatch(word.text) or (before.text == "-p" and word.text.isdecimal())
    ]
    return ports[0] if len(ports) == 1 else None


def _waits_for_ready_workers(target: Target) -> bool:
    """Whether the controller creates the launcher when all workers are ready, and the Pod is a worker."""
    policy = spec_of(target.job).get("launcherCreationPolicy") if target.job.cr is not None else None
    group = target.group
    return policy == "WaitForWorkersReady" and group is not None and group.replica_type.lower() == "worker"


def _kind(name: str) -> str:
    if _HEALTH.fullmatch(name) or _OTHER_NAMES.fullmatch(name):
        return "health"
    return "only" if _ONLY.fullmatch(name) else ""


def list_numbers(spec: Mapping[str, Any]) -> set[str]:
    """Return the numbers that the containers of a Pod, which share ports, mention outside of probes."""
    found: set[str] = set()
    for listed in ("containers", "initContainers"):
        for _, container in get_entries(spec, listed):
            for key in ("command", "args"):
                for _, word in get_texts(container, key):
                    found.update(_NUMBER.findall(word))
            for _, entry in get_entries(container, "env"):
                found.update(_NUMBER.findall(get_text(entry, "value")))
            found.update(str(entry.get("containerPort")) for _, entry in get_entries(container, "ports"))
    return found
