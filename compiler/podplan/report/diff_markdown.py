"""What differs, for a comment in a pull request or a job summary; no text of files is markup."""

from __future__ import annotations

import re

from podplan.report import diff_changes as changes
from podplan.report import diff_words as words
from podplan.report.markdown import code, plain
from podplan.tools.diff.model import ABSENT, Diff, Difference

MAX_CHARACTERS = 65_000  # a comment may have 65,536
MAX_ROWS = 50
MARKS = {
    "broken": "❌",
    "created": "🟢",
    "removed": "🔴",
    "re-run": "🔁",
    "in place": "🟡",
    "relabel": "🏷️",
    "mended": "✅",
    "same CR": "⚪",
    "changed": "🟡",
}


def render(diff: Diff, room: int = MAX_CHARACTERS) -> str:
    """The impact first, then the jobs, then each change, folded away; at most ``room`` characters."""
    text = f"### podplan diff: {plain(words.title(diff))}\n\n"
    if diff.is_empty:
        text += f"{words.NO_CHANGE}\n"
    else:
        text += f"**{plain(words.impact_line(diff))}**\n"
        told = words.queues(diff)
        text += "".join(f"\n- queue {plain(words.queue_line(queue))}" for queue in told) + (
            "\n" if told else ""
        )
    notes = "".join(f"\n> {plain(note)}\n" for note in diff.notes)
    room -= len(text) + len(notes) + 300
    jobs = _jobs(diff, room)
    return text + jobs + _changes(diff, room - len(jobs)) + notes


def _jobs(diff: Diff, room: int) -> str:
    rows: list[str] = []
    groups = words.grouped(diff)
    for number, group in enumerate(groups):
        what = words.action(group.first)
        number_of = len(group.names)
        many = f"{number_of} " if number_of > 1 else ""
        rest = number_of - words.MAX_NAMES
        named = ", ".join(map(code, group.names[: words.MAX_NAMES])) + (
            f" and {rest} more" if rest > 0 else ""
        )
        cells = [
            f"{MARKS[what]} {what}",
            f"{many}{plain(words.plural(group.first.kind, number_of))} {named}",
            words.sizes(group),
            code(words.listed(group.files)),
            "<br>".join(map(plain, words.errors(group) or [words.fields(group).removeprefix("for ")])),
        ]
        row = f"| {' | '.join(cells)} |\n"
        if number == MAX_ROWS or room < len(row) + 200:
            rows.append(f"\n{len(groups) - number} more have no room here\n")
            break
        rows.append(row)
        room -= len(row)
    if not rows:
        return ""
    why = "".join(f"\n- {plain(reason)}" for reason in words.reasons(groups))
    head = "\n| | job | size | file | why |\n|---|---|---|---|---|\n"
    return head + "".join(rows) + (f"{why}\n" if why else "")


def _changes(diff: Diff, room: int) -> str:
    """The changes as one block of code that shows what goes and what comes."""
    names = words.called(diff)
    blocks: list[str] = []
    listed = changes.ordered(diff)
    left = len(listed)
    for change in listed:
        block = _change(change, names)
        if room < len(block) + 200:
            break
        room -= len(block)
        left -= 1
        blocks.append(block)
    if not listed:
        return ""
    body = "\n".join(blocks)
    longest = max((len(run) for run in re.findall("`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    count = len(listed)
    head = f"<details><summary>{count} change{'' if count == 1 else 's'}</summary>"
    tail = f"\n{left} more changes have no room here; podplan diff shows them all\n" if left else ""
    shown = f"\n{fence}diff\n{body}{fence}\n" if blocks else ""
    return f"\n{head}\n{shown}{tail}\n</details>\n"


def _change(change: Difference, names: list[str]) -> str:
    where = changes.place(change)
    around = changes.extent(change, names) + (f", {where}" if where else "")
    if not change.part:
        sign, name = ("-", change.before) if change.after is ABSENT else ("+", change.after)
        return f"@@ {change.kind}: {around} @@\n{sign} {changes.value(name)}\n"
    head = f"@@ {change.kind} {changes.part(change)}: {around} @@"
    return "\n".join([head, *changes.lines(change)]) + "\n"
