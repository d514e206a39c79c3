"""Checking files: every document of ours on its way, and what there is to say about it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import groupby

from podplan.checker.base_revision import Before
from podplan.checker.files import fault_finding, file_findings
from podplan.checker.jobs import plan_findings, secrets_of, set_findings
from podplan.checker.packed_store import Origin
from podplan.checker.pool import in_turn
from podplan.checker.result import Result, Summary, narrowed, result, show_sources
from podplan.checker.run_state import GivenUp, Run, as_far_as_bounds
from podplan.core.findings import Finding
from podplan.core.limits import BoundExceeded
from podplan.lint.aggregation import findings
from podplan.lint.document_diagnostics import Seen, Sighting
from podplan.pipeline import Plan, Settings, plans
from podplan.workspace import Reader
from podplan.workspace.documents import ALL_SORTS, OF_PROFILES, Item, items, may_hold
from podplan.workspace.file_loader import DENIED, Unread, in_one, opened, reread
from podplan.workspace.files import expand
from podplan.yaml import Source, read

__all__ = [
    "Result",
    "Run",
    "Summary",
    "Watch",
    "check",
    "check_sources",
    "gone_through",
    "narrowed",
    "summarised",
]

Watch = Callable[[Iterable[str], int], Iterable[str]]


def check(
    paths: Sequence[str],
    settings: Settings,
    reader: Reader,
    exclude: Sequence[str] = (),
    watch: Watch | None = None,
    before: Before | None = None,
    workers: int = 1,
) -> Result:
    """Everything there is to say about the files that ``paths`` stand for.

    ``watch`` gets the files as their turn comes, and how many there will be, and hands them on. ``before``
    are the CRs to compare with, for rules about what a change does. So many ``workers`` share the files where
    there are enough, 0 is for as many as there are processors; what is said is the same.
    Raises files.NoSuchPath and requests.RequestError.
    """
    folders = tuple(os.path.realpath(path) for path in paths if os.path.isdir(path))
    run = Run(settings, reader, before, lambda file: reread(file, reader.instead))
    files = tuple(expand(paths, exclude, run.unreadable_folders))
    reader.begin(files)
    turns = in_turn(files, run, _check_file, workers)
    for _ in watch(turns, len(files)) if watch else turns:
        pass
    if run.beyond:
        run.given_up.append(GivenUp("", in_one(run.beyond)))
    return _ended(run, files, folders)


def check_sources(
    found: Iterable[Source | Unread],
    settings: Settings,
    reader: Reader,
    folders: tuple[str, ...] = (),
    before: Before | None = None,
) -> Result:
    """The same for files that are read already, such as standard input; ``folders`` are checked whole."""
    texts: dict[str, str] = {}
    run = Run(settings, reader, before, lambda file: read(texts[file].encode(), file))
    for source in as_far_as_bounds(found, run):
        if isinstance(source, Source):
            texts[source.file] = source.text
        _check_source(source, run)
    return _ended(run, texts, folders)


def _check_file(file: str, run: Run) -> None:
    try:
        source = opened(file, run.reader.instead)
    except BoundExceeded as error:
        run.unread.add(file)
        run.beyond.append(str(error))
    else:
        _check_source(source, run)


def _ended(run: Run, files: Iterable[str], folders: tuple[str, ...]) -> Result:
    """What is said of all files together, and the result."""
    if run.rendered:
        _check_rendered(run, {os.path.realpath(file) for file in files if file not in run.unread})
    reached = [GivenUp(*exceeded) for exceeded in run.together.exceeded]
    run.given_up += (one for one in dict.fromkeys(reached) if one not in run.given_up)
    for number, seen in run.together.said(run.silences.anywhere()):
        run.findings += set_findings(number, seen, run)
    if run.settings.terms.policy_texts:
        _add_policy_faults(run)
    return result(run, folders)


def _check_source(source: Source | Unread, run: Run) -> None:
    run.counts["files"] += 1
    if isinstance(source, Unread):
        run.not_checked[source.reason] += 1
        run.unread.add(source.file)
        if source.reason == DENIED:
            run.unlowered.add(source.file)
        return
    found = as_far_as_bounds(file_findings(source, run), run, source.file)
    said = run.silences.graded(source.file, found)
    if said:
        run.findings += (found._replace(about=(source.file,)) for found in said)
        run.show(source)


def _check_rendered(run: Run, checked: Collection[str]) -> None:
    """Rendered CRs that are up to date: their source says what there is to say, where it is checked too."""
    for origin, source in run.rendered:
        if source in checked:
            run.not_checked["rendered CR: its source is"] += 1
        else:
            item, text = run.again.item(origin)
            said = as_far_as_bounds(_rendered_findings(item, run, origin), run, origin.file)
            graded = run.silences.graded(origin.file, said)
            if graded:
                run.findings += (found._replace(about=(origin.file,)) for found in graded)
                run.show(read(text.encode(), origin.file))


def _rendered_findings(item: Item, run: Run, origin: Origin) -> Iterator[Finding]:
    yield from plan_findings(plans(item, run.settings, run.reader), run, origin)


def _add_policy_faults(run: Run) -> None:
    """What is wrong with the policies of an organisation: said once, for however many jobs it is so."""
    terms = run.settings.terms
    faults = (Seen("file", doc, problem) for doc, problem in terms.policy_faults)
    secrets = secrets_of(doc for doc, _ in terms.policy_faults)
    run.findings += findings((Sighting(None, fault, None) for fault in faults), secrets)
    once = {(found.rule, found.message, found.location): found for found in reversed(run.findings)}
    run.findings = [
        found
        for found in run.findings
        if found.location.file not in terms.policy_texts
        or once.pop((found.rule, found.message, found.location), None) is not None
    ]


def summarised(
    found: Sequence[Source | Unread], made: Sequence[Plan], settings: Settings, reader: Reader
) -> Result:
    """The findings of plans that are made already, and the faults of the files they are from."""
    run = Run(settings, reader)
    for source in found:
        _add_faults(source, run, ALL_SORTS)
    for _, group in groupby(made, key=lambda plan: id(plan.item)):
        plans_of_item = list(group)
        _add_plans(plans_of_item[0].item, plans_of_item, run)
    show_sources(found, run, run.findings)
    return result(run)


def gone_through(
    found: Iterable[Source | Unread],
    settings: Settings,
    reader: Reader,
    wanted: Collection[str],
    take: Callable[[Plan], None],
) -> Result:
    """The findings of the documents of the ``wanted`` sorts, whose plans are handed to ``take``, one by one.

    Neither plans nor files are kept. Raises what pipeline.plans and ``take`` raise.
    """

    def taken(item: Item) -> Iterator[Plan]:
        for plan in plans(item, settings, reader):
            take(plan)
            yield plan

    run = Run(settings, reader)
    for source in found:
        first = len(run.findings)
        _add_faults(source, run, OF_PROFILES.union(wanted))
        for item in items(source) if isinstance(source, Source) else ():
            if item.what in wanted or item.what == "podplan":
                _add_plans(item, taken(item), run)
        show_sources([source], run, run.findings[first:])
    return result(run)


def _add_faults(source: Source | Unread, run: Run, sorts: Collection[str]) -> None:
    """What is wrong with the text of a file, if it holds documents of some ``sorts``."""
    run.counts["files"] += 1
    if isinstance(source, Unread):
        return
    run.silences.open(source)
    if source.faults and may_hold(source, sorts):
        faults = (fault_finding(source, fault) for fault in source.faults)
        run.findings += run.silences.graded(source.file, faults)


def _add_plans(item: Item, made: Iterable[Plan], run: Run) -> None:
    """What there is to say of the plans of an item."""
    run.findings += run.silences.graded(item.doc.name, plan_findings(made, run))
