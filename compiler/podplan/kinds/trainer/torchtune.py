"""The command line of torchtune, where the command of a TrainJob is exactly ``tune run``.

Source: docs/evidence/trainer.md#torchtune.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, attribute_to
from podplan.core.typing import Any
from podplan.kinds.trainer import behaviors
from podplan.kinds.trainer.job import TrainJob
from podplan.kinds.trainer.job_set_template import NODE, PORT, TRAINER_STEP, TemplateJob, TracedMap
from podplan.kinds.trainer.processes import count_gpus, resolve_torch_processes

COMMAND = ["tune", "run"]
# The arguments that the runtime states, and the job cannot.
_RUNTIME_ARGUMENTS = ("output_dir", "tokenizer.path", "tokenizer.merges_file", "checkpointer.checkpoint_dir")
_LORA, _QLORA, _DORA = "model.lora_attn_modules", "model.quantize_base", "model.use_dora"
_MULTI_NODE_MODEL = "llama3_3/70B"
_SMALL_MODELS = ("llama3_2/1B", "llama3_2/3B")
_WITHOUT_QLORA = "qwen2_5/1.5B"
_MODELS = (*_SMALL_MODELS, _MULTI_NODE_MODEL, _WITHOUT_QLORA)
_WEBHOOK = "the webhook of Trainer refuses it"


def is_torchtune(train_job: TrainJob) -> bool:
    """Whether Trainer completes the command line."""
    return bool(train_job.trainer.get("command").value == COMMAND)


def build_command(train_job: TrainJob, job: TemplateJob) -> TemplateJob:
    """The job of the trainer with the complete command line."""
    if job.ancestor != TRAINER_STEP:
        return job
    command = train_job.trainer.get("command")

    def change(fields: TracedMap) -> TracedMap:
        words = [*COMMAND, *_build_words(train_job, job)]
        behavior = behaviors.TUNE_ADAPTER if _find_adapter(train_job) else behaviors.TUNE
        return {**fields, "command": attribute_to((command, behavior), words)}

    return job.map_containers(NODE, change)


def _build_words(train_job: TrainJob, job: TemplateJob) -> list[str]:
    processes, _ = resolve_torch_processes(train_job, job)
    gpus, _ = count_gpus(train_job, job)
    is_alone = job.nodes.value <= 1 and (int(processes) <= 1 if _is_number(processes) else gpus <= 1)
    words: list[str] = [] if is_alone else [f"--rdzv_endpoint={train_job.coordinator}:{PORT}"]
    recipe, suffix = _choose_recipe(train_job, job)
    config = f"{_name_model(train_job)}_{suffix}"
    return [*words, recipe, "--config", config, *_list_kept_words(job)]


def _choose_recipe(train_job: TrainJob, job: TemplateJob) -> tuple[str, str]:
    """The recipe, and how the name of its configuration ends."""
    processes, _ = resolve_torch_processes(train_job, job)
    gpus, _ = count_gpus(train_job, job)
    if job.nodes.value != 1:
        return "full_finetune_distributed", "full_multinode" if job.nodes.value > 1 else "full"
    adapter = _find_adapter(train_job)
    method = "lora_finetune" if adapter else "full_finetune"
    if processes == "1" or gpus == 1:
        return f"{method}_single_device", f"{adapter or 'full'}_single_device"
    return f"{method}_distributed", adapter or "full"


def _is_number(processes: str) -> bool:
    return processes.removeprefix("-").isdecimal()


def _find_adapter(train_job: TrainJob) -> str:
    """qlora or lora, if the arguments turn one on."""
    args = [one for one in train_job.trainer.get("args").value_or([]) if isinstance(one, str)]

    def is_on(name: str) -> bool:
        if not train_job.version.reads_values:
            return any(name in one for one in args)
        pairs = (one.partition("=") for one in args)
        return any(name in key and value.strip().lower() == "true" for key, _, value in pairs)

    if is_on(_QLORA) and not is_on(_DORA):
        return "qlora"
    return "lora" if any(_LORA in one for one in args) else ""


def _name_model(train_job: TrainJob) -> str:
    """The model as torchtune calls it, from the name of the runtime, such as torchtune-llama3.2-1b."""
    words = str(train_job.runtime.get("metadata", "name").value_or("")).split("-")
    return f"{words[1].replace('.', '_')}/{words[2].upper()}" if len(words) == 3 else ""


def _list_kept_words(job: TemplateJob) -> list[Any]:
    container = job.entry.get("template", "spec", "template", "spec", "containers").entries()
    words: list[Any] = next(
        (one.get("command").value_or([]) for one in container if one.get("name").value == NODE), []
    )
    return [word for word in words if isinstance(word, str) and word.split("=")[0] in _RUNTIME_ARGUMENTS]


def validate_torchtune(train_job: TrainJob, job: TemplateJob) -> Iterator[Diagnostic]:
    """The problems of a TrainJob that runs torchtune."""
    model, trainer = _name_model(train_job), train_job.trainer
    runtime_name: tuple[str, ...] = ("spec", "runtimeRef", "name")
    if model not in _MODELS:
        message = f"Trainer knows no model for torchtune by the name of this runtime; {_WEBHOOK}"
        yield Diagnostic("SCHEMA004", message, runtime_name)
    nodes, adapter = trainer.get("numNodes"), _find_adapter(train_job)
    if nodes.value_or(1) > 1 and model != _MULTI_NODE_MODEL:
        yield Diagnostic("SCHEMA005", f"torchtune trains {model} on 1 node only; {_WEBHOOK}", nodes.path)
    if nodes.value_or(1) <= 1 and adapter == "qlora":
        yield from _validate_qlora(train_job, job, model)
    if not train_job.version.reads_values:
        return
    if nodes.value_or(1) > 1 and adapter:
        yield Diagnostic(
            "SCHEMA009", f"torchtune trains LoRA adapters on 1 node only; {_WEBHOOK}", nodes.path
        )
    for word in trainer.get("args").entries():
        name = str(word.value).partition("=")[0]
        if name in _RUNTIME_ARGUMENTS:
            message = f"the runtime states {name}, and the job cannot; {_WEBHOOK}"
            yield Diagnostic("SCHEMA009", message, word.path, help="remove it")


def _validate_qlora(train_job: TrainJob, job: TemplateJob, model: str) -> Iterator[Diagnostic]:
    if not _choose_recipe(train_job, job)[1].startswith("qlora"):
        return
    args: Cursor = train_job.trainer.get("args")
    if model == _WITHOUT_QLORA:
        yield Diagnostic("SCHEMA009", f"torchtune has no QLoRA for {model}; {_WEBHOOK}", args.path)
    if model in _SMALL_MODELS and not _choose_recipe(train_job, job)[1].endswith("_single_device"):
        message = f"torchtune trains QLoRA of {model} with 1 GPU and 1 process only; {_WEBHOOK}"
        yield Diagnostic("SCHEMA009", message, args.path)
