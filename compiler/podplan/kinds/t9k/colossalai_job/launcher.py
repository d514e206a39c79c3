"""The container of the launcher: the command ``colossalai run``, and the fields that the controller sets."""

from __future__ import annotations

from podplan.core.provenance import Cursor, Traced, attribute_to, compute_traced
from podplan.core.typing import Any
from podplan.kinds.common.name_patterns import build_name_words, fill_pattern
from podplan.kinds.t9k.child_metadata import TracedMap, record_replaced
from podplan.kinds.t9k.colossalai_job import behaviors as kind_behaviors
from podplan.kinds.t9k.colossalai_job.settings import ColossalAISettings
from podplan.kinds.t9k.job import JobContext
from podplan.kinds.t9k.launcher_job import list_entries
from podplan.kinds.t9k.services import build_host_name


def build_launcher_container(
    job: JobContext, settings: ColossalAISettings, worker_container: Cursor, mounts: list[Traced]
) -> TracedMap:
    """Build the fields of the launcher's container; ``worker_container`` is the training container of the
    workers."""
    launcher_fields = settings.launcher_fields
    name, resources = (
        job.options.resolve_behavior(fact)
        for fact in (
            kind_behaviors.COLOSSALAI_LAUNCHER_CONTAINER,
            kind_behaviors.COLOSSALAI_LAUNCHER_RESOURCES,
        )
    )
    edit_cursor = settings.launcher_cursor
    image = worker_container.get("image")
    tree: TracedMap = {
        "name": attribute_to((name, edit_cursor), name.value),
        **launcher_fields,
        "command": record_replaced(
            _build_colossalai_command(job, settings),
            launcher_fields.get("command"),
            launcher_fields.get("args"),
        ),
        "volumeMounts": [*list_entries(launcher_fields.get("volumeMounts")), *mounts],
    }
    tree.pop("args", None)
    if "image" not in launcher_fields and image.exists:
        tree["image"] = attribute_to((image, kind_behaviors.COLOSSALAI_LAUNCHER_IMAGE), image.value)
    if "resources" not in launcher_fields:
        tree["resources"] = attribute_to((resources, edit_cursor), resources.value)
    return tree


def _build_colossalai_command(job: JobContext, settings: ColossalAISettings) -> Traced:
    """Build ``colossalai run`` with its options, the script and its arguments.

    Source: docs/evidence/t9k-colossalaijob.md#launch-command.
    """
    behavior, hostfile_path = (
        job.options.resolve_behavior(kind_behaviors.COLOSSALAI_RUN),
        job.options.resolve_behavior(kind_behaviors.COLOSSALAI_HOSTFILE_PATH),
    )
    traced_words = {
        "{hostfile}": attribute_to((hostfile_path, job.spec), hostfile_path.value),
        "{processes}": _build_processes(job, settings.processes),
        "{launch-arguments}": _join_torchrun_options(settings.torchrun_options),
    }
    word_values = build_name_words(job.name_words) | {
        word[1:-1]: value and value.value for word, value in traced_words.items()
    }
    word_values |= {
        "master-addr": build_host_name(job, settings.workers).text_at(0),
        "replicas": settings.workers.replicas,
    }
    words: list[Any] = []
    for option in behavior.value:
        option_words = [
            traced_words[word] if word in traced_words else fill_pattern(word, word_values)
            for word in option.split()
        ]
        words += option_words if None not in option_words else []
    return attribute_to((settings.script, behavior), [*words, *settings.script.entries()])


def _join_torchrun_options(options: Cursor) -> Traced | None:
    """Return the options of torchrun as one word, or None."""
    if not options.value:
        return None
    words = (str(option.value).removeprefix("--") for option in options.entries())
    return attribute_to((options, kind_behaviors.COLOSSALAI_LAUNCH_ARGUMENTS), ",".join(words))


def _build_processes(job: JobContext, processes_field: Cursor) -> Traced:
    if processes_field.exists:
        return compute_traced(str, processes_field)
    behavior = job.options.resolve_behavior(kind_behaviors.COLOSSALAI_PROCESSES)
    return attribute_to((behavior, processes_field), str(behavior.value))
