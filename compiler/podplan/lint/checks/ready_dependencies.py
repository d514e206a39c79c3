"""Jobs of a set that start before the files that they read are written.

Source: https://jobset.sigs.k8s.io/docs/concepts/ (dependsOn: Ready is reached by Pods that run, Complete by a
Job that has ended).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.launchers.words import Word
from podplan.lint.analysis.features import SEVERAL_TYPES
from podplan.lint.analysis.jobs import count_gpus, has_trait
from podplan.lint.analysis.launches import ContainerLaunch
from podplan.lint.analysis.pod_jobs import Dependency, list_overlaps, list_sequences
from podplan.lint.checks.outputs import (
    ContainerPath,
    TrainingOutput,
    mount_of,
    named_values,
    outputs_of,
    trainings,
    volume_of,
)
from podplan.lint.checks.registration import check
from podplan.lint.checks.waits import waits_for_others
from podplan.lint.target import LoweredJob, Target, Violation

_PROBES = ("readinessProbe", "startupProbe")
# Scripts that prepare files once, unlike a trainer or an actor, whose files others read while it runs.
_PREPARES = compile_lazily(
    r"(?:\A|[/_-])(?:pre[_-]?)?(?:prepare?|prep|process|preprocess|shard|tokeni[sz]e|download|etl|convert|pack|"
    r"extract|fetch|stage|transform)[a-z]{0,3}(?=[/_.-]|\Z)"
)

# Where the initializers of Trainer write: https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/initializers/utils/utils.py.
_INITIALIZED = {"dataset-initializer": "/workspace/dataset", "model-initializer": "/workspace/model"}

Launch = tuple[ContainerLaunch, ContainerPath]


@check(requires=(SEVERAL_TYPES,))
def reads_unfinished_files(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A Job that starts before the writer of its input has ended.

    Values: ``waiting``, ``when``, ``awaited``, ``path``, ``option``.
    """
    dependencies = list_overlaps(target.job)
    launches = list(trainings(target.job)) if dependencies else []
    for one in dependencies:
        writers = [each for each in launches if each[0].group.replica_type == one.awaited]
        readers = [each for each in launches if each[0].group.replica_type == one.waiting]
        found = next(_iter_common_folders(writers, readers), None)
        if (
            found is None
            and one.is_ready
            and one.awaited in _INITIALIZED
            and has_trait(target.job, "runtime")
        ):
            values = {
                "waiting": one.waiting,
                "when": f"when {one.awaited} runs",
                "awaited": one.awaited,
                "path": _INITIALIZED[one.awaited],
                "option": "the initializer",
            }
            yield Violation(one.path, values, doc=one.doc)
            continue
        if found is None or any(_may_be_done(launch) for launch, _ in writers):
            continue
        writer, output, reader, word = found
        if waits_for_others(reader.container) or not (one.is_ready or _prepares_files(writer, reader)):
            continue
        values = {
            "waiting": one.waiting,
            "when": f"when {one.awaited} runs" if one.is_ready else f"together with {one.awaited}",
            "awaited": one.awaited,
            "path": output.path,
            "option": output.name,
        }
        related = [
            (writer.group.doc, output.place, "writes them"),
            (reader.group.doc, reader.locate_word(word), "reads them"),
        ]
        if "startupPolicy" in get_mapping(one.doc.data, "spec") and not one.is_ready:
            related.append((one.doc, ("spec", "startupPolicy"), "waits until Pods run, not until they end"))
        yield Violation(one.path, values, related, doc=one.doc)


