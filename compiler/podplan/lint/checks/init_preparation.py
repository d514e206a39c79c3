"""Init containers that prepare files where no other container sees them, or while the training runs.

Sources: https://kubernetes.io/docs/concepts/workloads/pods/init-containers/,
https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from posixpath import normpath

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.launchers.processes import Process
from podplan.launchers.shell_nodes import Block
from podplan.launchers.words import Word
from podplan.lint.analysis.jobs import is_mode_enabled
from podplan.lint.analysis.processes import process_of, programs_of
from podplan.lint.analysis.resources import list_containers, list_init_containers
from podplan.lint.analysis.script_options import list_program_options
from podplan.lint.checks.outputs import mount_of, trainings, volume_of
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

DEEPEST = 20  # parent folders of a path that are compared
_PATH_IN_TEXT = compile_lazily(r"(?<![\w.$}/-])/[\w.@+-]+(?:/[\w.@+-]+)*")
# Folders of the image, or without data.
_OF_SYSTEM = compile_lazily(r"/(?:bin|sbin|usr|lib|lib64|etc|dev|proc|sys|run|var/run)(?:/.*)?|/")
# Folders of every image that programs mention without reading files of others there.
COMMON_FOLDERS = frozenset(("/tmp", "/var/tmp", "/var", "/root", "/home", "/opt", "/mnt", "/srv"))
_REMOTE = compile_lazily(r"[a-z][a-z0-9+.-]*://|[\w.-]+:/?[\w.*-]|git@")
# Programs that copy their arguments to the last path, with subcommands where they have several.
_PLAIN_COPIES = frozenset(("cp", "mv", "rsync", "install"))
_MANY_COMMANDS = """
    aws azcopy coscli gcloud gsutil hdfs juicefs mc obsutil ossutil ossutil64 rclone s3cmd s5cmd skopeo
"""
_HAS_COMMANDS = frozenset(_MANY_COMMANDS.split())
_COPYING = "-get clone copy copyto cp download get mirror mv rsync sync"
_COMMANDS = frozenset(_COPYING.split())
_FETCHES = frozenset(("aria2c", "curl", "tar", "unzip", "wget"))
_DOWNLOADS = frozenset(("dvc", "hf", "huggingface-cli", "kaggle", "modelscope"))
_INTO = {
    "wget": ("-O", "-P", "--output-document", "--directory-prefix"),
    "curl": ("-o", "--output", "--output-dir"),
    "unzip": ("-d",),
    "tar": ("-C", "--directory"),
    "huggingface-cli": ("--local-dir", "--cache-dir"),
    "hf": ("--local-dir", "--cache-dir"),
    "modelscope": ("--local_dir", "--cache_dir"),
    "kaggle": ("-p", "--path"),
    "aria2c": ("-d", "--dir"),
}
# Options of a training with data or a model that must be there.
_INPUT = compile_lazily(
    r"(?:train_|training_|test_|eval_|val_)?(?:data|dataset|data_?set|corpus|shards|input|images)"
    r"(?:_?(?:dir|path|root|folder|prefix))?"
    r"|(?:base_|pretrained_)?(?:model|tokenizer|weights)(?:_name_or_path|_path|_dir)?"
)
_ARCHIVE = compile_lazily(r".*\.(?:tar|tgz|zip|gz|zst|xz|bz2|whl|json|jsonl|parquet|safetensors|pt|bin)")
_DATA_NAME = compile_lazily(r"data|corpus|shard|train|image")
_HELPERS = ": [ cd chmod chown date df du echo exit export ln ls mkdir printf rm set test touch true umask"
_SETS_UP = frozenset(_HELPERS.split())
_ENDLESS_OPTIONS = compile_lazily(r"--(?:watch|daemon|continuous|follow|loop|period|interval|poll)\b.*")


@check(requires=("initContainers",))
def prepared_outside_volume(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Files that an init container writes to its own file system and that another container reads.

    Values: ``init``, ``path``, ``container``, ``used``.
    """
    group = subject.group
    inits = list_init_containers(group) if group is not None else []
    if group is None or not inits or is_mode_enabled(subject.job, "debug"):
        return
    used: Mapping[str, tuple[Path, str, str]] | None = None
    for base, init in inits:
        reported: set[str] = set()
        for word, path in iter_written_paths(init):
            if path in reported or _OF_SYSTEM.fullmatch(path) or _is_mounted(init, path):
                continue
            used = _find_used_paths(subject.data, inits, list_containers(group)) if used is None else used
            user = next(
                (used[one] for one in _folders(path) if one in used and is_on_path(used[one][2], path)), None
            )
            if user is None:
                continue
            reported.add(path)
            place, name, found = user
            values = {"init": get_text(init, "name"), "path": path, "container": name, "used": found}
            related = [(subject.doc, place, f"reads {found}")]
            if "volumeMounts" in init:
                related.append((subject.doc, (*base, "volumeMounts"), "the mounts of the init container"))
                related += [
                    (subject.doc, (*base, "volumeMounts", at, "mountPath"), "a mount of the init container")
                    for at, _ in get_entries(init, "volumeMounts")[:2]
                ]
            yield Violation((*base, *word.path), values, related=related)


