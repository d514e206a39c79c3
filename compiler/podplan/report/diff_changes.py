"""Changed values for people: the path, the number of objects and jobs, the old and the new value."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from difflib import unified_diff
from typing import Any

from podplan.core.structural_diff import ABSENT, count_common_ends
from podplan.redaction.redactor import DIFFERENT_VALUE_NOTE
from podplan.report.diff_words import format_list, pluralize
from podplan.report.sanitization import escape_text
from podplan.tools.diff.model import Diff, Difference

MAX_VALUE_LENGTH = 240  # characters of a value in one line
MAX_HUNK_LINES = 24  # lines of a changed text
MAX_COMPARED_LINES = 500  # lines that are compared individually, in quadratic time


def describe_extent(change: Difference, names: Sequence[str]) -> str:
    """Return in how many objects of which jobs: "384 Pods of 12 jobs (a, b, c and 9 more)"."""
    jobs = [names[number] for number in change.jobs]
    owner_text = jobs[0] if len(jobs) == 1 else f"{len(jobs)} jobs ({format_list(jobs, 2)})"
    if len(names) > 2 and len(jobs) == len(names):
        owner_text = f"all {len(jobs)} jobs"
    if not change.roles and change.objects == len(jobs):
        return owner_text
    role = f"{change.roles[0]} " if len(change.roles) == 1 else ""
    return escape_text(f"{change.objects} {role}{pluralize(change.kind, change.objects)} of {owner_text}")


def format_path(change: Difference) -> str:
    """Return the path below the spec, or in the object if it is outside of the spec."""
    return escape_text(change.part.removeprefix("spec."))


def order_changes(diff: Diff) -> list[Difference]:
    """Sort the changes: of profiles and CRs first, then of Pods, then of other objects."""
    rank = {"Pod": 1, "PodGroup": 2, "TensorBoard": 3, "Service": 3, "ConfigMap": 3, "Secret": 3}
    sorted_changes = sorted(diff.changes, key=lambda change: (rank.get(change.kind, 0), not change.part))
    merged: dict[str, Difference] = {}
    for change in sorted_changes:  # requests and limits usually change together
        merged_path = re.sub(r"\.resources\.(?:limits|requests)\b", ".resources", change.part)
        key = repr((change.kind, merged_path, change.before, change.after, change.objects, change.jobs))
        merged[key] = change._replace(part=merged_path) if key in merged else change
    return list(merged.values())


def format_location(change: Difference) -> str:
    """Return where a value is written: "jobs/base.yaml:7"; "" if it is not written in a file."""
    location = change.place
    return escape_text(f"{location.file}:{location.line}") if location is not None else ""


def format_value(data: Any) -> str:
    """Format a value on one line."""
    if isinstance(data, str):
        quoted = data if data and data.strip() == data else json.dumps(data, ensure_ascii=False)
        formatted = quoted
    elif isinstance(data, list) and not any(isinstance(entry, dict | list) for entry in data):
        formatted = " ".join(_quote_word(entry) for entry in data)
    else:
        formatted = _format_flow(data)
    formatted = escape_text(formatted)
    if len(formatted) <= MAX_VALUE_LENGTH:
        return formatted
    return f"{formatted[: MAX_VALUE_LENGTH - 40]} … ({len(formatted)} characters)"


def _quote_word(word: Any) -> str:
    text = word if isinstance(word, str) else json.dumps(word)
    if text == DIFFERENT_VALUE_NOTE.strip():
        return text
    return (
        text
        if text and not any(letter.isspace() for letter in text)
        else json.dumps(text, ensure_ascii=False)
    )


def _format_flow(data: Any) -> str:
    if isinstance(data, dict):
        return "{" + ", ".join(f"{key}: {_format_flow(below)}" for key, below in data.items()) + "}"
    if isinstance(data, list):
        return "[" + ", ".join(map(_format_flow, data)) + "]"
    return data if isinstance(data, str) else json.dumps(data)


def format_change_lines(change: Difference) -> list[str]:
    """Return the old and new value, in lines that begin with - and +, or with a blank for context."""
    before, after = (_strip_entry_name(change.part, side) for side in (change.before, change.after))
    before, after = _extract_script_change(before, after)
    if isinstance(before, str) and isinstance(after, str) and "\n" in before + after:
        return _format_hunk(before, after)
    signed_values = [("-", before), ("+", after)]
    rendered_lines = []
    for sign, side in signed_values:
        if side is not ABSENT:
            texts = (
                side.splitlines() if isinstance(side, str) and "\n" in side.strip() else [format_value(side)]
            )
            rendered_lines += [
                f"{sign} {escape_text(text)[:MAX_VALUE_LENGTH]}" for text in _limit_lines(texts)
            ]
    return rendered_lines


def _strip_entry_name(path: str, entry: Any) -> Any:
    """Return an entry of a list without the name that is in its path; for a variable, its value."""
    if not isinstance(entry, dict) or not path.endswith(f"[{entry.get('name')}]"):
        return entry
    rest = {key: below for key, below in entry.items() if key != "name"}
    return rest["value"] if rest.keys() == {"value"} else rest


def _extract_script_change(before: Any, after: Any) -> tuple[Any, Any]:
    """Return the scripts after ``-c`` if lists of words differ in nothing else, else both values."""
    if not (isinstance(before, list) and isinstance(after, list) and before[:-1] == after[:-1]):
        return before, after
    last = before[-1], after[-1]
    texts = all(isinstance(word, str) and "\n" in word.strip() for word in last)
    return last if texts and len(before) == len(after) else (before, after)


def _format_hunk(before: str, after: str) -> list[str]:
    old_lines, new_lines = before.splitlines(), after.splitlines()
    start, end = count_common_ends(old_lines, new_lines)
    if max(len(old_lines), len(new_lines)) - start - end > MAX_COMPARED_LINES:
        return [f"- {len(old_lines)} lines", f"+ {len(new_lines)} lines, others from line {start + 1} on"]
    old_lines, new_lines = (
        side[max(start - 1, 0) : len(side) - max(end - 1, 0)] for side in (old_lines, new_lines)
    )
    diff_lines = list(unified_diff(old_lines, new_lines, n=1, lineterm=""))[2:]
    hunk_lines = [
        "  …" if line.startswith("@@") else f"{line[0]} {escape_text(line[1:])[:MAX_VALUE_LENGTH]}"
        for line in diff_lines[1:]
    ]
    if not hunk_lines:
        return ["  only the line ends are others"]
    return _limit_lines(hunk_lines)


def _limit_lines(texts: list[str]) -> list[str]:
    if len(texts) <= MAX_HUNK_LINES:
        return texts
    return [*texts[: MAX_HUNK_LINES - 1], f"  … {len(texts) - MAX_HUNK_LINES + 1} more lines"]
