"""A comparison in words, for people: what its text and its Markdown have in common."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from difflib import unified_diff
from typing import Any, NamedTuple

from podplan.diff.model import ABSENT, ANOTHER, Count, Diff, Difference, JobChange, Queue
from podplan.facts.changes import Effect
from podplan.findings import Path
from podplan.lint.checks._resources import shown as amount
from podplan.report.visible import visible

MAX_VALUE = 240  # characters of a value in one line
MAX_HUNK = 24  # lines of a text that changes
MAX_NAMES = 3
MAX_GROUPS = 12
SIGNS = {
    "created": "+",
    "removed": "-",
    "re-run": "!",
    "in place": "~",
    "relabel": "~",
    "same CR": "=",
    "changed": "~",
    "broken": "x",
    "mended": "o",
}
EFFECTS = {"re-run": "re-run", "in-place": "in place", "none": "relabel", None: "same CR"}
_COUNTED = ("created", "removed", "rerun", "changed", "relabelled", "broken", "mended")
_WORDS = {"rerun": "to re-run", "changed": "changed in place"}
NO_CHANGE = "no change: both sides make the same objects"


class Group(NamedTuple):
    """Jobs of which the same is to be said; ``first`` is one of them, ``effects`` are those of all."""

    first: JobChange
    names: tuple[str, ...]
    files: tuple[str, ...]
    effects: tuple[Effect, ...]
    pods: Count
    gpus: Count


def title(diff: Diff) -> str:
    """What is compared with what: "main (1a2b3c4) → work tree"."""
    return visible(f"{diff.base} → {diff.head}")


def impact_line(diff: Diff) -> str:
    """The impact in one line: "+8 GPUs (8 → 16), +1 Pod (1 → 2); 1 created, 12 to re-run"."""
    found = diff.impact
    jobs = [f"{number} {_WORDS.get(name, name)}" for name in _COUNTED if (number := getattr(found, name))]
    sums = ", ".join([_sum(found.gpus, "GPU"), _sum(found.pods, "Pod")])
    return f"{sums}; {', '.join(jobs) or 'no job changes'}"


def _sum(count: Count, noun: str) -> str:
    if not count.more:
        return f"{noun}s unchanged ({count.after})"
    return f"{count.more:+} {noun}{'' if abs(count.more) == 1 else 's'} ({count.before} → {count.after})"


def queue_line(queue: Queue) -> str:
    """What changes for a queue: "research: nvidia.com/gpu 8 → 16 of 64"."""
    before, after = (amount(units, queue.resource) for units in queue.asked)
    more = amount(abs(queue.asked.more), queue.resource)
    sign = "+" if queue.asked.more > 0 else "-"
    line = f"{queue.name}: {sign}{more} {queue.resource} ({before} → {after}"
    if queue.quota is None:
        return visible(line + ", no quota known)")
    line += f"; the quota is {amount(queue.quota, queue.resource)}"
    return visible(line + (", so not all run at once)" if queue.asked.after > queue.quota else ")"))


def queues(diff: Diff) -> list[Queue]:
    """The queues to tell of: accelerators always, other resources where their quota is exceeded."""
    return [
        queue
        for queue in diff.impact.queues
        if "/" in queue.resource or (queue.quota is not None and queue.asked.after > queue.quota)
    ]


def action(change: JobChange) -> str:
    """What becomes of a job, in a word or two."""
    return EFFECTS[change.effect] if change.what == "changed" and change.is_job else change.what


def grouped(diff: Diff) -> list[Group]:
    """The jobs, those of which the same is to be said as one; what is broken first, then what costs most.

    They are told apart by file as long as those are few.
    """
    found = _grouped(diff, by_file=True)
    if len(found) > MAX_GROUPS:
        found = _grouped(diff, by_file=False)
    order = ("broken", "created", "removed", "re-run", "in place", "relabel", "mended", "same CR", "changed")
    return sorted(found, key=lambda group: (not group.first.is_job, order.index(action(group.first))))


def _grouped(diff: Diff, *, by_file: bool) -> list[Group]:
    names = called(diff)
    found: dict[str, list[int]] = {}
    for number, one in enumerate(diff.jobs):
        if one.what == "changed" and one.effect is None and one.is_job and not one.was:
            continue
        said = tuple((finding.rule, finding.message, finding.location) for finding in one.findings)
        facts = tuple(dict.fromkeys(effect.fact.id for effect in one.effects))
        file = one.file if by_file else ""
        key = repr((action(one), one.kind, file, said, facts, bool(one.was), one.is_job))
        found.setdefault(key, []).append(number)
    return [_group([(diff.jobs[number], names[number]) for number in numbers]) for numbers in found.values()]


def _group(members: Sequence[tuple[JobChange, str]]) -> Group:
    jobs = [job for job, _ in members]
    return Group(
        jobs[0],
        tuple(_with_former(job, name) for job, name in members),
        tuple(dict.fromkeys(visible(job.file) for job in jobs)),
        tuple(effect for job in jobs for effect in job.effects),
        Count(sum(job.pods.before for job in jobs), sum(job.pods.after for job in jobs)),
        Count(sum(job.gpus.before for job in jobs), sum(job.gpus.after for job in jobs)),
    )


def _with_former(job: JobChange, name: str) -> str:
    return visible(f"{job.was} → ") + name if job.was else name


def called(diff: Diff) -> list[str]:
    """What each job is called: by its name, with namespace and environment where that is not enough."""
    spaces = Counter(name for name, _ in {(job.name, job.namespace) for job in diff.jobs})
    same = Counter((job.namespace, job.name) for job in diff.jobs)
    shown = []
    for job in diff.jobs:
        name = f"{job.namespace}/{job.name}" if spaces[job.name] > 1 and job.namespace else job.name
        where = job.variant if job.what in ("broken", "mended") and not job.namespace else job.environment
        more = f" ({where})" if where and same[job.namespace, job.name] > 1 else ""
        shown.append(visible(name + more))
    return shown


def listed(names: Sequence[str], most: int = MAX_NAMES) -> str:
    """Names as a list for people: "a, b, c and 9 more"."""
    if len(names) <= most + 1:
        return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def sizes(group: Group) -> str:
    """How big jobs are, or were and are: "4 Pods, 32 GPUs", "4 → 8 Pods, 32 → 64 GPUs"."""
    said = []
    for count, noun in ((group.pods, "Pod"), (group.gpus, "GPU")):
        if group.first.what in ("created", "mended"):
            told = str(count.after)
        elif group.first.what in ("removed", "broken"):
            told = str(count.before)
        else:
            told = str(count.after) if not count.more else f"{count.before} → {count.after}"
        if told != "0":
            said.append(f"{told} {noun}{'' if told == '1' else 's'}")
    return ", ".join(said)


def reasons(group: Group) -> list[str]:
    """Why the effect of a change is what it is: each fact once, with its basis and the fields it is about."""
    if group.first.was:
        return ["under another name it is another job, which runs from the start; the former one is removed"]
    fields: dict[str, tuple[Effect, list[str]]] = {}
    for effect in group.effects:
        entry = fields.setdefault(effect.fact.id, (effect, []))
        entry[1].append(_field(effect.path))
    return [
        visible(f"{_fields(told, effect.fact.text)}{effect.fact.text} [{effect.fact.basis}]")
        for effect, told in fields.values()
    ]


def _field(path: Path) -> str:
    """The field that a path leads to: of a variable the list of variables, of a switch what it switches."""
    steps = [step for step in path if isinstance(step, str)]
    while len(steps) > 1 and steps[-1] in ("name", "value", "key", "valueFrom", "secretKeyRef"):
        steps.pop()
    return ".".join(steps[-2:]) if steps[-1] == "enabled" else steps[-1]


def _fields(told: Sequence[str], text: str) -> str:
    """The fields that a sentence is about, where it does not name them."""
    names = [name for name in dict.fromkeys(told) if name not in text]
    return f"{listed(names)}: " if names else ""


def errors(group: Group) -> list[str]:
    """The errors of what is broken, or was, each with its place."""
    return [
        visible(f"{found.rule} {found.location.file}:{found.location.line}: {found.message}")
        for found in group.first.findings
    ]


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


def plural(noun: str, number: int) -> str:
    """ "Pod" or "Pods"."""
    return noun if number == 1 else f"{noun}s"


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


def _hunk(before: str, after: str) -> list[str]:
    found = list(unified_diff(before.splitlines(), after.splitlines(), n=1, lineterm=""))[2:]
    kept = [f"{line[0]} {visible(line[1:])[:MAX_VALUE]}" for line in found if not line.startswith("@@")]
    if not kept:
        return ["  only the line ends are others"]
    return _few(kept)


def _few(texts: list[str]) -> list[str]:
    if len(texts) <= MAX_HUNK:
        return texts
    return [*texts[: MAX_HUNK - 1], f"  … {len(texts) - MAX_HUNK + 1} more lines"]
