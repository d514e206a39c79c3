"""Whether migrated CRs lower to the same objects as before, and the differences if not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.path_syntax import format_path, index_by_key
from podplan.core.replica_groups import fold_group
from podplan.core.structural_diff import ABSENT, Change, DiffRules, EntryIndexes, iter_changes
from podplan.core.typing import Any, NamedTuple
from podplan.lint.finding_redaction import build_document_redactor
from podplan.pipeline import JobPlan, PipelineSettings, iter_job_plans
from podplan.redaction.redactor import Redactor, redact_change, split_path
from podplan.workspace.documents import classify_documents
from podplan.workspace.loader import Loader
from podplan.yaml import SourceFile

# Keys of list entries whose order has little meaning.
_LIST_KEYS = ("name", "mountPath")


class LoweringDifference(NamedTuple):
    """One part of one object that differs; ``steps`` lead to it, with names for list entries."""

    object: str
    steps: tuple[str, ...]
    change: Change


class EquivalenceProof(NamedTuple):
    """The comparison of one CR, hand-written or compiled under ``variant``.

    ``objects`` counts its lowered objects by kind, every replica, and is empty if it does not lower; then
    ``reason`` says why. ``was_lowered`` is whether it lowered before.
    """

    job: str
    variant: str
    objects: Mapping[str, int]
    was_lowered: bool
    reason: str
    differences: tuple[LoweringDifference, ...]


def build_proofs(
    before: SourceFile, after: SourceFile, settings: PipelineSettings, unsaved_texts: Mapping[str, str]
) -> list[EquivalenceProof]:
    """Build a proof for each CR of a file that changes with its text; ``unsaved_texts`` has the new texts
    of all files."""
    old, new = (
        _collect_plans(before, settings, Loader()),
        _collect_plans(after, settings, Loader(unsaved_texts=unsaved_texts)),
    )
    names = [name for name in new if name in old and _get_cr_data(old[name]) != _get_cr_data(new[name])]
    return [_build_proof(name, old[name], new[name]) for name in names]


def _get_cr_data(plan: JobPlan) -> Any:
    return plan.cr.data if plan.cr is not None else None


def _collect_plans(
    source: SourceFile, settings: PipelineSettings, reader: Loader
) -> dict[tuple[int, str], JobPlan]:
    plan_by_key = {}
    for index, item in enumerate(classify_documents(source)):
        if item.category in ("cr", "profile"):
            for plan in iter_job_plans(item, settings, reader):
                if plan.variant_id is not None:
                    plan_by_key[index, plan.variant_id] = plan
    return plan_by_key


def _build_proof(name: tuple[int, str], old: JobPlan, new: JobPlan) -> EquivalenceProof:
    data = new.cr.data if new.cr is not None else new.item.doc.data
    job = f"{data.get('kind')}/{(data.get('metadata') or {}).get('name', '?')}"
    objects: Counter[str] = Counter()
    for group in new.replica_groups:
        objects[group.doc.data["kind"]] += group.replicas
    secrets = build_document_redactor([old.item.doc, old.profile, old.cr, new.item.doc, new.profile, new.cr])
    reason = "" if new.is_lowered else next((seen.message for seen in new.diagnostics), "it is not lowered")
    both_lowered = old.is_lowered and new.is_lowered
    raw_differences = _iter_differences(_list_objects(old), _list_objects(new)) if both_lowered else ()
    differences = tuple(_redact_difference(one, secrets) for one in raw_differences)
    return EquivalenceProof(job, name[1], objects, old.is_lowered, secrets.redact_text(reason), differences)


def _redact_difference(difference: LoweringDifference, secrets: Redactor) -> LoweringDifference:
    kind, change = difference.object.partition("/")[0], difference.change
    before, after = redact_change(change.old, change.new, difference.steps, kind, secrets)
    return difference._replace(change=change._replace(old=before, new=after))


def _list_objects(plan: JobPlan) -> dict[str, Any]:
    """Return the objects by kind and name, replicas folded."""
    folded_objects = [fold_group(group) for group in plan.replica_groups]
    return {f"{one['kind']}/{one['metadata']['name']}": one for one in folded_objects}


def _iter_differences(old: dict[str, Any], new: dict[str, Any]) -> Iterator[LoweringDifference]:
    """Yield the differences, object by object; one without steps is about a whole object."""
    for name in (*old, *(name for name in new if name not in old)):
        before, after = old.get(name, ABSENT), new.get(name, ABSENT)
        for change in iter_changes(before, after, DIFF_RULES):
            data, path = (before, change.old_path) if change.new is ABSENT else (after, change.new_path)
            yield LoweringDifference(name, tuple(split_path(format_path(data, path))), change)


def _index_entries(_: Path, before: list[Any], after: list[Any]) -> tuple[EntryIndexes, EntryIndexes] | None:
    """Index by a unique name of each entry of both lists; else the lists are compared as a whole."""
    entries = [*before, *after]
    for key in _LIST_KEYS:
        if all(isinstance(entry, dict) and isinstance(entry.get(key), str) for entry in entries):
            indexes = index_by_key(before, (key,)), index_by_key(after, (key,))
            if all(number == 0 for side in indexes for _, number in side):
                return _pair_renamed_entry(*indexes)
    return None


def _pair_renamed_entry(before: EntryIndexes, after: EntryIndexes) -> tuple[EntryIndexes, EntryIndexes]:
    """Give the only entries without a counterpart one key, if they have the same index: one was renamed."""
    removed, added = [key for key in before if key not in after], [key for key in after if key not in before]
    if len(removed) == len(added) == 1 and before[removed[0]] == after[added[0]]:
        before = {added[0] if key == removed[0] else key: index for key, index in before.items()}
    return before, after


DIFF_RULES = DiffRules(_index_entries, is_ordered=lambda _: True)
