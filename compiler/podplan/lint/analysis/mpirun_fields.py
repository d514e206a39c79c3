"""The fields of a CR that its controller writes into the line of mpirun, word by word.

Source: docs/evidence/t9k-mpijob.md#dialects.
"""

from __future__ import annotations

from podplan.core.findings import Path, value_at
from podplan.core.provenance import TracedDocument
from podplan.lint.analysis.jobs import has_trait
from podplan.lint.target import LoweredJob

PROGRAM_FIELDS = (("spec", "mpiConfig", "script"), ("spec", "worker", "cmd"))
_OPTIONS: tuple[Path, ...] = (("spec", "mpiConfig", "extraArgs"), ("spec", "worker", "extraMPIArgs"))
_PARAMETERS: tuple[Path, ...] = (("spec", "mpiConfig", "mca"), ("spec", "mca"))


def list_option_places(job: LoweredJob, value: str = "") -> list[tuple[TracedDocument, Path, str]]:
    """Return the options of mpirun in a CR as related locations; with ``value`` only words equal to it."""
    if job.cr is None or not has_trait(job, "mpirun-by-controller"):
        return []
    places: list[tuple[TracedDocument, Path, str]] = []
    for path in _OPTIONS:
        words = value_at(job.cr.data, path)
        if isinstance(words, list) and not value:
            places.append((job.cr, path, "the options of mpirun"))
        elif isinstance(words, list):
            places += [(job.cr, (*path, at), "the option") for at, word in enumerate(words) if word == value]
    return places


def find_parameter_place(job: LoweredJob, name: str) -> tuple[TracedDocument, Path] | None:
    """Return where a CR sets an MCA parameter; None if it does not."""
    if job.cr is None or not has_trait(job, "mpirun-by-controller"):
        return None
    return next(
        (
            (job.cr, (*path, name))
            for path in _PARAMETERS
            if isinstance(fields := value_at(job.cr.data, path), dict) and name in fields
        ),
        None,
    )
