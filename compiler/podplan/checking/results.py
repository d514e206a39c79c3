"""What a run comes to: what is said and what is silenced, with the counts and the texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from podplan.checking.run import GivenUp, Run
from podplan.findings import Finding
from podplan.lint.masking import masked, whole_fixes, without_secret_fixes
from podplan.reading.files import root_of
from podplan.typing import Any, NamedTuple


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
    places = {found.location.file for found in run.findings}
    places |= {related.location.file for found in run.findings for related in found.related}
    run.texts.update(run.reader.texts(places - run.texts.keys()))
    run.texts |= run.again.texts(places - run.texts.keys())
    # Lines of a file with Secrets are not shown: nobody can tell from a broken one which of them are secret.
    secret = {file for file in run.texts if _is_secret(file, run)}
    shown = {file: text for file, text in run.texts.items() if file not in secret}
    shown = masked(shown, run.secrets)
    everything = run.silences.settled(run.findings, shown, run.reader.source_of)
    if folders is not None:
        everything += run.silences.faults(lambda file: _is_whole(file, run, folders))
    if len(run.together) or len(everything) > len(run.findings):
        everything.sort(key=lambda found: (found.location.file, found.location.line, found.location.column))
    everything = whole_fixes(everything, secret.__contains__, run.secrets)
    repairs = [found for found in everything if not found.suppressed]
    everything = without_secret_fixes(everything)
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


def narrowed(whole: Result, keep: Callable[[Finding], bool]) -> Result:
    """The result with only those findings that are to be kept; how many others there are is counted.

    It is for reporting: nothing can be repaired by it.
    """
    everything = [found for found in whole.with_suppressed if keep(found)]
    said = [found for found in everything if not found.suppressed]
    left_out = whole.summary.left_out + len(whole.findings) - len(said)
    summary = whole.summary._replace(**_counted(everything), left_out=left_out)
    return whole._replace(findings=said, summary=summary, with_suppressed=everything, written={}, repairs=())


def _counted(everything: Iterable[Finding]) -> dict[str, Any]:
    """The counts of a Summary that are about findings."""
    counts = Counter("suppressed" if found.suppressed else f"{found.severity}s" for found in everything)
    return {name: counts[name] for name in ("errors", "warnings", "infos", "suppressed")}


def _is_secret(file: str, run: Run) -> bool:
    source = run.reader.source_of(file)
    return file in run.secret or (source is not None and source.holds_secret)


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
