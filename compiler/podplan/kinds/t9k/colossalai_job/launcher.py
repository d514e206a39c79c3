"""The container of the launcher: colossalai run, and what the controller fills in."""

from __future__ import annotations

from podplan.core.provenance import Cursor, Marked, at, computed
from podplan.core.typing import Any
from podplan.kinds.common.name_patterns import filled, naming
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.child_metadata import Tree, replacing
from podplan.kinds.t9k.colossalai_job.settings import Training
from podplan.kinds.t9k.job import Job
from podplan.kinds.t9k.services import host


def container(job: Job, training: Training, worker: Cursor, mounts: list[Marked]) -> Tree:
    """The fields of the launcher's container; ``worker`` is the training container of the workers."""
    written = training.container
    name, resources = (
        job.options.fact(fact)
        for fact in (behaviors.COLOSSALAI_LAUNCHER_CONTAINER, behaviors.COLOSSALAI_LAUNCHER_RESOURCES)
    )
    place = training.place
    image = worker.get("image")
    tree: Tree = {
        "name": at((name, place), name.value),
        **written,
        "command": replacing(_colossalai_run(job, training), written.get("command"), written.get("args")),
        "volumeMounts": [*_entries(written.get("volumeMounts")), *mounts],
    }
    tree.pop("args", None)
    if "image" not in written and image.exists:
        tree["image"] = at((image, behaviors.COLOSSALAI_LAUNCHER_IMAGE), image.value)
    if "resources" not in written:
        tree["resources"] = at((resources, place), resources.value)
    return tree


def _entries(written: Any) -> list[Cursor]:
    return written.entries() if isinstance(written, Cursor) else []


def _colossalai_run(job: Job, training: Training) -> Marked:
    """``colossalai run``, its options, the script and its arguments.

    Source: docs/evidence/t9k-colossalaijob.md#launch-command.
    """
    fact, path = (
        job.options.fact(behaviors.COLOSSALAI_RUN),
        job.options.fact(behaviors.COLOSSALAI_HOSTFILE_PATH),
    )
    marked = {
        "{hostfile}": at((path, job.spec), path.value),
        "{processes}": _processes(job, training.processes),
        "{launch-arguments}": _handed_on(training.torchrun_options),
    }
    known = naming(job) | {word[1:-1]: value and value.value for word, value in marked.items()}
    known |= {"master-addr": host(job, training.workers).text(0), "replicas": training.workers.replicas}
    words: list[Any] = []
    for option in fact.value:
        told = [marked[word] if word in marked else filled(word, known) for word in option.split()]
        words += told if None not in told else []
    return at((training.script, fact), [*words, *training.script.entries()])


def _handed_on(options: Cursor) -> Marked | None:
    """The options of torchrun as one word; None where there are none."""
    if not options.value:
        return None
    words = (str(option.value).removeprefix("--") for option in options.entries())
    return at((options, behaviors.COLOSSALAI_LAUNCH_ARGUMENTS), ",".join(words))


def _processes(job: Job, written: Cursor) -> Marked:
    if written.exists:
        return computed(str, written)
    fact = job.options.fact(behaviors.COLOSSALAI_PROCESSES)
    return at((fact, written), str(fact.value))
