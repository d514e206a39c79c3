"""The lines of a ColossalAIJob: colossalai run on the launcher, and torchrun as it starts it on a worker."""

from __future__ import annotations

from podplan.core.findings import Path
from podplan.core.provenance import Doc
from podplan.core.replica_groups import Group
from podplan.core.typing import NamedTuple
from podplan.kubernetes.accessors import mapping, texts
from podplan.launchers.colossalai import ColossalAI, pieces, read_torchrun
from podplan.launchers.torchrun import Torchrun
from podplan.launchers.words import Word
from podplan.lint.analysis import pod_hosts
from podplan.lint.analysis.jobs import kind_of, spec_of
from podplan.lint.analysis.launches import Launch, launches
from podplan.lint.target import Job, for_one

# Where each dialect has the options of torchrun.
_FIELDS = (("torchConfig", "extraArgs"), ("worker", "torchArgs"))


class ColossalAILine(NamedTuple):
    """The line of the launcher, the options of torchrun as the CR has them, and torchrun on a worker.

    ``items`` are the entries of the CR; words of ``torchrun`` that come from them have their places.
    """

    launch: Launch
    read: ColossalAI
    items: tuple[Word, ...]
    torchrun: Torchrun
    hosts: int
    job: Job

    def place(self, word: Word) -> tuple[Path, Doc | None, Group | None]:
        """Where a word stands, in the CR or in the Pod of the launcher."""
        if word.path[:1] == ("spec",):
            return word.path, self.job.cr, None
        return self.launch.place(word), self.launch.group.doc, self.launch.group


@for_one
def line_of(job: Job) -> ColossalAILine | None:
    """The lines of a job; None for other kinds, and where no launcher runs colossalai run."""
    if kind_of(job) != "ColossalAIJob":
        return None
    for launch in launches(job):
        facts = launch.invocation.facts
        if isinstance(facts, ColossalAI) and launch.group.role == "launcher":
            return _line(job, launch, facts)
    return None


def _line(job: Job, launch: Launch, facts: ColossalAI) -> ColossalAILine:
    items = _items(job)
    extra = tuple(piece for item in items for piece in pieces(item._replace(text=handed_on(item))))
    if [piece.text for piece in extra] != [piece.text for piece in facts.extra]:
        items, extra = (), facts.extra
    listed = pod_hosts.hostfile(job)
    first = listed[0].line.text(listed[0].start).split()[0] if listed else ""
    hosts = sum(each.replicas for each in listed)
    if facts.nodes is not None and 0 < facts.nodes < hosts:
        hosts = facts.nodes
    start, variables = launch.invocation.word, launch.invocation.variables
    torchrun = read_torchrun(facts, extra, first, hosts, start, variables)
    return ColossalAILine(launch, facts, items, torchrun, hosts, job)


def _items(job: Job) -> tuple[Word, ...]:
    for section, field in _FIELDS:
        listed = tuple(texts(mapping(spec_of(job), section), field))
        if listed:
            return tuple(Word(text, ("spec", section, field, at)) for at, text in listed)
    return ()


def handed_on(item: Word) -> str:
    """An option as the controller hands it to colossalai run (facts.COLOSSALAI_LAUNCH_ARGUMENTS)."""
    return item.text.removeprefix("--")