def iter_written_paths(container: Mapping[str, Any]) -> Iterator[tuple[Word, str]]:
    """Yield the paths that a container certainly writes to, each with its word."""
    for _, process in programs_of(container):
        words = process.words
        if not container.get("command"):
            # The arguments for the entrypoint of the image show that it downloads something.
            is_remote = any(_REMOTE.match(word.text) for word in words)
            yield from _last_path(words) if is_remote else ()
            continue
        arguments = words[1:]
        if _copies(process):
            yield from _last_path(arguments)
        for option, word in pairwise(arguments):
            if option.text in _INTO.get(process.name, ()) and word.text.startswith("/"):
                yield word, normpath(word.text)
        for word in arguments:
            name, equals, value = word.text.partition("=")
            if equals and name in _INTO.get(process.name, ()) and value.startswith("/"):
                yield word, normpath(value)


def _copies(process: Process) -> bool:
    """Whether the last path of a command line is written to."""
    commands = {word.text for word in process.words[1:]}
    if process.name == "git":
        return "clone" in commands
    return process.name in _PLAIN_COPIES or (
        process.name in _HAS_COMMANDS and not _COMMANDS.isdisjoint(commands)
    )


def _last_path(words: Sequence[Word]) -> Iterator[tuple[Word, str]]:
    """Yield the last word that is no option, if it is a path and an earlier word may be a source."""
    plain = [word for word in words if not word.text.startswith("-")]
    if len(plain) > 1 and plain[-1].is_known and plain[-1].text.startswith("/"):
        yield plain[-1], normpath(plain[-1].text)


def _is_mounted(container: Mapping[str, Any], path: str, empty: Collection[str] = ()) -> bool:
    """Whether a path lies in a volume, other than those that are empty."""
    mounts = {
        get_text(mount, "mountPath").rstrip("/")
        for _, mount in get_entries(container, "volumeMounts")
        if get_text(mount, "name") not in empty
    }
    return not (mounts - {""}).isdisjoint(_folders(path))


def is_on_path(used: str, path: str) -> bool:
    """Whether a mentioned path equals a written one, or is below or above it."""
    return f"{used}/".startswith(f"{path}/") or f"{path}/".startswith(f"{used}/")


def _find_used_paths(
    pod: Mapping[str, Any],
    inits: Sequence[tuple[Path, Mapping[str, Any]]],
    apps: Sequence[tuple[Path, Mapping[str, Any]]],
) -> dict[str, tuple[Path, str, str]]:
    """Return paths of containers without files from volumes, and parent folders: location, container, path.

    An emptyDir that no init container mounts has no files when the containers start.
    """
    filled = {
        get_text(mount, "name")
        for _, init in inits
        for _, mount in get_entries(init, "volumeMounts")
        if _may_fill(init, get_text(mount, "mountPath"))
    }
    volumes = get_entries(get_mapping(pod, "spec"), "volumes")
    empty = {get_text(one, "name") for _, one in volumes if "emptyDir" in one} - filled
    used: dict[str, tuple[Path, str, str]] = {}
    for base, app in apps:
        made = {path for _, path in iter_written_paths(app)}
        for at, value in _texts(app):
            for found in _PATH_IN_TEXT.findall(value):
                if not _is_mounted(app, found, empty) and made.isdisjoint(_folders(found)):
                    for folder in _folders(found):
                        used.setdefault(folder, ((*base, *at), get_text(app, "name"), found))
    return {
        path: user
        for path, user in used.items()
        if path not in COMMON_FOLDERS and user[2] not in COMMON_FOLDERS
    }


def _may_fill(init: Mapping[str, Any], folder: str) -> bool:
    """Whether an init container may write to a folder: it names it, or writes where its image says."""
    words = [value for at, value in _texts(init) if at[0] != "env"]
    named = [found for _, value in _texts(init) for found in _PATH_IN_TEXT.findall(value)]
    written = [path for _, path in iter_written_paths(init)]
    if not written or len(programs_of(init)) > 1 or any("$" in value for value in words):
        return True
    return any(is_on_path(path, folder.rstrip("/")) for path in named) or bool(get_text(init, "workingDir"))


