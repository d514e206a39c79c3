"""Scripts that wait for a file on an emptyDir, which only another Pod writes.

Source: https://kubernetes.io/docs/concepts/storage/volumes/#emptydir (each Pod has one of its own).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.findings import Path, TextPath
from podplan.core.lazy_regex import compile_lazily
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.lint.analysis.features import SHELL
from podplan.lint.analysis.jobs import is_mode_enabled
from podplan.lint.analysis.resources import list_containers, list_init_containers
from podplan.lint.checks.outputs import mount_of
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

_LOOP = compile_lazily(r"\b(?:until\b|while\b(?=[^;\n]{0,20}!))(?P<test>[^;\n]{1,300})[;\n]\s*do\b")
_FILE = compile_lazily(r"(?:-[efds]|\b(?:ls|stat|cat))\s+[\"']?(/[\w.@+/-]{1,300})[\"']?(?=[\s\])]|$)")
# A branch of a script that runs in one of the replicas only.
_BRANCH_OF_RANK = compile_lazily(
    r"\bif\b[^;\n]{0,200}(?<!LOCAL_)(?<!local_)(?:RANK|rank|INDEX|index|HOSTNAME|hostname)\b[^;\n]{0,100}"
)
_MAKES_FOLDER = compile_lazily(r"\bmkdir\b[^\n;&|]{0,300}")
_LONGEST = 50_000  # characters of a script that is read


class FileWait(NamedTuple):
    """A loop that waits for a file: its path, the folder that is mounted there, the string with the loop, and
    the range of the test."""

    file: str
    folder: str
    place: Path
    text: str
    span: tuple[int, int]


class FileWriter(NamedTuple):
    """Another container whose command names the file, and the place of the name."""

    group: ReplicaGroup
    place: Path
    what: str


@check(requires=(SHELL,))
def waits_for_file_of_other_pod(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A wait for a file on the emptyDir of a Pod that another Pod writes. Values: ``path``, ``volume``,
    ``writer``."""
    job = target.job
    if is_mode_enabled(job, "debug"):
        return
    for group in job.pods:
        if not any(
            "emptyDir" in one for _, one in get_entries(get_mapping(group.doc.data, "spec"), "volumes")
        ):
            continue
        for base, container in (*list_init_containers(group), *list_containers(group)):
            for wait in _iter_waits(base, container):
                found = _find_own_volume(group, base, container, wait.file)
                writer = _find_writer(job, group, wait) if found is not None else None
                if found is None or writer is None:
                    continue
                at, volume = found
                values = {"path": wait.file, "volume": volume, "writer": writer.what}
                related = [
                    (group.doc, ("spec", "volumes", at, "emptyDir"), "its own volume"),
                    (writer.group.doc, writer.place, "names the file"),
                ]
                yield Violation(TextPath(wait.place, wait.span), values, related, doc=group.doc, group=group)


def _iter_waits(base: Path, container: Mapping[str, Any]) -> Iterator[FileWait]:
    for key in ("command", "args"):
        for number, text in get_texts(container, key):
            for loop in _LOOP.finditer(text) if len(text) <= _LONGEST else ():
                found = _FILE.search(loop["test"])
                file = normpath(found[1]) if found is not None else ""
                mount = mount_of(container, file) if file else None
                if mount is not None:
                    folder = normpath(get_text(mount[1], "mountPath"))
                    yield FileWait(file, folder, (*base, key, number), text, loop.span("test"))


def _find_own_volume(
    group: ReplicaGroup, base: Path, container: Mapping[str, Any], file: str
) -> tuple[int, str] | None:
    """Return the emptyDir of a file that no other container of the Pod can write, with its index."""
    mount = mount_of(container, file)
    name = get_text(mount[1], "name") if mount is not None else ""
    volumes = get_entries(get_mapping(group.doc.data, "spec"), "volumes")
    found = next(((at, one) for at, one in volumes if name and get_text(one, "name") == name), None)
    if found is None or "emptyDir" not in found[1]:
        return None
    is_init = base[1] == "initContainers"
    others = (*list_init_containers(group), *(() if is_init else list_containers(group)))
    is_shared = any(
        get_text(one, "name") == name
        for place, other in others
        if place != base
        for _, one in get_entries(other, "volumeMounts")
    )
    return None if is_shared else (found[0], name)


def _find_writer(job: LoweredJob, group: ReplicaGroup, wait: FileWait) -> FileWriter | None:
    """Return the other Pod that names the file: of another replica type, or the one of a rank."""
    own = [one.start() for one in _find_names(wait.text, wait.file)]
    before = [at for at in own if at < wait.span[0]]
    if before:
        branch = _BRANCH_OF_RANK.search(wait.text[: before[0]])
        if branch is None or group.replicas == 1 or "\nfi" in wait.text[branch.end() : before[0]]:
            return None  # the script may create the file itself
        span = (before[0], before[0] + len(wait.file))
        return FileWriter(group, TextPath(wait.place, span), "another replica")
    if wait.folder in _MAKES_FOLDER.sub("", wait.text[: wait.span[0]]):
        return None  # an earlier program may write to the folder
    for other in job.pods:
        for base, container in list_containers(other) if other is not group else ():
            mount = mount_of(container, wait.file)
            for key in ("command", "args") if mount is not None else ():
                for number, text in get_texts(container, key):
                    loops = (
                        [one.span("test") for one in _LOOP.finditer(text)] if len(text) <= _LONGEST else []
                    )
                    for name in _find_names(text, wait.file):
                        if not any(start <= name.start() < end for start, end in loops):
                            place = TextPath((*base, key, number), name.span())
                            return FileWriter(other, place, other.replica_type)
    return None


def _find_names(text: str, file: str) -> list[re.Match[str]]:
    """Return where a text names a file."""
    if len(text) > _LONGEST or file not in text:
        return []
    return list(re.finditer(rf"(?<![\w./-]){re.escape(file)}(?![\w/-])", text))
