"""CronJob: the Job that it creates at each time of its schedule.

Sources: https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/,
https://github.com/kubernetes/kubernetes/blob/v1.34.0/pkg/apis/batch/validation/validation.go
(validateCronJobSpec),
https://github.com/robfig/cron/blob/v3.0.1/parser.go (the schedule).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Diagnostic, Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.suggestions import suggest_phrase
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_mapping, get_text

JOB_FIELDS = {"jobTemplate": "Job"}

_API_SERVER = "the API server refuses the CronJob"
_SCHEDULE: Path = ("spec", "schedule")
_FIELDS = (
    "schedule",
    "timeZone",
    "startingDeadlineSeconds",
    "concurrencyPolicy",
    "suspend",
    "jobTemplate",
    "successfulJobsHistoryLimit",
    "failedJobsHistoryLimit",
)
_CONCURRENCY = ("Allow", "Forbid", "Replace")
_MAX_NAME = 52  # the controller appends a dash and ten digits
_MACROS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_RANGES = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of the month", 1, 31, ()),
    (
        "month",
        1,
        12,
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    ),
    ("day of the week", 0, 6, ("sun", "mon", "tue", "wed", "thu", "fri", "sat")),
)
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_PART = compile_lazily(r"(\*|\?|[A-Za-z]{3}|[0-9]{1,9})(?:-([A-Za-z]{3}|[0-9]{1,9}))?(?:/([0-9]{1,9}))?")
# Abbreviations that no file of the time zone database has; EST, MST, HST, CET, MET, EET and WET are files.
_NO_ZONES = frozenset(["AEST", "BST", "CDT", "CEST", "CST", "EDT", "IST", "JST", "KST", "MDT", "PDT", "PST"])
_OFFSET = compile_lazily(r"(?:UTC|GMT)[+-][0-9]{1,2}(?::?[0-9]{2})?|[+-][0-9]{2}:?[0-9]{2}")


def validate(data: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """Yield what the API server refuses of a CronJob beside its Job, and schedules that never come."""
    spec = get_mapping(data, "spec")
    for field in spec:
        if field not in _FIELDS:
            message = f'unknown field "{field}"{suggest_phrase(str(field), _FIELDS)}'
            help = "fields of the Job belong into spec.jobTemplate.spec"
            yield Diagnostic("SCHEMA001", message, ("spec", field), on_key=True, help=help)
    name = get_text(get_mapping(data, "metadata"), "name")
    if len(name) > _MAX_NAME:
        message = f"the name has {len(name)} characters, and may have {_MAX_NAME}; {_API_SERVER}"
        yield Diagnostic("SCHEMA006", message, ("metadata", "name"))
    policy = spec.get("concurrencyPolicy")
    if isinstance(policy, str) and policy not in _CONCURRENCY:
        message = f'concurrencyPolicy "{policy}" must be {" or ".join(_CONCURRENCY)}; {_API_SERVER}'
        yield Diagnostic("SCHEMA004", message, ("spec", "concurrencyPolicy"))
    yield from _validate_zone(spec)
    schedule = spec.get("schedule")
    if isinstance(schedule, str):
        problem = _explain_schedule(schedule.strip())
        if problem:
            yield Diagnostic("SCHEMA006", f'schedule "{schedule}": {problem}', _SCHEDULE)


def _validate_zone(spec: Mapping[str, Any]) -> Iterator[Diagnostic]:
    zone = spec.get("timeZone")
    if isinstance(zone, str) and (zone in _NO_ZONES or zone == "Local" or _OFFSET.fullmatch(zone)):
        message = f'timeZone "{zone}" is not in the time zone database; {_API_SERVER}'
        help = "write the name of a place, such as Europe/Berlin, or Etc/UTC"
        yield Diagnostic("SCHEMA006", message, ("spec", "timeZone"), help=help)


def _explain_schedule(schedule: str) -> str:
    """Explain why a schedule is refused, or never comes; "" for any other."""
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        return f"it cannot state a time zone, which belongs into timeZone; {_API_SERVER}"
    if schedule.startswith("@"):
        is_known = schedule in _MACROS or schedule.startswith("@every ")
        return "" if is_known else f"there is no {schedule}{suggest_phrase(schedule, _MACROS)}; {_API_SERVER}"
    fields = schedule.split()
    if len(fields) != len(_RANGES):
        what = "minute, hour, day of the month, month and day of the week"
        return f"it has {len(fields)} fields and needs five: {what}; {_API_SERVER}"
    for text, (field, lowest, highest, names) in zip(fields, _RANGES, strict=True):
        for part in text.split(","):
            problem = _explain_part(part, lowest, highest, names)
            if problem:
                return f"{problem} for the {field}; {_API_SERVER}"
    return _explain_no_day(fields)


def _explain_part(part: str, lowest: int, highest: int, names: tuple[str, ...]) -> str:
    found = _PART.fullmatch(part)
    if found is None:
        return f'"{part}" is not valid'
    ends = [_read_number(text, lowest, names) for text in found.groups()[:2] if text and text not in "*?"]
    if any(number is None for number in ends):
        return f'"{part}" is not valid'
    numbers = [number for number in ends if number is not None]
    outside = next((number for number in numbers if not lowest <= number <= highest), None)
    if outside is not None:
        return f"{outside} is not between {lowest} and {highest}"
    if len(numbers) > 1 and numbers[0] > numbers[1]:
        return f'"{part}" ends before it begins'
    return "the step is 0" if found[3] is not None and int(found[3]) == 0 else ""


def _read_number(text: str, lowest: int, names: tuple[str, ...]) -> int | None:
    if text.isdecimal():
        return int(text)
    return names.index(text.lower()) + lowest if text.lower() in names else None


def _explain_no_day(fields: list[str]) -> str:
    """Explain that no month has a day; with a day of the week, that day counts as well."""
    day, month, weekday = fields[2:]
    if weekday not in ("*", "?") or not day.isdecimal() or not month.replace(",", "").isdecimal():
        return ""
    months = [int(one) for one in month.split(",") if one]
    if all(int(day) > _DAYS[one - 1] for one in months):
        return f"no such month has a day {int(day)}, so no Job is ever created"
    return ""
