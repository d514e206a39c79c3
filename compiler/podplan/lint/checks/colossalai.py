"""The launcher of a ColossalAIJob: image, directory, number, and what colossalai run makes of its words.

Sources: https://github.com/t9k/ucman/blob/master/src/api/t9k-job/colossalaijob.md;
https://github.com/hpcaitech/ColossalAI/tree/main/colossalai/cli/launcher, and the answers of the real command
in fixtures/launchers/colossalai.jsonl.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.findings import Path
from podplan.core.replica_groups import Group
from podplan.core.typing import Any
from podplan.kubernetes.accessors import entries, text
from podplan.launchers.argparse import spellings
from podplan.launchers.colossalai import GIVEN, ColossalAI, pieces
from podplan.launchers.torchrun import GRAMMAR
from podplan.launchers.words import Word
from podplan.lint.analysis import pod_hosts
from podplan.lint.analysis.colossalai_line import ColossalAILine, handed_on, line_of
from podplan.lint.analysis.jobs import counted, mode, roles
from podplan.lint.analysis.launches import launches
from podplan.lint.analysis.resources import training
from podplan.lint.target import Hit, Job, Subject

Container = tuple[Group, Path, Mapping[str, Any]]


def launcher_workdir(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A working directory of the launcher that the workers may not have; values ``folder`` and ``image``."""
    pair = _pair(subject.job)
    if pair is None:
        return
    (group, path, launcher), (of_workers, at, worker) = pair
    folder = text(launcher, "workingDir")
    if not folder.startswith("/") or folder == "/" or _same_image(launcher, worker) or _has(worker, folder):
        return
    where = (of_workers.doc, (*at, "image"), "the workers run another image")
    values = {"folder": folder, "image": text(worker, "image")}
    yield Hit((*path, "workingDir"), values, [where], doc=group.doc, group=group)


