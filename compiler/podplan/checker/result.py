"""What a run comes to: what is said and what is silenced, with the counts and the texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from podplan.checker.run_state import GivenUp, Run, files_of
from podplan.core.findings import Finding
from podplan.core.typing import Any, NamedTuple
from podplan.workspace.files import root_of
from podplan.yaml import Source, read


class Summary(NamedTuple):
    """Counts. ``objects`` are CRs (one per variant of a profile) and Kubernetes objects; ``lowered`` what
    the controllers make of the CRs, every replica counted; ``not_checked`` is documents by reason.
    ``today`` is the day by which suppressions were judged, "" where it made no difference. ``left_out`` are
    findings that are not reported, because only those about a change are. ``unreadable_folders`` could not be
    listed, so nothing in them was checked."""

    errors: int
    warnings: int
    infos: int
    suppressed: int
    files: int
    objects: int
    lowered: int
    not_checked: Mapping[str, int]
    today: str = ""
    left_out: int = 0
    unreadable_folders: tuple[str, ...] = ()


class Result(NamedTuple):
    """Findings in the order of files and lines; ``texts`` holds the files that have any.

    ``with_suppressed`` are the same together with those that somebody silenced. Of ``unlowered`` files and of
    ``undecided`` rules there may be more to say. ``given_up`` says which files reached a bound: the
    result is then that of the others.

    Reports show nothing but these. ``written`` and ``repairs`` are for repairing: the texts with the secrets
    in them, and the findings with every fix whole. ``named`` has for each file those that it depends on, and
    ``inventories`` are the files that all depend on.
    """

    findings: list[Finding]
    summary: Summary
    texts: Mapping[str, str]
    with_suppressed: list[Finding]
    unlowered: frozenset[str] = frozenset()
    undecided: frozenset[str] = frozenset()
    given_up: tuple[GivenUp, ...] = ()
    written: Mapping[str, str] = {}
    repairs: Sequence[Finding] = ()
    named: Mapping[str, Collection[str]] = {}
    inventories: Collection[str] = ()


def result(run: Run, folders: tuple[str, ...] | None = None) -> Result:
    """The result; without ``folders``, what is wrong with suppressions themselves is left out."""
    _gather_texts(run)
    shown = _shown(run)
    found = [_with_unsafe_fix(one, run.reader.extended) for one in run.findings]
    everything = run.silences.settled(found, shown, run.reader.source_of)
    if folders is not None:
        everything += run.silences.faults(lambda file: _is_whole(file, run, folders))
    if len(run.together) or len(everything) > len(run.findings):
        everything.sort(key=lambda found: (found.location.file, found.location.line, found.location.column))
    repairs = [found for found in everything if not found.suppressed]
    if run.secret or run.secret_values or any(run.secret_spans.values()):
        from podplan.lint.redaction import mark_secret_fixes, remove_secret_edits

        everything = mark_secret_fixes(everything, run.secret, run.secret_spans)
        repairs = [found for found in everything if not found.suppressed]
        everything = remove_secret_edits(everything)
    said = [found for found in everything if not found.suppressed]
    if without_inventory := run.silences.undecided - run.without_base:
        run.not_checked["rules that need an inventory"] = len(without_inventory)
    if run.without_base and run.settings.gitops != "none":
        run.not_checked["rules that need a base"] = len(run.without_base)
    summary = Summary(
        **_counted(everything),
        files=run.counts["files"],
        objects=run.counts["objects"],
        lowered=run.counts["lowered"],
        not_checked=dict(sorted(run.not_checked.items())),
        today=run.silences.today,
        unreadable_folders=tuple(run.unreadable_folders),
    )
    unlowered, undecided = frozenset(run.unlowered), frozenset(run.silences.undecided)
    given_up = tuple(run.given_up)
    return Result(
        said,
        summary,
        shown,
        everything,
        unlowered,
        undecided,
        given_up,
        dict(run.texts),
        repairs,
        run.reader.named,
        run.reader.inventories,
    )


def show_sources(sources: Iterable[Source | object], run: Run, findings: Iterable[Finding]) -> None:
    """Keeps the texts of those of ``sources`` that findings have places in, or that have suppressions."""
    places = {file for found in findings for file in files_of(found)}
    for source in sources:
        if isinstance(source, Source) and (source.file in places or run.silences.has(source.file)):
            run.show(source)


def narrowed(whole: Result, keep: Callable[[Finding], bool]) -> Result:
    """The result with only those findings that are to be kept; how many others there are is counted.

    It is for reporting: nothing can be repaired by it.
    """
    everything = [found for found in whole.with_suppressed if keep(found)]
    said = [found for found in everything if not found.suppressed]
    left_out = whole.summary.left_out + len(whole.findings) - len(said)
    summary = whole.summary._replace(**_counted(everything), left_out=left_out)
    return whole._replace(findings=said, summary=summary, with_suppressed=everything, written={}, repairs=())


def _with_unsafe_fix(found: Finding, extended: set[str]) -> Finding:
    """The finding; its fix is not safe where it changes a file that other profiles are made from."""
    fix = found.fix
    if fix is None or not fix.safe:
        return found
    changed = {edit.file for edit in fix.edits}
    shared = changed & extended or (found.about and not changed.issubset(found.about))
    return found._replace(fix=fix._replace(safe=False)) if shared else found


def _counted(everything: Iterable[Finding]) -> dict[str, Any]:
    """The counts of a Summary that are about findings."""
    counts = Counter("suppressed" if found.suppressed else f"{found.severity}s" for found in everything)
    return {name: counts[name] for name in ("errors", "warnings", "infos", "suppressed")}


def _gather_texts(run: Run) -> None:
    """Keeps the texts of all files that findings have places in."""
    places = {file for found in run.findings for file in files_of(found)} - run.texts.keys()
    for file in sorted(places):
        if (source := run.reader.source_of(file)) is not None:
            run.show(source)
    kept = {**run.settings.terms.policy_texts, **run.again.texts(places)}
    for file in places & kept.keys():
        run.show(read(kept[file].encode(), file))


def _shown(run: Run) -> dict[str, str]:
    """The texts as reports may show them: with stars for secrets, and none of a file that holds a Secret.

    Nobody can tell from a broken one which of its lines are secret.
    """
    shown = {file: text for file, text in run.texts.items() if file not in run.secret}
    if not (run.secret_values or any(run.secret_spans.values())):
        return shown
    from podplan.redaction.redactor import Redactor, redact_spans

    for file, text in shown.items():
        values = run.secret_values.get(file, ())
        spans = (*run.secret_spans.get(file, ()), *Redactor(values).spans(text))
        if spans:
            shown[file] = redact_spans(text, spans)
    return shown


def _is_whole(file: str, run: Run, folders: tuple[str, ...]) -> bool:
    """Whether everything was seen that suppressions in a file are about, so that an unused one is that.

    A base is used by profiles anywhere below its root, and there are environments and flags.
    """
    asked = run.settings
    if asked.environments != "all" or asked.sets or file in run.unlowered or run.given_up:
        return False
    return file not in run.shared or (
        root_of(file) in folders and not run.unlowered and not run.unreadable_folders
    )
