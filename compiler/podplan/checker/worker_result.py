"""The result of a worker process for its share of the files, and merging it into the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from podplan.checker.cross_job_index import ExportedSummaries
from podplan.checker.run_state import CheckRun, RunData
from podplan.core.limits import MAX_OBJECTS
from podplan.core.typing import NamedTuple
from podplan.lint.suppression_tracker import SuppressionState
from podplan.workspace.dependencies import DependencyRecord, FileReferences, merge_record, restart_recording


class WorkerResult(NamedTuple):
    """The data of some files: findings, state of suppressions, job summaries, references and dependencies."""

    run_data: RunData
    suppression_state: SuppressionState
    summaries: ExportedSummaries
    references: FileReferences
    record: DependencyRecord | None


def check_share(
    main_run: CheckRun, check_file: Callable[[str, CheckRun], None], files: Sequence[str]
) -> WorkerResult:
    """Check some files of a run in a worker process. Raises what ``check_file`` raises."""
    run = CheckRun(main_run.settings, main_run.reader, main_run.base_crs)
    main_run.reader.take_references()
    record = restart_recording()
    for file in files:
        check_file(file, run)
    return WorkerResult(
        run.export_data(),
        run.suppression_tracker.export_state(),
        run.cross_job_index.export_summaries(),
        main_run.reader.take_references(),
        record,
    )


def merge_worker_result(worker_result: WorkerResult, run: CheckRun) -> bool:
    """Merge the result for the files that follow; return False, without merging, if a limit would be
    exceeded."""
    if run.counts["objects"] + worker_result.run_data.counts["objects"] > MAX_OBJECTS:
        return False
    run.merge(worker_result.run_data)
    run.suppression_tracker.merge_state(worker_result.suppression_state)
    run.cross_job_index.merge_summaries(worker_result.summaries)
    run.reader.merge_references(worker_result.references)
    if worker_result.record is not None:
        merge_record(worker_result.record)
    return True
