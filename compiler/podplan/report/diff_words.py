"""Phrases of a comparison that text and Markdown share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from podplan.core.findings import Path
from podplan.core.wording import format_count
from podplan.kinds.change_effects import FieldEffect
from podplan.lint.analysis.resources import format_amount as amount
from podplan.report.hours import format_hours
from podplan.report.sanitization import escape_text
from podplan.tools.diff.model import Count, Diff, JobChange, Queue

MAX_NAMES = 3
MAX_FIELDS = 8
MAX_GROUPS = 12
ACTION_SIGNS = {
    "created": "+",
    "removed": "-",
    "re-create": "!",
    "renamed": "!",
    "on merge": "~",
    "relabel": "~",
    "same CR": "=",
    "changed": "~",
    "broken": "x",
    "mended": "o",
}
EFFECT_NAMES = {"re-run": "re-create", "in-place": "on merge", "none": "relabel", None: "same CR"}
_ACTION_ORDER = (
    *("broken", "created", "removed", "re-create", "renamed", "on merge", "relabel", "mended", "same CR"),
    "changed",
)


class JobGroup(NamedTuple):
    """Jobs with the same description; ``first`` is one of them, ``effects`` are those of all."""

    first: JobChange
    names: tuple[str, ...]
    files: tuple[str, ...]
    effects: tuple[FieldEffect, ...]
    pods: Count
    gpus: Count
    gpu_seconds: Count | None


def format_title(diff: Diff) -> str:
    """Return what is compared: "main (1a2b3c4) → work tree"."""
    return escape_text(f"{diff.base} → {diff.head}")


def format_impact(diff: Diff) -> str:
    """Format the impact on one line: "+8 GPUs (8 → 16), +1 Pod (1 → 2); 1 created, 12 need re-creation"."""
    impact = diff.impact
    sums = ", ".join([_format_total(impact.gpus, "GPU"), _format_total(impact.pods, "Pod")])
    outcomes = [*(_format_outcomes(diff) or ["no job changes"]), *_format_unreadable_files(diff)]
    return f"{sums}; {', '.join(outcomes)}"


def format_no_change(diff: Diff) -> str:
    """Format that nothing differs, and how much was not compared."""
    if not diff.uncompared:
        return "no change: both sides make the same objects"
    are = "is" if diff.uncompared == 1 else "are"
    jobs = format_count(diff.uncompared, "job or file", "jobs or files")
    return f"no change in what can be compared; {jobs} with errors {are} not compared"


def _format_unreadable_files(diff: Diff) -> list[str]:
    """Format the number of files that cannot be read now, or could not before: nothing is known of them."""
    broken, mended = (
        sum(job.what == what and job.kind == "file" for job in diff.jobs) for what in ("broken", "mended")
    )
    texts = [f"{format_count(broken, 'file')} cannot be read"] if broken else []
    return texts + ([f"{format_count(mended, 'file')} could not be read before"] if mended else [])


def _format_outcomes(diff: Diff) -> list[str]:
    """Format the number of jobs by outcome; those that keep running unchanged come last."""
    impact = diff.impact
    renamed = sum(bool(job.was) and job.is_job for job in diff.jobs)
    kept = impact.rerun - renamed
    referring = sum(job.what == "changed" and job.effect is None and bool(job.through) for job in diff.jobs)
    number_by_words = {
        "created": impact.created,
        "removed": impact.removed,
        "renamed": renamed,
        f"{'applies' if impact.changed == 1 else 'apply'} on merge": impact.changed,
        "relabelled": impact.relabelled,
        f"{'changes' if referring == 1 else 'change'} with the same CR": referring,
        "broken": impact.broken,
        "mended": impact.mended,
        f"{'needs' if kept == 1 else 'need'} re-creation": kept,
    }
    return [f"{number} {words}" for words, number in number_by_words.items() if number]


def format_recreation(diff: Diff) -> str:
    """Format what jobs that need re-creation do until then, and the GPUs of the merge; "" without any.

    Such as "until then the running job keeps what it has: +8 GPUs on merge, -4 only after re-creation".
    """
    jobs = [job for job in diff.jobs if name_action(job) == "re-create"]
    if not jobs:
        return ""
    keeps = "job keeps what it has" if len(jobs) == 1 else "jobs keep what they have"
    text = f"until then the running {keeps}"
    at_once = sum(job.gpus_on_merge for job in jobs)
    now, later = split_total_gpus(diff)
    if not later and not at_once:
        return text
    rest = f", {later:+} only after re-creation" if later else ""
    return f"{text}: {now:+} GPU{'' if abs(now) == 1 else 's'} on merge{rest}"


def split_gpus(job: JobChange) -> tuple[int, int]:
    """Return the GPUs that a job gets more, or fewer, on merge, and those only after its re-creation."""
    if name_action(job) != "re-create":
        return job.gpus.more, 0
    return job.gpus_on_merge, job.gpus.more - job.gpus_on_merge


def split_total_gpus(diff: Diff) -> tuple[int, int]:
    """Return the GPUs that all jobs get more, or fewer, on merge, and those only after re-creation."""
    later = sum(split_gpus(job)[1] for job in diff.jobs)
    return diff.impact.gpus.more - later, later


def format_gpu_hours(gpu_seconds: Count) -> str:
    """Format GPUs × deadline: "at most 768 GPU-hours", "at most 768 → 1,536 GPU-hours"; "" if both are 0."""
    before, after = (format_hours(seconds / 3600) for seconds in gpu_seconds)
    if not any(gpu_seconds):
        return ""
    return f"at most {after if before == after else f'{before} → {after}'} GPU-hours"


def _format_total(count: Count, noun: str) -> str:
    if not count.more:
        return f"{noun}s unchanged ({count.after})"
    return f"{count.more:+} {noun}{'' if abs(count.more) == 1 else 's'} ({count.before} → {count.after})"


def format_queue(queue: Queue) -> str:
    """Format the change of a queue: "research: +8 nvidia.com/gpu (8 → 16; the quota is 64)"."""
    before, after = (amount(units, queue.resource) for units in queue.asked)
    difference = amount(abs(queue.asked.more), queue.resource)
    sign = "+" if queue.asked.more > 0 else "-"
    changed = f"{sign}{difference} {queue.resource} ({before} → {after}"
    line = f"{queue.name}: {changed if queue.asked.more else f'{queue.resource} unchanged ({after}'}"
    return escape_text(f"{line}{_format_quota(queue)})")


def _format_quota(queue: Queue) -> str:
    old_quota, new_quota = (
        None if units is None else amount(units, queue.resource)
        for units in (queue.quota_before, queue.quota)
    )
    if queue.quota is None:
        return ", no quota known" if old_quota is None else f"; the quota was {old_quota}, and there is none"
    text = f"; the quota is {new_quota}"
    if queue.quota != queue.quota_before:
        text = (
            f"; the quota is new: {new_quota}"
            if old_quota is None
            else f"; the quota goes from {old_quota} to {new_quota}"
        )
    return text + (", so not all run at once" if queue.asked.after > queue.quota else "")


def select_queues(diff: Diff) -> list[Queue]:
    """Return the queues to report: accelerators and other quotas always, other resources beyond their
    quota."""
    return [
        queue
        for queue in diff.impact.queues
        if "/" in queue.resource
        or queue.quota != queue.quota_before
        or (queue.quota is not None and queue.asked.after > queue.quota)
    ]


def name_action(change: JobChange) -> str:
    """Return the action on a job, in a word or two."""
    if change.what != "changed" or not change.is_job:
        return change.what
    return "renamed" if change.was else EFFECT_NAMES[change.effect]


def group_jobs(diff: Diff) -> list[JobGroup]:
    """Group jobs with the same description; broken ones first, then by cost.

    Jobs in different files are separate groups, as long as there are few.
    """
    groups = _group_by_outcome(diff, by_file=True)
    if len(groups) > MAX_GROUPS:
        groups = _group_by_outcome(diff, by_file=False)
    order = (
        "broken",
        "created",
        "removed",
        "re-create",
        "renamed",
        "on merge",
        "relabel",
        "mended",
        "same CR",
        "changed",
    )
    return sorted(groups, key=lambda group: (not group.first.is_job, order.index(name_action(group.first))))


def _group_by_outcome(diff: Diff, *, by_file: bool) -> list[JobGroup]:
    names = name_jobs(diff)
    numbers_by_key: dict[str, list[int]] = {}
    for number, job in enumerate(diff.jobs):
        if job.what == "changed" and job.effect is None and job.is_job and not (job.was or job.through):
            continue
        finding_key = tuple((finding.rule, finding.message, finding.location) for finding in job.findings)
        behavior_ids = tuple(dict.fromkeys(effect.behavior.id for effect in job.effects))
        file = job.file if by_file else ""
        kind = (job.kind, job.is_job, job.through)
        key = repr((name_action(job), kind, file, finding_key, behavior_ids, bool(job.was)))
        numbers_by_key.setdefault(key, []).append(number)
    return [
        _build_group([(diff.jobs[number], names[number]) for number in numbers])
        for numbers in numbers_by_key.values()
    ]


def _build_group(members: Sequence[tuple[JobChange, str]]) -> JobGroup:
    jobs = [job for job, _ in members]
    return JobGroup(
        jobs[0],
        tuple(escape_text(f"{job.was} → ") + name if job.was else name for job, name in members),
        tuple(dict.fromkeys(escape_text(job.file) for job in jobs)),
        tuple(effect for job in jobs for effect in job.effects),
        Count(sum(job.pods.before for job in jobs), sum(job.pods.after for job in jobs)),
        Count(sum(job.gpus.before for job in jobs), sum(job.gpus.after for job in jobs)),
        _sum_gpu_seconds(jobs),
    )


def _sum_gpu_seconds(jobs: Sequence[JobChange]) -> Count | None:
    """Return GPUs × deadline of all jobs; None if a job with GPUs has no deadline."""
    known = [job.gpu_seconds for job in jobs if job.gpu_seconds is not None]
    if len(known) < len(jobs):
        return None
    return Count(sum(one.before for one in known), sum(one.after for one in known))


def name_jobs(diff: Diff) -> list[str]:
    """Return a unique name of each job: with namespace and environment if necessary.

    A profile with environments has a job with the same name in each, so there it is always necessary.
    """
    namespace_counts = Counter(name for name, _ in {(job.name, job.namespace) for job in diff.jobs})
    job_counts = Counter((job.namespace, job.name) for job in diff.jobs)
    labels = []
    for job in diff.jobs:
        is_ambiguous = namespace_counts[job.name] > 1 or bool(job.environment) or "/" in job.was
        name = f"{job.namespace}/{job.name}" if is_ambiguous and job.namespace else job.name
        context = job.variant if job.what in ("broken", "mended") and not job.namespace else job.environment
        is_unique = job_counts[job.namespace, job.name] == 1 and (job.namespace or not job.environment)
        suffix = f" ({context})" if context and not is_unique else ""
        labels.append(escape_text(name + suffix))
    return labels


def format_list(names: Sequence[str], limit: int = MAX_NAMES) -> str:
    """Format names as a list: "a, b, c and 9 more"."""
    if len(names) <= limit + 1:
        return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
    return f"{', '.join(names[:limit])} and {len(names) - limit} more"


def format_sizes(group: JobGroup) -> str:
    """Format the size of jobs, or the old and the new one: "4 Pods, 32 GPUs", "4 → 8 Pods, 32 → 64 GPUs"."""
    parts = []
    for count, noun in ((group.pods, "Pod"), (group.gpus, "GPU")):
        if group.first.what in ("created", "mended"):
            count_text = str(count.after)
        elif group.first.what in ("removed", "broken"):
            count_text = str(count.before)
        else:
            count_text = str(count.after) if not count.more else f"{count.before} → {count.after}"
        if count_text != "0":
            parts.append(f"{count_text} {noun}{'' if count_text == '1' else 's'}")
    if group.gpu_seconds is not None:
        before, after = group.gpu_seconds
        is_one_sided = group.first.what in ("created", "mended", "removed", "broken")
        shown = Count(before or after, after or before) if is_one_sided else group.gpu_seconds
        parts += filter(None, [format_gpu_hours(shown)])
    return ", ".join(parts)


def format_changed_fields(group: JobGroup) -> str:
    """Format the fields that decide about the effect, and changed documents that a job refers to: "for image,
    args; through TrainingRuntime torch"."""
    if group.first.was:
        return "under a new name"
    names = list(dict.fromkeys(_name_field(effect.path) for effect in group.effects))
    through = group.first.through
    causes = [
        *([f"for {escape_text(format_list(names, MAX_FIELDS))}"] if names else []),
        *([f"through {escape_text(format_list(through))}"] if through else []),
    ]
    return "; ".join(causes)


