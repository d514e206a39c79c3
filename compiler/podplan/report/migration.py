"""The result of ``podplan migrate``: each step, and the proof that the Pods stay the same, or the
differences."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from podplan.core.structural_diff import ABSENT, count_common_ends
from podplan.core.truncation import truncate
from podplan.core.typing import TYPE_CHECKING, Any
from podplan.report.sanitization import escape_text

if TYPE_CHECKING:
    from podplan.tools.migrator import MigrationResult
    from podplan.tools.migrator.equivalence import EquivalenceProof, LoweringDifference

MAX_DIFFERENCES = 8  # listed differences of one job
_MAX_VALUE_LENGTH = 60


def format_migration(
    file: str, migration: MigrationResult, proofs: Sequence[EquivalenceProof], withheld: str
) -> str:
    """Format the lines about one file; ``withheld`` is why nothing is written to it, or ""."""
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
    before, after, order_only = difference.change[2:]
    location = f"{difference.object} {'.'.join(difference.steps)}".rstrip()
    if order_only:
        return f"{location}: the same entries in another order"
    if not difference.steps:
        return f"{location} is {'new' if before is ABSENT else 'no more'}"
    if before is ABSENT:
        return f"{location}: {_format_value(after)}, which was not there"
    if after is ABSENT:
        return f"{location}: no more {_format_value(before)}"
    if isinstance(before, list) and isinstance(after, list):
        start, end = count_common_ends(before, after)
        start = max(start - 1, 0)  # include the option before a value
        before, after = (side[start : len(side) - end] for side in (before, after))
    return f"{location}: {_format_value(before)} → {_format_value(after)}"


def _format_value(value: Any) -> str:
    return truncate(json.dumps(value, ensure_ascii=False), _MAX_VALUE_LENGTH)


def format_summary(migrated: int, unchanged: int, failed: int, dry_run: bool) -> str:
    """Return a summary such as "2 files migrated, 1 file left unchanged"."""
    parts = [
        (migrated, "would be migrated" if dry_run else "migrated"),
        (unchanged, "up to date"),
        (failed, "not migrated"),
    ]
    return ", ".join(f"{number} file{'' if number == 1 else 's'} {what}" for number, what in parts if number)
