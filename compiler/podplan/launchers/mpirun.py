"""mpirun and mpiexec, as Open MPI, Intel MPI and MPICH spell their options.

Source: https://docs.open-mpi.org/en/main/man-openmpi/man1/mpirun.1.html, docs/evidence/mpirun.md. One dash or
two are the same. What stands behind an option that is not in the table is not looked at: nobody knows whether
the option takes a value.
"""

from __future__ import annotations

from podplan.core.typing import NamedTuple
from podplan.launchers.arguments import Line, Option, integer
from podplan.launchers.words import Fault, Variables, Word

# Option -> its name here, and how many words follow it.
_SPELLED = {
    "np": ("np", 1), "n": ("np", 1), "c": ("np", 1),
    "N": ("per_node", 1), "npernode": ("per_node", 1), "ppn": ("per_node", 1), "perhost": ("per_node", 1),
    "hostfile": ("hostfile", 1), "machinefile": ("hostfile", 1), "f": ("hostfile", 1),
    "default-hostfile": ("hostfile", 1), "H": ("host", 1), "host": ("host", 1), "hosts": ("host", 1),
    "x": ("export", 1), "genv": ("export", 2), "env": ("export", 2), "genvlist": ("export_list", 1),
    "mca": ("mca", 2), "gmca": ("mca", 2), "prtemca": ("mca", 2), "pmixmca": ("mca", 2),
}  # fmt: skip
_ONE_WORD = """
    am bind-to map-by rank-by wd wdir path prefix output-filename rankfile rf report-pid report-uri slot-list
    stdin timeout tune personality rank-constraints runtime-options output display dvm launcher bootstrap
"""
_NO_WORD = """
    allow-run-as-root oversubscribe nooversubscribe use-hwthread-cpus bind-to-core bind-to-socket bind-to-none
    bynode byslot tag-output timestamp-output report-bindings display-map display-allocation nolocal q quiet
    enable-recovery disable-recovery do-not-launch v verbose d debug-daemons novm forward-signals genvall l
    prepend-rank get-stack-traces merge-stderr-to-stdout xterm show-progress
"""
OPTIONS: dict[str, tuple[str, int]] = {
    **_SPELLED,
    **{name: (name.replace("-", "_"), 1) for name in _ONE_WORD.split()},
    **{name: (name.replace("-", "_"), 0) for name in _NO_WORD.split()},
}


class Mpirun(NamedTuple):
    """What an mpirun line asks for; None is what is not given, or not known offline.

    ``exported`` are the names of the variables that other hosts get; ``rest`` is the program with its
    arguments.
    """

    line: Line
    processes: int | None
    per_node: int | None
    hostfile: str | None
    hosts: tuple[str, ...]
    exported: tuple[str, ...]
    mca: dict[str, str]
    as_root: bool
    rest: tuple[Word, ...]
    errors: tuple[Fault, ...]


def read(words: tuple[Word, ...], start: Word, variables: Variables) -> Mpirun:
    """An mpirun line after the name of the program; ``variables`` are those of its environment."""
    options: dict[str, Option] = {}
    exported: list[str] = []
    mca: dict[str, str] = {}
    faults: list[Fault] = []
    at, sure = 0, True
    while at < len(words) and _is_option(words[at]):
        flag = words[at]
        spelled, equals, explicit = flag.text.lstrip("-").partition("=")
        name, count = OPTIONS.get(spelled, ("", -1))
        if not flag.known or count < 0:
            sure = False
            break
        values = [flag._replace(text=explicit)] if equals else list(words[at + 1 : at + 1 + count])
        if len(values) < count and not equals:
            faults.append(Fault(flag, f"{flag.text} needs a value"))
            at = len(words)
            break
        last = values[-1] if values else flag
        value = last.text if values and last.known else None
        options[name] = Option(name, value, last, flag, not values or last.known)
        if name == "export":
            exported.append(values[0].text.partition("=")[0])
        elif name == "export_list":
            exported += last.text.split(",")
        elif name == "mca" and len(values) == 2:
            mca[values[0].text] = last.text
        elif name in ("np", "per_node") and value is not None and not value.isdigit():
            faults.append(Fault(last, f'{flag.text} takes a whole number, not "{value}"'))
        at += 1 + (0 if equals else count)
    rest = words[at:] if sure else ()
    if sure and not rest:
        faults.append(Fault(start, f"{start.name} needs a program to run"))
    line = Line(options, rest[0] if rest else None, rest[1:], tuple(faults), sure)
    root = "allow_run_as_root" in options or variables.get("OMPI_ALLOW_RUN_AS_ROOT") == "1"
    return Mpirun(
        line,
        _number(options, "np"),
        _number(options, "per_node"),
        options["hostfile"].value if "hostfile" in options else None,
        tuple((options["host"].value or "").split(",")) if "host" in options else (),
        tuple(exported),
        mca,
        root,
        rest,
        tuple(faults) if sure else (),
    )


def _is_option(word: Word) -> bool:
    return word.text.startswith("-") and len(word.text) > 1


def _number(options: dict[str, Option], name: str) -> int | None:
    value = options[name].value if name in options else None
    return None if value is None else integer(value)
