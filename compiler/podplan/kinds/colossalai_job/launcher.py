"""The container of the launcher: colossalai run, and what the controller fills in."""

from __future__ import annotations

from typing import Any

from podplan import facts
from podplan.kinds._children import Tree, replacing
from podplan.kinds._job import Job
from podplan.kinds.colossalai_job.training import Training
from podplan.provenance import Cursor, Marked, at, computed


def container(job: Job, training: Training, worker: Cursor, mounts: list[Marked]) -> Tree:
    """The fields of the launcher's container; ``worker`` is the training container of the workers."""
    written = training.container
    name, resources = (
        job.options.fact(fact)
        for fact in (facts.COLOSSALAI_LAUNCHER_CONTAINER, facts.COLOSSALAI_LAUNCHER_RESOURCES)
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
        tree["image"] = at((image, facts.COLOSSALAI_LAUNCHER_IMAGE), image.value)
    if "resources" not in written:
        tree["resources"] = at((resources, place), resources.value)
    return tree


def _entries(written: Any) -> list[Cursor]:
    return written.entries() if isinstance(written, Cursor) else []


def _colossalai_run(job: Job, training: Training) -> Marked:
    """``colossalai run``, its options, the script and its arguments (t9k-semantics §3.3)."""
    path = job.options.fact(facts.COLOSSALAI_HOSTFILE_PATH)
    words: list[Any] = ["colossalai", "run", "--hostfile", at((path, job.spec), path.value)]
    words += ["--nproc_per_node", _processes(job, training.processes)]
    options = training.torchrun_options
    if options.value:
        handed_on = ",".join(str(option.value).removeprefix("--") for option in options.entries())
        words += ["--extra_launch_args", at((options, facts.COLOSSALAI_LAUNCH_ARGUMENTS), handed_on)]
    return at((training.script, facts.COLOSSALAI_RUN), [*words, *training.script.entries()])


def _processes(job: Job, written: Cursor) -> Marked:
    if written.exists:
        return computed(str, written)
    fact = job.options.fact(facts.COLOSSALAI_PROCESSES)
    return at((fact, written), str(fact.value))
