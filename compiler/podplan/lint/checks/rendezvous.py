"""The rendezvous of a job: the ranks of the nodes, and the host.

Sources: docs/evidence/torchrun.md#static-rendezvous, docs/evidence/torchrun.md#rendezvous-endpoint-of-c10d.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.launchers.commands import AccelerateCommand, TorchrunCommand
from podplan.lint.analysis import pod_hosts
from podplan.lint.analysis.deepspeed_line import find_deepspeed_line
from podplan.lint.analysis.jobs import (
    format_type_of,
    has_trait,
    is_mode_enabled,
    list_replica_places,
    spec_of,
)
from podplan.lint.analysis.launches import (
    ContainerLaunch,
    find_assignment_place,
    find_launch_on_replica,
    find_launches,
    find_only_assignment,
    find_variable_path,
    get_last_index,
)
from podplan.lint.analysis.pod_jobs import find_pod_jobs, list_job_counts
from podplan.lint.analysis.script_options import list_program_options
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

# The variables with which scripts find rank 0 themselves.
_MASTER_VARIABLE = "MASTER_ADDR"
# A Pod's own name: a command, HOSTNAME, or a variable that may have a field of the Pod.
_OWN = compile_lazily(
    r"[\"']?(?:\$\(\s*(?:hostname|ip\s)[^)]*\)|`\s*(?:hostname|ip\s)[^`]*`"
    r"|\$(?P<brace>[({])?(?P<name>\w+)(?(brace)[)}]))[\"']?(?::\S*)?\s*\Z"
)
# How scripts get the hosts of a job: torch, jax.distributed.initialize, and TensorFlow clusters.
_MEETING_OPTION = compile_lazily(
    r"master_(?:addr|address|ip|host)|coordinator(?:_addr|_address)?|(?:dist_|distributed_)?init_method|dist_url"
    r"|(?:worker|ps|chief|master|evaluator)_hosts?"
)
_COORDINATOR = "coordinator"  # of jax.distributed, which runs in process 0
_MEETING_VARIABLES = ("MASTER_ADDR", "COORDINATOR_ADDRESS", "JAX_COORDINATOR_ADDRESS")
_PORT = compile_lazily(r":\d{1,5}/?\Z")
_MAX_ASSIGNMENTS = 3  # depth of variables that refer to variables
_OWN_FIELDS = ("status.podIP", "status.podIPs", "status.hostIP", "metadata.name", "spec.nodeName")


class RendezvousHost(NamedTuple):
    """A host where the processes of a launcher find each other, and where it is written.

    ``pods`` is the number of Pods that use it. ``is_written`` is false if no host is stated and the
    launcher has a default. If it ``needs_rank_zero``, only the node of rank 0 opens the port. ``own``
    describes a host by which each Pod names itself, "" for any other.
    """

    host: str
    launcher: str
    pods: int
    doc: TracedDocument
    group: ReplicaGroup | None
    path: Path
    is_written: bool = True
    needs_rank_zero: bool = False
    launch: ContainerLaunch | None = None
    own: str = ""


@check()
def same_node_rank(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Nodes with the same rank in a static rendezvous. Values: ``what``."""
    job = target.job
    lines = [] if _is_launched_by_controller(job) else list(_iter_static_launches(job))
    for host in dict.fromkeys(map(_get_host, lines)):
        yield from _iter_rank_clashes(job, [launch for launch in lines if _get_host(launch) == host])


