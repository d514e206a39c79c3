"""Programs that a container cannot find: hidden by a mount, or in a volume that is mounted elsewhere.

Source: https://kubernetes.io/docs/concepts/storage/volumes/: a mount hides what the image has at its path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import dirname, join, normpath

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.launchers.words import Word
from podplan.lint.analysis.features import SEVERAL_TYPES
from podplan.lint.analysis.jobs import has_trait, is_mode_enabled
from podplan.lint.analysis.launches import ContainerLaunch
from podplan.lint.analysis.processes import programs_of
from podplan.lint.analysis.programs import list_programs
from podplan.lint.analysis.resources import find_training_container, list_containers, list_init_containers
from podplan.lint.checks.outputs import ContainerPath, mount_of, place_in_cr, trainings, volume_of
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

# Common names of volumes and folders with training code.
_CODE = compile_lazily(
    r"(?:\w+[-_.])*(?:code|src|source|sources|repo|repository|scripts?|project|codebase)(?:[-_.](?:pvc|claim|vol|volume|dir))?"
)
_CODE_NAMES = ("app", "code", "project", "repo", "scripts", "source", "src", "workspace")
_CODE_FOLDER = compile_lazily(
    r"/(?:[\w.-]+/)*(?:code|src|source|sources|repo|repository|scripts?|project|codebase)"
)


@check(aliases=("program-hidden",))
def program_hidden_by_mount(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A program of the image that a mount hides. Values: ``path``, ``folder``, ``volume``."""
    group = subject.group
    if group is None:
        return
    for base, container in (*list_containers(group), *list_init_containers(group)):
        reported: set[int] = set()
        for program in list_programs(group, base, container):
            found = mount_of(container, program.path)
            if found is None or found[0] in reported:
                continue
            number, mount = found
            what = _lacks(group, base, container, mount, program.path)
            if what:
                reported.add(number)
                values = {"path": program.path, "folder": get_text(mount, "mountPath"), "volume": what}
                related = [(subject.doc, program.place, "runs it")]
                yield Violation((*base, "volumeMounts", number, "mountPath"), values, related=related)


def _lacks(
    group: ReplicaGroup, base: Path, container: Mapping[str, Any], mount: Mapping[str, Any], path: str
) -> str:
    """Return the volume of a mount that certainly has no file at a path; "" if it may."""
    name = get_text(mount, "name")
    volume = volume_of(group, name)
    if "emptyDir" in volume:
        others = (
            one
            for other, each in (*list_init_containers(group), *list_containers(group))
            for _, one in get_entries(each, "volumeMounts")
            if other != base
        )
        is_filled = any(get_text(one, "name") == name for one in others)
        has_hook = "postStart" in get_mapping(container, "lifecycle")
        return "" if is_filled or has_hook else f'the emptyDir "{name}", which is empty'
    if "subPath" in mount or "subPathExpr" in mount:
        return ""
    below = path.removeprefix(normpath(get_text(mount, "mountPath")).rstrip("/") + "/")
    for field, kind in (("configMap", "ConfigMap"), ("secret", "Secret")):
        source = get_mapping(volume, field)
        if not source:
            continue
        items = [get_text(item, "path") for _, item in get_entries(source, "items")]
        if (items and below not in items) or (not items and "/" in below):
            has = "which has " + ", ".join(items[:3]) if items else "which has no folders"
            return f'the {kind} "{get_text(source, "name") or get_text(source, "secretName")}", {has}'
    return ""


