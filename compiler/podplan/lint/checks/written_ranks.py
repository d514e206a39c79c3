"""Ranks and world sizes in a CR whose controller sets none.

Rank 0 waits until as many processes as the world size have joined, each with its own rank.
Source: https://docs.pytorch.org/docs/stable/distributed.html#environment-variable-initialization.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.replica_groups import ReplicaGroup, build_folded_at_index
from podplan.core.typing import Any, NamedTuple
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_mapping
from podplan.launchers import kubelet
from podplan.lint.analysis.jobs import (
    count_gpus,
    format_type_of,
    has_trait,
    is_mode_enabled,
    list_replica_places,
)
from podplan.lint.analysis.launches import (
    ContainerLaunch,
    find_launch_on_replica,
    find_launches,
    find_variable_path,
    get_last_index,
)
from podplan.lint.analysis.pod_hosts import find_pod, is_loopback
from podplan.lint.analysis.pod_jobs import find_pod_jobs
from podplan.lint.analysis.resources import find_training_container
from podplan.lint.analysis.script_options import iter_given_options
from podplan.lint.analysis.training import iter_env
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

# Names of ranks and their world sizes: variables, and options of scripts.
_VARIABLES = (("RANK", "WORLD_SIZE"), ("JAX_PROCESS_ID", "JAX_NUM_PROCESSES"))
_OPTIONS = (("rank", "world_size"), ("process_id", "num_processes"))
_TF_CONFIG, _EVALUATOR = "TF_CONFIG", "evaluator"  # an evaluator is not in the cluster
_LONGEST = 100_000  # characters of a configuration that is read
_ONE_PROCESS = ("LOCAL_RANK", "LOCAL_WORLD_SIZE")


class Member(NamedTuple):
    """Replicas that join with ranks from ``first`` to ``last``, and their world size."""

    group: ReplicaGroup
    first: int
    last: int
    world: int
    rank_path: Path
    world_path: Path
    processes: int
    host: str

    @property
    def is_range(self) -> bool:
        """Whether each replica has a rank of its own."""
        return self.last - self.first == self.group.replicas - 1


class Value(NamedTuple):
    """A value in one replica, None if it is unknown, and its path in the Pod."""

    text: str | None
    path: Path


@check()
def written_ranks(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Ranks of two replicas that are equal, or a world size that is not the number of ranks.

    Value: ``what``.
    """
    job = subject.job
    if is_mode_enabled(job, "debug"):
        return
    is_by_user = has_trait(job, "ranks-by-user")
    yield from _iter_left_out(job) if is_by_user else ()
    # Controllers give torch its ranks by variables; a program gets those of jax by its options.
    for names in (*_VARIABLES, *_OPTIONS) if is_by_user else _OPTIONS[1:]:
        members = _members(job, names)
        if not members:
            continue
        for host in dict.fromkeys(member.host for member in members):
            world = [member for member in members if member.host == host]
            same = list(_same_ranks(world, names[0]))
            yield from same
            if not same:
                yield from _other_world(job, world, names)
        return


def _iter_left_out(job: LoweredJob) -> Iterator[Violation]:
    """Yield the lists of hosts in TF_CONFIG that end before the last replica."""
    for group in job.pods:
        found = find_training_container(group)
        if found is None:
            continue
        for at, name, entry in iter_env(found[1]):
            if name != _TF_CONFIG or "value" not in entry:
                continue
            last = get_last_index(group)
            pod = build_folded_at_index(group.doc, last) if group.doc.replica_texts else group.doc.data
            container = pod["spec"]["containers"][found[0][-1]]
            text = kubelet.resolve_environment(container, get_mapping(pod, "metadata")).get(_TF_CONFIG)
            what = _explain_left_out(text or "")
            if what:
                path: Path = (*found[0], "env", at, "value")
                yield Violation(path, {"what": what}, list_replica_places(job), doc=group.doc, group=group)


def _explain_left_out(text: str) -> str:
    """Explain why a replica is not in the cluster of its TF_CONFIG; "" if it is, or that is not known."""
    try:
        config = json.loads(text) if len(text) < _LONGEST else None
    except (ValueError, RecursionError):
        return ""
    task = get_mapping(config if isinstance(config, dict) else {}, "task")
    type_, index = task.get("type"), task.get("index")
    hosts = get_mapping(config if isinstance(config, dict) else {}, "cluster").get(str(type_))
    if type_ == _EVALUATOR or not isinstance(hosts, list) or type(index) is not int or index < len(hosts):
        return ""
    listed = format_count(len(hosts), f"{type_}")
    return f"{_TF_CONFIG} lists {listed}, and {type_} {index} is not one of them"


def _same_ranks(members: list[Member], name: str) -> Iterator[Violation]:
    for at, member in enumerate(members):
        group = member.group
        if group.replicas > 1 and not member.is_range:
            if member.first == member.last:
                what = f"{name} is {member.first} in all {group.replicas} replicas{format_type_of(group)}"
                yield _hit(member, member.rank_path, what)
            continue
        for other in members[:at]:
            rank = max(member.first, other.first)
            if other.is_range and rank <= min(member.last, other.last):
                what = (
                    f"{name} is {rank} in a replica of {other.group.replica_type} and in one of"
                    f" {group.replica_type}"
                )
                if other.first == member.first == 0:
                    what += ": the ranks of both types count from 0"
                related = [(other.group.doc, other.rank_path, f"{name} of {other.group.replica_type}")]
                yield _hit(member, member.rank_path, what, related)
                return


