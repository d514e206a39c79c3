"""Golden renders: beside ``NAME.yaml``, ``NAME.golden.yaml`` holds what its profiles render to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from podplan.checker.check import Result, summarised
from podplan.core.errors import RequestError
from podplan.core.findings import Severity
from podplan.core.limits import BoundExceeded
from podplan.core.text_diff import unified
from podplan.core.typing import NamedTuple
from podplan.lint.redaction import redactor_for
from podplan.pipeline import Plan, Settings, plans
from podplan.rendering import rendered, stream
from podplan.rendering.header import RENDERED_FROM
from podplan.tools.repository_tests import Failure, Outcome, Tested, together
from podplan.workspace import Reader
from podplan.workspace.documents import items
from podplan.workspace.file_loader import DENIED, Unread, opened, reason_of
from podplan.workspace.files import (
    OutsideRoot,
    demand_inside,
    golden_of,
    is_golden,
    mentions,
    profile_of,
    read_inside,
    root_of,
)
from podplan.yaml import Source, find_secret_spans, read

MAX_DIFF_LINES = 20
Write = Callable[[str, str], bool]  # path and text; whether the file is another now


class Rendered(NamedTuple):
    """What the profiles of a file render to in every environment; ``text`` is None where they do not."""

    text: str | None
    failures: tuple[Failure, ...] = ()


def run_goldens(
    files: Iterable[str], settings: Settings, reader: Reader, write: Write | None, write_all: bool
) -> Outcome:
    """The golden renders of the profiles in files compared, or with ``write`` brought up to date.

    ``write_all`` writes them for profiles without one too. What cannot be read or written, or reaches a
    bound, is a failure of its test. Raises RequestError for what is wrong with all of them.
    """
    run = partial(_run, settings=settings, reader=reader, write=write, write_all=write_all)
    profiles = dict.fromkeys(profile_of(file) if is_golden(file) else file for file in files)
    return together(tuple(map(run, profiles)))


def _run(file: str, settings: Settings, reader: Reader, write: Write | None, write_all: bool) -> Outcome:
    """The test of one file, if it has one."""
    try:
        source = opened(file)
    except RequestError as error:
        return _failed(file, f"it cannot be read: {str(error).removeprefix(f'{file}: ')}")
    except BoundExceeded as error:
        return _failed(file, str(error), beyond=True)
    if isinstance(source, Unread):
        return _failed(file, f"it cannot be read: {DENIED}") if source.reason == DENIED else Outcome()
    golden = golden_of(file)
    profiles = [item for item in items(source) if item.what == "profile"]
    if not profiles:
        failures = tuple(_orphan(source, golden))
        return Outcome(len(failures), failures=failures)
    outcome = Outcome()
    if os.path.lexists(golden) or (write is not None and write_all):
        outcome = _compared(source, golden, settings, reader, write)
    has = (golden,) if os.path.lexists(golden) else ()
    tested = tuple(Tested("profile", _name(item.doc.data), file, has, bool(has)) for item in profiles)
    return outcome._replace(tested=tested)


def _compared(
    source: Source, golden: str, settings: Settings, reader: Reader, update: Write | None
) -> Outcome:
    """What profiles render to against their golden render, or written in its place."""
    try:
        now = render(source, settings, reader)
    except BoundExceeded as error:
        reason = str(error).removeprefix(f"{source.file}: ")
        return _failed(source.file, f"{source.file} does not render: {reason}", beyond=True)
    if now.text is None:
        return Outcome(1, failures=now.failures)
    try:
        if update is not None:
            demand_inside(golden)
            return Outcome(1, written=(golden,) if update(golden, now.text) else ())
        there = read_inside(root_of(golden), golden)
    except (OSError, OutsideRoot) as error:
        reason = reason_of(error) if isinstance(error, OSError) else error.reason
        cure = "delete it, and podplan test --update --all makes it anew"
        return _failed(golden, f"it cannot be read: {reason}; {cure}")
    except RequestError as error:
        return _failed(golden, str(error))
    except BoundExceeded as error:
        return _failed(golden, str(error), beyond=True)
    if there == now.text.encode():
        return Outcome(1)
    return Outcome(1, failures=(_difference(source, golden, there, now.text, settings, reader),))


def _failed(file: str, message: str, *, beyond: bool = False) -> Outcome:
    """A test that could not be run to its end, maybe as a bound was reached."""
    failure = Failure(file, 1, 1, "golden", message)
    return Outcome(1, failures=(failure,), given_up=(message,) if beyond else ())


def render(source: Source, settings: Settings, reader: Reader) -> Rendered:
    """What ``podplan render`` prints for one file, one environment after the other.

    Environments may give the CR one name: they are for different clusters, or follow on one another.
    """
    terms = settings.terms._replace(asks_policies=False)
    settings = settings._replace(environments="each", policies=(), terms=terms)
    made = _plans(source, settings, reader)
    failures = tuple(_errors(summarised([source], made, settings, reader), made, source.file))
    texts = (rendered(plan, settings) for plan in made if plan.cr is not None and plan.item.what == "profile")
    return Rendered(None if failures else stream(texts).text(), failures)


def _plans(source: Source, settings: Settings, reader: Reader) -> list[Plan]:
    """The plans of the profiles and CRs in a file."""
    found = (item for item in items(source) if item.what in ("profile", "cr"))
    return [plan for item in found for plan in plans(item, settings, reader)]


def _errors(result: Result, made: Sequence[Plan], file: str) -> Iterator[Failure]:
    """The errors for which a profile is not rendered."""
    errors = [one for one in result.findings if one.severity is Severity.ERROR]
    for one in errors:
        where = one.location
        yield Failure(
            where.file, where.line, where.column, one.rule, f"{file} does not render: {one.message}"
        )
    if not errors and any(plan.failed or plan.cr is None for plan in made):
        yield Failure(file, 1, 1, "golden", f"{file} does not render")


def _difference(
    profile: Source, golden: str, there: bytes, now: str, settings: Settings, reader: Reader
) -> Failure:
    old, new = there.decode(errors="replace").splitlines(), now.splitlines()
    pairs = enumerate(zip(old, new, strict=False), 1)
    line = next((number for number, (one, other) in pairs if one != other), min(len(old), len(new)) + 1)
    said = "renders something else now" if old != new else "renders the same with other line breaks"
    message = f"{profile.file} {said}; if that is right, podplan test --update writes it"
    if _both_may_be_shown(profile, golden, there, settings, reader):
        return Failure(golden, line, 1, "golden", message, short_diff(old, new, golden))
    return Failure(golden, line, 1, "golden", f"{message} (no diff, for there may be a secret in it)")


def short_diff(old: Sequence[str], new: Sequence[str], golden: str) -> tuple[str, ...]:
    lines = list(unified(old, new, (golden, "rendered now"), "", around=1))
    left = len(lines) - MAX_DIFF_LINES
    return (*lines[:MAX_DIFF_LINES], *([f"... and {left} more lines"] if left > 0 else []))


def may_be_shown(source: Source, settings: Settings, reader: Reader) -> bool:
    """Whether a file was understood, and neither it nor its bases nor what it lowers to hold a secret."""
    if source.holds_secret or source.faults or find_secret_spans(source):
        return False
    options = settings.options._replace(resumed=True)
    made = _plans(source, settings._replace(environments="each", policies=(), options=options), reader)
    docs = (doc for plan in made for doc in (plan.profile, plan.cr, *(group.doc for group in plan.groups)))
    return all(plan.lowered for plan in made) and not redactor_for(docs)


def _both_may_be_shown(
    profile: Source, golden: str, there: bytes, settings: Settings, reader: Reader
) -> bool:
    try:
        return all(may_be_shown(source, settings, reader) for source in (profile, read(there, golden)))
    except (RequestError, BoundExceeded):  # what stands in the place of a golden render may be anything
        return False


def _orphan(source: Source, golden: str) -> Iterator[Failure]:
    """What is wrong with a golden render whose profile is gone, or can no longer be read."""
    if _is_rendered(golden):
        fault = source.faults[0] if source.faults else None
        line, column = (fault.span.line, fault.span.column) if fault is not None else (1, 1)
        why = fault.message if fault is not None else "it holds no profile"
        message = f"{source.file} does not render to {golden}: {why}"
        yield Failure(source.file, line, column, "golden", message)
    elif is_golden(source.file, alone=True) and RENDERED_FROM in source.text:
        profile = profile_of(source.file)
        message = f"there is no {profile} that renders this; delete it, or name it after its profile"
        yield Failure(source.file, 1, 1, "golden", message)


def _is_rendered(golden: str) -> bool:
    """Whether podplan wrote a golden file: other tools call their files so, too."""
    try:
        return mentions(root_of(golden), golden, [RENDERED_FROM.encode()])
    except (OSError, OutsideRoot):
        return False


def _name(data: object) -> str:
    """The name of a profile, as far as it has one."""
    metadata = data.get("metadata") if isinstance(data, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""
