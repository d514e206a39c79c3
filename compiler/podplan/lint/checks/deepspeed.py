"""The deepspeed line of a DeepSpeedJob: which options are valid, and which hosts and slots they select.

Sources: docs/evidence/t9k-deepspeedjob.md#reserved-options, docs/evidence/deepspeed-launcher.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, TextPath
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.launchers.commands import DeepSpeedCommand
from podplan.lint.analysis import pod_hosts
from podplan.lint.analysis.deepspeed_line import DeepSpeedLine, find_deepspeed_line
from podplan.lint.analysis.jobs import is_mode_enabled, spec_of
from podplan.lint.analysis.launches import ContainerLaunch, find_launches, is_single_process
from podplan.lint.analysis.over_ssh import find_worker_count
from podplan.lint.checks.launcher_words import find_joined_words
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

# Options that the controller sets itself, with the field to use instead of otherArgs.
_CONTROLLER_OPTIONS = {
    "no_local_rank": "config.localRank: false",
    "autotuning": "config.autotune",
    "module": "config.run.module",
    "no_python": "config.run.exec",
    "hostfile": "nothing: the controller writes the hostfile",
}
_UNSUPPORTED_WITH_PDSH = ("save_pid", "enable_each_rank_log", "bind_cores_to_rank", "bind_core_list")
# Programs that parse their first words as their own options, and do not know --local_rank.
_PROGRAM_WITH_OPTIONS = compile_lazily(
    r"python[0-9.]*|(?:ba|da|k|z|a)?sh|env|nohup|timeout|nice|numactl|taskset|stdbuf|accelerate"
)
# Modules whose command line takes only the options that it knows, or a command as its first argument.
_STRICT_MODULES = compile_lazily(
    r"lm_eval(?:\.__main__)?|vllm\.entrypoints\..+|sglang\.launch_server|lmms_eval(?:\.__main__)?|pytest"
    r"|torch\.distributed\.(?:run|launch)|accelerate\.commands\..+|http\.server|lightning\.pytorch\.cli"
)
_POD_LOCAL_LAUNCHERS = ("torchrun", "torch.distributed.launch", "accelerate")
# Words in a command that reaches other hosts.
_REMOTE_COMMAND = compile_lazily(
    r"hostfile|\b(?:pdsh|p?ssh|clush|parallel-ssh|ansible|srun|ray|mpirun|mpiexec|horovodrun)\b"
)
_MISSING_SCRIPT = compile_lazily(r"deepspeed needs a script to run")


@check()
def deepspeed_args(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Options that deepspeed or the controller refuses; value ``what``."""
    line = find_deepspeed_line(target.job)
    if line is None:
        return
    joined = find_joined_words("deepspeed", line.words, line.command_line.command_line)
    for name, option in line.command_line.command_line.options.items():
        if not line.is_custom and name in _CONTROLLER_OPTIONS and option.flag.path[2:3] == ("otherArgs",):
            message = (
                f"{option.flag.text.partition('=')[0]} is set by the controller; write"
                f" {_CONTROLLER_OPTIONS[name]}"
            )
            yield Violation(line.locate_word(option.flag), {"what": message})
        elif name in _UNSUPPORTED_WITH_PDSH:
            flag = option.flag.text.partition("=")[0]
            yield Violation(
                line.locate_word(option.flag),
                {"what": f"{flag} does not work with pdsh, which starts the workers"},
            )
    for error in line.command_line.errors:
        if _MISSING_SCRIPT.match(error.message) or (error.condition and find_worker_count(target.job)[1] < 2):
            continue  # another rule checks the program to run
        if error.word in joined:
            continue
        yield Violation(line.locate_word(error.word), {"what": error.message})
    script = line.command_line.command_line.script
    if (
        not line.is_custom
        and script is not None
        and script.path[2:3] == ("otherArgs",)
        and script not in joined
    ):
        message = f"deepspeed treats {script.text} as the script, because it belongs to no option"
        yield Violation(line.locate_word(script), {"what": message})
    for path, message in _iter_unknown_hosts(target.job, line):
        yield Violation(path, {"what": message})


