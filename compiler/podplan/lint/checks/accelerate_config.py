"""The configuration file of accelerate, where it is a ConfigMap or a script writes it.

Sources: docs/evidence/accelerate.md,
https://github.com/huggingface/accelerate/blob/v1.10.0/src/accelerate/commands/config/config_args.py,
https://github.com/huggingface/accelerate/blob/v1.10.0/src/accelerate/utils/dataclasses.py (enumerations, and
FullyShardedDataParallelPlugin for cpu_ram_efficient_loading).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.findings import Path, TextPath
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any, NamedTuple
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.launchers.commands import AccelerateCommand
from podplan.lint.analysis.jobs import count_gpus, find_gpu_path, is_mode_enabled, list_replica_places
from podplan.lint.analysis.launches import ContainerLaunch, find_launches
from podplan.lint.analysis.mounted_scripts import find_mounted_key
from podplan.lint.analysis.script_files import list_written_files
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

_LINE = compile_lazily(
    r"(?m)^[ \t]*[\"']?(\w+)[\"']?[ \t]*:[ \t]*"
    r"(?:\"([^\"\n]*)\"|'([^'\n]*)'|([^\s#\"',{\[][^#\n,]*?))[ \t]*,?[ \t]*(?:#.*)?$"
)
_MOST_TEXT = 20_000
_CHOICES = {
    "compute_environment": "LOCAL_MACHINE AMAZON_SAGEMAKER",
    "mixed_precision": "no fp16 bf16 fp8",
    "distributed_type": (
        "NO MULTI_CPU MULTI_GPU MULTI_NPU MULTI_MLU MULTI_SDAA MULTI_MUSA MULTI_HPU MULTI_XPU MULTI_NEURON"
        " DEEPSPEED FSDP XLA TPU MEGATRON_LM"
    ),
    "fsdp_sharding_strategy": "FULL_SHARD SHARD_GRAD_OP NO_SHARD HYBRID_SHARD HYBRID_SHARD_ZERO2 1 2 3 4 5",
    "fsdp_state_dict_type": "FULL_STATE_DICT LOCAL_STATE_DICT SHARDED_STATE_DICT",
    "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP SIZE_BASED_WRAP NO_WRAP",
    "fsdp_backward_prefetch": "BACKWARD_PRE BACKWARD_POST NO_PREFETCH",
    "fsdp_backward_prefetch_policy": "BACKWARD_PRE BACKWARD_POST NO_PREFETCH",
    "rdzv_backend": "static c10d etcd etcd-v2",
    "zero_stage": "0 1 2 3",
}
_SECTIONS = {"fsdp_config": "FSDP", "deepspeed_config": "DEEPSPEED", "megatron_lm_config": "MEGATRON_LM"}
_SECTION = compile_lazily(
    r"(?m)^[\"']?(fsdp_config|deepspeed_config|megatron_lm_config)[\"']?[ \t]*:[ \t]*\n[ \t]+\S"
)
_LOCAL = frozenset(("localhost", "127.0.0.1", "0.0.0.0", "::1"))


class ConfigurationSetting(NamedTuple):
    """A value of the configuration, and the offsets of its line in the text."""

    value: str
    span: tuple[int, int]

    @property
    def number(self) -> int | None:
        return int(self.value) if self.value.isdecimal() and len(self.value) < 7 else None

    @property
    def is_on(self) -> bool:
        return self.value.lower() in ("true", "yes", "1", "on")


class AccelerateConfiguration(NamedTuple):
    """The configuration that a launch reads: its settings, and where its text is."""

    launch: ContainerLaunch
    command: AccelerateCommand
    settings: Mapping[str, ConfigurationSetting]
    sections: tuple[tuple[str, tuple[int, int]], ...]
    doc: TracedDocument
    path: Path
    start: int

    def locate(self, span: tuple[int, int]) -> Path:
        return TextPath(self.path, (self.start + span[0], self.start + span[1]))


@check()
def accelerate_configuration(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A setting in the configuration of accelerate that contradicts the job or itself. Values: ``setting``,
    ``why``."""
    job = target.job
    if is_mode_enabled(job, "debug"):
        return
    launches = find_launches(job)
    pods = sum(launch.group.replicas for launch in launches if launch.invocation.launcher == "accelerate")
    seen: set[int] = set()
    for launch in launches:
        configuration = _find_configuration(job, launch)
        if configuration is None or launch.invocation.is_conditional:
            continue
        for name, why, related in _iter_mistakes(job, configuration, pods):
            options = configuration.command.command_line.options
            option = options["config_file"]
            places = [(launch.group.doc, launch.locate_word(option.word), "reads it"), *related]
            if name.startswith("--"):  # an option, together with the rest of the configuration
                word = options[name[2:]].word
                values = {"setting": f"{name} {options[name[2:]].value}", "why": why}
                yield Violation(
                    launch.locate_word(word), values, related, doc=launch.group.doc, group=launch.group
                )
                continue
            span = configuration.settings[name].span
            if hash(span) in seen:
                continue
            seen.add(hash(span))
            value = f": {configuration.settings[name].value}"
            group = launch.group if configuration.doc is launch.group.doc else None
            values = {"setting": f"{name}{value}", "why": why}
            yield Violation(configuration.locate(span), values, places, doc=configuration.doc, group=group)


