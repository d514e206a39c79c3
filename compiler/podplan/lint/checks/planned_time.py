"""The planned duration of a training compared with the deadline of its job.

Sources: https://lightning.ai/docs/pytorch/stable/common/trainer.html#max-time (DD:HH:MM:SS),
https://slurm.schedmd.com/sbatch.html#OPT_time (D-HH:MM:SS), https://www.gnu.org/software/coreutils/timeout.
Numbers without a unit are ignored: some programs count in hours, others in seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, below
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_mapping, get_texts
from podplan.launchers import processes
from podplan.launchers.words import Word
from podplan.lint.analysis.deadlines import Deadline, list_deadlines
from podplan.lint.analysis.jobs import is_mode_enabled
from podplan.lint.analysis.launches import find_launches
from podplan.lint.analysis.processes import process_of
from podplan.lint.analysis.resources import find_training_container
from podplan.lint.analysis.script_options import list_program_options
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
# The last part of an option with a duration, and the unit in its name.
_PLANNED = compile_lazily(
    r"(?:\w+_)?(?:max_?(?:wall_?|run_?|train(?:ing)?_?|total_?)?(?:clock_?)?(?:time|duration)"
    r"|time_?(?:limit|budget)|wall_?(?:clock_?)?time(?:_limit)?|(?:train(?:ing)?|run)_?time(?:_limit)?"
    r"|exit_duration"
    r"|(?:max_(?:wall_|run_|train(?:ing)?_)?|(?:train|run)_for_|stop_(?:time|after)_)"
    r"(?=hours|minutes|seconds|days))"
    r"(?:_?(?:in_)?(?P<unit>s|secs?|seconds|mins?|minutes|h|hrs?|hours|days?))?"
)
# One of these is in each name that the pattern matches.
_TIMES = ("time", "duration", "hours", "minutes", "seconds", "days")
_OF_UNIT = {
    "s": "s",
    "sec": "s",
    "min": "m",
    "h": "h",
    "hr": "h",
    "hour": "h",
    "day": "d",
    "second": "s",
    "minute": "m",
}
_NUMBER = compile_lazily(r"\d{1,9}(?:\.\d{1,6})?")
_WITH_UNITS = compile_lazily(
    r"(?:\d{1,9}(?:\.\d{1,6})?\s?(?:days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|[dhmsw])\s?){1,5}"
)
_PART = compile_lazily(r"(\d{1,9}(?:\.\d{1,6})?)\s?([dhmsw])")
_CLOCK = compile_lazily(r"(?:(\d{1,4})[-:])?(\d{1,4}):(\d{2}):(\d{2})")
_NOT_TRAINING = compile_lazily(
    r"(?:^|_)(?:wait|timeout|eval|test|val|generat|gen|request|connect|sleep|step|save|ckpt|checkpoint)"
)


@check()
def deadline_before_planned_end(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A deadline that is shorter than the duration in the command.

    Values: ``option``, ``planned`` and ``deadline``.
    """
    job = subject.job
    if is_mode_enabled(job, "debug"):
        return
    seen: set[str] = set()
    for group, doc, path, option, planned in (*_iter_planned_options(subject), *_iter_timeouts(subject)):
        seconds = get_mapping(group.doc.data, "spec").get("activeDeadlineSeconds")
        of_pod = Deadline(seconds, group.doc, ("spec", "activeDeadlineSeconds"))
        counted = [one for one in (*list_deadlines(job, group), of_pod) if isinstance(one.seconds, int)]
        deadline = min(counted, key=lambda one: one.seconds, default=None)
        if deadline is not None and deadline.seconds < planned and option not in seen:
            seen.add(option)
            values = {
                "option": option,
                "planned": format_seconds(planned),
                "deadline": format_seconds(deadline.seconds),
            }
            related = [(deadline.doc, deadline.path, "the deadline")]
            yield Violation(path, values, related, doc=doc, group=group)


def _iter_planned_options(subject: Target) -> Iterator[tuple[ReplicaGroup, TracedDocument, Path, str, int]]:
    """Yield the options of programs that limit their duration."""
    for launch in find_launches(subject.job):
        if launch.invocation.is_conditional:
            continue
        for option, doc, path in list_program_options(subject.job, launch):
            planned = duration(option.last, option.value or "")
            if planned:
                yield launch.group, doc, path, option.name, planned


def _iter_timeouts(subject: Target) -> Iterator[tuple[ReplicaGroup, TracedDocument, Path, str, int]]:
    """Yield the durations of the program ``timeout`` at the start of a container, or in its shell string."""
    for group in subject.job.pods:
        found = find_training_container(group)
        if found is None:
            continue
        path, container = found
        string = process_of(container).string
        lines = [node.words for node in processes.iter_commands(string.nodes)] if string is not None else []
        words = [
            Word(value, (key, number))
            for key in ("command", "args")
            for number, value in get_texts(container, key)
        ]
        for line in (*lines, tuple(words)):
            word, planned = _timeout(line)
            if planned and word is not None:
                placed = word if word.path or string is None else string.place_word(word)
                yield group, group.doc, below(path, placed.place), "timeout", planned


def _timeout(words: tuple[Word, ...]) -> tuple[Word | None, int]:
    """Return the duration of ``timeout`` as the first program of a line; 0 if it is not."""
    names = [word.base_name for word in words[:2]]
    at = 1 if names[:1] == ["exec"] else 0
    if names[at : at + 1] != ["timeout"]:
        return None, 0
    at += 1
    while at < len(words) and words[at].text.startswith("-"):
        at += 2 if words[at].text in ("-s", "-k", "--signal", "--kill-after") else 1
    if at >= len(words) or not words[at].is_known:
        return None, 0
    text = words[at].text
    return words[at], duration("max_time", text if text[-1:] in _UNITS else f"{text}s")


def duration(name: str, value: str) -> int:
    """Return the seconds in an option of this name and value; 0 if the unit is not certain."""
    if len(name) > 60 or len(value) > 60 or not any(word in name for word in _TIMES):
        return 0
    option = _PLANNED.fullmatch(name)
    value = value.strip().strip("\"'").lower()
    if option is None or _NOT_TRAINING.search(name):
        return 0
    clock = _CLOCK.fullmatch(value)
    if clock is not None:
        days, hours, minutes, seconds = (int(part or 0) for part in clock.groups())
        return days * 86_400 + hours * 3600 + minutes * 60 + seconds
    if _WITH_UNITS.fullmatch(value):
        return int(sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(value)))
    unit = option["unit"]
    if unit is None or _NUMBER.fullmatch(value) is None:
        return 0
    return int(float(value) * _UNITS[_OF_UNIT[unit if unit in _OF_UNIT else unit.removesuffix("s")]])


def format_seconds(seconds: int) -> str:
    """Format seconds for messages: 3 days, 24 hours, 90 minutes."""
    for unit, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= 2 * length and seconds % length == 0:
            return f"{seconds // length} {unit}s"
    return f"{seconds} seconds"
