"""What there is to say about everything that is handed over: the gate before Argo CD."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from podplan.argocd.application import is_ours
from podplan.check import Result
from podplan.checking.files import fault_finding
from podplan.checking.jobs import object_findings, plan_findings, set_findings
from podplan.checking.results import result, show_sources
from podplan.checking.run import Run
from podplan.findings import Finding
from podplan.pipeline import Plan, Settings
from podplan.reading import Reader
from podplan.reading.documents import Item
from podplan.source import Source

# What a finding about the value of a param begins with, and what it is to begin with here.
FLAG, PARAMETER = "--set params.", "parameter params."


def judged(
    files: Sequence[Source], made: Iterable[Plan], beside: Iterable[Item], settings: Settings, reader: Reader
) -> Result:
    """The findings about plans of CRs, about the manifests ``beside`` them, and about the text of files.

    Policies about all jobs see these jobs: what is not applied together is not judged together.
    """
    run = Run(settings, reader)
    run.counts["files"] = len(files)
    for source in files:
        run.silences.open(source)
        if is_ours(source):
            faults = (fault_finding(source, fault) for fault in source.faults)
            run.findings += run.silences.graded(source.file, faults)
    for _, group in groupby(made, key=lambda plan: id(plan.item)):
        plans = list(group)
        _add(plans[0].item, plan_findings(plans, run), run)
    for item in beside:
        if item.what == "object":
            _add(item, object_findings(item, run), run)
        elif item.what == "other":
            run.not_checked[item.reason] += 1
    for number, seen in run.together.said(run.silences.anywhere()):
        run.findings += set_findings(number, seen, run)
    show_sources(files, run)
    found = result(run)
    return found._replace(findings=[_of_parameter(one) for one in found.findings])


def _add(item: Item, findings: Iterable[Finding], run: Run) -> None:
    run.findings += run.silences.graded(item.doc.name, findings)


def _of_parameter(found: Finding) -> Finding:
    """A finding about the value of a flag, which here was a parameter of the Application."""
    if not found.message.startswith(FLAG):
        return found
    return found._replace(message=PARAMETER + found.message.removeprefix(FLAG))