@check()
def reads_beside_step_before(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A Job that looks for the files of the step before on another volume, or under another name.

    Values: ``waiting``, ``awaited``, ``path``, ``why``.
    """
    sequences = list_sequences(target.job)
    launches = list(trainings(target.job)) if sequences else []
    for one in sequences:
        readers = [each for each in launches if each[0].group.replica_type == one.waiting]
        for place, where, output, path in _list_prepared(target.job, launches, readers, one):
            for reader, other in readers:
                why, word = _explain_other_place(reader, other, path, place)
                if word is None:
                    continue
                values = {"waiting": one.waiting, "awaited": one.awaited, "path": path, "why": why}
                related = [(where.group.doc, output, "where the files are written")]
                volume = _find_volume_place(where, path)
                if volume is not None:
                    related.append((where.group.doc, volume, "the volume of the files"))
                own = _find_volume_place(other, word.text.rpartition("=")[2])
                if own is not None:
                    related.append((reader.group.doc, own, "the volume that is read"))
                yield Violation(
                    reader.locate_word(word), values, related, doc=reader.group.doc, group=reader.group
                )
                return


def _list_prepared(
    job: LoweredJob, launches: list[Launch], readers: list[Launch], one: Dependency
) -> Iterator[tuple[tuple[str, str], ContainerPath, Path, str]]:
    """Yield the files on claims that a step prepares: claim and path on it, container, place and path."""
    for writer, where in launches:
        if writer.group.replica_type == one.awaited and readers and _prepares_files(writer, readers[0][0]):
            for output in outputs_of(writer, where):
                place = _locate_on_claim(where, output.path)
                if place is not None and output.kind == "output":
                    yield place, where, output.place, output.path
    folder = _INITIALIZED.get(one.awaited)
    for group in job.pods if folder is not None and has_trait(job, "runtime") else ():
        for number, container in get_entries(get_mapping(group.doc.data, "spec"), "containers"):
            if folder is not None and get_text(container, "name") == one.awaited:
                where = ContainerPath(group, ("spec", "containers", number), container)
                place = _locate_on_claim(where, folder)
                if place is not None:
                    yield place, where, (*where.base, "name"), folder


def _explain_other_place(
    reader: ContainerLaunch, where: ContainerPath, path: str, place: tuple[str, str]
) -> tuple[str, Word | None]:
    """Explain which path of a program is meant for the prepared files, and is not theirs; ("", None) if
    none is."""
    paths = [(normpath(value), word) for _, value, word in named_values(reader) if value.startswith("/")]
    if any(_overlaps(_locate_on_claim(where, value), place) for value, _ in paths):
        return "", None
    written = {one.path for one in outputs_of(reader, where)}
    for value, word in paths:
        found = _locate_on_claim(where, value)
        if found is None or value in written:
            continue
        if (value == path or value.startswith(f"{path}/")) and found[0] != place[0]:
            return f"there it is on the claim {found[0]}, and the files are on {place[0]}", word
        if found[0] == place[0] and found[1] != place[1] and _is_spelled_alike(found[1], place[1]):
            return f"the files are in {path}, and it reads {value}", word
    return "", None


def _overlaps(found: tuple[str, str] | None, place: tuple[str, str]) -> bool:
    """Whether a path is that of the prepared files, or one above or below it."""
    if found is None or found[0] != place[0]:
        return False
    first, second = f"{found[1]}/", f"{place[1]}/"
    return first.startswith(second) or second.startswith(first)


def _is_spelled_alike(first: str, second: str) -> bool:
    """Whether two paths differ in a plural or in a dash only."""
    plain = [path.replace("-", "").replace("_", "") for path in (first, second)]
    return plain[0] == plain[1] or plain[0] == f"{plain[1]}s" or plain[1] == f"{plain[0]}s"


def _find_volume_place(where: ContainerPath, path: str) -> Path | None:
    """Return where the claim of a path is written."""
    found = mount_of(where.container, path)
    name = get_text(found[1], "name") if found is not None else ""
    for number, volume in get_entries(get_mapping(where.group.doc.data, "spec"), "volumes"):
        if name and get_text(volume, "name") == name and "persistentVolumeClaim" in volume:
            return ("spec", "volumes", number, "persistentVolumeClaim", "claimName")
    return None


def _prepares_files(writer: ContainerLaunch, reader: ContainerLaunch) -> bool:
    """Whether a program without GPUs prepares files, according to its name, for one with GPUs."""
    script = writer.invocation.script
    name = script.base_name if script is not None else writer.invocation.program_word.base_name
    is_before = count_gpus(writer.group) == 0 < count_gpus(reader.group)
    return is_before and _PREPARES.search(name.lower()) is not None


def _iter_common_folders(
    writers: list[Launch], readers: list[Launch]
) -> Iterator[tuple[ContainerLaunch, TrainingOutput, ContainerLaunch, Word]]:
    """Yield the outputs of a program on a claim, each with an option of another that names its folder."""
    for writer, where in writers:
        outputs = outputs_of(writer, where)
        for output in outputs:
            place = _locate_on_claim(where, output.path)
            if place is None or output.kind != "output":
                continue
            for reader, other in readers:
                written = {one.path for one in outputs_of(reader, other)}
                for _, value, word in named_values(reader):
                    path = normpath(value) if value.startswith("/") else ""
                    if path and path not in written and _locate_on_claim(other, path) == place:
                        yield writer, output, reader, word


def _locate_on_claim(where: ContainerPath, path: str) -> tuple[str, str] | None:
    """The claim of a path and the path on it; None where it lies on none."""
    found = mount_of(where.container, path)
    if found is None or "subPathExpr" in found[1]:
        return None
    volume = volume_of(where.group, get_text(found[1], "name"))
    claim = get_text(get_mapping(volume, "persistentVolumeClaim"), "claimName")
    folder = get_text(found[1], "mountPath").rstrip("/")
    inside = f"{get_text(found[1], 'subPath').strip('/')}/{path[len(folder) :].strip('/')}"
    return (claim, inside.strip("/")) if claim else None


def _may_be_done(launch: ContainerLaunch) -> bool:
    """Whether a Pod may be ready when its files are, or writes them on and on: a server, or a learner."""
    spec = get_mapping(launch.group.doc.data, "spec")
    containers = [one for _, one in get_entries(spec, "containers")]
    fields = any(name in one for one in containers for name in (*_PROBES, "ports"))
    return fields or "readinessGates" in spec or count_gpus(launch.group) > 0
