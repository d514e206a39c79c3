"""Programs that a container cannot find: hidden by a mount, or in a volume that is mounted elsewhere.

Source: https://kubernetes.io/docs/concepts/storage/volumes/: a mount hides what the image has at its path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.findings import Path
from podplan.core.lazy_regex import pattern
from podplan.core.replica_groups import Group
from podplan.core.typing import Any
from podplan.kubernetes.accessors import entries, mapping, text, texts
from podplan.lint.analysis.jobs import kind_of, mode
from podplan.lint.analysis.launches import Launch
from podplan.lint.analysis.processes import programs_of
from podplan.lint.analysis.programs import programs_read
from podplan.lint.analysis.resources import containers, init_containers, training
from podplan.lint.checks.outputs import Where, mount_of, trainings, volume_of
from podplan.lint.target import Hit, Job, Subject

# How people call volumes and folders with the code of a training.
_CODE = pattern(
    r"(?:\w+[-_.])*(?:code|src|source|sources|repo|repository|scripts?|project|codebase)(?:[-_.](?:pvc|claim|vol|volume|dir))?"
)
_CODE_FOLDER = pattern(r"/(?:[\w.-]+/)*(?:code|src|source|sources|repo|repository|scripts?|project|codebase)")


def program_hidden(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A program of the image that a mount without it hides. Values: ``path``, ``folder``, ``volume``."""
    group = subject.group
    if group is None:
        return
    for base, container in (*containers(group), *init_containers(group)):
        reported: set[int] = set()
        for program in programs_read(group, base, container):
            found = mount_of(container, program.path)
            if found is None or found[0] in reported:
                continue
            number, mount = found
            what = _lacks(group, base, container, mount, program.path)
            if what:
                reported.add(number)
                values = {"path": program.path, "folder": text(mount, "mountPath"), "volume": what}
                related = [(subject.doc, program.place, "runs it")]
                yield Hit((*base, "volumeMounts", number, "mountPath"), values, related=related)


def _lacks(
    group: Group, base: Path, container: Mapping[str, Any], mount: Mapping[str, Any], path: str
) -> str:
    """The volume of a mount, where it surely has no file at a path; "" where it may."""
    name = text(mount, "name")
    volume = volume_of(group, name)
    if "emptyDir" in volume:
        others = (
            one
            for other, each in (*init_containers(group), *containers(group))
            for _, one in entries(each, "volumeMounts")
            if other != base
        )
        is_filled = any(text(one, "name") == name for one in others)
        has_hook = "postStart" in mapping(container, "lifecycle")
        return "" if is_filled or has_hook else f'the emptyDir "{name}", which is empty'
    if "subPath" in mount or "subPathExpr" in mount:
        return ""
    below = path.removeprefix(normpath(text(mount, "mountPath")).rstrip("/") + "/")
    for field, kind in (("configMap", "ConfigMap"), ("secret", "Secret")):
        source = mapping(volume, field)
        if not source:
            continue
        items = [text(item, "path") for _, item in entries(source, "items")]
        if (items and below not in items) or (not items and "/" in below):
            has = "which has " + ", ".join(items[:3]) if items else "which has no folders"
            return f'the {kind} "{text(source, "name") or text(source, "secretName")}", {has}'
    return ""


def code_elsewhere(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A relative script, with the code of the job mounted where nothing looks for it.

    Values: ``script``, ``folder``, ``volume``, ``mount``.
    """
    job = subject.job
    for launch, where in trainings(job):
        script = launch.invocation.script
        folder, place, given = _folder(job, launch, where)
        if script is None or not script.known or not script.text.endswith(".py") or not folder:
            continue
        path = normpath(f"{folder}/{script.text}")
        if script.text.startswith("/") or mount_of(where.container, path) is not None:
            continue
        for number, mount in entries(where.container, "volumeMounts"):
            at = normpath(text(mount, "mountPath") or "/")
            own = text(where.container, "workingDir")  # of the workers, which script-in-worker-folder reports
            is_own = given is not where.group and f"{own}/".startswith(f"{at}/")
            if is_own or not _is_code(where.group, mount) or _is_named(at, launch, where):
                continue
            values = {"script": script.text, "folder": folder, "volume": text(mount, "name"), "mount": at}
            related = [
                (
                    where.group.doc,
                    (*where.base, "volumeMounts", number, "mountPath"),
                    "the mount of the code",
                ),
                (launch.group.doc, launch.place(script), "the script"),
            ]
            yield Hit(place, values, related, doc=given.doc, group=given)
            break


def _folder(job: Job, launch: Launch, where: Where) -> tuple[str, Path, Group]:
    """The working directory of a training that a field names, with its place; "" where the image has it.

    The workers of a ColossalAIJob change to that of the launcher.
    """
    group, base, container = where
    if kind_of(job) == "ColossalAIJob":
        group = next((one for one in job.pods if one.role == "launcher"), group)
        found = training(group)
        base, container = found if found is not None else (base, container)
    changes = any(process.name == "cd" for _, process in programs_of(launch.container))
    folder = text(container, "workingDir")
    is_known = folder.startswith("/") and not changes and not mode(job, "debug")
    return (normpath(folder) if is_known else ""), (*base, "workingDir"), group


def _is_code(group: Group, mount: Mapping[str, Any]) -> bool:
    """Whether a mount is called code, and so is its volume or claim."""
    volume = volume_of(group, text(mount, "name"))
    claim = text(mapping(volume, "persistentVolumeClaim"), "claimName")
    names = (text(mount, "name").lower(), claim.lower())
    is_kept = "persistentVolumeClaim" in volume or "emptyDir" in volume or "nfs" in volume
    return (
        is_kept
        and _CODE_FOLDER.fullmatch(text(mount, "mountPath").rstrip("/").lower()) is not None
        and any(_CODE.fullmatch(name) for name in names)
    )


def _is_named(folder: str, launch: Launch, where: Where) -> bool:
    """Whether a container names a folder in its command or variables, so that it may be read."""
    every = [word for key in ("command", "args") for _, word in texts(where.container, key)]
    every += [word for key in ("command", "args") for _, word in texts(launch.container, key)]
    every += [
        text(one, "value") for each in (where.container, launch.container) for _, one in entries(each, "env")
    ]
    every += [word.text for word in launch.invocation.words]
    return any(folder in word for word in every)
