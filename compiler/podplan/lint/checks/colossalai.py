"""The launcher of a ColossalAIJob: image, working directory, number, and arguments of colossalai run.

Sources: https://github.com/t9k/ucman/blob/master/src/api/t9k-job/colossalaijob.md;
https://github.com/hpcaitech/ColossalAI/tree/main/colossalai/cli/launcher, and the answers of the real command
in fixtures/launchers/colossalai.jsonl.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.findings import Path
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_entries, get_text
from podplan.launchers.argparse import index_spellings
from podplan.launchers.colossalai import TORCHRUN_OPTIONS_GIVEN, split_extra_args
from podplan.launchers.commands import ColossalAICommand
from podplan.launchers.torchrun import GRAMMAR
from podplan.launchers.words import Word
from podplan.lint.analysis import pod_hosts
from podplan.lint.analysis.colossalai_line import ColossalAILine, find_colossalai_line, to_launch_argument
from podplan.lint.analysis.jobs import get_replica_specs, is_mode_enabled, kind_of
from podplan.lint.analysis.launches import find_launches
from podplan.lint.analysis.resources import find_training_container
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

LocatedContainer = tuple[ReplicaGroup, Path, Mapping[str, Any]]


@check()
def launcher_workdir(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A working directory of the launcher that the workers may not have; values ``folder`` and ``image``."""
    pair = _find_launcher_and_worker(target.job)
    if pair is None:
        return
    (group, path, launcher), (worker_group, worker_path, worker) = pair
    folder = get_text(launcher, "workingDir")
    if (
        not folder.startswith("/")
        or folder == "/"
        or _has_same_image(launcher, worker)
        or _has_mounted_folder(worker, folder)
    ):
        return
    related = (worker_group.doc, (*worker_path, "image"), "the workers run another image")
    values = {"folder": folder, "image": get_text(worker, "image")}
    yield Violation((*path, "workingDir"), values, [related], doc=group.doc, group=group)


