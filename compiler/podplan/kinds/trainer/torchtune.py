"""The command line of torchtune, where the command of a TrainJob is exactly ``tune run``.

Source: docs/evidence/trainer.md#torchtune.
"""

from __future__ import annotations

from podplan.core.provenance import Cursor, attribute_to
from podplan.core.typing import Any
from podplan.kinds.trainer import behaviors
from podplan.kinds.trainer.job import TrainJob
from podplan.kinds.trainer.job_set_template import NODE, PORT, TRAINER_STEP, Job, TracedMap
from podplan.kinds.trainer.processes import count_gpus, resolve_torch_processes

COMMAND = ["tune", "run"]
# What is kept of the command line of the runtime, by how a word begins.
_KEPT_PREFIXES = ("output_dir", "tokenizer", "checkpointer")
_FAMILIES = {"llama3.2": "llama3_2", "llama3.3": "llama3_3", "qwen2.5": "qwen2_5"}


def is_torchtune(train_job: TrainJob) -> bool:
    """Whether Trainer completes the command line."""
    return bool(train_job.trainer.get("command").value == COMMAND)


def build_command(train_job: TrainJob, job: Job) -> Job:
    """The job of the trainer with the complete command line."""
    if job.ancestor != TRAINER_STEP:
        return job
    command = train_job.trainer.get("command")

    def change(fields: TracedMap) -> TracedMap:
        words = [*COMMAND, *_build_words(train_job, job)]
        return {**fields, "command": attribute_to((command, behaviors.TUNE), words)}

    return job.map_containers(NODE, change)


def _build_words(train_job: TrainJob, job: Job) -> list[str]:
    processes, _ = resolve_torch_processes(train_job, job)
    gpus, _ = count_gpus(train_job, job)
    is_single = job.nodes.value == 1 and (processes == "1" or (processes == "auto" and gpus == 1))
    adapter = _find_adapter(train_job.trainer.get("args"))
    words: list[str] = [] if is_single else [f"--rdzv_endpoint={train_job.coordinator}:{PORT}"]
    method = "lora_finetune" if adapter else "full_finetune"
    recipe = f"{method}_single_device" if is_single else f"{method}_distributed"
    suffix = f"_{adapter or 'full'}"
    if is_single:
        suffix += "_single_device"
    elif job.nodes.value > 1:
        suffix += "_multinode"
    return [*words, recipe, "--config", f"{_name_model(train_job)}{suffix}", *_list_kept_words(job)]


def _find_adapter(args: Cursor) -> str:
    """lora or qlora, if the arguments choose a model with adapters."""
    for word in args.value_or([]):
        if isinstance(word, str) and word.startswith("model="):
            return "qlora" if ".qlora" in word else "lora" if ".lora" in word else ""
    return ""


def _name_model(train_job: TrainJob) -> str:
    """The model as torchtune calls it, from the name of the runtime, such as torchtune-llama3.2-1b."""
    name = str(train_job.runtime.get("metadata", "name").value_or(""))
    _, _, model = name.partition("-")
    family, _, size = model.rpartition("-")
    return f"{_FAMILIES.get(family, family)}/{size.upper()}"


def _list_kept_words(job: Job) -> list[Any]:
    container = job.entry.get("template", "spec", "template", "spec", "containers").entries()
    words: list[Any] = next(
        (one.get("command").value_or([]) for one in container if one.get("name").value == NODE), []
    )
    return [word for word in words if isinstance(word, str) and word.startswith(_KEPT_PREFIXES)]
