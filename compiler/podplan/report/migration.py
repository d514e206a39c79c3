"""What podplan migrate does: each step, and the proof that the Pods stay the same, or why they do not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from podplan.core.truncation import shortened
from podplan.core.typing import TYPE_CHECKING, Any
from podplan.report.sanitization import visible

if TYPE_CHECKING:
    from podplan.tools.migrator import Migrated
    from podplan.tools.migrator.equivalence import Difference, Proof

MOST = 8  # differences of one job that are listed
_LONGEST = 60


def told(file: str, what: Migrated, proven: Sequence[Proof], withheld: str) -> str:
    """The lines about one file; ``withheld`` is why nothing of it is written, or ""."""
    lines = [f"{file}:"]
    lines += [f"  line {step.line}: {step.says}{f' ({step.why})' if step.why else ''}" for step in what.done]
    lines += [f"  line {step.line}: not done: {step.says}: {step.why}" for step in what.refused]
    lines += [line for proof in proven for line in _proof(proof, [step.says for step in what.done])]
    if withheld:
        lines.append(f"  nothing is written: {withheld}")
    return "".join(f"{visible(line)}\n" for line in lines)


def _proof(proof: Proof, steps: Sequence[str]) -> Iterator[str]:
    job = f"{proof.job} ({proof.variant})" if proof.variant else proof.job
    if not proof.objects:
        before = "lowered before, and does not now" if proof.was_lowered else "is not lowered, as before"
        yield f"  {job} {before}: {proof.reason}"
        return
    total = sum(proof.objects.values())
    made = f"{total} object{'' if total == 1 else 's'}: {_counted(proof.objects)}"
    if not proof.was_lowered:
        yield f"  {job} could not be lowered before, and lowers to {made}"
        return
    if not proof.differences:
        yield f"  {job} lowers to the same {made}"
        return
    yield f"  {job} lowers to {made}; what differs:"
    for difference in proof.differences[:MOST]:
        yield f"    {_difference(difference)}"
    more = len(proof.differences) - MOST
    if more > 0:
        yield f"    and {more} more"
    if steps:
        yield f"    because of: {'; '.join(dict.fromkeys(steps))}"


def _counted(objects: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {kind}{'' if number == 1 else 's'}" for kind, number in objects.items())


def _difference(found: Difference) -> str:
    place = f"{found.object} {_path(found.path)}".rstrip()
    if found.ordered:
        return f"{place}: the same entries in another order"
    if not found.path:
        return f"{place} is {'new' if found.before is None else 'no more'}"
    if found.before is None:
        return f"{place}: {_value(found.after)}, which was not there"
    if found.after is None:
        return f"{place}: no more {_value(found.before)}"
    if isinstance(found.before, list) and isinstance(found.after, list):
        return f"{place}: {_words(found.before, found.after)}"
    return f"{place}: {_value(found.before)} → {_value(found.after)}"


def _words(before: list[Any], after: list[Any]) -> str:
    """Where two lists differ, without what they have in common at their ends."""
    first = 0
    while first < min(len(before), len(after)) and before[first] == after[first]:
        first += 1
    last = 0
    while last < min(len(before), len(after)) - first and before[-1 - last] == after[-1 - last]:
        last += 1
    first = max(first - 1, 0)  # the option before a value tells what it is
    left, right = before[first : len(before) - last], after[first : len(after) - last]
    return f"{_value(left)} → {_value(right)}"


def _value(value: Any) -> str:
    return shortened(json.dumps(value, ensure_ascii=False), _LONGEST)


def _path(path: Sequence[str | int]) -> str:
    return ".".join(str(step) for step in path)


def summary(migrated: int, same: int, left: int, only_told: bool) -> str:
    """Such as "2 files migrated, 1 file left unchanged"."""
    parts = [
        (migrated, "would be migrated" if only_told else "migrated"),
        (same, "up to date"),
        (left, "not migrated"),
    ]
    return ", ".join(f"{number} file{'' if number == 1 else 's'} {what}" for number, what in parts if number)
