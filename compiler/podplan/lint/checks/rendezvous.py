"""Where the processes of a job meet: the ranks of the nodes, and the host that they meet at.

Sources: docs/evidence/torchrun.md#static-rendezvous, docs/evidence/torchrun.md#rendezvous-endpoint-of-c10d.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, value_at
from podplan.core.lazy_regex import pattern
from podplan.core.provenance import Doc
from podplan.core.replica_groups import Group
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import entries, mapping, text
from podplan.launchers.accelerate import Accelerate
from podplan.launchers.kubelet import environment
from podplan.launchers.torchrun import Torchrun
from podplan.lint.analysis import pod_hosts
from podplan.lint.analysis.deepspeed_line import line_of
from podplan.lint.analysis.jobs import kind_of, mode, replicas_written, spec_of
from podplan.lint.analysis.launches import (
    Launch,
    assignment_place,
    counted,
    last,
    launches,
    same_on,
    variable_path,
)
from podplan.lint.target import Hit, Job, Subject

# The variables by which scripts themselves find rank 0.
_MASTER = "MASTER_ADDR"
_SETS_MASTER = pattern(r"(?<![\w$])MASTER_ADDR=([^;&|\n]{1,200})")
_CHOOSES = pattern(r"\b(?:if|case|while|until)\b|\[|&&|\|\|")
# A Pod that names itself: by a command, by HOSTNAME, or by a variable that may have a field of it.
_OWN = pattern(
    r"[\"']?(?:\$\(\s*(?:hostname|ip\s)[^)]*\)|`\s*(?:hostname|ip\s)[^`]*`"
    r"|\$(?P<brace>[({])?(?P<name>\w+)(?(brace)[)}]))[\"']?(?::\S*)?\s*\Z"
)
_OWN_FIELDS = ("status.podIP", "status.podIPs", "status.hostIP", "metadata.name", "spec.nodeName")


class Meeting(NamedTuple):
    """A host that processes meet at: who is told, in how many Pods, and where it is written.

    ``written`` is false where nobody gave a host, and the launcher has its own. ``by_rank`` says that only
    the node of rank 0 opens the port. ``own`` is how a reference names the Pod that it is resolved in.
    """

    host: str
    by: str
    pods: int
    doc: Doc
    group: Group | None
    path: Path
    written: bool = True
    by_rank: bool = False
    launch: Launch | None = None
    own: str = ""


def same_node_rank(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Nodes of one rank under a static rendezvous. Values: ``what``."""
    job = subject.job
    lines = [] if _launched_by_controller(job) else list(_static(job))
    for host in dict.fromkeys(map(_host, lines)):
        yield from _clashes(job, [launch for launch in lines if _host(launch) == host])


def _clashes(job: Job, lines: list[Launch]) -> Iterator[Hit]:
    """Equal ranks among nodes that meet at one host; none where a rank is not known."""
    spans: list[tuple[Launch, int, int]] = []
    for launch in lines:
        ranks = _ranks(launch)
        if ranks is None:
            return
        spans.append((launch, *ranks))
    for number, (launch, lowest, highest) in enumerate(spans):
        role = launch.group.role
        other = next((each.group.role for each, low, high in spans[:number] if low <= lowest <= high), None)
        if (launch.group.replicas > 1 and lowest == highest) or other == role:
            of_role = sum(each.group.replicas for each in lines if each.group.role == role)
            yield _at_rank(job, launch, f"all {of_role} Pods of {role} have node rank {lowest}")
        elif other is not None:
            yield _at_rank(job, launch, f"a Pod of {other} and one of {role} both have node rank {lowest}")