def explain_effects(groups: Sequence[JobGroup]) -> list[str]:
    """Explain the effects: each behavior once, with its basis, and with the fields if it names none."""
    fields_by_behavior: dict[str, tuple[FieldEffect, dict[str, None]]] = {}
    for group in groups:
        for effect in group.effects:
            fields_by_behavior.setdefault(effect.behavior.id, (effect, {}))[1][_name_field(effect.path)] = (
                None
            )
    sentences = [
        escape_text(
            f"{_prefix_unmentioned_fields(list(names), effect.behavior.text)}{effect.behavior.text}"
            f" [{effect.behavior.basis}]"
        )
        for effect, names in fields_by_behavior.values()
    ]
    if any(group.first.was for group in groups):
        sentences.append(
            "a job under a new name is another one, and runs from the start; the former is removed"
        )
    return sentences


def _name_field(path: Path) -> str:
    """Return the field of a path: the list of variables for a variable, the section for its switch."""
    steps = [step for step in path if isinstance(step, str)]
    while len(steps) > 1 and steps[-1] in ("name", "value", "key", "valueFrom", "secretKeyRef"):
        steps.pop()
    return ".".join(steps[-2:]) if steps[-1] == "enabled" else steps[-1]


def _prefix_unmentioned_fields(field_names: Sequence[str], text: str) -> str:
    """Prefix a sentence with the fields that it is about, unless it names them."""
    names = [name for name in dict.fromkeys(field_names) if name not in text]
    return f"{format_list(names, MAX_FIELDS)}: " if names else ""


def format_errors(group: JobGroup) -> list[str]:
    """Format the errors of broken jobs, in either revision, each with its location."""
    return [
        escape_text(f"{found.rule} {found.location.file}:{found.location.line}: {found.message}")
        for found in group.first.findings
    ]


def pluralize(noun: str, number: int) -> str:
    """Return "Pod" or "Pods"."""
    return noun if number == 1 else f"{noun}s"
