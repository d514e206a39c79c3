"""What there is to say about everything that is handed over: the gate before Argo CD."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from podplan.checker.check import Result
from podplan.checker.files import fault_finding
from podplan.checker.jobs import object_findings, plan_findings, set_findings
from podplan.checker.packed_store import Origin
from podplan.checker.result import result, show_sources
from podplan.checker.run_state import Run
from podplan.core.findings import Finding
from podplan.core.typing import NamedTuple
from podplan.integrations.argocd.application import is_ours
from podplan.pipeline import Plan, Settings
from podplan.workspace import Reader
from podplan.workspace.documents import Item
from podplan.yaml import Source

# What a finding about the value of a param begins with, and what it is to begin with here.
FLAG, PARAMETER = "--set params.", "parameter params."


class Judged(NamedTuple):
    """A profile or a CR, where it is written, and its plans, made when they are asked for."""

    item: Item
    place: Origin
    plans: Callable[[], Iterable[Plan]]


def judged(
    files: Sequence[Source],
    made: Iterable[Judged],
    beside: Iterable[tuple[Item, Origin]],
    settings: Settings,
    reader: Reader,
    settings_of: Callable[[Origin], Settings],
) -> Result:
    """The findings about plans of CRs, about the manifests ``beside`` them, and about the text of files.

    Policies about all jobs see these jobs: what is not applied together is not judged together. They are made
    again by ``settings_of`` the place where a profile is written.
    """
    texts = {source.file: source for source in files}
    run = Run(settings, reader, reread=texts.__getitem__, settings_of=settings_of)
    run.counts["files"] = len(files)
    for source in files:
        run.silences.open(source)
        if is_ours(source):
            faults = (fault_finding(source, fault) for fault in source.faults)
            run.findings += run.silences.graded(source.file, faults)
    for one in made:
        _add(one.item, plan_findings(one.plans(), run, one.place), run)
    for item, place in beside:
        if item.what == "object":
            _add(item, object_findings(item, run, place), run)
        elif item.what == "other":
            run.not_checked[item.reason] += 1
    for number, seen in run.together.said(run.silences.anywhere()):
        run.findings += set_findings(number, seen, run)
    show_sources(files, run, run.findings)
    found = result(run)
    return found._replace(findings=[_of_parameter(one) for one in found.findings])


def _add(item: Item, findings: Iterable[Finding], run: Run) -> None:
    run.findings += run.silences.graded(item.doc.name, findings)


def _of_parameter(found: Finding) -> Finding:
    """A finding about the value of a flag, which here was a parameter of the Application."""
    if not found.message.startswith(FLAG):
        return found
    return found._replace(message=PARAMETER + found.message.removeprefix(FLAG))