def _find_configuration(job: LoweredJob, launch: ContainerLaunch) -> AccelerateConfiguration | None:
    command = launch.invocation.parsed
    if (
        not isinstance(command, AccelerateCommand)
        or not command.config_file
        or not command.command_line.is_certain
        or not command.config_file.startswith("/")
    ):
        return None
    path = normpath(command.config_file)
    found: tuple[TracedDocument, Path, str, int] | None = None
    mounted = find_mounted_key(get_mapping(launch.group.doc.data, "spec"), launch.container, path)
    if mounted is not None:
        for reference in job.references.values():
            data = reference.doc.data
            if (
                data.get("kind") == "ConfigMap"
                and get_mapping(data, "metadata").get("name") == mounted.config_map
            ):
                text = get_text(get_mapping(data, "data"), mounted.key)
                found = reference.doc, ("data", mounted.key), text, 0
    else:
        for file in list_written_files(launch.container):
            if file.path == path:
                found = launch.group.doc, (*launch.path, *file.place), file.text, file.start
    if found is None or not found[2] or len(found[2]) > _MOST_TEXT or "{{" in found[2] or "$" in found[2]:
        return None
    settings = {
        one[1]: ConfigurationSetting((one[2] or one[3] or one[4] or "").strip(), one.span())
        for one in _LINE.finditer(found[2])
    }
    sections = tuple((one[1], one.span(1)) for one in _SECTION.finditer(found[2]))
    return AccelerateConfiguration(launch, command, settings, sections, found[0], found[1], found[3])


def _iter_mistakes(
    job: LoweredJob, configuration: AccelerateConfiguration, pods: int
) -> Iterator[tuple[str, str, list[tuple[TracedDocument, Path, str]]]]:
    """Yield the names of wrong settings, the reason, and related places."""
    settings, command = configuration.settings, configuration.command
    options = command.command_line.options
    for name, choices in _CHOICES.items():
        setting = settings.get(name)
        if setting is None or name in options:
            continue
        known = choices.split()
        if setting.value.upper() not in (one.upper() for one in known) and setting.value not in (
            "null",
            "~",
            "",
        ):
            if name == "mixed_precision" and setting.value.lower() == "false":
                continue  # no, as YAML reads it
            yield name, f"accelerate knows {', '.join(known)}", []
    yield from _iter_own_contradictions(configuration)
    yield from _iter_counts(job, configuration, pods)


