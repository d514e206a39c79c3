"""Variables of a container that mpirun does not hand on to the other hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.lazy_regex import pattern
from podplan.core.typing import Any
from podplan.kubernetes.accessors import texts
from podplan.launchers.mpirun import Mpirun
from podplan.lint.analysis.jobs import kind_of
from podplan.lint.analysis.launches import programs
from podplan.lint.analysis.ssh_names import handed_on_by_itself
from podplan.lint.analysis.training import env
from podplan.lint.target import Hit, Subject

# Options that only the mpirun of Open MPI has; that of MPICH and Intel MPI hands on every variable.
_OF_OPEN_MPI = frozenset({"mca", "allow_run_as_root", "map_by", "bind_to", "oversubscribe", "prtemca"})
_MOST_SHOWN = 3
_REFERENCE = pattern(r"\$[({]?([A-Za-z_][A-Za-z0-9_]*)")
# What libraries read in each process, whatever else reads it.
_OF_LIBRARIES = pattern(
    r"(?:NCCL|RCCL|UCX|FI|GLOO|TORCH|CUDA|HF|HUGGINGFACE|TRANSFORMERS|WANDB|MLFLOW|OMP|MKL|LD|XLA|TF)_|PYTHON|"
    r"(?i:https?_proxy|no_proxy)$"
)


def mpirun_env(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Lines of Open MPI that start processes on other hosts without the variables; value ``names``."""
    if kind_of(subject.job) != "GenericJob":
        return
    names = [name for _, name, _ in env(subject.data) if not handed_on_by_itself(name)]
    read = _read_by_the_line(subject.data)
    names = [name for name in names if name not in read or _OF_LIBRARIES.match(name)]
    if not names:
        return
    for invocation in programs(subject):
        facts = invocation.facts
        if not isinstance(facts, Mpirun) or not _on_other_hosts(facts):
            continue
        lost = [name for name in names if name not in facts.exported]
        if lost and facts.line.sure:
            more = f" and {len(lost) - _MOST_SHOWN} more" if len(lost) > _MOST_SHOWN else ""
            listed = ", ".join(lost[:_MOST_SHOWN]) + more
            yield Hit(invocation.path, {"names": listed, "options": " ".join(f"-x {n}" for n in lost)})


def _read_by_the_line(container: Mapping[str, Any]) -> frozenset[str]:
    """Variables that the command line replaces, as a host list, and those that these are made of.

    Nothing says that a process reads one of them as well.
    """
    values = {name: entry.get("value") for _, name, entry in env(container)}
    left = [text for key in ("command", "args") for _, text in texts(container, key)]
    read: set[str] = set()
    while left:
        found = {match[1] for match in _REFERENCE.finditer(left.pop())} & values.keys() - read
        read |= found
        left += [value for name in found if isinstance(value := values[name], str)]
    return frozenset(read)


def _on_other_hosts(facts: Mpirun) -> bool:
    """Whether Open MPI is told of other hosts."""
    told = bool(facts.hostfile) or len(facts.hosts) > 1
    given = facts.line.options
    by_dash_x = any(option.flag.text == "-x" for option in given.values())
    return told and (by_dash_x or not _OF_OPEN_MPI.isdisjoint(given))
