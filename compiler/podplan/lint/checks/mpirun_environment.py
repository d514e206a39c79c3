"""Variables of a container that mpirun does not hand on to the other hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.launchers.mpirun import Mpirun
from podplan.lint.checks._jobs import kind_of
from podplan.lint.checks._launches import programs
from podplan.lint.checks._ssh_names import handed_on_by_itself
from podplan.lint.checks._training import env
from podplan.lint.subject import Hit, Subject
from podplan.typing import Any

# Options that only the mpirun of Open MPI has; that of MPICH and Intel MPI hands on every variable.
_OF_OPEN_MPI = frozenset({"mca", "allow_run_as_root", "map_by", "bind_to", "oversubscribe", "prtemca"})
_MOST_SHOWN = 3


def mpirun_env(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Lines of Open MPI that start processes on other hosts without the variables; value ``names``."""
    if kind_of(subject.job) != "GenericJob":
        return
    names = [name for _, name, _ in env(subject.data) if not handed_on_by_itself(name)]
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


def _on_other_hosts(facts: Mpirun) -> bool:
    """Whether Open MPI is told of other hosts."""
    told = bool(facts.hostfile) or len(facts.hosts) > 1
    given = facts.line.options
    by_dash_x = any(option.flag.text == "-x" for option in given.values())
    return told and (by_dash_x or not _OF_OPEN_MPI.isdisjoint(given))
