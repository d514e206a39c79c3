"""The deepspeed line of a DeepSpeedJob: what its options may be, and which hosts and slots they choose.

Sources: docs/evidence/t9k-deepspeedjob.md#reserved-options, docs/evidence/deepspeed-launcher.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import pattern
from podplan.core.typing import Any
from podplan.kubernetes.accessors import mapping, text
from podplan.launchers.deepspeed import DeepSpeed
from podplan.lint.analysis import pod_hosts
from podplan.lint.analysis.deepspeed_line import DeepSpeedLine, line_of
from podplan.lint.analysis.jobs import mode, spec_of
from podplan.lint.analysis.launches import Launch, counted, launches, one_process
from podplan.lint.analysis.over_ssh import workers
from podplan.lint.checks.launcher_words import joined_words
from podplan.lint.target import Hit, Job, Subject

# Options of otherArgs that the controller gives itself, with the field that says what they mean.
_FIELDS = {
    "no_local_rank": "config.localRank: false",
    "autotuning": "config.autotune",
    "module": "config.run.module",
    "no_python": "config.run.exec",
    "hostfile": "nothing: the controller writes the hostfile",
}
_NOT_UNDER_PDSH = ("save_pid", "enable_each_rank_log", "bind_cores_to_rank", "bind_core_list")
# Programs that take their first words for options of their own, and know no --local_rank.
_WITH_OPTIONS = pattern(
    r"python[0-9.]*|(?:ba|da|k|z|a)?sh|env|nohup|timeout|nice|numactl|taskset|stdbuf|accelerate"
)
_IN_ITS_POD = ("torchrun", "torch.distributed.launch", "accelerate")
# What a command names that reaches other hosts.
_REACHES_OTHERS = pattern(
    r"hostfile|\b(?:pdsh|p?ssh|clush|parallel-ssh|ansible|srun|ray|mpirun|mpiexec|horovodrun)\b"
)
_NO_SCRIPT = pattern(r"deepspeed needs a script to run")


def deepspeed_args(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Options that deepspeed or the controller refuses; value ``what``."""
    line = line_of(subject.job)
    if line is None:
        return
    joined = joined_words("deepspeed", line.words, line.read.line)
    for name, option in line.read.line.options.items():
        if not line.custom and name in _FIELDS and option.flag.path[2:3] == ("otherArgs",):
            what = f"{option.flag.text.partition('=')[0]} is given by the controller; write {_FIELDS[name]}"
            yield Hit(line.place(option.flag), {"what": what})
        elif name in _NOT_UNDER_PDSH:
            flag = option.flag.text.partition("=")[0]
            yield Hit(
                line.place(option.flag), {"what": f"{flag} does not work with pdsh, which starts the workers"}
            )
    for fault in line.read.errors:
        if _NO_SCRIPT.match(fault.sentence) or (fault.only and workers(subject.job)[1] < 2):
            continue  # what there is to run is the matter of another rule
        if fault.word in joined:
            continue
        yield Hit(line.place(fault.word), {"what": fault.sentence})
    script = line.read.line.script
    if not line.custom and script is not None and script.path[2:3] == ("otherArgs",) and script not in joined:
        what = f"deepspeed takes {script.text} for the script, since it belongs to no option"
        yield Hit(line.place(script), {"what": what})
    for path, what in _not_in_hostfile(subject.job, line):
        yield Hit(path, {"what": what})


