"""Log folders of a training that differ from those of the TensorBoard of the job.

Source: https://github.com/t9k/user-manuals/blob/fbf6b3c/src/references/api-reference/tensorboard.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.findings import Path
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.lint.analysis.jobs import format_list
from podplan.lint.checks.outputs import mount_of, outputs_of, trainings, volume_of
from podplan.lint.checks.registration import check
from podplan.lint.checks.tensorboard_logs import FILESET_SCHEME
from podplan.lint.target import LoweredJob, Target, Violation

_CLAIMS = f"{FILESET_SCHEME}pvc/"


class Source(NamedTuple):
    """A claim that a TensorBoard reads, its folders ("" for all), and the paths that name both."""

    claim: str
    folders: tuple[str, ...]
    path: Path
    folder_path: Path


class Logs(NamedTuple):
    """A folder of a claim that a training writes logs to, and the path of the option that names it."""

    claim: str
    folder: str
    option: str
    group: ReplicaGroup
    place: Path


@check(aliases=("logs-elsewhere",), requires=("TensorBoard",))
def tensorboard_reads_other_path(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A TensorBoard that reads folders to which the training does not write. Values: ``claim``, ``what``."""
    job = subject.job
    board = next((one for one in job.groups if one.doc.data["kind"] == "TensorBoard"), None)
    if board is None:
        return
    sources = list(_sources(get_mapping(board.doc.data, "spec")))
    if not sources or _reads_elsewhere(get_mapping(board.doc.data, "spec")):
        return
    written = list(_iter_log_folders(job))
    mounted = {claim for group in job.pods for claim in _claims(group)}
    if any("$(" in claim for claim in (*mounted, *(source.claim for source in sources))):
        return  # a workflow fills in the name of the claim
    for source in sources:
        if written and any(_is_read(logs, sources) for logs in written):
            return
        if written:
            first = written[0]
            where = (
                f'{first.folder} of the claim "{first.claim}"'
                if first.folder
                else f'the claim "{first.claim}"'
            )
            what = f"{first.option} writes the logs to {where}"
            related = [(first.group.doc, first.place, "where the logs are written")]
        elif mounted and mounted.isdisjoint(one.claim for one in sources):
            claims = format_list(sorted(f'"{claim}"' for claim in mounted))
            what, related = f"no Pod of the job mounts that claim; they mount {claims}", []
        else:
            return
        values = {"source": _format_source(source), "what": what}
        is_in_claim = any(source.claim == logs.claim for logs in written)
        path = source.folder_path if is_in_claim else source.path
        yield Violation(path, values, related, doc=board.doc, group=board)
        return


def _sources(spec: Mapping[str, Any]) -> Iterator[Source]:
    for number, fileset in get_texts(spec, "trainingLogFilesets"):
        if fileset.startswith(_CLAIMS):
            claim, _, folder = fileset.removeprefix(_CLAIMS).partition("/")
            path = ("spec", "trainingLogFilesets", number)
            yield Source(claim, (normpath(folder).strip("/.") if folder else "",), path, path)
    for number, one in get_entries(get_mapping(spec, "logDir"), "pvc"):
        folders = tuple(normpath(folder).strip("/.") for _, folder in get_texts(one, "subPath")) or ("",)
        base = ("spec", "logDir", "pvc", number)
        yield Source(get_text(one, "name"), folders, (*base, "name"), (*base, "subPath", 0))


def _reads_elsewhere(spec: Mapping[str, Any]) -> bool:
    """Whether a TensorBoard also reads from sources other than claims."""
    others = get_mapping(spec, "logDir").keys() - {"pvc"}
    return bool(others) or any(
        not one.startswith(_CLAIMS) for _, one in get_texts(spec, "trainingLogFilesets")
    )


def _iter_log_folders(job: LoweredJob) -> Iterator[Logs]:
    for launch, where in trainings(job):
        for output in outputs_of(launch, where):
            found = mount_of(where.container, output.path) if output.kind == "log" else None
            if found is None:
                continue
            mount = found[1]
            claim = get_text(
                get_mapping(volume_of(where.group, get_text(mount, "name")), "persistentVolumeClaim"),
                "claimName",
            )
            if not claim or "subPathExpr" in mount:
                continue
            below = output.path.removeprefix(normpath(get_text(mount, "mountPath"))).strip("/")
            folder = normpath(f"{get_text(mount, 'subPath')}/{below}").strip("/.")
            yield Logs(claim, folder, output.name, launch.group, output.place)


def _is_read(logs: Logs, sources: list[Source]) -> bool:
    """Whether a TensorBoard reads a log folder, or a folder inside or above it."""
    return any(
        source.claim == logs.claim and _is_near(folder, logs.folder)
        for source in sources
        for folder in source.folders
    )


def _is_near(one: str, other: str) -> bool:
    return not one or not other or f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _claims(group: ReplicaGroup) -> Iterator[str]:
    for _, volume in get_entries(get_mapping(group.doc.data, "spec"), "volumes"):
        claim = get_text(get_mapping(volume, "persistentVolumeClaim"), "claimName")
        if claim:
            yield claim


def _format_source(source: Source) -> str:
    folders = [folder for folder in source.folders if folder]
    return (
        f'{format_list(folders)} of the claim "{source.claim}"' if folders else f'the claim "{source.claim}"'
    )