@check(aliases=("code-elsewhere",))
def code_mounted_elsewhere(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A script on no volume, while the code of the job is mounted in another folder.

    Values: ``script``, ``how``, ``folder``, ``volume``, ``mount``.
    """
    job = subject.job
    for launch, where in trainings(job):
        script = launch.invocation.script
        if script is not None and script.is_known and script.text.startswith("/"):
            yield from _find_absolute(job, launch, where, script)
            continue
        folder, place, given = _folder(job, launch, where)
        if script is None or not script.is_known or not script.text.endswith(".py") or not folder:
            continue
        path = normpath(f"{folder}/{script.text}")
        if mount_of(where.container, path) is not None:
            continue
        for number, mount in get_entries(where.container, "volumeMounts"):
            at = normpath(get_text(mount, "mountPath") or "/")
            own = get_text(
                where.container, "workingDir"
            )  # of the workers, which script-in-worker-folder reports
            is_own = given is not where.group and f"{own}/".startswith(f"{at}/")
            is_code = _is_code(where.group, mount) or _has_script(job, where.group, mount, script.text)
            if is_own or not is_code or _is_named(at, launch, where):
                continue
            values = {
                "script": script.text,
                "how": "is resolved in",
                "folder": folder,
                "volume": get_text(mount, "name"),
                "mount": at,
            }
            related = [
                (
                    where.group.doc,
                    (*where.base, "volumeMounts", number, "mountPath"),
                    "the mount of the code",
                ),
                (launch.group.doc, launch.locate_word(script), "the script"),
            ]
            yield Violation(place, values, related, doc=given.doc, group=given)
            break


def _find_absolute(
    job: LoweredJob, launch: ContainerLaunch, where: ContainerPath, script: Word
) -> Iterator[Violation]:
    """Find the mount of the code for a script with a path outside of all mounts."""
    folder = dirname(normpath(script.text))
    is_missing = script.text.endswith(".py") and mount_of(where.container, normpath(script.text)) is None
    if not is_missing or is_mode_enabled(job, "debug"):
        return
    claims = _list_claims_with(launch, script.text) if launch.group is not where.group else set()
    is_code = not {*folder.split("/")}.isdisjoint(_CODE_NAMES)
    for number, mount in get_entries(where.container, "volumeMounts"):
        at = normpath(get_text(mount, "mountPath") or "/")
        volume = volume_of(where.group, get_text(mount, "name"))
        claim = get_text(get_mapping(volume, "persistentVolumeClaim"), "claimName")
        name = normpath(script.text).rpartition("/")[2]
        is_found = (is_code and _is_code(where.group, mount)) or _has_script(job, where.group, mount, name)
        if claim not in claims and not is_found:
            continue
        if not _is_named(at, launch, where):
            values = {
                "script": script.text,
                "how": "is in",
                "folder": folder,
                "volume": get_text(mount, "name"),
                "mount": at,
            }
            path = (*where.base, "volumeMounts", number, "mountPath")
            related = [(where.group.doc, path, "the mount of the code")]
            doc = launch.group.doc
            violation = Violation(launch.locate_word(script), values, related, doc=doc, group=launch.group)
            yield place_in_cr(job, violation, script.text)
            return


@check(requires=(SEVERAL_TYPES,))
def code_on_launcher_only(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A script on a volume of the launcher, which the workers that run it do not mount.

    Values: ``script``, ``volume``, ``folder``, ``type``.
    """
    job = subject.job
    for launch, where in trainings(job) if not is_mode_enabled(job, "debug") else ():
        script = launch.invocation.script
        if launch.group is where.group or script is None or not script.is_known:
            continue
        path = normpath(join(get_text(launch.container, "workingDir"), script.text))
        found = mount_of(launch.container, path) if path.startswith("/") else None
        if found is None or mount_of(where.container, path) is not None:
            continue
        number, mount = found
        volumes = get_entries(get_mapping(where.group.doc.data, "spec"), "volumes")
        claims = {
            get_text(get_mapping(volume, "persistentVolumeClaim"), "claimName") for _, volume in volumes
        }
        if not claims.isdisjoint(_list_claims_with(launch, path)):
            continue  # mounted in another folder, which code-mounted-elsewhere reports
        values = {
            "script": script.text,
            "volume": get_text(mount, "name"),
            "folder": get_text(mount, "mountPath"),
            "type": where.group.replica_type,
        }
        place = (*launch.path, "volumeMounts", number, "mountPath")
        related = [(launch.group.doc, place, "the mount of the code")]
        violation = Violation(
            launch.locate_word(script), values, related, doc=launch.group.doc, group=launch.group
        )
        yield place_in_cr(job, violation, script.text)


def _list_claims_with(launch: ContainerLaunch, path: str) -> set[str]:
    """Return the claim that a launcher mounts where a script is."""
    found = mount_of(launch.container, normpath(path))
    volume = volume_of(launch.group, get_text(found[1], "name")) if found is not None else {}
    return {get_text(get_mapping(volume, "persistentVolumeClaim"), "claimName")} - {""}


def _folder(job: LoweredJob, launch: ContainerLaunch, where: ContainerPath) -> tuple[str, Path, ReplicaGroup]:
    """Return the working directory that a field states, with its path; "" if only the image states it.

    The workers of colossalai run change to the directory of the launcher.
    """
    group, base, container = where
    if has_trait(job, "colossalai-by-controller"):
        group = next((one for one in job.pods if one.replica_type == "launcher"), group)
        found = find_training_container(group)
        base, container = found if found is not None else (base, container)
    changes = any(process.name == "cd" for _, process in programs_of(launch.container))
    folder = get_text(container, "workingDir")
    is_known = folder.startswith("/") and not changes and not is_mode_enabled(job, "debug")
    return (normpath(folder) if is_known else ""), (*base, "workingDir"), group


def _is_code(group: ReplicaGroup, mount: Mapping[str, Any]) -> bool:
    """Whether the names of a mount and of its volume or claim suggest code."""
    volume = volume_of(group, get_text(mount, "name"))
    claim = get_text(get_mapping(volume, "persistentVolumeClaim"), "claimName")
    names = (get_text(mount, "name").lower(), claim.lower())
    is_kept = "persistentVolumeClaim" in volume or "emptyDir" in volume or "nfs" in volume
    return (
        is_kept
        and _CODE_FOLDER.fullmatch(get_text(mount, "mountPath").rstrip("/").lower()) is not None
        and any(_CODE.fullmatch(name) for name in names)
    )


def _has_script(job: LoweredJob, group: ReplicaGroup, mount: Mapping[str, Any], script: str) -> bool:
    """Whether a mounted ConfigMap has a script."""
    source = get_mapping(volume_of(group, get_text(mount, "name")), "configMap")
    name = get_text(source, "name")
    if not name or mount.get("subPath") or source.get("items"):
        return False
    return any(
        one.doc.data.get("kind") == "ConfigMap"
        and get_text(get_mapping(one.doc.data, "metadata"), "name") == name
        and script in get_mapping(one.doc.data, "data")
        for one in job.references.values()
    )


def _is_named(folder: str, launch: ContainerLaunch, where: ContainerPath) -> bool:
    """Whether the command or variables of a container mention a folder, so that it may be read."""
    every = [word for key in ("command", "args") for _, word in get_texts(where.container, key)]
    every += [word for key in ("command", "args") for _, word in get_texts(launch.container, key)]
    every += [
        get_text(one, "value")
        for each in (where.container, launch.container)
        for _, one in get_entries(each, "env")
    ]
    every += [word.text for word in launch.invocation.words]
    return any(folder in word for word in every)
