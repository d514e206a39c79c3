"""The measurements in order; see DESIGN §8 and docs/performance.md for the targets."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from benchmarks.measuring import Failed, say
from benchmarks.scale import Scale
from benchmarks.sections import (
    cached,
    cold,
    findings,
    many,
    memory,
    others,
    parsing,
    replicas,
    stages,
    variants,
)
from benchmarks.table import Section

SECTIONS: dict[str, Callable[[Path, Scale], Section]] = {
    "cold": cold.section,
    "reading": parsing.section,
    "many": many.section,
    "stages": stages.section,
    "cache": cached.section,
    "replicas": replicas.section,
    "variants": variants.section,
    "findings": findings.section,
    "peers": others.section,
    "memory": memory.section,
}


def run(folder: Path, scale: Scale, only: Collection[str] = ()) -> Iterator[Section]:
    """Run every section, or ``only`` some; a failed section is reported, and the others still run.

    Inputs are in folders below ``folder``, which are deleted after the section.
    """
    for number, (name, section) in enumerate(SECTIONS.items(), start=1):
        if only and name not in only:
            continue
        say(f"{name} ({number} of {len(SECTIONS)})")
        try:
            measured = section(folder / name, scale)
        except (Failed, OSError, subprocess.SubprocessError) as error:
            measured = Section(name, [], failure=str(error))
        shutil.rmtree(folder / name, ignore_errors=True)
        yield measured if scale.judged else measured.unjudged()