def script_in_worker_folder(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A relative script that only the workers have in their working directory.

    Values: ``script``, ``folder`` of the launcher, ``own`` of the workers.
    """
    pair = _pair(subject.job)
    if pair is None:
        return
    (group, path, launcher), (of_workers, at, worker) = pair
    own, folder = (normpath(text(one, "workingDir") or "/") for one in (worker, launcher))
    given = text(launcher, "workingDir")
    script = next((one.invocation.script for one in launches(subject.job) if one.group is group), None)
    if script is None or not script.known or script.text.startswith("/") or own in ("/", folder):
        return
    if not _has(worker, own) or (given and _has(worker, folder)):
        return
    values = {"script": script.text, "folder": given or "the working directory of its image", "own": own}
    where = (
        of_workers.doc,
        (*at, "workingDir"),
        "the working directory of the workers, which does not count",
    )
    place: Path = (*path, "workingDir") if given else path
    yield Hit(place, values, [where], doc=group.doc, group=group)


def image_skew(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A launcher and workers of unlike images; values ``launcher`` and ``worker``."""
    pair = _pair(subject.job)
    if pair is None:
        return
    (group, path, launcher), (of_workers, at, worker) = pair
    if _same_image(launcher, worker):
        return
    where = (of_workers.doc, (*at, "image"), "the image of the workers")
    values = {"launcher": text(launcher, "image"), "worker": text(worker, "image")}
    yield Hit((*path, "image"), values, [where], doc=group.doc, group=group)


def _pair(job: Job) -> tuple[Container, Container] | None:
    """The containers of the launcher and of the workers, where the one starts the training on the others."""
    found: dict[str, Container] = {}
    for group in job.pods:
        container = training(group)
        if container is not None:
            found.setdefault(group.role, (group, *container))
    if mode(job, "debug") or not {"launcher", "worker"} <= set(found):
        return None
    return found["launcher"], found["worker"]


def _same_image(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    images = text(one, "image"), text(other, "image")
    return images[0] == images[1] or "" in images


def _has(container: Mapping[str, Any], folder: str) -> bool:
    """Whether a folder lies in a volume of the container."""
    mounts = (text(mount, "mountPath").rstrip("/") for _, mount in entries(container, "volumeMounts"))
    return any(mount and f"{folder}/".startswith(f"{mount}/") for mount in mounts)


def launch_arguments(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Options of torchrun that do not arrive there, or that it refuses; value ``what``."""
    line = line_of(subject.job)
    if line is None:
        return
    # What is wrong with an entry is also wrong on the line that comes of it, and one reason is enough.
    reported: set[Path] = set()
    for word, what in list(_broken_items(line.items)) or _of_torchrun(line):
        path, doc, group = line.place(word)
        if path not in reported:
            reported.add(path)
            yield Hit(path, {"what": what}, doc=doc, group=group)


def _broken_items(items: tuple[Word, ...]) -> Iterator[tuple[Word, str]]:
    """Entries of which --extra_launch_args makes other options than they are."""
    known = spellings(GRAMMAR)
    before: Word | None = None  # an option that takes the next entry for its value, as people mean it
    for item in items:
        text = item.text
        name, equals, _ = text.partition("=")
        parts = [piece.text for piece in pieces(item._replace(text=handed_on(item)))]
        if before is not None and not text.startswith("-"):
            option = known[before.text].spellings[0]
            become = f"{_with_dashes(before)} {_with_dashes(item)}"
            yield before, f'torchrun gets "{before.text}" and "{text}" as {become}; write {option}={text}'
        elif any(part.count("=") > 1 for part in parts):
            yield item, f'--extra_launch_args cannot hold "{text}": an option has one "=" there'
        elif len(parts) > 1 and not all(f"--{part.partition('=')[0]}" in known for part in parts[1:]):
            become = " ".join(f"--{part}" for part in parts)
            yield item, f'colossalai run splits "{text}" at its commas, and torchrun gets {become}'
        elif text.startswith("-") and not text.startswith("--") and name in known and equals:
            yield item, f'torchrun gets "{text}" as {_with_dashes(item)}; write {known[name].spellings[0]}'
        before = item if name in known and known[name].kind != "flag" and not equals else None


def _with_dashes(item: Word) -> str:
    """An entry as torchrun gets it."""
    return f"--{handed_on(item)}"


def _of_torchrun(line: ColossalAILine) -> Iterator[tuple[Word, str]]:
    """What torchrun refuses on the workers, and options that keep the workers apart."""
    found = line.torchrun
    options = {name: option for name, option in found.line.options.items() if _from_extra(line, option.flag)}
    for fault in found.errors:
        if _from_extra(line, fault.word):
            yield fault.word, fault.sentence
    for name, option in options.items():
        if name in GIVEN and name not in ("master_addr", "master_port"):
            yield option.flag, f"colossalai run gives --{name} itself, and torchrun takes the one from here"
        elif name in ("no_python", "module"):
            yield option.flag, f"--{name} does not go with the script that colossalai run starts"
    apart = next((name for name in ("standalone", "rdzv_backend") if name in options), None)
    at_localhost = found.standalone or (found.backend == "c10d" and "rdzv_endpoint" not in found.given)
    if apart is not None and line.hosts > 1 and (at_localhost or pod_hosts.is_loopback(found.host or "")):
        what = f"with --{apart} each of the {counted(line.hosts, 'worker')} waits for the others at localhost"
        yield options[apart].flag, what


def _from_extra(line: ColossalAILine, word: Word) -> bool:
    """Whether a word of torchrun comes from the options of the CR."""
    option = line.read.line.options.get("extra_launch_args")
    return word.path[:1] == ("spec",) or (option is not None and word.path == option.word.path)


def script_options_taken(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Arguments of the script that are options to colossalai run; values ``word`` and ``option``."""
    for launch in launches(subject.job):
        facts = launch.invocation.facts
        if not isinstance(facts, ColossalAI) or not facts.line.sure:
            continue
        words = launch.invocation.words
        line = facts.line
        script = line.script if line.script is not None else next(iter(line.arguments), None)
        behind = False
        flags = {option.flag: name for name, option in line.options.items()}
        for word in words:
            if behind and word in flags:
                values = {"word": word.text, "option": _spelled(flags[word])}
                yield Hit(launch.place(word), values, doc=launch.group.doc, group=launch.group)
            behind = behind or word == script


def _spelled(name: str) -> str:
    return {"module": "-m", "ssh_port": "--ssh-port"}.get(name, f"--{name}")


def several_launchers(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """More than one launcher; value ``replicas``."""
    for role in roles(subject.job):
        replicas = role.data.get("replicas")
        if role.type == "launcher" and isinstance(replicas, int) and replicas > 1:
            path = (*role.path, "replicas")
            yield Hit(path, {"replicas": replicas}, change=("set", path, 1))
