"""How many nodes a launcher waits for, beside how many Pods the job has.

Sources: docs/evidence/torchrun.md#node-count, docs/evidence/deepspeed-launcher.md#number-of-nodes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from podplan.core.indexed_text import Indexed
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import mapping
from podplan.launchers.accelerate import Accelerate
from podplan.launchers.deepspeed import HOSTFILE, DeepSpeed
from podplan.launchers.torchrun import Torchrun
from podplan.launchers.words import Word
from podplan.lint.analysis.jobs import kind_of, mode, replicas_written
from podplan.lint.analysis.launches import Launch, counted, launches
from podplan.lint.checks.restarts import by_torchrun
from podplan.lint.target import Hit, Job, Subject


class Wanted(NamedTuple):
    """The fewest and the most nodes of a line, and the word that says so (None: nothing does)."""

    least: int
    most: int
    word: Word | None

    @property
    def shown(self) -> str:
        return (
            counted(self.least, "node") if self.least == self.most else f"{self.least} to {self.most} nodes"
        )


def other_node_count(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Several nodes, but not as many as there are Pods. Values: ``by``, ``nodes``, ``pods``."""
    job = subject.job
    lines = _lines(job)
    total = sum(launch.group.replicas for launch, _ in lines)
    for launch, wanted in lines:
        # Types may train apart from each other, each with as many nodes as it has replicas.
        if wanted.most < 2 or any(
            wanted.least <= pods <= wanted.most for pods in (total, launch.group.replicas)
        ):
            continue
        values = {"by": launch.invocation.launcher, "nodes": wanted.shown, "pods": counted(total, "Pod")}
        word = wanted.word or launch.invocation.word
        yield Hit(launch.place(word), values, replicas_written(job), doc=launch.group.doc, group=launch.group)


def trains_alone(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A launcher for one node in a job of several equal Pods. Values: ``by``, ``told``, ``pods``."""
    job = subject.job
    lines = _lines(job)
    total = sum(launch.group.replicas for launch, _ in lines)
    generic = kind_of(job) == "GenericJob"
    for launch, wanted in lines:
        pods = launch.group.replicas if generic else total
        if wanted.most != 1 or pods < 2 or (generic and _differs_by_replica(launch)):
            continue
        values = {"by": launch.invocation.launcher, "told": _told(launch, wanted), "pods": pods}
        word = wanted.word or launch.invocation.word
        yield Hit(launch.place(word), values, replicas_written(job), doc=launch.group.doc, group=launch.group)


def _lines(job: Job) -> list[tuple[Launch, Wanted]]:
    """The lines that tell a number of nodes, and always run."""
    if mode(job, "debug"):
        return []
    found = []
    for launch in launches(job):
        # The controller gives the numbers itself where it runs torchrun.
        if by_torchrun(job) and not (launch.torchrun is not None and launch.torchrun.standalone):
            continue
        wanted = _wanted(launch)
        if wanted is not None and not launch.invocation.conditional and not launch.invocation.under:
            found.append((launch, wanted))
    groups = {id(launch.group) for launch, _ in found}
    # Two trainings in one container, one after the other: nobody knows which of them is for all Pods.
    return found if len(groups) == len(found) else []


def _wanted(launch: Launch) -> Wanted | None:
    facts = launch.invocation.facts
    if isinstance(facts, Torchrun):
        if facts.nodes is None or not facts.line.sure:
            return None
        if facts.standalone and facts.nodes == (1, 1):
            return Wanted(1, 1, facts.where("standalone", launch.invocation.word))
        option = facts.line.options.get("nnodes")
        return Wanted(*facts.nodes, option.word if option is not None else None)
    if isinstance(facts, Accelerate) and facts.machines is not None and facts.config_file is None:
        return Wanted(facts.machines, facts.machines, facts.line.options["num_machines"].word)
    if isinstance(facts, DeepSpeed) and facts.line.sure and _lacks_hostfile(launch, facts):
        return Wanted(
            1, 1, None
        )  # deepspeed then starts processes of this Pod only, whatever --num_nodes says
    return None


def _lacks_hostfile(launch: Launch, facts: DeepSpeed) -> bool:
    """Whether deepspeed finds no hostfile, since nothing of the Pod can have put one there: it stays local.

    Asked for several nodes it refuses instead, and nothing trains.
    """
    folder = HOSTFILE.rpartition("/")[0]
    spec = mapping(launch.group.doc.data, "spec")
    local = facts.hostfile == HOSTFILE and (facts.nodes is None or facts.nodes < 2)
    return local and folder not in json.dumps(spec) and not spec.get("initContainers")


def _told(launch: Launch, wanted: Wanted) -> str:
    """What a launcher is told of its nodes."""
    if launch.torchrun is not None and launch.torchrun.standalone:
        return "--standalone"
    if isinstance(launch.invocation.facts, DeepSpeed):
        return "of no hostfile"
    if wanted.word is None:
        return "no number of nodes"
    return "--num_machines=1" if launch.invocation.launcher == "accelerate" else "--nnodes=1"


def _differs_by_replica(launch: Launch) -> bool:
    """Whether the replicas get different words or variables: then each has work of its own."""
    varies = launch.group.doc.varies
    return any(isinstance(text, Indexed) and path[:3] == launch.path for path, text in varies.items())
