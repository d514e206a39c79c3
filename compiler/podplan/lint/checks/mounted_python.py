"""Python scripts in ConfigMaps of the repository, compared with the containers that run them.

Sources: https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading (workers share memory),
https://www.tensorflow.org/tutorials/distribute/multi_worker_with_keras#model_saving_and_loading (each worker
saves to a folder of its own), https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html#save-and-load-checkpoints
(one process saves).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from posixpath import normpath

from podplan.core.findings import Path, TextPath
from podplan.core.provenance import TracedDocument
from podplan.core.typing import NamedTuple
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.analysis.cross_job import RebuildJob
from podplan.lint.analysis.jobs import (
    has_isolated_replicas,
    has_trait,
    is_mode_enabled,
    list_replica_places,
    namespace_of,
)
from podplan.lint.analysis.launches import ContainerLaunch, find_launches
from podplan.lint.analysis.mounted_scripts import find_mounted_key
from podplan.lint.analysis.python_code import PythonScript, read_script
from podplan.lint.analysis.resources import find_training_container
from podplan.lint.checks.outputs import mount_of, volume_of
from podplan.lint.checks.registration import check
from podplan.lint.checks.shared_memory import explain_shm_need, find_shm_mount
from podplan.lint.target import LoweredJob, Violation

_ENDING = ".py"
_LOADERS = ("DataLoader", "StatefulDataLoader")
_ARGUMENTS = ("Arguments", "Config")  # endings of classes of transformers and TRL
_SHARED_VOLUMES = ("persistentVolumeClaim", "nfs", "cephfs", "hostPath")
_TENSORFLOW = "MultiWorkerMirroredStrategy"
_TORCH = ("init_process_group", "DistributedDataParallel")


class ScriptSummary(NamedTuple):
    """The mounted scripts that a job runs, each a ConfigMap and its key, or the scripts of a ConfigMap."""

    namespace: str
    scripts: tuple[tuple[str, str], ...]
    is_job: bool

    @property
    def keys(self) -> list[Hashable]:
        return [(self.namespace, *script) for script in self.scripts]

    @property
    def owner(self) -> Hashable:
        return "job" if self.is_job else "config"


class ScriptRun(NamedTuple):
    """A job that runs a script of a ConfigMap: its number, the launch, and the text at the key."""

    number: int
    job: LoweredJob
    launch: ContainerLaunch
    config: TracedDocument
    key: str
    text: str
    script: PythonScript

    def locate_call(self, span: tuple[int, int]) -> Path:
        return TextPath(("data", self.key), span)


def summarize_scripts(job: LoweredJob) -> ScriptSummary | None:
    """Summarize a job by the scripts that it runs from ConfigMaps, a ConfigMap by its scripts."""
    if job.cr is not None:
        runs = tuple(dict.fromkeys(source for _, source in _iter_launches(job)))
        return ScriptSummary(namespace_of(job), runs, True) if runs else None
    data = job.groups[0].doc.data
    metadata = get_mapping(data, "metadata")
    if get_text(data, "kind") != "ConfigMap":
        return None
    name = get_text(metadata, "name")
    scripts = tuple((name, str(key)) for key in get_mapping(data, "data") if str(key).endswith(_ENDING))
    return ScriptSummary(get_text(metadata, "namespace"), scripts, False) if name and scripts else None


def _iter_launches(job: LoweredJob) -> Iterator[tuple[ContainerLaunch, tuple[str, str]]]:
    """Yield the launches of mounted scripts, each with the ConfigMap and its key."""
    if is_mode_enabled(job, "debug"):
        return
    for launch in find_launches(job):
        script = launch.invocation.script
        if script is None or launch.is_launcher or launch.invocation.is_conditional or not script.is_known:
            continue
        path = normpath(f"{get_text(launch.container, 'workingDir')}/{script.text}")
        if script.text.startswith("/"):
            path = normpath(script.text)
        source = find_mounted_key(get_mapping(launch.group.doc.data, "spec"), launch.container, path)
        if source is not None and source.key.endswith(_ENDING):
            yield launch, (source.config_map, source.key)


def _iter_runs(summaries: Mapping[int, ScriptSummary], rebuild_job: RebuildJob) -> Iterator[ScriptRun]:
    configs: dict[tuple[str, str, str], list[int]] = {}
    for number, one in summaries.items():
        for name, key in one.scripts if not one.is_job else ():
            configs.setdefault((one.namespace, name, key), []).append(number)
    for number, one in summaries.items():
        if not one.is_job or not any((one.namespace, *script) in configs for script in one.scripts):
            continue
        job = rebuild_job(number)
        read: dict[tuple[str, str], PythonScript | None] = {}
        for launch, source in _iter_launches(job):
            offered = configs.get((one.namespace, *source), [])
            if len(offered) != 1:
                continue
            config = rebuild_job(offered[0]).groups[0].doc
            text = get_text(get_mapping(config.data, "data"), source[1])
            if source not in read:
                read[source] = read_script(text)
            script = read[source]
            if script is not None:
                yield ScriptRun(number, job, launch, config, source[1], text, script)


@check(summarize=summarize_scripts)
def loaders_of_script_without_memory(
    summaries: Mapping[int, ScriptSummary], rebuild_job: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """Data loaders of a script in a container with the default /dev/shm.

    Values: ``script``, ``number``, ``name``.
    """
    reported: set[tuple[int, str]] = set()
    for run in _iter_runs(summaries, rebuild_job):
        found = _find_loaders(run.script)
        group = run.launch.group
        if found is None or (run.number, group.replica_type) in reported or not _has_small_memory(run):
            continue
        reported.add((run.number, group.replica_type))
        number, span = found
        values = {"script": run.key, "number": number, "name": get_text(run.launch.container, "name")}
        related = [(run.config, run.locate_call(span), "its data loaders")]
        word = run.launch.invocation.script or run.launch.invocation.program_word
        place = run.launch.locate_word(word)
        yield run.number, Violation(place, values, related, doc=group.doc, group=group)


def _find_loaders(script: PythonScript) -> tuple[int, tuple[int, int]] | None:
    """Return the number of worker processes of the first data loader with some, and its place."""
    for call in script.calls:
        for keyword in call.node.keywords:
            is_loader = keyword.arg == "num_workers" and call.name in _LOADERS
            is_trainer = keyword.arg == "dataloader_num_workers" and call.name.endswith(_ARGUMENTS)
            number = script.find_value(keyword.value) if is_loader or is_trainer else None
            if type(number) is int and number > 0:
                return number, call.span
    return None


def _has_small_memory(run: ScriptRun) -> bool:
    """Whether a container has the default /dev/shm, and its command line does not tell that it needs more."""
    job, group = run.job, run.launch.group
    training = find_training_container(group)
    spec = get_mapping(group.doc.data, "spec")
    if spec.get("hostIPC") is True or has_trait(job, "shm-by-controller"):
        return False
    is_training = training is not None and training[0] == run.launch.path
    if not is_training or explain_shm_need(job, group, run.launch.container) is not None:
        return False
    return find_shm_mount(group, run.launch.container) is None


@check(summarize=summarize_scripts)
def script_writes_one_file(
    summaries: Mapping[int, ScriptSummary], rebuild_job: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A file that each replica of a job saves. Values: ``script``, ``path``, ``pods``."""
    runs: dict[tuple[int, str], list[ScriptRun]] = {}
    for run in _iter_runs(summaries, rebuild_job):
        if not has_isolated_replicas(run.job):
            runs.setdefault((run.number, run.key), []).append(run)
    for (number, key), same in runs.items():
        run = same[0]
        pods = sum(each.launch.group.replicas for each in same)
        saved = _find_saved_path(run) if pods > 1 else None
        if saved is None or not all(_is_shared(each.launch, saved[0]) for each in same):
            continue
        values = {"script": key, "path": saved[0], "pods": pods}
        related = [(run.config, run.locate_call(saved[1]), "each of them saves")]
        related += list_replica_places(run.job)
        word = run.launch.invocation.script or run.launch.invocation.program_word
        group = run.launch.group
        place = run.launch.locate_word(word)
        yield number, Violation(place, values, related, doc=group.doc, group=group)


def _find_saved_path(run: ScriptRun) -> tuple[str, tuple[int, int]] | None:
    """Return the file that each process of a script saves, and the place of the call."""
    for call in run.script.calls:
        arguments = call.node.args
        if not call.is_certain:
            continue
        at = -1
        if _TENSORFLOW in run.text:
            is_saved_model = call.module.endswith("saved_model") and call.name == "save"
            is_of_model = call.name in ("save", "save_weights", "export") and "model" in call.module.lower()
            at = 1 if is_saved_model else 0 if is_of_model else -1
        elif any(word in run.text for word in _TORCH) and (call.module, call.name) == ("torch", "save"):
            at = 1
        path = run.script.find_value(arguments[at]) if 0 <= at < len(arguments) else None
        if isinstance(path, str) and path.startswith("/"):
            return normpath(path), call.span
    return None


def _is_shared(launch: ContainerLaunch, path: str) -> bool:
    """Whether all replicas share the files at a path."""
    found = mount_of(launch.container, path)
    if found is None or "subPathExpr" in found[1]:
        return False
    volume = volume_of(launch.group, get_text(found[1], "name"))
    return any(kind in volume for kind in _SHARED_VOLUMES)
