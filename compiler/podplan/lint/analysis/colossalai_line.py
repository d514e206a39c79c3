"""The command lines of a ColossalAIJob: colossalai run on the launcher, and torchrun on a worker."""

from __future__ import annotations

from podplan.core.findings import Path
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import NamedTuple
from podplan.kubernetes.accessors import get_mapping, get_texts
from podplan.launchers.commands import ColossalAICommand, TorchrunCommand
from podplan.launchers.words import Word
from podplan.lint.analysis import pod_hosts
from podplan.lint.analysis.jobs import has_trait, spec_of
from podplan.lint.analysis.launches import ContainerLaunch, find_launches
from podplan.lint.target import LoweredJob, cache_latest

# Where each dialect has the options of torchrun.
_OPTION_FIELDS = (("torchConfig", "extraArgs"), ("worker", "torchArgs"))


class ColossalAILine(NamedTuple):
    """The command line of the launcher, the options of torchrun in the CR, and torchrun on a worker.

    ``items`` are the entries of the CR; words of ``torchrun`` that come from them have their places.
    """

    launch: ContainerLaunch
    command_line: ColossalAICommand
    items: tuple[Word, ...]
    torchrun: TorchrunCommand
    hosts: int
    job: LoweredJob

    def locate_word(self, word: Word) -> tuple[Path, TracedDocument | None, ReplicaGroup | None]:
        """Return the path of a word, in the CR or in the Pod of the launcher."""
        if word.path[:1] == ("spec",):
            return word.path, self.job.cr, None
        return self.launch.locate_word(word), self.launch.group.doc, self.launch.group


@cache_latest
def find_colossalai_line(job: LoweredJob) -> ColossalAILine | None:
    """Return the command lines of a job; None for other kinds, and if no launcher runs colossalai run."""
    if not has_trait(job, "colossalai-by-controller"):
        return None
    for launch in find_launches(job):
        facts = launch.invocation.parsed
        if isinstance(facts, ColossalAICommand) and launch.group.replica_type == "launcher":
            return _build_line(job, launch, facts)
    return None


def _build_line(job: LoweredJob, launch: ContainerLaunch, facts: ColossalAICommand) -> ColossalAILine:
    from podplan.launchers.colossalai import parse_started_torchrun, split_extra_args

    items = _read_option_words(job)
    extra = tuple(
        piece for item in items for piece in split_extra_args(item._replace(text=to_launch_argument(item)))
    )
    if [piece.text for piece in extra] != [piece.text for piece in facts.extra_pieces]:
        items, extra = (), facts.extra_pieces
    hostfile_hosts = pod_hosts.read_hostfile(job)
    first_host = hostfile_hosts[0].line.text_at(hostfile_hosts[0].start).split()[0] if hostfile_hosts else ""
    hosts = sum(each.replicas for each in hostfile_hosts)
    if facts.nodes is not None and 0 < facts.nodes < hosts:
        hosts = facts.nodes
    start, variables = launch.invocation.program_word, launch.invocation.variables
    torchrun = parse_started_torchrun(facts, extra, first_host, hosts, start, variables)
    return ColossalAILine(launch, facts, items, torchrun, hosts, job)


def _read_option_words(job: LoweredJob) -> tuple[Word, ...]:
    for section, field in _OPTION_FIELDS:
        option_words = tuple(get_texts(get_mapping(spec_of(job), section), field))
        if option_words:
            return tuple(Word(text, ("spec", section, field, at)) for at, text in option_words)
    return ()


def to_launch_argument(item: Word) -> str:
    """Return an option as the controller passes it to colossalai run (facts.COLOSSALAI_LAUNCH_ARGUMENTS)."""
    return item.text.removeprefix("--")