def static_by_controller(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """``rdzvBackend: static``, which needs a node rank that the controller is not known to give."""
    job = subject.job
    if not _launched_by_controller(job):
        return
    lines = list(_static(job))
    pods = sum(launch.group.replicas for launch in lines)
    if pods > 1 and all(_ranks(launch) == (0, 0) for launch in lines):
        option = lines[0].invocation.options.get("rdzv_backend")
        path = lines[0].place(option.word if option is not None else lines[0].invocation.word)
        doc, group = lines[0].group.doc, lines[0].group
        yield Hit(path, {"pods": pods}, replicas_written(job), doc=doc, group=group)


def rendezvous_not_shared(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A host that is another machine for each Pod, or is not that of rank 0; value ``what``."""
    job = subject.job
    for meeting in _meetings(job):
        what = _wrong(job, meeting)
        if what:
            yield Hit(meeting.path, {"what": what}, doc=meeting.doc, group=meeting.group)


def rendezvous_at_address(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """An IP address as the host; values ``host`` and ``by``."""
    for meeting in _meetings(subject.job):
        if meeting.written and pod_hosts.is_address(meeting.host):
            values = {"host": meeting.host, "by": meeting.by}
            yield Hit(meeting.path, values, doc=meeting.doc, group=meeting.group)


def _wrong(job: Job, meeting: Meeting) -> str:
    host, pods = meeting.host, counted(meeting.pods, "Pod")
    if meeting.own:
        return f"{meeting.by} meets at {host}, {meeting.own}, which is another one in each of the {pods}"
    other_job = pod_hosts.of_other_job(job, host)
    if other_job:
        return f"{meeting.by} meets at {host}, a replica of {other_job} and not of {pod_hosts.job_name(job)}"
    if pod_hosts.is_loopback(host):
        if meeting.launch is not None and _is_standalone(meeting.launch):
            return f"with --standalone each of the {pods} waits for the others at its own localhost"
        if meeting.written:
            return f"{meeting.by} meets at {host}, which is another machine in each of the {pods}"
        line = meeting.launch.torchrun if meeting.launch is not None else None
        no = "--rdzv_endpoint" if line is not None and line.backend == "c10d" else "host"
        return f"{meeting.by} is told no {no}, so each of the {pods} waits for the others at {host}"
    found = pod_hosts.pod(job, host)
    if found is None or not meeting.by_rank:
        return ""
    # deepspeed counts the nodes as its hostfile lists them: by index.
    rank = _rank_of(job, *found) if meeting.launch is not None else found[1]
    if rank is None or rank == 0:
        return ""
    return f"{meeting.by} meets at {host}, which has node rank {rank}; only rank 0 opens the port"


def _meetings(job: Job) -> Iterator[Meeting]:
    """The hosts that more than one Pod of a job is told."""
    if mode(job, "debug"):
        return
    if kind_of(job) == "DeepSpeedJob":
        yield from _of_deepspeed(job)
        return
    # The controller gives the host itself, which --standalone replaces.
    found = [
        (launch, _several(launch))
        for launch in launches(job)
        if not launch.invocation.under and (not _launched_by_controller(job) or _is_standalone(launch))
    ]
    pods = sum(launch.group.replicas for launch, several in found if several)
    if pods > 1:
        for launch, several in found:
            if not several or launch.invocation.conditional:
                continue
            meeting = _at_own_address(launch, pods) or _of_line(launch, pods)
            if meeting is not None and meeting.host and (meeting.own or "$" not in meeting.host):
                yield meeting
    yield from _of_variables(job)
    yield from _of_scripts(job)


def _several(launch: Launch) -> bool:
    """Whether a line is for several nodes."""
    facts = launch.invocation.facts
    if isinstance(facts, Torchrun):
        return facts.line.sure and facts.nodes is not None and facts.nodes[1] > 1
    return isinstance(facts, Accelerate) and facts.line.sure and (facts.machines or 1) > 1


def _is_standalone(launch: Launch) -> bool:
    """Whether a line of torchrun has --standalone, which puts the rendezvous at localhost."""
    return launch.torchrun is not None and launch.torchrun.standalone


def _of_line(launch: Launch, pods: int) -> Meeting | None:
    facts, group = launch.invocation.facts, launch.group
    by = launch.invocation.launcher
    if isinstance(facts, Torchrun) and facts.standalone:
        path = launch.place(facts.where("standalone", launch.invocation.word))
        return Meeting("localhost", by, pods, group.doc, group, path, launch=launch)
    if isinstance(facts, Torchrun):
        by_rank = facts.backend == "static"
        # Only a static rendezvous looks at --master_addr.
        name = "master_addr" if by_rank and "rdzv_endpoint" not in facts.given else "rdzv_endpoint"
        path = launch.place(facts.where(name, launch.invocation.word))
        host = facts.host
        if facts.backend == "c10d" and name not in facts.given and "envFrom" not in launch.container:
            host = "localhost"  # what c10d makes of no endpoint
        if host is None or (facts.backend or "") not in ("static", "c10d"):
            return None
        if name not in facts.line.options and name in facts.given:
            path = variable_path(launch, f"PET_{name.upper()}") or path
        return Meeting(host, by, pods, group.doc, group, path, name in facts.given, by_rank, launch)
    if isinstance(facts, Accelerate) and facts.main_ip:
        path = launch.place(facts.line.options["main_process_ip"].word)
        return Meeting(facts.main_ip, by, pods, group.doc, group, path, True, True, launch)
    return None


def _at_own_address(launch: Launch, pods: int) -> Meeting | None:
    """A line that names the Pod which runs it, by a reference or by a command of the shell."""
    for name in ("rdzv_endpoint", "master_addr", "main_process_ip"):
        option = launch.invocation.options.get(name)
        if option is None or option.known:
            continue
        given = option.word.text
        written = given.partition("=")[2] if given.startswith("-") else given
        own = _own_address(written, launch.container)
        if own:
            by, group = launch.invocation.launcher, launch.group
            place = launch.place(option.word)
            return Meeting(written, by, pods, group.doc, group, place, launch=launch, own=own)
    return None


def _own_address(written: str, container: Mapping[str, Any]) -> str:
    """What a text stands for that is the Pod's own name or address; "" for anything else."""
    found = _OWN.match(written)
    if found is None:
        return ""
    if found["name"] is None or found["name"] == "HOSTNAME":
        return "the name or address of the Pod itself"
    for _, entry in entries(container, "env"):
        if text(entry, "name") == found["name"]:
            field = text(mapping(mapping(entry, "valueFrom"), "fieldRef"), "fieldPath")
            return f"{field} of the Pod itself" if field in _OWN_FIELDS else ""
    return ""


def _of_deepspeed(job: Job) -> Iterator[Meeting]:
    line, hosts = line_of(job), pod_hosts.hostfile(job)
    pods = sum(each.replicas for each in hosts)
    if line is None or pods < 2 or job.cr is None or not line.read.master_addr:
        return
    path = line.place(line.read.line.options["master_addr"].word)
    in_order = line.read.include is None and line.read.exclude is None
    yield Meeting(line.read.master_addr, "deepspeed", pods, job.cr, None, path, by_rank=in_order)


def _of_variables(job: Job) -> Iterator[Meeting]:
    """MASTER_ADDR of a GenericJob whose scripts read it themselves."""
    if kind_of(job) != "GenericJob":
        return
    pods = sum(each.replicas for each in job.pods if _sets(each, _MASTER))
    for launch in launches(job) if pods > 1 else ():
        if launch.is_launcher or launch.invocation.launcher != "python" or launch.invocation.under:
            continue
        variables = environment(launch.container)
        host, rank = variables.get(_MASTER), variable_path(launch, "RANK")
        if not host or "$" in host or rank not in launch.group.doc.varies:
            continue
        path = variable_path(launch, _MASTER)
        if path is not None:
            yield Meeting(host, "the script", pods, launch.group.doc, launch.group, path)


def _of_scripts(job: Job) -> Iterator[Meeting]:
    """MASTER_ADDR that a shell sets for a script of several processes, over what the container has."""
    for launch in launches(job):
        found = launch.invocation
        size = found.variables.get("WORLD_SIZE") or ""
        if launch.is_launcher or found.under or found.conditional or not (size.isdecimal() and len(size) < 8):
            continue
        host, own = _set_by_shell(launch)
        if host and int(size) > 1:
            group, place = launch.group, assignment_place(launch, _MASTER)
            yield Meeting(host, "the script (MASTER_ADDR)", int(size), group.doc, group, place, own=own)


def _set_by_shell(launch: Launch) -> tuple[str, str]:
    """The MASTER_ADDR that a program has from its shell, and how it names the Pod itself; "" for none."""
    variables = launch.invocation.variables
    if _MASTER not in variables or variables[_MASTER] == environment(launch.container).get(_MASTER, ""):
        return "", ""
    known = variables[_MASTER]
    if known is not None:
        return known, ""
    string = value_at(launch.container, launch.invocation.word.path)
    found = list(_SETS_MASTER.finditer(string)) if isinstance(string, str) else []
    if len(found) != 1 or _CHOOSES.search(string, 0, found[0].start()):
        return "", ""
    own = _own_address(found[0][1], launch.container)
    return (found[0][1], own) if own else ("", "")


def _sets(group: Group, name: str) -> bool:
    containers = entries(mapping(group.doc.data, "spec"), "containers")
    return any(text(entry, "name") == name for _, each in containers for _, entry in entries(each, "env"))


def _static(job: Job) -> Iterator[Launch]:
    """The lines for several nodes whose ranks are told to them."""
    for launch in launches(job):
        facts, found = launch.invocation.facts, launch.invocation
        if found.conditional or found.under or not _several(launch):
            continue
        static = isinstance(facts, Torchrun) and facts.backend == "static"
        if static or (isinstance(facts, Accelerate) and _is_static(facts)):
            yield launch


def _is_static(facts: Accelerate) -> bool:
    """Whether accelerate takes the rank that it is told; the config file may say otherwise."""
    return "machine_rank" in facts.line.options and facts.line.value("rdzv_backend", "static") == "static"


def _launched_by_controller(job: Job) -> bool:
    return mapping(spec_of(job), "torchrunConfig").get("enabled") is True and not mode(job, "debug")


def _host(launch: Launch) -> str | None:
    """The host that a line meets at."""
    facts = launch.invocation.facts
    if isinstance(facts, Torchrun):
        return facts.host
    return facts.main_ip if isinstance(facts, Accelerate) else None


def _ranks(launch: Launch) -> tuple[int, int] | None:
    """The node ranks of the first and the last replica of a group; None where one is not known."""
    highest = same_on(launch, last(launch.group)) if launch.group.replicas > 1 else launch
    ranks = _rank(launch), _rank(highest) if highest is not None else None
    return None if ranks[0] is None or ranks[1] is None else (ranks[0], ranks[1])


def _rank(launch: Launch) -> int | None:
    facts = launch.invocation.facts
    if isinstance(facts, Torchrun):
        return facts.node_rank
    return facts.machine_rank if isinstance(facts, Accelerate) else None


def _rank_of(job: Job, group: Group, index: int) -> int | None:
    """The node rank of one Pod; None where it runs no such line."""
    for launch in _static(job):
        if launch.group is group:
            other = same_on(launch, index)
            return _rank(other) if other is not None else None
    return None


def _at_rank(job: Job, launch: Launch, what: str) -> Hit:
    """A hit at the option of the rank, or at the launcher that is not told one."""
    found = launch.invocation
    name = "machine_rank" if found.launcher == "accelerate" else "node_rank"
    option = found.options.get(name)
    path = launch.place(option.word if option is not None else found.word)
    if option is None:
        path = variable_path(launch, "PET_NODE_RANK") or path
        if "node_rank" not in (launch.torchrun.given if launch.torchrun else {}):
            what += ", as nothing gives them another"
    values = {"what": what, "option": f"--{name}"}
    return Hit(path, values, replicas_written(job), doc=launch.group.doc, group=launch.group)
