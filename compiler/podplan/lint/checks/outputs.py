"""Output folders of a training: on volumes that are deleted with the Pod, or that are read-only.

Sources: https://kubernetes.io/docs/concepts/storage/volumes/#emptydir,
https://kubernetes.io/docs/concepts/storage/volumes/#read-only-mounts. Which options name an output is known
from common trainers (transformers, Lightning, Megatron-LM, mmengine, hydra, NeMo, timm, OpenCLIP and others).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from posixpath import normpath

from podplan.core.findings import Path, below
from podplan.core.lazy_regex import compile_lazily
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.launchers.processes import Process, build_words_process, iter_programs
from podplan.launchers.words import Word
from podplan.lint.analysis.deepspeed_line import find_written_word
from podplan.lint.analysis.jobs import has_trait, is_mode_enabled
from podplan.lint.analysis.launches import ContainerLaunch, find_launches
from podplan.lint.analysis.processes import programs_of
from podplan.lint.analysis.resources import find_training_container, list_containers, list_init_containers
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

# Names of options and variables in lower case with underscores, without the part before the last dot.
_PLACE = r"(?:dir|path|folder|root|directory)"
_WRITTEN = compile_lazily(
    rf"(?:\w+_)?(?:out|outputs?|save|export|results?)(?:_{_PLACE})?|outdir|savedir"
    r"|(?:default_root|default_local|work|exp|runs?|experiment|dump)_dir"
)
_LOGS = compile_lazily(rf"(?:\w+_)?(?:logs?|logging|tensorboard|tb)(?:_{_PLACE})?|logdir")
# A training saves there, and an evaluation reads there.
_CHECKPOINTS = compile_lazily(rf"(?:\w+_)?(?:checkpoints?|ckpts?|snapshots?)(?:_{_PLACE})?|model_dir|workdir")
_ENDS_AS_PATH = compile_lazily(r"(?i:dir|path|folder|root|directory)\Z")
_VARIABLE = compile_lazily(rf"(?:\w+_)?(?:out|outputs?|save|export|results?|checkpoints?|ckpts?)_{_PLACE}")
_READS = compile_lazily(
    r"(?:^|_)(?:load|pretrained|resume|init|restore|import|from|input|base|source|teacher)(?:_|$)"
)
_READING_SCRIPT = compile_lazily(
    r"eval|infer|predict|test|serv|generat|convert|export|bench|sampl|merg|quanti|embed|score|demo|valid"
)
# How often a training saves, and options with which it goes on from its last checkpoint.
_INTERVAL = compile_lazily(
    r"(?:checkpoints?|ckpts?|save|snapshots?)_(?:\w+_)?(?:every|interval|steps|freq|frequency|period|epochs?|iters?)(?:_\w+)?"
    r"|(?:checkpoint|ckpt|save|snapshot)_(?:every|interval|freq)_\w+"
)
_RESUME = compile_lazily(r"(?:auto_)?resume(?:_(?:from|training|auto|latest|from_checkpoint|if_exists))?")
_LAST = ("auto", "latest", "last", "true", "1", "yes")
_FILE = compile_lazily(r".*\.(?:pth?|ckpt|safetensors|bin|onnx|npz|h5|pkl|tar|gz|ya?ml|json|txt|py|model)")
_OPTION = compile_lazily(r"-{1,2}([A-Za-z][\w.-]*)(?:=(.*))?")
_HYDRA = compile_lazily(r"\+{0,2}([A-Za-z][\w.]*)=(.*)")
# Programs that copy output elsewhere.
_UPLOADS = compile_lazily(r"push[-_]to[-_]hub|hub[-_]model|upload|\b(?:s3|oss|gs|hdfs|obs|cos|az|abfss?)://")
_ALWAYS_READ_ONLY = ("configMap", "secret", "downwardAPI", "projected", "image")
_STARTING_OTHERS = ("mpirun", "horovodrun")
_READERS = ("tensorboard",)  # with --logdir, their input
_INTO_LAST = ("cp", "mv", "rsync", "ln", "install")
_INTO_ALL = ("tee", "touch")
# Programs that copy from and to remote storage, and the subcommands that do.
_HAS_COMMANDS = ("aws", "gsutil", "mc", "ossutil", "ossutil64", "rclone", "s5cmd")
_COMMANDS = frozenset(("copy", "cp", "mirror", "mv", "rsync", "sync"))
_EXTRACTS = compile_lazily(r"-[a-zA-Z]*x[a-zA-Z]*|--extract")
_INTO_OPTION = {"wget": ("-O", "-P"), "curl": ("-o", "--output"), "unzip": ("-d",)}
# Commands that do not change the content of a folder, or only create it.
_NO_COPY = ("mkdir", "cd", "chmod", "chown", "echo", "export", "ls", "rm", "set", "touch", "test", "[", "tee")
# Variables with which programs access remote storage.
_STORAGE = compile_lazily(r"AWS_|S3_|OSS_|OBS_|COS_|MINIO_|AZURE_|MLFLOW_|GOOGLE_APPLICATION_CREDENTIALS")
_PATH = compile_lazily(r"(?<![\w.$}/-])/[\w.@+-]+(?:/[\w.@+-]+)*")
DEEPEST = 20  # parent folders of a path that are compared


class ContainerPath(NamedTuple):
    """A container of a Pod, and its path there."""

    group: ReplicaGroup
    base: Path
    container: Mapping[str, Any]


class TrainingOutput(NamedTuple):
    """A path in a command: the option or variable that names it, and the path of its value in the Pod.

    ``kind`` is "output" if it is certainly written, "log", or "checkpoint" if it may also be read.
    """

    name: str
    path: str
    place: Path
    kind: str


@check()
def output_not_kept(subject: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """Output on a volume that is deleted with the Pod. Values: ``name``, ``path``, ``what`` is there."""
    for launch, where in trainings(subject.job):
        named = outputs_of(launch, where)
        outputs = [
            one
            for one in named
            if one.kind == "output"
            or (one.kind == "checkpoint" and _is_lost_checkpoint(launch, where, one, named))
        ]
        if not outputs or _uploads(launch):
            continue
        copied = _find_copied_paths(launch)
        for output in outputs:
            what = _goes_with_pod(where, output.path)
            if what and not copied.has(output.path):
                values = {"name": output.name, "path": output.path, "what": what}
                found = Violation(output.place, values, doc=launch.group.doc, group=launch.group)
                yield place_in_cr(subject.job, found, f"{output.name}=")


@check(aliases=("output-on-read-only",))
def output_on_read_only_mount(subject: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """Output to a read-only folder. Values: ``by``, ``path``, and ``what`` (the read-only part)."""
    for launch, where in trainings(subject.job):
        outputs = outputs_of(launch, where)
        for output in outputs:
            if output.kind != "checkpoint" or not _may_read(launch, output, outputs, where):
                for one in _iter_read_only_violations(
                    where, output.name, output.path, output.place, launch.group
                ):
                    yield place_in_cr(subject.job, one, f"{output.name}=")
    for group in subject.job.pods if not is_mode_enabled(subject.job, "debug") else ():
        for base, container in (*list_init_containers(group), *list_containers(group)):
            where = ContainerPath(group, base, container)
            for process in _list_processes(container):
                for shown, path in iter_written_paths(process):
                    mount = mount_of(container, path)
                    is_root = mount is not None and normpath(get_text(mount[1], "mountPath")) == path
                    is_made = process.name in ("mkdir", "touch") and mount is None  # write-to-read-only-root
                    if is_made or (process.name == "mkdir" and is_root and shown == path):
                        continue
                    if shown == path or not _has_mount_below(container, path):
                        place = below(base, process.place)
                        yield from _iter_read_only_violations(where, process.name, path, place, group, shown)


def _list_processes(container: Mapping[str, Any]) -> list[Process]:
    """Return the programs that a container and its hooks start, without those that may fail."""
    found = [
        process
        for command, process in programs_of(container)
        if command is None or command.operator_after != "||"
    ]
    lifecycle = get_mapping(container, "lifecycle")
    for name in ("postStart", "preStop") if lifecycle else ():
        words = [word for _, word in get_texts(get_mapping(get_mapping(lifecycle, name), "exec"), "command")]
        hook = build_words_process(words, ("lifecycle", name, "exec", "command"))
        found += [
            process
            for command, process in iter_programs(hook)
            if command is None or command.operator_after != "||"
        ]
    return found


def _has_mount_below(container: Mapping[str, Any], folder: str) -> bool:
    mounts = (get_text(mount, "mountPath") for _, mount in get_entries(container, "volumeMounts"))
    return any(mount.startswith(f"{folder}/") for mount in mounts)


def place_in_cr(job: LoweredJob, violation: Violation, text: str) -> Violation:
    """Place a violation at the word of a deepspeed line that contains a text, if there is one."""
    written = find_written_word(job, text) if "env" not in violation.path else None
    return violation if written is None else violation._replace(path=written, doc=job.cr)


def _iter_read_only_violations(
    where: ContainerPath, by: str, path: str, place: Path, group: ReplicaGroup, shown: str = ""
) -> Iterator[Violation]:
    found = _read_only(where, path)
    if found is not None:
        related = [(where.group.doc, found[1], found[0])]
        values = {"by": by, "path": shown or path, "what": found[0]}
        yield Violation(place, values, related, doc=group.doc, group=group)


def trainings(job: LoweredJob) -> Iterator[tuple[ContainerLaunch, ContainerPath]]:
    """Yield the programs that train, each with the container in which it runs.

    mpirun and horovodrun start theirs in the workers; without workers, in the Pod of the command.
    """
    if is_mode_enabled(job, "debug"):
        return
    worker = next((group for group in job.pods if group.replica_type.lower() == "worker"), None)
    found = find_training_container(worker) if worker is not None else None
    workers = ContainerPath(worker, *found) if worker is not None and found is not None else None
    for launch in find_launches(job):
        started_by = launch.invocation.started_by
        where: ContainerPath | None = ContainerPath(launch.group, launch.path, launch.container)
        if has_trait(job, "launcher-replica") or (started_by and has_trait(job, "mpirun-by-user")):
            where = workers
        elif started_by and len({group.replica_type for group in job.pods}) > 1:
            where = None  # a hostfile says where mpirun starts it
        is_reader = launch.invocation.program_word.base_name in _READERS
        if where is not None and not is_reader and launch.invocation.launcher not in _STARTING_OTHERS:
            yield launch, where


def written_paths(launch: ContainerLaunch) -> frozenset[str]:
    """Return the output and checkpoint paths in the options and variables of a training."""
    outputs = outputs_of(launch, ContainerPath(launch.group, launch.path, launch.container))
    return frozenset(output.path for output in outputs if output.kind != "log")


def outputs_of(launch: ContainerLaunch, where: ContainerPath) -> list[TrainingOutput]:
    """Return the outputs in the words of a program and the variables of its container."""
    outputs = []
    for name, value, word in named_values(launch):
        path = _absolute(name, value, where.container)
        kind = classify_output(name) if path else ""
        if kind:
            outputs.append(TrainingOutput(name, path, launch.locate_word(word), kind))
    for at, entry in get_entries(where.container, "env"):
        name = get_text(entry, "name")
        path = _absolute(name, get_text(entry, "value"), where.container)
        if path and name.isupper() and _VARIABLE.fullmatch(name.lower()):
            kind = "output" if _WRITTEN.fullmatch(name.lower()) else "checkpoint"
            outputs.append(TrainingOutput(name, path, (*where.base, "env", at, "value"), kind))
    return outputs


def named_values(launch: ContainerLaunch) -> Iterator[tuple[str, str, Word]]:
    """Yield the options of a command line, each with its value and the word of the value."""
    words = launch.invocation.words
    for at, first in enumerate(words):
        yield from _parse_option(first, words[at + 1 :])


def _parse_option(word: Word, rest: Sequence[Word]) -> Iterator[tuple[str, str, Word]]:
    """Yield the option of a word with its value, which is in the same word or in the next one."""
    option = _OPTION.fullmatch(word.text) or _HYDRA.fullmatch(word.text)
    if option is None:
        return
    if option[2] is not None:
        yield option[1], option[2] if word.is_known else "", word
    elif rest and rest[0].is_known and not rest[0].text.startswith("-"):
        yield option[1], rest[0].text, rest[0]


def classify_output(option: str) -> str:
    """Classify the name of an option: "output", "log", "checkpoint", or "" for others."""
    name = option.rpartition(".")[2].lower().replace("-", "_")
    if _READS.search(name):
        return ""
    if _LOGS.fullmatch(name):
        return "log"
    if _WRITTEN.fullmatch(name):
        return "output"
    return "checkpoint" if _CHECKPOINTS.fullmatch(name) else ""


def _absolute(name: str, value: str, container: Mapping[str, Any]) -> str:
    """Return the value of an option as an absolute path; "" if it is none, or its base is not known."""
    if "://" in value or "$" in value or "{" in value or not value:
        return ""
    if value.startswith("/"):
        return normpath(value)
    if "/" not in value and not _ENDS_AS_PATH.search(name):
        return ""
    folder = get_text(container, "workingDir")
    return normpath(f"{folder}/{value}") if folder.startswith("/") else ""


def _is_lost_checkpoint(
    launch: ContainerLaunch, where: ContainerPath, output: TrainingOutput, outputs: list[TrainingOutput]
) -> bool:
    """Whether a training certainly saves a checkpoint at a path where it finds none."""
    if mount_of(where.container, output.path) is None:
        return not _is_read_only_use(launch, output) and _saves_checkpoints(launch)
    return _is_empty(where, output) and not _may_read(launch, output, outputs, where)


def _saves_checkpoints(launch: ContainerLaunch) -> bool:
    """Whether options say how often a program saves checkpoints, or that it resumes from its last one."""
    for word, following in pairwise((*launch.invocation.words, None)):
        option = _OPTION.fullmatch(word.text) if word is not None else None
        if option is None:
            continue
        name = option[1].lower().replace("-", "_")
        value = option[2] if option[2] is not None else following.text if following is not None else ""
        is_flag = option[2] is None and (not value or value.startswith("-"))
        if _INTERVAL.fullmatch(name) or (_RESUME.fullmatch(name) and (is_flag or value.lower() in _LAST)):
            return True
    return False


def _is_empty(where: ContainerPath, output: TrainingOutput) -> bool:
    """Whether a path is on an emptyDir that no init container fills, so that nothing can be read there."""
    found = mount_of(where.container, output.path)
    if found is None:
        return False
    name = get_text(found[1], "name")
    folder = get_mapping(volume_of(where.group, name), "emptyDir")
    is_filled = any(
        get_text(mount, "name") == name
        for _, container in list_init_containers(where.group)
        for _, mount in get_entries(container, "volumeMounts")
    )
    is_disk = "emptyDir" in volume_of(where.group, name) and get_text(folder, "medium") != "Memory"
    return is_disk and not is_filled


def _may_read(
    launch: ContainerLaunch, output: TrainingOutput, outputs: list[TrainingOutput], where: ContainerPath
) -> bool:
    """Whether checkpoints at a path may be input: of an evaluation, a file, or with output elsewhere."""
    return _is_read_only_use(launch, output) or any(
        one is not output and one.kind != "log" and _read_only(where, one.path) is None for one in outputs
    )


def _is_read_only_use(launch: ContainerLaunch, output: TrainingOutput) -> bool:
    """Whether a path may only be read: a file, or of an evaluation."""
    script = launch.invocation.script
    is_reading = script is None or _READING_SCRIPT.search(script.base_name.lower()) is not None
    return is_reading or _FILE.fullmatch(output.path) is not None


def mount_of(container: Mapping[str, Any], path: str) -> tuple[int, Mapping[str, Any]] | None:
    """Return the mount that contains a path, and its index."""
    found: tuple[int, Mapping[str, Any]] | None = None
    longest = -1
    for at, mount in get_entries(container, "volumeMounts"):
        where = normpath(get_text(mount, "mountPath") or ".").rstrip("/")
        if (path == where or path.startswith(f"{where}/")) and len(where) > longest:
            found, longest = (at, mount), len(where)
    return found


def volume_of(group: ReplicaGroup, name: str) -> Mapping[str, Any]:
    volumes = get_entries(get_mapping(group.doc.data, "spec"), "volumes")
    return next((volume for _, volume in volumes if get_text(volume, "name") == name), {})


def _goes_with_pod(where: ContainerPath, path: str) -> str:
    """Describe the volume of a path if it is deleted with the Pod; "" if it may be kept."""
    found = mount_of(where.container, path)
    if found is None:
        return "the file system of the container"
    name = get_text(found[1], "name")
    shared = any(
        get_text(mount, "name") == name
        for base, container in (*list_containers(where.group), *list_init_containers(where.group))
        if base != where.base and (base[1] == "containers" or container.get("restartPolicy") == "Always")
        for _, mount in get_entries(container, "volumeMounts")
    )
    return f'the emptyDir "{name}"' if "emptyDir" in volume_of(where.group, name) and not shared else ""


def _read_only(where: ContainerPath, path: str) -> tuple[str, Path] | None:
    """Return why a path is read-only, and the path in the Pod that states it; None if it is writable."""
    found = mount_of(where.container, path)
    if found is None:
        context = get_mapping(where.container, "securityContext")
        at: Path = (*where.base, "securityContext", "readOnlyRootFilesystem")
        is_read_only = context.get("readOnlyRootFilesystem") is True
        return ("the file system of the container is read-only", at) if is_read_only else None
    number, mount = found
    name, base = get_text(mount, "name"), (*where.base, "volumeMounts", number)
    shown = f"{get_text(mount, 'mountPath')} is mounted read-only"
    if mount.get("readOnly") is True:
        return shown, (*base, "readOnly")
    volume = volume_of(where.group, name)
    if get_mapping(volume, "persistentVolumeClaim").get("readOnly") is True:
        return shown, (*base, "name")
    source = next((kind for kind in _ALWAYS_READ_ONLY if kind in volume), "")
    return (
        (f"{get_text(mount, 'mountPath')} is a {source} volume, which is read-only", (*base, "name"))
        if source
        else None
    )


def _uploads(launch: ContainerLaunch) -> bool:
    """Whether a program may upload its output itself."""
    names = (get_text(entry, "name") for _, entry in get_entries(launch.container, "env"))
    return any(_UPLOADS.search(word.text) for word in launch.invocation.words) or any(
        map(_STORAGE.match, names)
    )


class CopiedPaths(NamedTuple):
    """Paths in other commands, and their parent folders."""

    paths: frozenset[str]
    above: frozenset[str]

    def has(self, path: str) -> bool:
        """Whether a path, a parent folder, or something below it is among them."""
        return path in self.above or not self.paths.isdisjoint(_folders(path))


def _find_copied_paths(launch: ContainerLaunch) -> CopiedPaths:
    """Return the paths in the other commands of the container and its hook."""
    own = [word.text for word in launch.invocation.words]
    words: list[str] = []
    for _, process in programs_of(launch.container):
        texts_ = [word.text for word in process.words]
        if process.name not in _NO_COPY and texts_[-len(own) :] != own:
            words += texts_
    words += [word for _, word in get_texts(_pre_stop(launch.container), "command")]
    paths = frozenset(found for word in words for found in _PATH.findall(word))
    return CopiedPaths(paths, frozenset(folder for path in paths for folder in _folders(path)))


def _folders(path: str) -> list[str]:
    """Return a path and its parent folders, up to DEEPEST steps from the root."""
    steps = path.strip("/").split("/")[:DEEPEST]
    return [path, *("/" + "/".join(steps[:end]) for end in range(1, len(steps)))]


def _pre_stop(container: Mapping[str, Any]) -> Mapping[str, Any]:
    return get_mapping(get_mapping(get_mapping(container, "lifecycle"), "preStop"), "exec")


def _extracts(words: Sequence[str]) -> bool:
    """Whether tar extracts; its first word may be options without a dash."""
    return any(map(_EXTRACTS.fullmatch, words)) or _EXTRACTS.fullmatch(f"-{words[0]}") is not None


def iter_written_paths(process: Process) -> Iterator[tuple[str, str]]:
    """Yield the paths that a command certainly writes to, as written and as far as they are known."""
    arguments = process.words[1:]
    words = [word.text if word.is_known else "" for word in arguments]
    shown = [word.text for word in arguments]
    plain = [word for word in shown if not word.startswith("-")]
    options: tuple[str, ...] = ()
    paths: list[str] = []
    takes_last = process.name in _INTO_LAST and len(plain) > 1 and "-t" not in words
    if process.name in _INTO_ALL:
        paths = plain
    elif process.name == "mkdir":
        paths = [word for at, word in enumerate(shown) if at == 0 or shown[at - 1] not in ("-m", "--mode")]
    elif takes_last or (process.name == "git" and "clone" in plain and len(plain) > 2):
        paths = plain[-1:]
    elif process.name == "tar" and _extracts(words):
        options = ("-C", "--directory")
    elif process.name in _HAS_COMMANDS and not _COMMANDS.isdisjoint(words):
        paths = plain[-1:] if len(plain) > 2 else []
    else:
        options = _INTO_OPTION.get(process.name, ())
    paths += [after for word, after in pairwise(shown) if word in options]
    for written in paths:
        known = written.partition("$")[0]
        path = normpath(known if known == written else known.rpartition("/")[0] or "/")
        if written.startswith("/") and path != "/":
            yield written if known != written else path, path
