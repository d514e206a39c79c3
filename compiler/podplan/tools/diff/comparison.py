"""Compares two revisions: the outcome for each job, and the changes, aggregated over the objects that have
them.

The revisions are read file by file, side by side, so that most pairs are in memory together and nothing is
kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from podplan.core.findings import Location, Path
from podplan.core.provenance import TracedDocument, trace_to_source
from podplan.core.structural_diff import ABSENT
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.location import locate
from podplan.redaction.redactor import Redactor, redact_change, split_path
from podplan.tools.diff.aggregation import JOB, TRAINING, ChangeFolding
from podplan.tools.diff.document_changes import Delta, iter_document_changes
from podplan.tools.diff.impact import compute_impact
from podplan.tools.diff.job_facts import JobFacts, JobReference, LoadedJob
from podplan.tools.diff.job_size import count_gpus_on_merge
from podplan.tools.diff.kept_variables import find_kept_variables
from podplan.tools.diff.lowered_objects import LoweredChange, Renamer, iter_lowered_changes
from podplan.tools.diff.model import Diff, Difference, JobChange, Level
from podplan.tools.diff.outcomes import (
    UNCHANGED,
    PairResult,
    build_broken_change,
    compute_effect,
    decide_outcome,
    is_unknown,
    keeps_pods,
    takes_over_replicas,
)
from podplan.tools.diff.pairing import (
    Pair,
    iter_mended_faults,
    iter_new_faults,
    pair_jobs,
    pair_jobs_in_file,
)
from podplan.tools.diff.repository_state import RepositoryState
from podplan.tools.diff.unchanged_files import UnchangedFiles
from podplan.tools.diff.uncompared_parts import count_uncompared, iter_notes


class _Part(NamedTuple):
    """A part that differs in ``objects`` of a kind, and where its value is written now, or was written."""

    kind: str
    delta: Delta
    doc: TracedDocument | None
    path: Path
    role: str = ""
    objects: int = 1
    training: str = ""


class _JobDifferences(NamedTuple):
    """The changes of one job: in its CR, and those to report at the requested level; ``fields`` are the
    changed fields of its CR."""

    cr: list[Delta]
    reported: list[_Part]
    fields: Sequence[_Part] = ()


def compare(before: RepositoryState, after: RepositoryState, level: Level) -> Diff:
    """Compare two revisions, which are read here.

    At ``source`` compare resolved profiles, and hand-written CRs; at ``cr`` all CRs; at ``lowered`` the
    objects that controllers create, and the parts of CRs that no object shows.
    """
    comparison = _Comparison(before, after, level)
    for path in dict.fromkeys((*after.files.names, *before.files.names)):
        comparison.read(path)
    before.finish()
    after.finish()
    pairs = pair_jobs(before, after)
    changes: list[JobChange] = []
    numbers: dict[JobReference, int] = {}
    for pair in pairs:
        change = decide_outcome(pair, comparison.get_result(pair))
        if change is None:
            continue
        if change.what == "changed" and pair.after is not None:
            numbers[pair.after.ref] = len(changes)
        changes.append(change)
    changes += [build_broken_change(one, "broken") for one in iter_new_faults(before, after, pairs)]
    changes += [build_broken_change(one, "mended") for one in iter_mended_faults(before, after, pairs)]
    counted = [pair for pair in pairs if not is_unknown(pair)]
    impact = compute_impact(
        changes,
        [pair.before for pair in counted if pair.before is not None],
        [pair.after for pair in counted if pair.after is not None],
    )
    secrets = Redactor(before.secrets | after.secrets)
    differences = tuple(_redact(one, secrets) for one in comparison.folding.iter_differences(numbers))
    notes = tuple(iter_notes(before, after, pairs, changes))
    uncompared = count_uncompared(before, after, pairs, changes)
    return Diff("", "", level, impact, tuple(changes), differences, notes, uncompared)


class _Comparison:
    """Compares pairs of jobs while both are in memory; others are rebuilt."""

    def __init__(self, before: RepositoryState, after: RepositoryState, level: Level) -> None:
        self.folding = ChangeFolding()
        self._before, self._after, self._level = before, after, level
        self._unchanged = UnchangedFiles(before, after)
        self._compared: dict[tuple[JobReference, JobReference], PairResult] = {}

    def read(self, path: str) -> None:
        """Read one more file of both revisions, and compare the jobs that are paired in it.

        Unchanged jobs are built once, for the totals.
        """
        jobs = self._after.read(path)
        if self._unchanged.has_same_jobs(path, jobs):
            self._before.adopt(jobs)
            self._compared.update(((job.ref, job.ref), UNCHANGED) for job in jobs)
            return
        for before, after in pair_jobs_in_file(self._before.read(path), jobs):
            self._compare(before, after)

    def get_result(self, pair: Pair) -> PairResult | None:
        """Return the result for a pair; None if a side is missing."""
        if pair.before is None or pair.after is None:
            return None
        return self._compared.get((pair.before.ref, pair.after.ref)) or self._compare(pair.before, pair.after)

    def _compare(self, before: JobFacts, after: JobFacts) -> PairResult:
        loaded_before, loaded_after = self._before.load(before), self._after.load(after)
        differences = _find_differences(
            loaded_before, loaded_after, _make_renamer(before, after), after.kind, self._level
        )
        effect = compute_effect(loaded_before.cr.data, loaded_after.cr.data, differences.cr)
        result = PairResult(
            bool(differences.cr),
            bool(differences.reported),
            effect,
            _list_changed_references(loaded_before, loaded_after),
            count_gpus_on_merge(loaded_before.groups, loaded_after.groups)
            if effect is not None and takes_over_replicas(effect)
            else 0,
            find_kept_variables(loaded_before.groups, loaded_after.groups)
            if effect is not None and keeps_pods(effect)
            else (),
        )
        self._compared[before.ref, after.ref] = result
        for part in differences.reported:
            words = {after.name: JOB, f"containers[{part.training}]": TRAINING}
            place = partial(_locate, part.doc, part.path, differences.fields)
            self.folding.add(part.kind, part.delta, after.ref, words, place, part.role, part.objects)
        return result


def _find_differences(
    before: LoadedJob, after: LoadedJob, rename: Renamer, kind: str, level: Level
) -> _JobDifferences:
    cr_deltas = list(iter_document_changes(rename(before.cr.data), after.cr.data))
    if level == "source" and before.profile is not None and after.profile is not None:
        deltas = iter_document_changes(
            _select_written(before.profile.data), _select_written(after.profile.data)
        )
        return _JobDifferences(
            cr_deltas, [_build_part("JobProfile", delta, before.profile, after.profile) for delta in deltas]
        )
    cr_parts = [_build_part(kind, delta, before.cr, after.cr) for delta in cr_deltas]
    if level != "lowered" or not (before.lowered and after.lowered):
        return _JobDifferences(cr_deltas, cr_parts)
    lowered_changes = list(iter_lowered_changes(before.groups, after.groups, rename))
    is_covered = _make_coverage_test(lowered_changes, before, after)
    others = (part for part in cr_parts if not is_covered(part.delta))
    return _JobDifferences(cr_deltas, [*map(_build_group_part, lowered_changes), *others], cr_parts)


def _list_changed_references(before: LoadedJob, after: LoadedJob) -> tuple[str, ...]:
    """Return the documents that a job refers to now, and that have changed or are others than before."""
    former = [doc.data for doc in before.references]
    return tuple(_name_document(doc) for doc in after.references if doc.data not in former)


def _name_document(doc: TracedDocument) -> str:
    return f"{get_text(doc.data, 'kind')} {get_text(get_mapping(doc.data, 'metadata'), 'name')}"


def _select_written(profile: Any) -> Any:
    """Return a resolved profile as the author wrote it: with the name of the profile instead of the CR."""
    return {key: value for key, value in profile.items() if key in ("metadata", "spec")}


def _build_part(
    kind: str, delta: Delta, before: TracedDocument | None, after: TracedDocument | None
) -> _Part:
    is_removed = delta.after is ABSENT
    path = delta.before_path if is_removed else delta.after_path
    return _Part(kind, delta, before if is_removed else after, path)


def _build_group_part(change: LoweredChange) -> _Part:
    group = change.after or change.before
    assert group is not None
    docs = (side.doc if side is not None else None for side in (change.before, change.after))
    part = _build_part(change.kind, change.delta, *docs)
    training = ""
    if group.training_container_index is not None:
        training = str(group.doc.data["spec"]["containers"][group.training_container_index].get("name"))
    return part._replace(role=change.role, objects=change.objects, training=training)


def _make_renamer(before: JobFacts, after: JobFacts) -> Renamer:
    """Return a function that replaces the old name of a job by the new one, so that only other changes are
    found."""
    old, new = before.name, after.name
    old_namespace, new_namespace = before.namespace, after.namespace

    def rename(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace(old, new) if old != new and len(old) >= 3 else value
        if isinstance(value, dict):
            renamed = {key: rename(entry) for key, entry in value.items()}
            if old_namespace != new_namespace and renamed.get("namespace") == old_namespace:
                renamed["namespace"] = new_namespace
            return renamed
        return [rename(entry) for entry in value] if isinstance(value, list) else value

    return rename if old != new or old_namespace != new_namespace else lambda value: value


def _make_coverage_test(
    changes: list[LoweredChange], before: LoadedJob, after: LoadedJob
) -> Callable[[Delta], bool]:
    """Return a predicate whether lowered objects show a change of the CR, by the origins of their values."""
    origins: list[tuple[bool, Path]] = []
    has_other_count = any(change.delta.part == "" for change in changes)
    for change in changes:
        is_removed = change.delta.after is ABSENT
        group = change.before if is_removed else change.after
        cr, path = (
            (before.cr, change.delta.before_path) if is_removed else (after.cr, change.delta.after_path)
        )
        if group is not None and path:
            steps = trace_to_source(group.doc, path)
            origins += [(is_removed, step.path) for step in steps if step.doc is cr and step.path]

    def is_covered(delta: Delta) -> bool:
        is_removed = delta.after is ABSENT
        path = delta.before_path if is_removed else delta.after_path
        if has_other_count and path[-1:] == ("replicas",):
            return True
        return any(
            is_removed is origin_is_removed and (path[: len(origin)] == origin or origin[: len(path)] == path)
            for origin_is_removed, origin in origins
        )

    return is_covered


def _locate(doc: TracedDocument | None, path: Path, fields: Sequence[_Part]) -> Location | None:
    """Return where a changed value is written; of what it is computed from, a changed field comes first."""
    if doc is None or not path:
        return None
    for step in trace_to_source(doc, path):
        for source in step.origin.sources if step.origin is not None else ():
            if any(source.doc is field.doc and source.path == field.path for field in fields):
                return locate(source.doc, source.path).location
    return locate(doc, path).location


def _redact(difference: Difference, secrets: Redactor) -> Difference:
    path = split_path(difference.part)
    before, after = redact_change(difference.before, difference.after, path, difference.kind, secrets)
    return difference._replace(before=before, after=after)
