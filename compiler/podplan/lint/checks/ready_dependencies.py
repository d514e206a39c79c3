"""Jobs of a set that start before the files that they read are written.

Source: https://jobset.sigs.k8s.io/docs/concepts/ (dependsOn: Ready is reached by Pods that run, Complete by a
Job that has ended).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.launchers.words import Word
from podplan.lint.analysis.jobs import count_gpus
from podplan.lint.analysis.launches import ContainerLaunch
from podplan.lint.analysis.pod_jobs import list_overlaps
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
from podplan.lint.target import Target, Violation

_PROBES = ("readinessProbe", "startupProbe")
# Scripts that prepare files once, unlike a trainer or an actor, whose files others read while it runs.
_PREPARES = compile_lazily(
    r"(?:\A|[/_-])(?:pre[_-]?)?(?:prepare?|prep|process|preprocess|shard|tokeni[sz]e|download|etl|convert|pack|"
    r"extract|fetch|stage|transform)[a-z]{0,3}(?=[/_.-]|\Z)"
)

Launch = tuple[ContainerLaunch, ContainerPath]


@check()
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