def _other_world(job: LoweredJob, members: list[Member], names: tuple[str, str]) -> Iterator[Violation]:
    total = sum(member.group.replicas for member in members)
    processes = max(member.processes for member in members)
    highest = max(member.last for member in members)
    for member in members:
        world = member.world
        if world % total == 0 and 0 < world // total <= processes and (world != total or highest < world):
            continue
        are = f"{format_count(total, 'replica')} with a {names[0]}"
        happens = (
            f"all replicas wait for rank {total}" if world > total else f"rank {highest} is not below it"
        )
        if world == total:
            happens = f"rank {highest} is not below it"
        what = f"{names[1]} is {world} but the job has {are}: {happens}"
        yield _hit(member, member.world_path, what, list_replica_places(job))
        return


def _hit(member: Member, path: Path, what: str, related: Any = ()) -> Violation:
    return Violation(path, {"what": what}, related, doc=member.group.doc, group=member.group)


def _members(job: LoweredJob, names: tuple[str, str]) -> list[Member]:
    """Return the replicas that join by such names; empty if a value is unknown."""
    members: list[Member] = []
    for group in job.pods:
        found = _values(job, group, names)
        if found is None:
            continue
        first, end, world = found
        numbers = [value.text or "" for value in (first, end, world)]
        if not all(number.isdecimal() and len(number) < 8 for number in numbers):
            return []
        low, high, size = map(int, numbers)
        # A program of jax is one process in each replica.
        is_for_all = names in _OPTIONS[1:] and size == sum(each.replicas for each in job.pods) > 1
        if low == high == 0 and size <= _processes(group) and not is_for_all:
            continue  # it trains alone
        pod_jobs, host = find_pod_jobs(job, group), _find_host(job, group)
        if pod_jobs is not None and (pod_jobs.runs_in_turns or (pod_jobs.jobs > 1 and not host)):
            return []  # it is not known which of them join each other
        members.append(Member(group, low, high, size, first.path, world.path, _processes(group), host))
    return members


def _find_host(job: LoweredJob, group: ReplicaGroup) -> str:
    """Return the common rendezvous host of several Jobs; "" if they have none, or one each."""
    if not has_trait(job, "host-by-index"):
        return ""
    hosts = set()
    for launch in find_launches(job):
        end = find_launch_on_replica(launch, get_last_index(group)) if launch.group is group else None
        if end is not None:
            hosts |= {one.invocation.variables.get("MASTER_ADDR") for one in (launch, end)}
    return next(iter(hosts)) or "" if len(hosts) == 1 else ""


def _processes(group: ReplicaGroup) -> int:
    """Return how many processes with ranks a replica may start itself."""
    found = find_training_container(group)
    fixed = found is not None and any(name in _ONE_PROCESS for _, name, _ in iter_env(found[1]))
    return 1 if fixed else max(count_gpus(group), 1)


def _values(
    job: LoweredJob, group: ReplicaGroup, names: tuple[str, str]
) -> tuple[Value, Value, Value] | None:
    """Return the ranks of the first and the last replica and the world size; None if the group has none."""
    of_group = [launch for launch in find_launches(job) if launch.group is group]
    if any(launch.is_launcher or launch.invocation.parsed is not None for launch in of_group):
        return None  # it sets the ranks of its processes itself
    for launch in of_group:
        end = find_launch_on_replica(launch, get_last_index(group))
        if launch.invocation.is_conditional or end is None or _meets_elsewhere(job, launch):
            continue
        first, final = _value(launch, names[0]), _value(end, names[0])
        world = _value(launch, names[1])
        if first is not None and final is not None and world is not None:
            return first, final, world
    return _of_image(group, names) if not of_group and names in _VARIABLES else None


def _meets_elsewhere(job: LoweredJob, launch: ContainerLaunch) -> bool:
    """Whether the rendezvous host of a program is no replica of this job, or may be another one than the
    only replica."""
    variables = launch.invocation.variables
    host = variables.get("MASTER_ADDR")
    if host is None and "MASTER_ADDR" in variables:  # of a ConfigMap
        return launch.group.replicas == 1
    return bool(host) and not is_loopback(host or "") and find_pod(job, host or "") is None


def _value(launch: ContainerLaunch, name: str) -> Value | None:
    """Return the value of a variable or of an option of a program."""
    if name.isupper():
        if name not in launch.invocation.variables:
            return None
        path = find_variable_path(launch, name) or launch.locate_word(launch.invocation.program_word)
        return Value(launch.invocation.variables[name], path)
    found = [one for one in iter_given_options(launch.invocation.arguments) if one.last == name]
    return Value(found[-1].value, launch.locate_word(found[-1].word)) if found else None


def _of_image(group: ReplicaGroup, names: tuple[str, str]) -> tuple[Value, Value, Value] | None:
    """Return the value of a variable for a container that runs the program of its image."""
    found = find_training_container(group)
    if found is None:
        return None
    path, container = found
    places: dict[str, Path] = {
        name: (*path, "env", at, "valueFrom" if "valueFrom" in entry else "value")
        for at, name, entry in iter_env(container)
    }
    if not all(name in places for name in names):
        return None
    values = []
    for index in (group.start, get_last_index(group)):
        pod = build_folded_at_index(group.doc, index) if group.doc.replica_texts else group.doc.data
        values.append(
            kubelet.resolve_environment(pod["spec"]["containers"][path[-1]], get_mapping(pod, "metadata"))
        )
    rank, world = names
    return (
        Value(values[0].get(rank), places[rank]),
        Value(values[1].get(rank), places[rank]),
        Value(values[0].get(world), places[world]),
    )
