"""A changed value in words: where it is, in how many objects of which jobs, and what it was and is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from difflib import unified_diff
from typing import Any

from podplan.redaction.redactor import ANOTHER
from podplan.report.diff_words import listed, plural
from podplan.report.sanitization import visible
from podplan.tools.diff.model import ABSENT, Diff, Difference
from podplan.tools.diff.structural_diff import around

MAX_VALUE = 240  # characters of a value in one line
MAX_HUNK = 24  # lines of a text that changes
MAX_COMPARED = 500  # lines that are compared one by one: that takes the square of their number


def extent(change: Difference, names: Sequence[str]) -> str:
    """In how many objects of which jobs: "384 Pods of 12 jobs (a, b, c and 9 more)"."""
    jobs = [names[number] for number in change.jobs]
    whose = jobs[0] if len(jobs) == 1 else f"{len(jobs)} jobs ({listed(jobs, 2)})"
    if len(names) > 2 and len(jobs) == len(names):
        whose = f"all {len(jobs)} jobs"
    if not change.roles and change.objects == len(jobs):
        return whose
    role = f"{change.roles[0]} " if len(change.roles) == 1 else ""
    return visible(f"{change.objects} {role}{plural(change.kind, change.objects)} of {whose}")


def part(change: Difference) -> str:
    """The path within the spec, or within the object where it is outside of it."""
    return visible(change.part.removeprefix("spec."))


def ordered(diff: Diff) -> list[Difference]:
    """The changes: of profiles and CRs first, then of Pods, then of what goes with them."""
    rank = {"Pod": 1, "PodGroup": 2, "TensorBoard": 3, "Service": 3, "ConfigMap": 3, "Secret": 3}
    listed_ = sorted(diff.changes, key=lambda change: (rank.get(change.kind, 0), not change.part))
    kept: dict[str, Difference] = {}
    for change in listed_:  # what is asked for and what it is limited to usually change together
        both = re.sub(r"\.resources\.(?:limits|requests)\b", ".resources", change.part)
        key = repr((change.kind, both, change.before, change.after, change.objects, change.jobs))
        kept[key] = change._replace(part=both) if key in kept else change
    return list(kept.values())


def place(change: Difference) -> str:
    """Where a value is written: "jobs/base.yaml:7"; "" where nobody wrote it."""
    where = change.place
    return visible(f"{where.file}:{where.line}") if where is not None else ""


def value(data: Any) -> str:
    """A value in one line."""
    if isinstance(data, str):
        plain = data if data and data.strip() == data else json.dumps(data, ensure_ascii=False)
        told = plain
    elif isinstance(data, list) and not any(isinstance(entry, dict | list) for entry in data):
        told = " ".join(_word(entry) for entry in data)
    else:
        told = _flow(data)
    told = visible(told)
    if len(told) <= MAX_VALUE:
        return told
    return f"{told[: MAX_VALUE - 40]} … ({len(told)} characters)"


def _word(word: Any) -> str:
    text = word if isinstance(word, str) else json.dumps(word)
    if text == ANOTHER.strip():
        return text
    return (
        text
        if text and not any(letter.isspace() for letter in text)
        else json.dumps(text, ensure_ascii=False)
    )


def _flow(data: Any) -> str:
    if isinstance(data, dict):
        return "{" + ", ".join(f"{key}: {_flow(below)}" for key, below in data.items()) + "}"
    if isinstance(data, list):
        return "[" + ", ".join(map(_flow, data)) + "]"
    return data if isinstance(data, str) else json.dumps(data)


def lines(change: Difference) -> list[str]:
    """The value as it was and is, in lines that begin with - and +, or with a blank around texts."""
    before, after = (_unnamed(change.part, side) for side in (change.before, change.after))
    before, after = _script(before, after)
    if isinstance(before, str) and isinstance(after, str) and "\n" in before + after:
        return _hunk(before, after)
    told = [("-", before), ("+", after)]
    found = []
    for sign, side in told:
        if side is not ABSENT:
            texts = side.splitlines() if isinstance(side, str) and "\n" in side.strip() else [value(side)]
            found += [f"{sign} {visible(text)[:MAX_VALUE]}" for text in _few(texts)]
    return found


def _unnamed(path: str, entry: Any) -> Any:
    """An entry of a list without the name that its path has; of a variable its value."""
    if not isinstance(entry, dict) or not path.endswith(f"[{entry.get('name')}]"):
        return entry
    rest = {key: below for key, below in entry.items() if key != "name"}
    return rest["value"] if rest.keys() == {"value"} else rest


def _script(before: Any, after: Any) -> tuple[Any, Any]:
    """Two texts of several lines, where lists of words differ in nothing else: the script after ``-c``."""
    if not (isinstance(before, list) and isinstance(after, list) and before[:-1] == after[:-1]):
        return before, after
    last = before[-1], after[-1]
    texts = all(isinstance(word, str) and "\n" in word.strip() for word in last)
    return last if texts and len(before) == len(after) else (before, after)


def _hunk(before: str, after: str) -> list[str]:
    one, other = before.splitlines(), after.splitlines()
    start, end = around(one, other)
    if max(len(one), len(other)) - start - end > MAX_COMPARED:
        return [f"- {len(one)} lines", f"+ {len(other)} lines, others from line {start + 1} on"]
    one, other = (side[max(start - 1, 0) : len(side) - max(end - 1, 0)] for side in (one, other))
    found = list(unified_diff(one, other, n=1, lineterm=""))[2:]
    kept = [
        "  …" if line.startswith("@@") else f"{line[0]} {visible(line[1:])[:MAX_VALUE]}" for line in found[1:]
    ]
    if not kept:
        return ["  only the line ends are others"]
    return _few(kept)


def _few(texts: list[str]) -> list[str]:
    if len(texts) <= MAX_HUNK:
        return texts
    return [*texts[: MAX_HUNK - 1], f"  … {len(texts) - MAX_HUNK + 1} more lines"]