def other_launcher(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """``--launcher`` other than pdsh; value ``launcher``."""
    line = line_of(subject.job)
    if line is not None and line.read.launcher not in ("pdsh", None):
        word = line.read.line.options["launcher"].word
        yield Hit(line.place(word), {"launcher": line.read.launcher})


def hostname_needed(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Several workers and no address of rank 0; values ``workers``."""
    line = line_of(subject.job)
    hosts = sum(each.replicas for each in pod_hosts.hostfile(subject.job))
    if line is not None and line.read.line.sure and hosts > 1 and "master_addr" not in line.read.line.options:
        yield Hit(
            ("spec", "config"),
            {"workers": hosts},
            [(subject.doc, workers(subject.job)[0], f"{hosts} workers")],
        )


def local_rank_of_program(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """``run.exec`` of a program that ends at ``--local_rank``, its first argument; value ``program``."""
    line = line_of(subject.job)
    if line is None or line.custom or "no_python" not in line.read.flags:
        return
    program = line.read.line.script
    if mapping(spec_of(subject.job), "config").get("localRank") is False or program is None:
        return
    if program.known and _WITH_OPTIONS.fullmatch(program.text.rpartition("/")[2]):
        yield Hit(line.place(program), {"program": program.text})


def unequal_slots(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A selection that leaves hosts with unlike numbers of slots; values ``option`` and ``slots``."""
    line = line_of(subject.job)
    if line is None:
        return
    numbers = _slots_left(line.read, pod_hosts.hostfile(subject.job))
    if len(numbers) > 1:
        name = "include" if line.read.include is not None else "exclude"
        slots = f"{' and '.join(map(str, numbers))} slots"
        yield Hit(line.place(line.read.line.options[name].word), {"option": f"--{name}", "slots": slots})


def unused_workers(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Workers that deepspeed is told to leave out; values ``option``, ``used``, ``workers``."""
    job = subject.job
    line, hosts = line_of(job), pod_hosts.hostfile(job)
    pods = sum(each.replicas for each in hosts)
    if line is None or pods < 2:
        return
    read = line.read
    whole = [
        host for host, slots in (read.exclude or {}).items() if not slots and pod_hosts.listed(hosts, host)
    ]
    if read.nodes is not None and 0 < read.nodes < pods:
        name, used = "num_nodes", read.nodes
    elif read.include is not None and len(read.include) < pods:
        name, used = "include", len(read.include)
    elif whole:
        name, used = "exclude", pods - len(whole)
    else:
        return
    where = (subject.doc, workers(job)[0], f"{pods} workers")
    values = {"option": f"--{name}", "used": counted(used, "worker"), "workers": pods}
    yield Hit(line.place(read.line.options[name].word), values, [where])


def missing_workers(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """``--num_nodes`` above the number of workers; values ``nodes`` and ``workers``."""
    job = subject.job
    line, pods = line_of(job), sum(each.replicas for each in pod_hosts.hostfile(job))
    if line is None or line.read.nodes is None or not 0 < pods < line.read.nodes:
        return
    where = (subject.doc, workers(job)[0], counted(pods, "worker"))
    values = {"nodes": line.read.nodes, "workers": counted(pods, "worker")}
    yield Hit(line.place(line.read.line.options["num_nodes"].word), values, [where])


def custom_without_hostfile(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A deepspeed of one's own that is not told the hostfile; value ``workers``."""
    line = line_of(subject.job)
    hosts = pod_hosts.hostfile(subject.job)
    pods = sum(each.replicas for each in hosts)
    if line is None or not line.custom or not line.read.line.sure or pods < 2:
        return
    command = text(mapping(spec_of(subject.job), "config"), "customCommand")
    if "hostfile" in line.read.line.options or line.read.hostfile is None or line.read.hostfile in command:
        return
    yield Hit(("spec", "config", "customCommand"), {"workers": pods})


def custom_command_on_one_worker(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A customCommand whose launcher starts processes of worker 0 only; value ``what``."""
    job = subject.job
    command = text(mapping(spec_of(job), "config"), "customCommand")
    hosts = sum(each.replicas for each in pod_hosts.hostfile(job))
    if not command or hosts < 2 or mode(job, "debug") or _REACHES_OTHERS.search(command):
        return
    started = [launch for launch in launches(job) if launch.invocation.launcher != "other"]
    if not started or not all(_starts_here(launch) for launch in started):
        return
    launch = started[-1]
    others = (
        f"the other {hosts - 1} workers run only sshd" if hosts > 2 else "the other worker runs only sshd"
    )
    facts = launch.torchrun
    if facts is not None and facts.nodes is not None and facts.nodes[0] > 1:
        waits = f", and {launch.invocation.launcher} waits for {counted(facts.nodes[0], 'node')}"
    else:
        waits = ""
    what = f"{launch.invocation.launcher} starts on worker 0 only{waits}; {others}"
    path = ("spec", "config", "customCommand")
    yield Hit(path, {"what": what}, [(subject.doc, workers(job)[0], f"{hosts} workers")])


def _starts_here(launch: Launch) -> bool:
    """Whether a program starts processes in its own Pod only, as far as its line tells."""
    if launch.invocation.conditional:
        return False
    return launch.invocation.launcher in _IN_ITS_POD or one_process(launch)


def _not_in_hostfile(job: Job, line: DeepSpeedLine) -> Iterator[tuple[Path, str]]:
    """Hosts and slots of --include and --exclude that there are none of."""
    hosts = pod_hosts.hostfile(job)
    for name, chosen in (("include", line.read.include), ("exclude", line.read.exclude)):
        for host, slots in (chosen or {}).items():
            found = pod_hosts.listed(hosts, host)
            path = line.place(line.read.line.options[name].word)
            if found is None and hosts and "$" not in host:
                first, last = hosts[0].line.text(hosts[0].start), hosts[-1]
                names = first.split()[0]
                if last.replicas > 1:
                    names += f" to {last.line.text(last.start + last.replicas - 1).split()[0]}"
                yield path, f"--{name} names {host}, which is not in the hostfile ({names})"
            elif found is not None and found.slots is not None and slots and slots[-1] >= found.slots:
                has = (
                    f"{host} has the slots 0 to {found.slots - 1}"
                    if found.slots > 1
                    else f"{host} has slot 0 only"
                )
                yield path, f"--{name} names slot {slots[-1]}, and {has}"


def _slots_left(read: DeepSpeed, hosts: list[pod_hosts.Hosts]) -> list[int]:
    """The different numbers of slots that the hosts in use have."""
    chosen = read.include if read.include is not None else read.exclude
    if chosen is None:
        return []
    numbers: set[int] = set()
    named: dict[int, int] = {}
    for host, slots in chosen.items():
        found = pod_hosts.listed(hosts, host)
        if found is None or found.slots is None:
            return []
        named[id(found)] = named.get(id(found), 0) + 1
        if read.include is not None:
            numbers.add(len(slots) or found.slots)
        elif slots:
            numbers.add(found.slots - len(slots))
    if read.exclude is not None:
        numbers |= {each.slots for each in hosts if each.slots and named.get(id(each), 0) < each.replicas}
    return sorted(numbers - {0})
