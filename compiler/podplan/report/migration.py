"""What podplan migrate does: each step, and the proof that the Pods stay the same, or why they do not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from podplan.core.truncation import truncate
from podplan.core.typing import TYPE_CHECKING, Any
from podplan.report.sanitization import escape_text

if TYPE_CHECKING:
    from podplan.tools.migrator import MigrationResult
    from podplan.tools.migrator.equivalence import EquivalenceProof, LoweringDifference

MAX_DIFFERENCES = 8  # differences of one job that are listed
_MAX_VALUE_LENGTH = 60


def format_migration(
    file: str, migration: MigrationResult, proofs: Sequence[EquivalenceProof], withheld: str
) -> str:
    """The lines about one file; ``withheld`` is why nothing of it is written, or ""."""
    lines = [f"{file}:"]
    lines += [
        f"  line {step.line}: {step.description}{f' ({step.reason})' if step.reason else ''}"
        for step in migration.done_steps
    ]
    lines += [
        f"  line {step.line}: not done: {step.description}: {step.reason}" for step in migration.refused_steps
    ]
    lines += [
        line
        for proof in proofs
        for line in _format_proof(proof, [step.description for step in migration.done_steps])
    ]
    if withheld:
        lines.append(f"  nothing is written: {withheld}")
    return "".join(f"{escape_text(line)}\n" for line in lines)


def _format_proof(proof: EquivalenceProof, steps: Sequence[str]) -> Iterator[str]:
    job = f"{proof.job} ({proof.variant})" if proof.variant else proof.job
    if not proof.objects:
        before = "lowered before, and does not now" if proof.was_lowered else "is not lowered, as before"
        yield f"  {job} {before}: {proof.reason}"
        return
    total = sum(proof.objects.values())
    object_counts = f"{total} object{'' if total == 1 else 's'}: {_format_object_counts(proof.objects)}"
    if not proof.was_lowered:
        yield f"  {job} could not be lowered before, and lowers to {object_counts}"
        return
    if not proof.differences:
        yield f"  {job} lowers to the same {object_counts}"
        return
    yield f"  {job} lowers to {object_counts}; what differs:"
    for difference in proof.differences[:MAX_DIFFERENCES]:
        yield f"    {_format_difference(difference)}"
    remaining = len(proof.differences) - MAX_DIFFERENCES
    if remaining > 0:
        yield f"    and {remaining} more"
    if steps:
        yield f"    because of: {'; '.join(dict.fromkeys(steps))}"


def _format_object_counts(objects: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {kind}{'' if number == 1 else 's'}" for kind, number in objects.items())


def _format_difference(difference: LoweringDifference) -> str:
    location = f"{difference.object} {_format_path(difference.path)}".rstrip()
    if difference.order_only:
        return f"{location}: the same entries in another order"
    if not difference.path:
        return f"{location} is {'new' if difference.before is None else 'no more'}"
    if difference.before is None:
        return f"{location}: {_format_value(difference.after)}, which was not there"
    if difference.after is None:
        return f"{location}: no more {_format_value(difference.before)}"
    if isinstance(difference.before, list) and isinstance(difference.after, list):
        return f"{location}: {_format_list_change(difference.before, difference.after)}"
    return f"{location}: {_format_value(difference.before)} → {_format_value(difference.after)}"


def _format_list_change(before: list[Any], after: list[Any]) -> str:
    """Where two lists differ, without what they have in common at their ends."""
    first = 0
    while first < min(len(before), len(after)) and before[first] == after[first]:
        first += 1
    last = 0
    while last < min(len(before), len(after)) - first and before[-1 - last] == after[-1 - last]:
        last += 1
    first = max(first - 1, 0)  # the option before a value tells what it is
    old_part, new_part = before[first : len(before) - last], after[first : len(after) - last]
    return f"{_format_value(old_part)} → {_format_value(new_part)}"


def _format_value(value: Any) -> str:
    return truncate(json.dumps(value, ensure_ascii=False), _MAX_VALUE_LENGTH)


def _format_path(path: Sequence[str | int]) -> str:
    return ".".join(str(step) for step in path)


def format_summary(migrated: int, unchanged: int, failed: int, dry_run: bool) -> str:
    """Such as "2 files migrated, 1 file left unchanged"."""
    parts = [
        (migrated, "would be migrated" if dry_run else "migrated"),
        (unchanged, "up to date"),
        (failed, "not migrated"),
    ]
    return ", ".join(f"{number} file{'' if number == 1 else 's'} {what}" for number, what in parts if number)