def _iter_rank_clashes(job: LoweredJob, lines: list[ContainerLaunch]) -> Iterator[Violation]:
    """Yield equal ranks among nodes with one rendezvous host; none if a rank is not known."""
    spans: list[tuple[ContainerLaunch, int, int]] = []
    for launch in lines:
        ranks = _find_ranks(launch)
        if ranks is None:
            return
        spans.append((launch, *ranks))
    for number, (launch, lowest, highest) in enumerate(spans):
        if _may_train_apart(job, launch):
            continue
        replica_type = launch.group.replica_type
        clashing_type = next(
            (each.group.replica_type for each, low, high in spans[:number] if low <= lowest <= high), None
        )
        if (launch.group.replicas > 1 and lowest == highest) or clashing_type == replica_type:
            pod_count = sum(each.group.replicas for each in lines if each.group.replica_type == replica_type)
            yield _build_rank_violation(
                job, launch, f"all {pod_count} Pods{format_type_of(launch.group)} have node rank {lowest}"
            )
        elif launch.group.replicas > highest - lowest + 1 > 1 and find_pod_jobs(job, launch.group):
            message = (
                f"the {launch.group.replicas} Pods{format_type_of(launch.group)} have only the node ranks"
                f" {lowest} to {highest}, which count anew in each Job"
            )
            yield _build_rank_violation(job, launch, message)
        elif clashing_type is not None:
            yield _build_rank_violation(
                job,
                launch,
                f"a Pod of {clashing_type} and one of {replica_type} both have node rank {lowest}",
            )


def _may_train_apart(job: LoweredJob, launch: ContainerLaunch) -> bool:
    """Whether the Pods of each Job of a group may train separately from those of other Jobs.

    Each Job has its own host, or an unknown one with no more nodes than one Job has Pods.
    """
    pod_jobs = find_pod_jobs(job, launch.group)
    if pod_jobs is None or (pod_jobs.jobs == 1 and len(job.pods) == 1):
        return False
    end = find_launch_on_replica(launch, get_last_index(launch.group))
    hosts = [_get_host(one) for one in (launch, end) if one is not None]
    if len(hosts) == 2 and None not in hosts:
        return pod_jobs.jobs > 1 and hosts[0] != hosts[1]
    facts = launch.invocation.parsed
    nodes = facts.machines if isinstance(facts, AccelerateCommand) else None
    if isinstance(facts, TorchrunCommand) and facts.node_range is not None:
        nodes = facts.node_range[1]
    return nodes is None or nodes <= pod_jobs.parallelism


