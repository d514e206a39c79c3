"""The number of nodes that a launcher waits for, compared with the Pods of the job.

Sources: docs/evidence/torchrun.md#node-count, docs/evidence/deepspeed-launcher.md#number-of-nodes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, value_at
from podplan.core.indexed_text import Indexed
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_mapping, get_texts
from podplan.launchers.commands import DEFAULT_HOSTFILE, AccelerateCommand, DeepSpeedCommand, TorchrunCommand
from podplan.launchers.words import Word
from podplan.lint.analysis.jobs import has_trait, is_mode_enabled, list_replica_places
from podplan.lint.analysis.launches import (
    ContainerLaunch,
    find_launch_on_replica,
    find_launches,
    find_option_path,
    get_last_index,
)
from podplan.lint.analysis.pod_hosts import find_job_of_host
from podplan.lint.analysis.pod_jobs import find_pod_jobs
from podplan.lint.analysis.resources import find_training_container
from podplan.lint.checks.registration import COUNT, check, object_schema
from podplan.lint.checks.restarts import is_launched_by_torchrun
from podplan.lint.target import LoweredJob, Target, Violation, cache_latest

_INDEX_VARIABLE = "JOB_COMPLETION_INDEX"
# Options with which a torchrun line joins a training of several nodes.
_MEETING_OPTIONS = frozenset(("master_addr", "rdzv_endpoint", "node_rank", "machine_rank", "main_process_ip"))


class NodeCountRange(NamedTuple):
    """The minimum and maximum number of nodes of a line, and the word with them (None for a default)."""

    minimum: int
    maximum: int
    word: Word | None

    @property
    def description(self) -> str:
        return (
            format_count(self.minimum, "node")
            if self.minimum == self.maximum
            else f"{self.minimum} to {self.maximum} nodes"
        )


@check()
def other_node_count(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Several nodes, but another number than Pods. Values: ``by``, ``nodes``, ``pods``."""
    job = target.job
    launch_counts = _find_launch_node_counts(job)
    pod_count = sum(launch.group.replicas for launch, _ in launch_counts)
    most_pods = pod_count + sum(group.replicas for group in job.pods if _starts_program_of_image(group))
    for launch, node_count in launch_counts:
        possible_counts = [pod_count, most_pods, *_count_job_pods(job, launch)]
        # Types may train apart from each other, each with as many nodes as it has replicas.
        is_elastic = node_count.minimum != node_count.maximum
        if is_elastic or not any(_meets(launch, other) for other, _ in launch_counts):
            possible_counts.append(launch.group.replicas)
        if (
            node_count.maximum < 2
            or any(node_count.minimum <= pods <= node_count.maximum for pods in possible_counts)
            or _waits_for_turn(job, launch, node_count)
            or _joins_other_job(job, launch)
        ):
            continue
        values = {
            "by": launch.invocation.launcher,
            "nodes": node_count.description,
            "pods": format_count(sum(_count_nodes_by_host(job).values()) or pod_count, "Pod"),
        }
        yield Violation(
            _locate_node_count(launch, node_count),
            values,
            list_replica_places(job),
            doc=launch.group.doc,
            group=launch.group,
        )


def _count_job_pods(job: LoweredJob, launch: ContainerLaunch) -> tuple[int, ...]:
    """Further numbers of Pods that may train together, where Jobs create them: of one Job, of all Jobs of its
    type, and of all types, or of those that meet at one host."""
    pod_jobs, nodes = find_pod_jobs(job, launch.group), _count_nodes_by_host(job)
    if pod_jobs is None:
        return ()
    one_job = pod_jobs.parallelism
    return one_job, one_job * pod_jobs.jobs, sum(nodes.values()), nodes.get(_get_host(launch), 0)


@cache_latest
def _count_nodes_by_host(job: LoweredJob) -> dict[str | None, int]:
    """Count the Pods of multi-node lines by rendezvous host; empty if no Jobs create them."""
    counts: dict[str | None, int] = {}
    for launch, node_count in _find_launch_node_counts(job):
        if node_count.maximum > 1 and find_pod_jobs(job, launch.group) is not None:
            counts[_get_host(launch)] = counts.get(_get_host(launch), 0) + launch.group.replicas
    return counts


def _get_host(launch: ContainerLaunch) -> str | None:
    facts = launch.invocation.parsed
    if isinstance(facts, AccelerateCommand):
        return facts.main_ip
    return facts.host if isinstance(facts, TorchrunCommand) else None


def _meets(launch: ContainerLaunch, other: ContainerLaunch) -> bool:
    """Whether the nodes of two replica types meet at the same port of a replica."""
    facts, first = launch.torchrun, other.torchrun
    if facts is None or first is None or launch.group.replica_type == other.group.replica_type:
        return False
    return bool(facts.host) and (facts.host, facts.port) == (first.host, first.port)