def _iter_own_contradictions(
    configuration: AccelerateConfiguration,
) -> Iterator[tuple[str, str, list[tuple[TracedDocument, Path, str]]]]:
    settings, flags = configuration.settings, configuration.command.flags
    kind = settings.get("distributed_type")
    is_chosen_by_flag = not flags.isdisjoint(("multi_gpu", "use_fsdp", "use_deepspeed", "cpu", "tpu"))
    if kind is not None and not is_chosen_by_flag:
        for section, _ in configuration.sections:
            needed = _SECTIONS[section]
            if (
                kind.value.upper() in ("FSDP", "DEEPSPEED", "MULTI_GPU", "MEGATRON_LM")
                and kind.value.upper() != needed
            ):
                sections = {name for name, _ in configuration.sections}
                if kind.value.upper() not in {_SECTIONS[name] for name in sections}:
                    yield (
                        "distributed_type",
                        f"accelerate reads {section} only with {needed}",
                        [
                            (
                                configuration.doc,
                                configuration.locate(dict(configuration.sections)[section]),
                                "not read",
                            )
                        ],
                    )
                    break
        processes = settings.get("num_processes")
        is_single = kind.value.upper() in ("NO", "FALSE") and configuration.command.processes is None
        if is_single and processes is not None and (processes.number or 1) > 1:
            yield (
                "distributed_type",
                f"accelerate starts one process, not {processes.value}",
                [(configuration.doc, configuration.locate(processes.span), "the number of processes")],
            )
    loading, sync = settings.get("fsdp_cpu_ram_efficient_loading"), settings.get("fsdp_sync_module_states")
    if loading is not None and sync is not None and loading.is_on and not sync.is_on:
        place = [(configuration.doc, configuration.locate(loading.span), "needs it")]
        yield "fsdp_sync_module_states", "accelerate refuses fsdp_cpu_ram_efficient_loading without it", place


def _iter_counts(
    job: LoweredJob, configuration: AccelerateConfiguration, pods: int
) -> Iterator[tuple[str, str, list[tuple[TracedDocument, Path, str]]]]:
    settings, command, launch = configuration.settings, configuration.command, configuration.launch
    options, group = command.command_line.options, launch.group
    machines = settings.get("num_machines")
    stated = (
        command.machines if "num_machines" in options else (machines.number if machines is not None else 1)
    )
    is_alone = stated == 1 and pods > 1
    if machines is not None and "num_machines" not in options and machines.number not in (None, pods):
        yield (
            "num_machines",
            f"the job starts accelerate in {format_count(pods, 'Pod')}",
            list_replica_places(job),
        )
        return
    gpus = count_gpus(group)
    gpu_path = find_gpu_path(group)
    place = [(group.doc, gpu_path, f"{gpus} GPUs")] if gpu_path is not None else []
    cpu = settings.get("use_cpu")
    if cpu is not None and cpu.is_on and gpus and "cpu" not in command.flags:
        yield "use_cpu", "the job has GPUs, which no process uses", place
        return
    processes = settings.get("num_processes")
    total = gpus * (1 if is_alone else pods)
    kind = settings.get("distributed_type")
    counts = kind is None or kind.value.upper() in ("FSDP", "DEEPSPEED", "MULTI_GPU", "MEGATRON_LM")
    if processes is not None and "num_processes" not in options and counts and gpus:
        number = processes.number
        if number is not None and number != total and number > 1:
            yield (
                "num_processes",
                f"it counts all machines, which have {format_count(total, 'GPU')}",
                [*place, *list_replica_places(job)],
            )
    if "num_processes" in options and "num_machines" not in options and gpus and machines is not None:
        given = command.processes
        if given is not None and given > 1 and given != total:
            related = [
                (configuration.doc, configuration.locate(machines.span), "the machines"),
                *place,
            ]
            yield (
                "--num_processes",
                f"it counts all machines, which have {format_count(total, 'GPU')}",
                related,
            )
    listed = settings.get("gpu_ids")
    if (
        listed is not None
        and "gpu_ids" not in options
        and gpus
        and listed.value.lower() not in ("all", "null", "")
    ):
        number = len([one for one in listed.value.split(",") if one.strip()])
        if number < gpus and (processes is None or (processes.number or 0) > number * pods):
            yield "gpu_ids", f"each machine has {gpus} GPUs, and processes for all of them", place
    if pods < 2 or is_alone:
        return
    rank = settings.get("machine_rank")
    backend = settings.get("rdzv_backend")
    is_static = (backend is None or backend.value == "static") and "rdzv_backend" not in options
    is_fixed = rank is not None and rank.number is not None and "machine_rank" not in options
    if is_fixed and is_static and group.replicas > 1:
        yield "machine_rank", f"all {pods} machines have this rank", list_replica_places(job)
    host = settings.get("main_process_ip")
    if host is None and machines is not None and "main_process_ip" not in options and is_static:
        yield "num_machines", "no main_process_ip is given, so that each machine takes 127.0.0.1", []
    if host is not None and "main_process_ip" not in options and host.value.lower() in _LOCAL:
        yield "main_process_ip", "each machine means itself by it", list_replica_places(job)