@check()
def static_by_controller(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """``rdzvBackend: static``, which needs a node rank; the controller is not known to set one."""
    job = target.job
    if not _is_launched_by_controller(job):
        return
    lines = list(_iter_static_launches(job))
    pods = sum(launch.group.replicas for launch in lines)
    if pods > 1 and all(_find_ranks(launch) == (0, 0) for launch in lines):
        option = lines[0].invocation.options.get("rdzv_backend")
        path = lines[0].locate_word(option.word if option is not None else lines[0].invocation.program_word)
        doc, group = lines[0].group.doc, lines[0].group
        yield Violation(path, {"pods": pods}, list_replica_places(job), doc=doc, group=group)


@check()
def rendezvous_not_shared(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A host that is a different machine for each Pod, or not that of rank 0; value ``what``."""
    job = target.job
    for rendezvous_host in _iter_rendezvous_hosts(job):
        message = _explain_unshared_host(job, rendezvous_host)
        if message:
            doc, group = rendezvous_host.doc, rendezvous_host.group
            related = list_replica_places(job)
            yield Violation(rendezvous_host.path, {"what": message}, related, doc=doc, group=group)

    yield from _iter_other_ports(job)


def _iter_other_ports(job: LoweredJob) -> Iterator[Violation]:
    """Yield nodes of one training whose port differs from that of the first node, on the same host."""
    first: dict[tuple[str, tuple[int, int]], ContainerLaunch] = {}
    for launch in find_launches(job):
        facts, group = launch.torchrun, launch.group
        if facts is None or not facts.host or facts.port is None or not _is_multi_node(launch):
            continue
        if launch.invocation.is_conditional or facts.node_range is None or facts.standalone:
            continue
        other = first.setdefault((facts.host, facts.node_range), launch)
        port = other.torchrun.port if other.torchrun is not None else None
        if port != facts.port and group.replica_type != other.group.replica_type:
            message = (
                f"the nodes of {group.replica_type} meet at port {facts.port} of {facts.host}, and those of"
                f" {other.group.replica_type} at port {port}"
            )
            word = facts.find_option_word(
                "master_port", facts.find_option_word("rdzv_endpoint", launch.invocation.program_word)
            )
            yield Violation(launch.locate_word(word), {"what": message}, doc=group.doc, group=group)
            continue
        yield from _iter_other_sessions(launch, other)


def _iter_other_sessions(launch: ContainerLaunch, other: ContainerLaunch) -> Iterator[Violation]:
    """Yield another backend or id than that of a line of another replica type with the same endpoint."""
    facts, first = launch.torchrun, other.torchrun
    if facts is None or first is None or launch.group.replica_type == other.group.replica_type:
        return
    options = launch.invocation.options
    for name, values in (
        ("rdzv_backend", (facts.backend, first.backend)),
        ("rdzv_id", tuple(_get_value(each, "rdzv_id") for each in (launch, other))),
    ):
        option = options.get(name)
        if option is not None and values[0] != values[1] and all(values) and "$" not in f"{values}":
            message = (
                f"the nodes of {launch.group.replica_type} have --{name}={values[0]}, and those of"
                f" {other.group.replica_type} {values[1]}, so they never meet"
            )
            found = other.invocation.options.get(name)
            word = found.word if found is not None else other.invocation.program_word
            related = [(other.group.doc, other.locate_word(word), f"of {other.group.replica_type}")]
            path, group = launch.locate_word(option.word), launch.group
            yield Violation(path, {"what": message}, related, doc=group.doc, group=group)
            return


def _get_value(launch: ContainerLaunch, name: str) -> str:
    option = launch.invocation.options.get(name)
    return (option.value or "") if option is not None else ""


@check()
def rendezvous_at_address(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """An IP address as the host; values ``host`` and ``by``."""
    if any(_is_on_chosen_node(group) for group in target.job.pods):
        return  # a Pod with hostNetwork has the address of its node
    for rendezvous_host in _iter_rendezvous_hosts(target.job):
        if rendezvous_host.is_written and pod_hosts.is_address(rendezvous_host.host):
            values = {"host": rendezvous_host.host, "by": rendezvous_host.launcher}
            yield Violation(
                rendezvous_host.path, values, doc=rendezvous_host.doc, group=rendezvous_host.group
            )


def _is_on_chosen_node(group: ReplicaGroup) -> bool:
    """Whether Pods use the host network of nodes that the template selects."""
    spec = get_mapping(group.doc.data, "spec")
    affinity = get_mapping(get_mapping(spec, "affinity"), "nodeAffinity")
    is_selected = "nodeName" in spec or "nodeSelector" in spec or bool(affinity)
    return spec.get("hostNetwork") is True and is_selected


def _explain_unshared_host(job: LoweredJob, rendezvous_host: RendezvousHost) -> str:
    host, pods = rendezvous_host.host, format_count(rendezvous_host.pods, "Pod")
    if rendezvous_host.own:
        return (
            f"the rendezvous of {rendezvous_host.launcher} is at {host}, {rendezvous_host.own}, which"
            f" differs in each of the {pods}"
        )
    main = pod_hosts.explain_missing_index(job, host) if rendezvous_host.is_written else ""
    if main:
        return f"the rendezvous of {rendezvous_host.launcher} is at {host}, but {main}"
    other_job = pod_hosts.find_job_of_host(job, host)
    if other_job and not _has_nodes_elsewhere(job, rendezvous_host):
        noun = "Pod" if has_trait(job, "host-by-index") else "replica"
        return (
            f"the rendezvous of {rendezvous_host.launcher} is at {host}, a {noun} of {other_job} and not of"
            f" {pod_hosts.get_job_name(job)}"
        )
    if pod_hosts.is_loopback(host):
        if rendezvous_host.launch is not None and _is_standalone(rendezvous_host.launch):
            return f"with --standalone each of the {pods} waits for the others at its own localhost"
        if rendezvous_host.is_written:
            return (
                f"the rendezvous of {rendezvous_host.launcher} is at {host}, which is a different machine"
                f" in each of the {pods}"
            )
        line = rendezvous_host.launch.torchrun if rendezvous_host.launch is not None else None
        missing_option = "--rdzv_endpoint" if line is not None and line.backend == "c10d" else "host"
        return (
            f"{rendezvous_host.launcher} has no {missing_option}, so each of the {pods} waits for the"
            f" others at {host}"
        )
    host_pod = pod_hosts.find_pod(job, host)
    if host_pod is not None and _runs_no_node(job, host_pod[0], rendezvous_host):
        return (
            f"the rendezvous of {rendezvous_host.launcher} is at {host}, a Pod of {host_pod[0].replica_type},"
            f" in which no {rendezvous_host.launcher} runs"
        )
    if host_pod is None or not rendezvous_host.needs_rank_zero:
        return ""
    # deepspeed numbers the nodes in the order of its hostfile: by index.
    rank = _find_pod_rank(job, *host_pod) if rendezvous_host.launch is not None else host_pod[1]
    if rank is None or rank == 0:
        return ""
    return (
        f"the rendezvous of {rendezvous_host.launcher} is at {host}, which has node rank {rank},"
        " but only rank 0 opens the port"
    )


def _runs_no_node(job: LoweredJob, group: ReplicaGroup, rendezvous_host: RendezvousHost) -> bool:
    """Whether Pods with programs of their own, and without ports, are no nodes of a training by torchrun."""
    launches = list(find_launches(job))
    types = {
        one.group.replica_type for one in launches if one.invocation.launcher == rendezvous_host.launcher
    }
    has_ports = any(
        "ports" in one for _, one in get_entries(get_mapping(group.doc.data, "spec"), "containers")
    )
    is_known = any(one.group is group and one.invocation.script is not None for one in launches)
    return (
        rendezvous_host.launch is not None and is_known and not has_ports and group.replica_type not in types
    )


def _has_nodes_elsewhere(job: LoweredJob, rendezvous_host: RendezvousHost) -> bool:
    """Whether a line waits for more nodes than its job has Pods, so that other jobs may have the rest."""
    line = rendezvous_host.launch.torchrun if rendezvous_host.launch is not None else None
    if line is None or line.node_range is None or not has_trait(job, "host-by-index"):
        return False
    return line.node_range[0] > rendezvous_host.pods


def _iter_rendezvous_hosts(job: LoweredJob) -> Iterator[RendezvousHost]:
    """Yield the rendezvous hosts that several Pods of a job get."""
    if is_mode_enabled(job, "debug"):
        return
    if has_trait(job, "deepspeed-by-controller"):
        yield from _iter_deepspeed_hosts(job)
        return
    # The controller sets the host itself; --standalone replaces it.
    candidates = [
        (launch, _is_multi_node(launch))
        for launch in find_launches(job)
        if not launch.invocation.started_by
        and (not _is_launched_by_controller(job) or _is_standalone(launch))
    ]
    pods = sum(launch.group.replicas for launch, several in candidates if several)
    if pods > 1:
        own_hosts = {
            id(launch): host
            for launch, several in candidates
            if several and (host := _find_own_address(launch, pods))
        }
        # The only Pod with rank 0 may get its own address.
        is_one_pod = sum(launch.group.replicas for launch, _ in candidates if id(launch) in own_hosts) == 1
        for launch, is_multi_node in candidates:
            if not is_multi_node or launch.invocation.is_conditional:
                continue
            if is_one_pod and id(launch) in own_hosts:
                continue
            rendezvous_host = own_hosts.get(id(launch)) or _build_launch_host(launch, pods)
            if (
                rendezvous_host is not None
                and rendezvous_host.host
                and (rendezvous_host.own or "$" not in rendezvous_host.host)
            ):
                yield rendezvous_host
    yield from _iter_variable_hosts(job)
    yield from _iter_script_addresses(job)
    yield from _iter_hosts_of_other_jobs(job)


def _is_multi_node(launch: ContainerLaunch) -> bool:
    """Whether a line is for several nodes."""
    facts = launch.invocation.parsed
    if isinstance(facts, TorchrunCommand):
        return facts.command_line.is_certain and facts.node_range is not None and facts.node_range[1] > 1
    if not isinstance(facts, AccelerateCommand) or not facts.command_line.is_certain:
        return False
    # With its place among several machines, their number is in the configuration file.
    is_placed = facts.machine_rank is not None and "main_process_ip" in facts.command_line.options
    return (facts.machines or (2 if facts.config_file and is_placed else 1)) > 1


def _is_standalone(launch: ContainerLaunch) -> bool:
    """Whether a line of torchrun has --standalone, which puts the rendezvous at localhost."""
    return launch.torchrun is not None and launch.torchrun.standalone


def _build_launch_host(launch: ContainerLaunch, pods: int) -> RendezvousHost | None:
    facts, group = launch.invocation.parsed, launch.group
    launcher = launch.invocation.launcher
    if isinstance(facts, TorchrunCommand) and facts.standalone:
        path = launch.locate_word(facts.find_option_word("standalone", launch.invocation.program_word))
        return RendezvousHost("localhost", launcher, pods, group.doc, group, path, launch=launch)
    if isinstance(facts, TorchrunCommand):
        is_static = facts.backend == "static"
        # Only a static rendezvous reads --master_addr.
        name = "master_addr" if is_static and "rdzv_endpoint" not in facts.value_origins else "rdzv_endpoint"
        path = launch.locate_word(facts.find_option_word(name, launch.invocation.program_word))
        host = facts.host
        if facts.backend == "c10d" and name not in facts.value_origins and "envFrom" not in launch.container:
            host = "localhost"  # the default endpoint of c10d
        if host is None or (facts.backend or "") not in ("static", "c10d"):
            return None
        if name not in facts.command_line.options and name in facts.value_origins:
            path = find_variable_path(launch, f"PET_{name.upper()}") or path
        return RendezvousHost(
            host, launcher, pods, group.doc, group, path, name in facts.value_origins, is_static, launch
        )
    if isinstance(facts, AccelerateCommand) and facts.main_ip:
        path = launch.locate_word(facts.command_line.options["main_process_ip"].word)
        return RendezvousHost(facts.main_ip, launcher, pods, group.doc, group, path, True, True, launch)
    return None


def _find_own_address(launch: ContainerLaunch, pods: int) -> RendezvousHost | None:
    """Return a host by which a line names its own Pod, by a reference or a shell command."""
    by, group = launch.invocation.launcher, launch.group
    for name in ("rdzv_endpoint", "master_addr", "main_process_ip"):
        option = launch.invocation.options.get(name)
        if option is None:
            field, path = _find_own_field(launch.container, f"PET_{name.upper()}"), None
            if field and launch.torchrun is not None:
                path = find_variable_path(launch, f"PET_{name.upper()}")
            if path is not None:
                own = f"{field} of the Pod itself"
                return RendezvousHost(f"PET_{name.upper()}", by, pods, group.doc, group, path, own=own)
            continue
        if option.is_known:
            continue
        given = option.word.text
        written = given.partition("=")[2] if given.startswith("-") else given
        own = _own_address(written, launch)
        if own:
            place = launch.locate_word(option.word)
            return RendezvousHost(written, by, pods, group.doc, group, place, launch=launch, own=own)
    return None


def _own_address(written: str, launch: ContainerLaunch) -> str:
    """Describe a text that is the Pod's own name or address; "" for anything else.

    A variable is replaced by the value that the shell certainly sets before the program.
    """
    for _ in range(_MAX_ASSIGNMENTS):
        found = _OWN.match(written)
        if found is None:
            return ""
        name = found["name"]
        if name is None or name == "HOSTNAME":
            return "the name or address of the Pod itself"
        field = _find_own_field(launch.container, name)
        if field:
            return f"{field} of the Pod itself"
        written = find_only_assignment(launch, name) if found["brace"] != "(" else ""
    return ""


def _find_own_field(container: Mapping[str, Any], name: str) -> str:
    """Return the Pod field in a variable, if it differs between Pods; else ""."""
    for _, entry in get_entries(container, "env"):
        if get_text(entry, "name") == name:
            field = get_text(get_mapping(get_mapping(entry, "valueFrom"), "fieldRef"), "fieldPath")
            return field if field in _OWN_FIELDS else ""
    return ""


def _iter_deepspeed_hosts(job: LoweredJob) -> Iterator[RendezvousHost]:
    line, hosts = find_deepspeed_line(job), pod_hosts.read_hostfile(job)
    pods = sum(each.replicas for each in hosts)
    if line is None or pods < 2 or job.cr is None or not line.command_line.master_addr:
        return
    path = line.locate_word(line.command_line.command_line.options["master_addr"].word)
    is_in_order = line.command_line.include is None and line.command_line.exclude is None
    yield RendezvousHost(
        line.command_line.master_addr, "deepspeed", pods, job.cr, None, path, needs_rank_zero=is_in_order
    )


def _iter_variable_hosts(job: LoweredJob) -> Iterator[RendezvousHost]:
    """Yield MASTER_ADDR of a job whose controller sets none, and whose scripts read it."""
    if not has_trait(job, "ranks-by-user"):
        return
    pods = sum(each.replicas for each in job.pods if _sets_variable(each, _MASTER_VARIABLE))
    for launch in find_launches(job) if pods > 1 else ():
        if launch.is_launcher or launch.invocation.launcher != "python" or launch.invocation.started_by:
            continue
        variables = launch.resolve_environment()
        host, rank = variables.get(_MASTER_VARIABLE), find_variable_path(launch, "RANK")
        field = _find_own_field(launch.container, _MASTER_VARIABLE) if launch.group.replicas > 1 else ""
        if not (host or field) or "$" in (host or "") or rank not in launch.group.doc.replica_texts:
            continue
        path = find_variable_path(launch, _MASTER_VARIABLE)
        if path is not None:
            own = f"{field} of the Pod itself" if field else ""
            host = host or _MASTER_VARIABLE
            yield RendezvousHost(host, "the script", pods, launch.group.doc, launch.group, path, own=own)


def _iter_script_addresses(job: LoweredJob) -> Iterator[RendezvousHost]:
    """Yield MASTER_ADDR that a shell sets for a multi-process script, overriding the container's variable."""
    for launch in find_launches(job):
        found = launch.invocation
        size = found.variables.get("WORLD_SIZE") or ""
        if (
            launch.is_launcher
            or found.started_by
            or found.is_conditional
            or not (size.isdecimal() and len(size) < 8)
        ):
            continue
        host, own = _find_shell_address(launch)
        if host and int(size) > 1:
            group, place = launch.group, find_assignment_place(launch, _MASTER_VARIABLE)
            yield RendezvousHost(
                host, "the script (MASTER_ADDR)", int(size), group.doc, group, place, own=own
            )


def _iter_hosts_of_other_jobs(job: LoweredJob) -> Iterator[RendezvousHost]:
    """Yield hosts of other jobs in the rendezvous options and variables of scripts in several Pods."""
    pods = sum(group.replicas for group in job.pods)
    for launch in find_launches(job) if pods > 1 else ():
        if launch.invocation.launcher != "python" or launch.invocation.started_by:
            continue
        group = launch.group
        candidates = [
            (placed.option.name, placed.option.value or "", placed.path)
            for placed in list_program_options(job, launch)
            if _MEETING_OPTION.fullmatch(placed.option.last)
        ]
        for name, value in launch.resolve_environment().items():
            path = find_variable_path(launch, name) if name in _MEETING_VARIABLES else None
            if value and path is not None:
                candidates.append((name, value, path))
        for name, value, path in candidates:
            hosts = [_PORT.sub("", host.strip()) for host in value.removeprefix("tcp://").split(",")]
            other = next((host for host in hosts if pod_hosts.find_job_of_host(job, host)), "")
            if other:
                yield RendezvousHost(other, f"the script ({name})", pods, group.doc, group, path)
            elif name.lower().lstrip("-").startswith(_COORDINATOR) and hosts[1:] == []:
                yield RendezvousHost(
                    hosts[0], f"the script ({name})", pods, group.doc, group, path, needs_rank_zero=True
                )


def _find_shell_address(launch: ContainerLaunch) -> tuple[str, str]:
    """Return the MASTER_ADDR that the shell sets for a program, and how it names its Pod; "" for none."""
    variables = launch.invocation.variables
    if _MASTER_VARIABLE not in variables or variables[_MASTER_VARIABLE] == launch.resolve_environment().get(
        _MASTER_VARIABLE, ""
    ):
        return "", ""
    known = variables[_MASTER_VARIABLE]
    if known is not None:
        return known, ""
    written = find_only_assignment(launch, _MASTER_VARIABLE)
    own = _own_address(written, launch)
    return (written, own) if own else ("", "")


def _sets_variable(group: ReplicaGroup, name: str) -> bool:
    containers = get_entries(get_mapping(group.doc.data, "spec"), "containers")
    return any(
        get_text(entry, "name") == name for _, each in containers for _, entry in get_entries(each, "env")
    )


def _iter_static_launches(job: LoweredJob) -> Iterator[ContainerLaunch]:
    """Yield the multi-node lines that get their ranks as an option."""
    for launch in find_launches(job):
        facts, invocation = launch.invocation.parsed, launch.invocation
        if invocation.is_conditional or invocation.started_by or not _is_multi_node(launch):
            continue
        is_static = isinstance(facts, TorchrunCommand) and facts.backend == "static"
        if is_static or (isinstance(facts, AccelerateCommand) and _is_static_accelerate(facts)):
            yield launch


def _is_static_accelerate(facts: AccelerateCommand) -> bool:
    """Whether accelerate uses the rank of its option; the config file may override it."""
    return (
        "machine_rank" in facts.command_line.options
        and facts.command_line.get_value("rdzv_backend", "static") == "static"
    )


def _is_launched_by_controller(job: LoweredJob) -> bool:
    return get_mapping(spec_of(job), "torchrunConfig").get("enabled") is True and not is_mode_enabled(
        job, "debug"
    )


def _get_host(launch: ContainerLaunch) -> str | None:
    """Return the rendezvous host of a line."""
    facts = launch.invocation.parsed
    if isinstance(facts, TorchrunCommand):
        return facts.host
    return facts.main_ip if isinstance(facts, AccelerateCommand) else None


def _find_ranks(launch: ContainerLaunch) -> tuple[int, int] | None:
    """Return the node ranks of the first and the last replica of a group; None if one is unknown."""
    highest = (
        find_launch_on_replica(launch, get_last_index(launch.group)) if launch.group.replicas > 1 else launch
    )
    ranks = _get_rank(launch), _get_rank(highest) if highest is not None else None
    return None if ranks[0] is None or ranks[1] is None else (ranks[0], ranks[1])


def _get_rank(launch: ContainerLaunch) -> int | None:
    facts = launch.invocation.parsed
    if isinstance(facts, TorchrunCommand):
        return facts.node_rank
    return facts.machine_rank if isinstance(facts, AccelerateCommand) else None


def _find_pod_rank(job: LoweredJob, group: ReplicaGroup, index: int) -> int | None:
    """Return the node rank of one Pod; None if it runs no such line."""
    for launch in _iter_static_launches(job):
        if launch.group is group:
            replica_launch = find_launch_on_replica(launch, index)
            return _get_rank(replica_launch) if replica_launch is not None else None
    return None


def _build_rank_violation(job: LoweredJob, launch: ContainerLaunch, message: str) -> Violation:
    """Build the violation at the option with the rank, or at the launcher if it has none."""
    invocation = launch.invocation
    name = "machine_rank" if invocation.launcher == "accelerate" else "node_rank"
    option = invocation.options.get(name)
    path = launch.locate_word(option.word if option is not None else invocation.program_word)
    if option is None:
        path = find_variable_path(launch, "PET_NODE_RANK") or path
        if "node_rank" not in (launch.torchrun.value_origins if launch.torchrun else {}):
            message += ", because nothing sets another one"
    values = {"what": message, "option": f"--{name}"}
    related = [*list_replica_places(job), *list_job_counts(job, launch.group)]
    return Violation(path, values, related, doc=launch.group.doc, group=launch.group)