def _joins_other_job(job: LoweredJob, launch: ContainerLaunch) -> bool:
    """Whether Pods of another job may be nodes as well.

    The nodes meet at one of them, or the only Pod of this job has a rank that is written out.
    """
    facts = launch.torchrun
    if facts is None or find_pod_jobs(job, launch.group) is None:
        return False
    rank = facts.command_line.options.get("node_rank")
    written = value_at(launch.container, rank.word.path) if rank is not None else "$"
    is_single = sum(group.replicas for group in job.pods) == 1 and "$" not in str(written)
    return is_single or bool(facts.host and find_job_of_host(job, facts.host))


def _waits_for_turn(job: LoweredJob, launch: ContainerLaunch, node_count: NodeCountRange) -> bool:
    """Whether the nodes are the Pods of a Job that runs some of them only after others have ended."""
    pod_jobs = find_pod_jobs(job, launch.group)
    return pod_jobs is not None and pod_jobs.runs_in_turns and node_count.minimum <= pod_jobs.completions


@check()
def nodes_in_turns(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A launcher for several nodes in a Job that runs some of its Pods later. Values: ``by``, ``nodes``,
    ``parallelism``, ``completions``."""
    job = target.job
    for launch, node_count in _find_launch_node_counts(job):
        pod_jobs = find_pod_jobs(job, launch.group)
        if pod_jobs is None or node_count.maximum < 2 or not _waits_for_turn(job, launch, node_count):
            continue
        values = {
            "by": launch.invocation.launcher,
            "nodes": node_count.description,
            "parallelism": pod_jobs.parallelism,
            "completions": pod_jobs.completions,
        }
        related = [(launch.group.doc, _locate_node_count(launch, node_count), node_count.description)]
        doc = pod_jobs.doc
        if "completions" in get_mapping(doc.data, "spec"):
            related.append((doc, ("spec", "completions"), format_count(pod_jobs.completions, "Pod")))
        group = next((one for one in job.groups if one.doc is doc), None)
        yield Violation(pod_jobs.parallelism_path, values, related, doc=doc, group=group)


@check(params=object_schema({"default": COUNT}))
def retries_of_nodes(target: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """Fewer retries of a Job than a failure of all its nodes uses. Values: ``by``, ``nodes``,
    ``retries``, ``said``."""
    job = target.job
    for launch, node_count in _find_launch_node_counts(job):
        pod_jobs = find_pod_jobs(job, launch.group)
        if pod_jobs is None or node_count.minimum != node_count.maximum or _restarts_processes(launch):
            continue
        limit = get_mapping(pod_jobs.doc.data, "spec").get("backoffLimit")
        retries = limit if isinstance(limit, int) else params["default"]
        nodes = min(node_count.maximum, pod_jobs.parallelism)
        if nodes < 2 or not 0 < retries < nodes:
            continue
        values = {
            "by": launch.invocation.launcher,
            "nodes": nodes,
            "retries": retries,
            "said": "" if limit is not None else ", the default of backoffLimit",
        }
        path = launch.locate_word(launch.invocation.program_word)
        if limit is None:
            yield Violation(path, values, doc=launch.group.doc, group=launch.group)
            continue
        related = [(launch.group.doc, path, format_count(nodes, "node"))]
        group = next((one for one in job.groups if one.doc is pod_jobs.doc), None)
        yield Violation(("spec", "backoffLimit"), values, related, doc=pod_jobs.doc, group=group)


def _restarts_processes(launch: ContainerLaunch) -> bool:
    """Whether the launcher restarts the processes when another node has failed."""
    return launch.torchrun is not None and launch.torchrun.max_restarts != 0


def _starts_program_of_image(group: ReplicaGroup) -> bool:
    """Whether the training container has no command, so that its image decides whether it is a node."""
    training_container = find_training_container(group)
    return training_container is not None and not training_container[1].get("command")


def _locate_node_count(launch: ContainerLaunch, node_count: NodeCountRange) -> Path:
    if node_count.word is None and launch.torchrun is not None:
        return find_option_path(launch, launch.torchrun, "nnodes")
    return launch.locate_word(node_count.word or launch.invocation.program_word)


@check(aliases=("trains-alone",))
def independent_replicas(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A launcher for one node in a job of several equal Pods. Values: ``by``, ``told``, ``pods``."""
    job = target.job
    launch_counts = _find_launch_node_counts(job)
    total = sum(launch.group.replicas for launch, _ in launch_counts)
    is_by_user = has_trait(job, "ranks-by-user")
    for launch, node_count in launch_counts:
        pods = _count_equal_pods(job, launch) if is_by_user else total
        if node_count.maximum != 1 or pods < 2 or (is_by_user and _varies_by_replica(launch)):
            continue
        values = {
            "by": launch.invocation.launcher,
            "told": _describe_node_count(launch, node_count),
            "pods": pods,
        }
        word = node_count.word or launch.invocation.program_word
        yield Violation(
            launch.locate_word(word),
            values,
            list_replica_places(job),
            doc=launch.group.doc,
            group=launch.group,
        )


def _find_launch_node_counts(job: LoweredJob) -> list[tuple[ContainerLaunch, NodeCountRange]]:
    """Return the command lines that state a number of nodes and always run."""
    if is_mode_enabled(job, "debug"):
        return []
    launch_counts = []
    for launch in find_launches(job):
        # A controller that runs torchrun sets the numbers itself.
        if is_launched_by_torchrun(job) and not (launch.torchrun is not None and launch.torchrun.standalone):
            continue
        node_count = _find_node_count(launch)
        if (
            node_count is not None
            and not launch.invocation.is_conditional
            and not launch.invocation.started_by
        ):
            launch_counts.append((launch, node_count))
    groups = {id(launch.group) for launch, _ in launch_counts}
    # Two consecutive trainings in one container: it is unknown which of them is for all Pods.
    return launch_counts if len(groups) == len(launch_counts) else []


def _find_node_count(launch: ContainerLaunch) -> NodeCountRange | None:
    facts = launch.invocation.parsed
    if isinstance(facts, TorchrunCommand):
        if facts.node_range is None or not facts.command_line.is_certain:
            return None
        if facts.standalone and facts.node_range == (1, 1):
            return NodeCountRange(1, 1, facts.find_option_word("standalone", launch.invocation.program_word))
        option = facts.command_line.options.get("nnodes")
        return NodeCountRange(*facts.node_range, option.word if option is not None else None)
    if isinstance(facts, AccelerateCommand) and facts.machines is not None and facts.config_file is None:
        return NodeCountRange(facts.machines, facts.machines, facts.command_line.options["num_machines"].word)
    if (
        isinstance(facts, DeepSpeedCommand)
        and facts.command_line.is_certain
        and _lacks_hostfile(launch, facts)
    ):
        return NodeCountRange(
            1, 1, None
        )  # deepspeed then starts processes in this Pod only and ignores --num_nodes
    return None


def _lacks_hostfile(launch: ContainerLaunch, facts: DeepSpeedCommand) -> bool:
    """Whether deepspeed finds no hostfile, because nothing in the Pod can create one, and stays local.

    With several nodes requested it fails instead, and nothing trains.
    """
    folder = re.compile(rf"(?<![\w.]){re.escape(DEFAULT_HOSTFILE.rpartition('/')[0])}(?![\w-])")
    spec = get_mapping(launch.group.doc.data, "spec")
    local = facts.hostfile == DEFAULT_HOSTFILE and (facts.nodes is None or facts.nodes < 2)
    return local and not folder.search(json.dumps(spec)) and not spec.get("initContainers")


def _describe_node_count(launch: ContainerLaunch, node_count: NodeCountRange) -> str:
    """Describe the nodes in the options of a launcher."""
    if launch.torchrun is not None and launch.torchrun.standalone:
        return "--standalone"
    if isinstance(launch.invocation.parsed, DeepSpeedCommand):
        return "no hostfile"
    if node_count.word is None:
        return "no number of nodes"
    return "--num_machines=1" if launch.invocation.launcher == "accelerate" else "--nnodes=1"


def _count_equal_pods(job: LoweredJob, launch: ContainerLaunch) -> int:
    """Count the Pods that appear to train together: of a group, or of one Job if each Job has its own work.

    The Jobs of a group train together if the line names a host or a rank; consecutive Pods never do.
    """
    pod_jobs = find_pod_jobs(job, launch.group)
    if pod_jobs is None:
        return launch.group.replicas
    if pod_jobs.runs_in_turns:
        return 0
    is_joined = not _MEETING_OPTIONS.isdisjoint(launch.invocation.options)
    return pod_jobs.parallelism * (pod_jobs.jobs if is_joined else 1)


def _varies_by_replica(launch: ContainerLaunch) -> bool:
    """Whether the replicas get different words or variables: then each has its own work."""
    varies = launch.group.doc.replica_texts
    if any(isinstance(text, Indexed) and path[:3] == launch.path for path, text in varies.items()):
        return True
    if not _MEETING_OPTIONS.isdisjoint(launch.invocation.options):
        return False
    texts = [text for key in ("command", "args") for _, text in get_texts(launch.container, key)]
    end = find_launch_on_replica(launch, get_last_index(launch.group))
    words = [word.text for word in launch.invocation.words]
    return (
        any(_INDEX_VARIABLE in text for text in texts)
        or end is None
        or [word.text for word in end.invocation.words] != words
    )
