"""The files that containers run: programs and scripts that no earlier command creates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.findings import Path
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_text
from podplan.launchers.words import Word
from podplan.lint.analysis.launches import ContainerLaunch, find_replica_launches
from podplan.lint.analysis.processes import process_of

# Launchers that start the script in other Pods.
_START_ELSEWHERE = ("colossalai", "mpirun", "horovodrun")


class Program(NamedTuple):
    """A file that a container runs, as a path from the root, and the word that names it in the Pod."""

    path: str
    place: Path


def list_programs(group: ReplicaGroup, base: Path, container: Mapping[str, Any]) -> Iterator[Program]:
    """Return the files that the main process of a container runs; none if a shell runs commands before it."""
    process = process_of(container)
    if process.string is not None or not process.words:
        return
    first = process.words[0]
    if container.get("command") and first.is_known and first.text.startswith("/"):
        yield Program(normpath(first.text), (*base, *first.path))
    for launch in find_replica_launches(group, group.start):
        found = launch.invocation
        is_here = launch.path == base and found.launcher not in _START_ELSEWHERE and not found.started_by
        if is_here and not found.is_conditional and not found.is_assumed:
            yield from script_of(launch, container)


def script_of(launch: ContainerLaunch, container: Mapping[str, Any]) -> Iterator[Program]:
    """Return the script of a launch; a relative path is in the working directory of the container."""
    script = launch.invocation.script
    if script is None or not script.is_known or not script.text.endswith((".py", ".sh")):
        return
    path = _absolute(script, container)
    if path:
        yield Program(path, launch.locate_word(script))


def _absolute(script: Word, container: Mapping[str, Any]) -> str:
    if script.text.startswith("/"):
        return normpath(script.text)
    folder = get_text(container, "workingDir")
    return normpath(f"{folder}/{script.text}") if folder.startswith("/") else ""
