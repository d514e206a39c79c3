"""Jobs of a set that start while the files that they read are still being written.

Source: https://jobset.sigs.k8s.io/docs/concepts/ (dependsOn: Ready is reached by Pods that run, Complete by a
Job that has ended).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.launchers.words import Word
from podplan.lint.analysis.features import SEVERAL_TYPES
from podplan.lint.analysis.jobs import count_gpus
from podplan.lint.analysis.launches import ContainerLaunch
from podplan.lint.analysis.pod_jobs import list_ready_dependencies
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

Launch = tuple[ContainerLaunch, ContainerPath]


@check(requires=(SEVERAL_TYPES,))
def reads_unfinished_files(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A Job that starts when the writer of its input runs.

    Values: ``waiting``, ``awaited``, ``path``, ``option``.
    """
    dependencies = list_ready_dependencies(target.job)
    launches = list(trainings(target.job)) if dependencies else []
    for one in dependencies:
        writers = [each for each in launches if each[0].group.replica_type == one.awaited]
        readers = [each for each in launches if each[0].group.replica_type == one.waiting]
        found = next(_iter_common_folders(writers, readers), None)
        if found is None or any(_may_be_done(launch) for launch, _ in writers):
            continue
        writer, output, reader, word = found
        if waits_for_others(reader.container):
            continue
        values = {
            "waiting": one.waiting,
            "awaited": one.awaited,
            "path": output.path,
            "option": output.name,
        }
        related = [
            (writer.group.doc, output.place, "writes them"),
            (reader.group.doc, reader.locate_word(word), "reads them"),
        ]
        yield Violation(one.path, values, related, doc=one.doc)


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