def _texts(container: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    for key in ("command", "args"):
        for at, value in get_texts(container, key):
            yield (key, at), value
    for at, entry in get_entries(container, "env"):
        yield ("env", at, "value"), get_text(entry, "value")


def _folders(path: str) -> list[str]:
    """Return a path and its parent folders, up to DEEPEST steps from the root."""
    steps = path.strip("/").split("/")[:DEEPEST]
    return [path, *("/" + "/".join(steps[:end]) for end in range(len(steps) - 1, 0, -1))]


@check(requires=("initContainers",))
def preparation_as_sidecar(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A sidecar whose programs all end. Values: ``container``, ``program``, ``when``."""
    group = subject.group
    if group is None or is_mode_enabled(subject.job, "debug"):
        return
    for base, container in list_init_containers(group):
        if container.get("restartPolicy") != "Always":
            continue
        program = _that_ends(container)
        if program is None:
            continue
        probe = "once its startup probe succeeds" if "startupProbe" in container else "at once"
        values = {"container": get_text(container, "name"), "program": program, "when": probe}
        yield Violation((*base, "restartPolicy"), values)


def _that_ends(container: Mapping[str, Any]) -> str | None:
    """Return the first program that downloads or copies files, if all programs of the container end."""
    process = process_of(container)
    if process.string is not None and any(_repeats(node) for node in process.string.nodes):
        return None
    found = None
    for _, program in programs_of(container):
        if not program.name or any(_ENDLESS_OPTIONS.fullmatch(word.text) for word in program.words):
            return None
        if _uploads(program):
            return None
        if _fetches(program):
            found = found or " ".join([program.name, *_shown_command(program)])
        elif program.name not in _SETS_UP:
            return None
    return found


def _repeats(node: Any) -> bool:
    if not isinstance(node, Block):
        return False
    return node.kind in ("while", "until", "function") or any(_repeats(inner) for inner in node.nodes)


def _fetches(process: Process) -> bool:
    commands = {word.text for word in process.words[1:]}
    if process.name == "git":
        return not commands.isdisjoint(("checkout", "clone", "fetch", "pull"))
    if process.name in _DOWNLOADS:
        return not commands.isdisjoint(("datasets", "download", "pull"))
    return process.name in _FETCHES or _copies(process)


def _uploads(process: Process) -> bool:
    """Whether the target of a copy is remote: it saves the output of the training."""
    plain = [word.text for word in process.words[1:] if not word.text.startswith("-")]
    return process.name != "git" and _copies(process) and bool(plain) and _REMOTE.match(plain[-1]) is not None


def _shown_command(process: Process) -> list[str]:
    return [
        word.text for word in process.words[1:] if word.text in _COMMANDS or word.text in ("clone", "pull")
    ][:1]


@check(requires=("initContainers",))
def preparation_not_found(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """An input of the training in an emptyDir that the init containers fill elsewhere, or not at all.

    Values: ``option``, ``path``, ``init``, ``why``.
    """
    job = subject.job
    for launch, where in trainings(job):
        inits = list_init_containers(where.group)
        if not inits or launch.invocation.is_conditional or launch.group is not where.group:
            continue
        made = {path for _, path in iter_written_paths(where.container)}
        for placed in list_program_options(job, launch):
            path = placed.option.value or ""
            found = mount_of(where.container, path) if _PATH_IN_TEXT.fullmatch(path) else None
            if (
                found is None
                or not _INPUT.fullmatch(placed.option.last)
                or not made.isdisjoint(_folders(path))
            ):
                continue
            name, folder = get_text(found[1], "name"), normpath(get_text(found[1], "mountPath"))
            is_plain = "emptyDir" in volume_of(where.group, name) and not found[1].get("subPath")
            lacking = _find_lacking(where.group, inits, (name, folder), path) if is_plain else None
            if lacking is not None:
                values = {"option": placed.option.name, "path": path, "init": lacking[0], "why": lacking[1]}
                related = [(where.group.doc, lacking[2], "what is prepared")]
                related += [
                    (where.group.doc, (*base, "volumeMounts", at, "name"), "a mount of the init container")
                    for base, init in inits
                    for at, _ in get_entries(init, "volumeMounts")[:2]
                ]
                yield Violation(placed.path, values, related, doc=placed.doc, group=launch.group)


def _find_lacking(
    group: ReplicaGroup, inits: Sequence[tuple[Path, Mapping[str, Any]]], volume: tuple[str, str], path: str
) -> tuple[str, str, Path] | None:
    """Return the init container whose files are elsewhere, why a path is missing, and where they are written.

    None if something else may have filled the volume.
    """
    name, folder = volume
    others = [one for _, one in list_containers(group) if _find_folder(one, name) is not None]
    if len(others) > 1:
        return None
    written: list[tuple[str, str, Path]] = []
    for base, init in inits:
        at = _find_folder(init, name)
        paths = [(word, made) for word, made in _iter_made_paths(init)]
        if at is None:
            same = next((word for word, made in paths if is_on_path(path, made)), None)
            if same is not None and _has_other_volume(init, path):
                why = f'in another volume, and the emptyDir "{name}" is empty'
                return get_text(init, "name"), why, (*base, *same.path)
            continue
        is_plain = not any(
            "subPath" in one or "subPathExpr" in one for _, one in get_entries(init, "volumeMounts")
        )
        if not paths or not is_plain or init.get("restartPolicy") == "Always" or not _is_understood(init):
            return None
        written += [
            (get_text(init, "name"), folder + made.removeprefix(at), (*base, *word.path))
            for word, made in paths
            if f"{made}/".startswith(f"{at}/")
        ]
    if not written or any(is_on_path(path, made) for _, made, _ in written):
        return None
    first = written[0]
    if not (_is_similar(path, first[1]) or _DATA_NAME.search(first[1])):
        return None
    return first[0], f"at {first[1]}", first[2]


def _is_similar(one: str, other: str) -> bool:
    from difflib import SequenceMatcher

    return SequenceMatcher(None, one, other).ratio() >= 0.8


def _find_folder(container: Mapping[str, Any], name: str) -> str | None:
    mounts = [one for _, one in get_entries(container, "volumeMounts") if get_text(one, "name") == name]
    return normpath(get_text(mounts[0], "mountPath")) if mounts else None


def _has_other_volume(init: Mapping[str, Any], path: str) -> bool:
    return mount_of(init, path) is not None


def _iter_made_paths(container: Mapping[str, Any]) -> Iterator[tuple[Word, str]]:
    """Yield the paths that an init container writes, and the folders that it makes."""
    yield from iter_written_paths(container)
    for _, process in programs_of(container):
        for word in process.words[1:] if process.name == "mkdir" else ():
            if word.is_known and word.text.startswith("/"):
                yield word, normpath(word.text)


def _is_understood(init: Mapping[str, Any]) -> bool:
    """Whether all programs of an init container are copies and helpers with known words."""
    return all(
        all(word.is_known for word in process.words)
        and (process.name in _SETS_UP or _fetches(process))
        and process.name not in ("cd", "ln")
        for _, process in programs_of(init)
    )


@check(requires=("initContainers",))
def prepared_too_late(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """An init container that reads a file which a later one writes.

    Values: ``container``, ``path``, ``later``.
    """
    group = subject.group
    inits = list_init_containers(group) if group is not None else []
    if group is None or len(inits) < 2 or is_mode_enabled(subject.job, "debug"):
        return
    written: list[tuple[int, str, str, Path]] = []
    for at, (base, init) in enumerate(inits):
        for word, path in iter_written_paths(init):
            place = _find_volume_place(init, path)
            if place is not None and _ARCHIVE.fullmatch(path):
                written.append((at, place, get_text(init, "name"), (*base, *word.path)))
    for at, (base, init) in enumerate(inits):
        own = {place for number, place, _, _ in written if number <= at}
        for key, text in _texts(init):
            for path in _PATH_IN_TEXT.findall(text):
                place = _find_volume_place(init, path)
                later = next((one for one in written if one[0] > at and one[1] == place), None)
                if later is not None and place not in own:
                    values = {"container": get_text(init, "name"), "path": path, "later": later[2]}
                    related = [(subject.doc, later[3], "where it is written")]
                    yield Violation((*base, *key), values, related)
                    return


def _find_volume_place(container: Mapping[str, Any], path: str) -> str | None:
    """Return a path as a volume and a path in it, which is the same in all containers."""
    found = mount_of(container, normpath(path))
    if found is None or found[1].get("subPathExpr"):
        return None
    rest = normpath(path).removeprefix(normpath(get_text(found[1], "mountPath")))
    return f"{get_text(found[1], 'name')}:{get_text(found[1], 'subPath')}{rest}"
