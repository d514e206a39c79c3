"""What a run comes to: what is said and what is silenced, with the counts and the texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from podplan.checking.run import Run
from podplan.findings import Finding, Severity
from podplan.lint.masking import masked, whole_fixes, without_secret_fixes
from podplan.reading.files import root_of
from podplan.typing import NamedTuple


class Summary(NamedTuple):
    """Counts. ``objects`` are CRs (one per variant of a profile) and Kubernetes objects; ``lowered`` what
    the controllers make of the CRs, every replica counted; ``not_checked`` is documents by reason.
    ``today`` is the day by which suppressions were judged, "" where it made no difference."""

    errors: int
    warnings: int
    infos: int
    suppressed: int
    files: int
    objects: int
    lowered: int
    not_checked: Mapping[str, int]
    today: str = ""


class Result(NamedTuple):
    """Findings in the order of files and lines; ``texts`` holds the files that have any.

    ``with_suppressed`` are the same together with those that somebody silenced. Of ``unlowered`` files and of
    ``undecided`` rules there may be more to say. ``given_up`` says, a sentence for each file, which reached
    a bound: the result is then that of the others.

    Reports show nothing but these. ``written`` and ``repairs`` are for repairing: the texts with the secrets
    in them, and the findings with every fix whole.
    """

    findings: list[Finding]
    summary: Summary
    texts: Mapping[str, str]
    with_suppressed: list[Finding]
    unlowered: frozenset[str] = frozenset()
    undecided: frozenset[str] = frozenset()
    given_up: tuple[str, ...] = ()
    written: Mapping[str, str] = {}
    repairs: Sequence[Finding] = ()


def result(run: Run, folders: tuple[str, ...] | None = None) -> Result:
    """The result; without ``folders``, what is wrong with suppressions themselves is left out."""
    places = {found.location.file for found in run.findings}
    places |= {related.location.file for found in run.findings for related in found.related}
    run.texts.update(run.reader.texts(places - run.texts.keys()))
    run.texts |= {file: run.texts_of_jobs[file] for file in places & run.texts_of_jobs.keys()}
    # Lines of a file with Secrets are not shown: nobody can tell from a broken one which of them are secret.
    secret = {file for file in run.texts if _is_secret(file, run)}
    shown = {file: text for file, text in run.texts.items() if file not in secret}
    shown = masked(shown, run.secrets)
    everything = run.silences.settled(run.findings, shown, run.reader.source_of)
    if folders is not None:
        everything += run.silences.faults(lambda file: _is_whole(file, run, folders))
    if run.jobs or len(everything) > len(run.findings):
        everything.sort(key=lambda found: (found.location.file, found.location.line, found.location.column))
    everything = whole_fixes(everything, secret.__contains__, run.secrets)
    repairs = [found for found in everything if not found.suppressed]
    everything = without_secret_fixes(everything)
    said = [found for found in everything if not found.suppressed]
    if run.silences.undecided:
        run.not_checked["rules that need an inventory"] = len(run.silences.undecided)
    severities = Counter(found.severity for found in said)
    summary = Summary(
        errors=severities[Severity.ERROR],
        warnings=severities[Severity.WARNING],
        infos=severities[Severity.INFO],
        suppressed=len(everything) - len(said),
        files=run.counts["files"],
        objects=run.counts["objects"],
        lowered=run.counts["lowered"],
        not_checked=dict(sorted(run.not_checked.items())),
        today=run.silences.today,
    )
    unlowered, undecided = frozenset(run.unlowered), frozenset(run.silences.undecided)
    given_up = tuple(run.given_up)
    return Result(said, summary, shown, everything, unlowered, undecided, given_up, dict(run.texts), repairs)


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
    return file not in run.shared or (root_of(file) in folders and not run.unlowered)