@check()
def script_in_worker_folder(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A relative script that only the workers have in their working directory.

    Values: ``script``, ``folder`` of the launcher, ``own`` of the workers.
    """
    pair = _find_launcher_and_worker(subject.job)
    if pair is None:
        return
    (group, path, launcher), (of_workers, at, worker) = pair
    own, folder = (normpath(get_text(one, "workingDir") or "/") for one in (worker, launcher))
    given = get_text(launcher, "workingDir")
    script = next((one.invocation.script for one in find_launches(subject.job) if one.group is group), None)
    if script is None or not script.is_known or script.text.startswith("/") or own in ("/", folder):
        return
    if not _has_mounted_folder(worker, own) or (given and _has_mounted_folder(worker, folder)):
        return
    values = {"script": script.text, "folder": given or "the working directory of its image", "own": own}
    where = (
        of_workers.doc,
        (*at, "workingDir"),
        "the ignored working directory of the workers",
    )
    place: Path = (*path, "workingDir") if given else path
    yield Violation(place, values, [where], doc=group.doc, group=group)


@check()
def image_skew(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A launcher and workers with different images; values ``launcher`` and ``worker``."""
    pair = _find_launcher_and_worker(target.job)
    if pair is None:
        return
    (group, path, launcher), (worker_group, worker_path, worker) = pair
    if _has_same_image(launcher, worker):
        return
    related = (worker_group.doc, (*worker_path, "image"), "the image of the workers")
    values = {"launcher": get_text(launcher, "image"), "worker": get_text(worker, "image")}
    yield Violation((*path, "image"), values, [related], doc=group.doc, group=group)


def _find_launcher_and_worker(job: LoweredJob) -> tuple[LocatedContainer, LocatedContainer] | None:
    """Return the containers of launcher and workers if the launcher starts the training on the workers."""
    by_role: dict[str, LocatedContainer] = {}
    for group in job.pods:
        container = find_training_container(group)
        if container is not None:
            by_role.setdefault(group.replica_type, (group, *container))
    if is_mode_enabled(job, "debug") or not {"launcher", "worker"} <= set(by_role):
        return None
    return by_role["launcher"], by_role["worker"]


def _has_same_image(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    images = get_text(first, "image"), get_text(second, "image")
    return images[0] == images[1] or "" in images


def _has_mounted_folder(container: Mapping[str, Any], folder: str) -> bool:
    """Whether a folder lies in a volume of the container."""
    mounts = (get_text(mount, "mountPath").rstrip("/") for _, mount in get_entries(container, "volumeMounts"))
    return any(mount and f"{folder}/".startswith(f"{mount}/") for mount in mounts)


@check()
def launch_arguments(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Options that do not reach torchrun, or that it refuses; value ``what``."""
    line = find_colossalai_line(target.job)
    if line is None:
        return
    # An error in an entry is also an error of the resulting line: report it once.
    reported: set[Path] = set()
    for word, message in list(_iter_broken_items(line.items)) or _iter_torchrun_errors(line):
        path, doc, group = line.locate_word(word)
        if path not in reported:
            reported.add(path)
            yield Violation(path, {"what": message}, doc=doc, group=group)


def _iter_broken_items(items: tuple[Word, ...]) -> Iterator[tuple[Word, str]]:
    """Yield entries that --extra_launch_args turns into different options."""
    options = index_spellings(GRAMMAR)
    pending_option: Word | None = None  # an option whose value is meant to be the next entry
    for item in items:
        text = item.text
        name, equals, _ = text.partition("=")
        parts = [piece.text for piece in split_extra_args(item._replace(text=to_launch_argument(item)))]
        if pending_option is not None and not text.startswith("-"):
            option = options[pending_option.text].spellings[0]
            received = f"{_to_torchrun_option(pending_option)} {_to_torchrun_option(item)}"
            yield (
                pending_option,
                f'torchrun gets "{pending_option.text}" and "{text}" as {received}; write {option}={text}',
            )
        elif any(part.count("=") > 1 for part in parts):
            yield item, f'--extra_launch_args cannot hold "{text}": an option has one "=" there'
        elif len(parts) > 1 and not all(f"--{part.partition('=')[0]}" in options for part in parts[1:]):
            received = " ".join(f"--{part}" for part in parts)
            yield item, f'colossalai run splits "{text}" at its commas, and torchrun gets {received}'
        elif text.startswith("-") and not text.startswith("--") and name in options and equals:
            yield (
                item,
                f'torchrun gets "{text}" as {_to_torchrun_option(item)}; write {options[name].spellings[0]}',
            )
        pending_option = item if name in options and options[name].kind != "flag" and not equals else None


def _to_torchrun_option(item: Word) -> str:
    """Return an entry in the form that torchrun gets."""
    return f"--{to_launch_argument(item)}"


def _iter_torchrun_errors(line: ColossalAILine) -> Iterator[tuple[Word, str]]:
    """Yield options that torchrun refuses on the workers, or that make each worker train alone."""
    torchrun = line.torchrun
    options = {
        name: option
        for name, option in torchrun.command_line.options.items()
        if _is_extra_option(line, option.flag)
    }
    for error in torchrun.errors:
        if _is_extra_option(line, error.word):
            yield error.word, error.message
    for name, option in options.items():
        if name in TORCHRUN_OPTIONS_GIVEN and name not in ("master_addr", "master_port"):
            yield option.flag, f"colossalai run passes --{name} itself, but torchrun uses this one"
        elif name in ("no_python", "module"):
            yield option.flag, f"--{name} is incompatible with the script that colossalai run starts"
    isolating_option = next((name for name in ("standalone", "rdzv_backend") if name in options), None)
    at_localhost = torchrun.standalone or (
        torchrun.backend == "c10d" and "rdzv_endpoint" not in torchrun.value_origins
    )
    if (
        isolating_option is not None
        and line.hosts > 1
        and (at_localhost or pod_hosts.is_loopback(torchrun.host or ""))
    ):
        message = (
            f"with --{isolating_option} each of the {format_count(line.hosts, 'worker')} waits for the others"
            " at localhost"
        )
        yield options[isolating_option].flag, message


def _is_extra_option(line: ColossalAILine, word: Word) -> bool:
    """Whether a word of the torchrun line comes from the options of the CR."""
    option = line.command_line.command_line.options.get("extra_launch_args")
    return word.path[:1] == ("spec",) or (option is not None and word.path == option.word.path)


@check()
def script_options_taken(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Arguments of the script that colossalai run parses as its own options.

    Values: ``word`` and ``option``.
    """
    for launch in find_launches(target.job):
        facts = launch.invocation.parsed
        if not isinstance(facts, ColossalAICommand) or not facts.command_line.is_certain:
            continue
        words = launch.invocation.words
        line = facts.command_line
        script = line.script if line.script is not None else next(iter(line.arguments), None)
        is_after_script = False
        flags = {option.flag: name for name, option in line.options.items()}
        for word in words:
            if is_after_script and word in flags:
                values = {"word": word.text, "option": _spell_option(flags[word])}
                yield Violation(launch.locate_word(word), values, doc=launch.group.doc, group=launch.group)
            is_after_script = is_after_script or word == script


def _spell_option(name: str) -> str:
    return {"module": "-m", "ssh_port": "--ssh-port"}.get(name, f"--{name}")


@check()
def several_launchers(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """More than one launcher; values ``replicas`` and ``kind``."""
    for replica_spec in get_replica_specs(target.job):
        replicas = replica_spec.data.get("replicas")
        if replica_spec.type == "launcher" and isinstance(replicas, int) and replicas > 1:
            path = (*replica_spec.path, "replicas")
            values = {"replicas": replicas, "kind": kind_of(target.job)}
            yield Violation(path, values, change=("set", path, 1))