@check()
def other_launcher(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """``--launcher`` other than pdsh; value ``launcher``."""
    line = find_deepspeed_line(target.job)
    if line is not None and line.command_line.launcher not in ("pdsh", None):
        word = line.command_line.command_line.options["launcher"].word
        yield Violation(line.locate_word(word), {"launcher": line.command_line.launcher})


@check()
def hostname_needed(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Several workers and no address of rank 0; values ``workers``."""
    line = find_deepspeed_line(target.job)
    hosts = sum(each.replicas for each in pod_hosts.read_hostfile(target.job))
    if (
        line is not None
        and line.command_line.command_line.is_certain
        and hosts > 1
        and "master_addr" not in line.command_line.command_line.options
    ):
        yield Violation(
            ("spec", "config"),
            {"workers": hosts},
            [(target.doc, find_worker_count(target.job)[0], f"{hosts} workers")],
        )


@check(aliases=("local-rank-of-program",))
def program_gets_local_rank(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A program or a module that fails on ``--local_rank``, its first argument; value ``program``."""
    line = find_deepspeed_line(target.job)
    if line is None or line.is_custom or "no_local_rank" in line.command_line.flags:
        return
    program, flags = line.command_line.command_line.script, line.command_line.flags
    if get_mapping(spec_of(target.job), "config").get("localRank") is False or program is None:
        return
    refuses = "no_python" in flags and _PROGRAM_WITH_OPTIONS.fullmatch(program.text.rpartition("/")[2])
    if program.is_known and (refuses or ("module" in flags and _STRICT_MODULES.fullmatch(program.text))):
        yield Violation(line.locate_word(program), {"program": program.text})


@check()
def unequal_slots(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A selection of hosts with different numbers of slots; values ``option`` and ``slots``."""
    line = find_deepspeed_line(target.job)
    if line is None:
        return
    numbers = _find_slot_counts(line.command_line, pod_hosts.read_hostfile(target.job))
    if len(numbers) > 1:
        name = "include" if line.command_line.include is not None else "exclude"
        slots = f"{' and '.join(map(str, numbers))} slots"
        yield Violation(
            line.locate_word(line.command_line.command_line.options[name].word),
            {"option": f"--{name}", "slots": slots},
        )


@check()
def unused_workers(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Workers that the options of deepspeed exclude; values ``option``, ``used``, ``workers``."""
    job = target.job
    line, hosts = find_deepspeed_line(job), pod_hosts.read_hostfile(job)
    pod_count = sum(each.replicas for each in hosts)
    if line is None or pod_count < 2:
        return
    command_line = line.command_line
    excluded_hosts = [
        host
        for host, slots in (command_line.exclude or {}).items()
        if not slots and pod_hosts.find_hostfile_hosts(hosts, host)
    ]
    if command_line.nodes is not None and 0 < command_line.nodes < pod_count:
        name, used_count = "num_nodes", command_line.nodes
    elif command_line.include is not None and len(command_line.include) < pod_count:
        name, used_count = "include", len(command_line.include)
    elif excluded_hosts:
        name, used_count = "exclude", pod_count - len(excluded_hosts)
    else:
        return
    related = (target.doc, find_worker_count(job)[0], f"{pod_count} workers")
    values = {"option": f"--{name}", "used": format_count(used_count, "worker"), "workers": pod_count}
    yield Violation(line.locate_word(command_line.command_line.options[name].word), values, [related])


@check()
def missing_workers(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """``--num_nodes`` above the number of workers; values ``nodes`` and ``workers``."""
    job = target.job
    line, pod_count = find_deepspeed_line(job), sum(each.replicas for each in pod_hosts.read_hostfile(job))
    if line is None or line.command_line.nodes is None or not 0 < pod_count < line.command_line.nodes:
        return
    related = (target.doc, find_worker_count(job)[0], format_count(pod_count, "worker"))
    values = {"nodes": line.command_line.nodes, "workers": format_count(pod_count, "worker")}
    yield Violation(
        line.locate_word(line.command_line.command_line.options["num_nodes"].word), values, [related]
    )


@check()
def custom_without_hostfile(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A customCommand with deepspeed and without the hostfile; value ``workers``."""
    line = find_deepspeed_line(target.job)
    hosts = pod_hosts.read_hostfile(target.job)
    pod_count = sum(each.replicas for each in hosts)
    if line is None or not line.is_custom or not line.command_line.command_line.is_certain or pod_count < 2:
        return
    command = get_text(get_mapping(spec_of(target.job), "config"), "customCommand")
    if (
        "hostfile" in line.command_line.command_line.options
        or line.command_line.hostfile is None
        or line.command_line.hostfile in command
    ):
        return
    yield Violation(("spec", "config", "customCommand"), {"workers": pod_count})


@check()
def custom_command_on_one_worker(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A customCommand whose launcher starts processes of worker 0 only; value ``what``."""
    job = target.job
    command = get_text(get_mapping(spec_of(job), "config"), "customCommand")
    hosts = sum(each.replicas for each in pod_hosts.read_hostfile(job))
    if not command or hosts < 2 or is_mode_enabled(job, "debug") or _REMOTE_COMMAND.search(command):
        return
    started = [launch for launch in find_launches(job) if launch.invocation.launcher != "other"]
    if not started or not all(_starts_locally(launch) for launch in started):
        return
    launch = started[-1]
    others_text = (
        f"the other {hosts - 1} workers run only sshd" if hosts > 2 else "the other worker runs only sshd"
    )
    facts = launch.torchrun
    if facts is not None and facts.node_range is not None and facts.node_range[0] > 1:
        wait_text = (
            f", and {launch.invocation.launcher} waits for {format_count(facts.node_range[0], 'node')}"
        )
    else:
        wait_text = ""
    message = f"{launch.invocation.launcher} starts on worker 0 only{wait_text}; {others_text}"
    related = [(target.doc, find_worker_count(job)[0], f"{hosts} workers")]
    yield Violation(_find_in_command(command, launch), {"what": message}, related)


def _find_in_command(command: str, launch: ContainerLaunch) -> Path:
    """Return the path of customCommand, with the range of the launcher if its name occurs once."""
    path: Path = ("spec", "config", "customCommand")
    word = launch.invocation.program_word.text
    start = command.find(word)
    return TextPath(path, (start, start + len(word))) if command.count(word) == 1 else path


def _starts_locally(launch: ContainerLaunch) -> bool:
    """Whether a program starts processes in its own Pod only, according to its command line."""
    if launch.invocation.is_conditional:
        return False
    return launch.invocation.launcher in _POD_LOCAL_LAUNCHERS or is_single_process(launch)


def _iter_unknown_hosts(job: LoweredJob, line: DeepSpeedLine) -> Iterator[tuple[Path, str]]:
    """Yield hosts and slots of --include and --exclude that do not exist."""
    hosts = pod_hosts.read_hostfile(job)
    for name, chosen in (("include", line.command_line.include), ("exclude", line.command_line.exclude)):
        for host, slots in (chosen or {}).items():
            hostfile_hosts = pod_hosts.find_hostfile_hosts(hosts, host)
            path = line.locate_word(line.command_line.command_line.options[name].word)
            if hostfile_hosts is None and hosts and "$" not in host:
                first, last = hosts[0].line.text_at(hosts[0].start), hosts[-1]
                names = first.split()[0]
                if last.replicas > 1:
                    names += f" to {last.line.text_at(last.start + last.replicas - 1).split()[0]}"
                yield path, f"--{name} names {host}, which is not in the hostfile ({names})"
            elif (
                hostfile_hosts is not None
                and hostfile_hosts.slots is not None
                and slots
                and slots[-1] >= hostfile_hosts.slots
            ):
                slots_text = (
                    f"{host} has the slots 0 to {hostfile_hosts.slots - 1}"
                    if hostfile_hosts.slots > 1
                    else f"{host} has slot 0 only"
                )
                yield path, f"--{name} names slot {slots[-1]}, and {slots_text}"


def _find_slot_counts(command_line: DeepSpeedCommand, hosts: list[pod_hosts.HostfileHosts]) -> list[int]:
    """Return the distinct numbers of slots of the selected hosts."""
    chosen = command_line.include if command_line.include is not None else command_line.exclude
    if chosen is None:
        return []
    slot_counts: set[int] = set()
    named_counts: dict[int, int] = {}
    for host, slots in chosen.items():
        hostfile_hosts = pod_hosts.find_hostfile_hosts(hosts, host)
        if hostfile_hosts is None or hostfile_hosts.slots is None:
            return []
        named_counts[id(hostfile_hosts)] = named_counts.get(id(hostfile_hosts), 0) + 1
        if command_line.include is not None:
            slot_counts.add(len(slots) or hostfile_hosts.slots)
        elif slots:
            slot_counts.add(hostfile_hosts.slots - len(slots))
    if command_line.exclude is not None:
        slot_counts |= {
            each.slots for each in hosts if each.slots and named_counts.get(id(each), 0) < each.replicas
        }
    return sorted(slot_counts - {0})
