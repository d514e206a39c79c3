"""A comparison in words, for people: what its text and its Markdown have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from podplan.core.findings import Path
from podplan.kinds.t9k.behaviors.change_effects import Effect
from podplan.lint.analysis.resources import shown as amount
from podplan.report.sanitization import visible
from podplan.tools.diff.model import Count, Diff, JobChange, Queue

MAX_NAMES = 3
MAX_FIELDS = 8
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
    """What changes for a queue: "research: +8 nvidia.com/gpu (8 → 16; the quota is 64)"."""
    before, after = (amount(units, queue.resource) for units in queue.asked)
    more = amount(abs(queue.asked.more), queue.resource)
    sign = "+" if queue.asked.more > 0 else "-"
    changed = f"{sign}{more} {queue.resource} ({before} → {after}"
    line = f"{queue.name}: {changed if queue.asked.more else f'{queue.resource} unchanged ({after}'}"
    return visible(f"{line}{_quota(queue)})")


def _quota(queue: Queue) -> str:
    was, now = (
        None if units is None else amount(units, queue.resource)
        for units in (queue.quota_before, queue.quota)
    )
    if queue.quota is None:
        return ", no quota known" if was is None else f"; the quota was {was}, and there is none"
    said = f"; the quota is {now}"
    if queue.quota != queue.quota_before:
        said = f"; the quota is new: {now}" if was is None else f"; the quota goes from {was} to {now}"
    return said + (", so not all run at once" if queue.asked.after > queue.quota else "")


def queues(diff: Diff) -> list[Queue]:
    """The queues to tell of: accelerators and other quotas always, other resources beyond their quota."""
    return [
        queue
        for queue in diff.impact.queues
        if "/" in queue.resource
        or queue.quota != queue.quota_before
        or (queue.quota is not None and queue.asked.after > queue.quota)
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
        tuple(visible(f"{job.was} → ") + name if job.was else name for job, name in members),
        tuple(dict.fromkeys(visible(job.file) for job in jobs)),
        tuple(effect for job in jobs for effect in job.effects),
        Count(sum(job.pods.before for job in jobs), sum(job.pods.after for job in jobs)),
        Count(sum(job.gpus.before for job in jobs), sum(job.gpus.after for job in jobs)),
    )


def called(diff: Diff) -> list[str]:
    """What each job is called: by its name, with namespace and environment where that is not enough.

    A profile with environments makes a job of one name in each, so there it never is.
    """
    spaces = Counter(name for name, _ in {(job.name, job.namespace) for job in diff.jobs})
    same = Counter((job.namespace, job.name) for job in diff.jobs)
    shown = []
    for job in diff.jobs:
        several = spaces[job.name] > 1 or bool(job.environment) or "/" in job.was
        name = f"{job.namespace}/{job.name}" if several and job.namespace else job.name
        where = job.variant if job.what in ("broken", "mended") and not job.namespace else job.environment
        alone = same[job.namespace, job.name] == 1 and (job.namespace or not job.environment)
        more = f" ({where})" if where and not alone else ""
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


def fields(group: Group) -> str:
    """The fields that make the effect what it is: "for image, args"."""
    if group.first.was:
        return "under a new name"
    names = list(dict.fromkeys(_field(effect.path) for effect in group.effects))
    return f"for {visible(listed(names, MAX_FIELDS))}" if names else ""


def reasons(groups: Sequence[Group]) -> list[str]:
    """Why effects are what they are: each fact once, with its basis, and the fields where it names none."""
    told: dict[str, tuple[Effect, dict[str, None]]] = {}
    for group in groups:
        for effect in group.effects:
            told.setdefault(effect.fact.id, (effect, {}))[1][_field(effect.path)] = None
    found = [
        visible(f"{_fields(list(names), effect.fact.text)}{effect.fact.text} [{effect.fact.basis}]")
        for effect, names in told.values()
    ]
    if any(group.first.was for group in groups):
        found.append("a job under a new name is another one, and runs from the start; the former is removed")
    return found


def _field(path: Path) -> str:
    """The field that a path leads to: of a variable the list of variables, of a switch what it switches."""
    steps = [step for step in path if isinstance(step, str)]
    while len(steps) > 1 and steps[-1] in ("name", "value", "key", "valueFrom", "secretKeyRef"):
        steps.pop()
    return ".".join(steps[-2:]) if steps[-1] == "enabled" else steps[-1]


def _fields(told: Sequence[str], text: str) -> str:
    """The fields that a sentence is about, where it does not name them."""
    names = [name for name in dict.fromkeys(told) if name not in text]
    return f"{listed(names, MAX_FIELDS)}: " if names else ""


def errors(group: Group) -> list[str]:
    """The errors of what is broken, or was, each with its place."""
    return [
        visible(f"{found.rule} {found.location.file}:{found.location.line}: {found.message}")
        for found in group.first.findings
    ]


def plural(noun: str, number: int) -> str:
    """ "Pod" or "Pods"."""
    return noun if number == 1 else f"{noun}s"
