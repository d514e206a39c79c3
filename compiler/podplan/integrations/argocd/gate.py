"""The gate: checks everything that is about to be passed to Argo CD."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from podplan.checker.check import CheckResult
from podplan.checker.files import build_syntax_finding
from podplan.checker.jobs import build_cross_job_findings, check_plain_object, check_plans
from podplan.checker.packed_store import JobSource
from podplan.checker.result import build_result, store_shown_texts
from podplan.checker.run_state import CheckRun
from podplan.core.findings import Finding
from podplan.core.typing import NamedTuple
from podplan.integrations.argocd.application import is_podplan_file
from podplan.pipeline import JobPlan, PipelineSettings
from podplan.workspace.documents import ClassifiedDocument
from podplan.workspace.loader import Loader
from podplan.yaml import SourceFile

# The prefix of findings about the value of a param, and its replacement.
FLAG_PREFIX, PARAMETER_PREFIX = "--set params.", "parameter params."


class Judged(NamedTuple):
    """A profile or a CR, its location, and a function that builds its plans."""

    item: ClassifiedDocument
    place: JobSource
    plans: Callable[[], Iterable[JobPlan]]


def check_application(
    files: Sequence[SourceFile],
    all_plans: Iterable[Judged],
    manifests: Iterable[tuple[ClassifiedDocument, JobSource]],
    settings: PipelineSettings,
    reader: Loader,
    settings_of: Callable[[JobSource], PipelineSettings],
) -> CheckResult:
    """Return the findings about plans of CRs, about other ``manifests``, and about the text of files.

    Cross-job policies see only these jobs, because only these are applied together. ``settings_of`` returns
    the settings to rebuild them, by the place where their profile is written.
    """
    texts = {source.file: source for source in files}
    run = CheckRun(settings, reader, reread_file=texts.__getitem__, settings_of=settings_of)
    run.counts["files"] = len(files)
    for source in files:
        run.suppression_tracker.load_suppressions(source)
        if is_podplan_file(source):
            faults = (build_syntax_finding(source, fault) for fault in source.diagnostics)
            run.add_findings(source.file, faults)
    for one in all_plans:
        run.add_findings(one.item.doc.name, check_plans(one.plans(), run, one.place))
    for item, place in manifests:
        if item.category == "object":
            run.add_findings(item.doc.name, check_plain_object(item, run, place))
        elif item.category == "other":
            run.not_checked[item.reason] += 1
    for number, located in run.cross_job_index.iter_diagnostics(
        run.suppression_tracker.find_enabled_policies()
    ):
        run.findings += build_cross_job_findings(number, located, run)
    store_shown_texts(files, run, run.findings)
    checked = build_result(run)
    return checked._replace(findings=[_rename_flag(one) for one in checked.findings])


def _rename_flag(finding: Finding) -> Finding:
    """Rename a flag in a finding to the parameter of the Application."""
    if not finding.message.startswith(FLAG_PREFIX):
        return finding
    return finding._replace(message=PARAMETER_PREFIX + finding.message.removeprefix(FLAG_PREFIX))
