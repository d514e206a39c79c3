"""Switches for debugging that make a training slow, in jobs that hold many GPUs.

Lists only switches whose cost is stated in the manual of the program, with a link to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_entries, get_text
from podplan.lint.analysis.jobs import count_pods_and_gpus, is_mode_enabled
from podplan.lint.analysis.launches import ContainerLaunch, find_assignment_place, find_launches
from podplan.lint.analysis.pod_hosts import get_job_name
from podplan.lint.analysis.resources import find_training_container
from podplan.lint.analysis.script_options import list_program_options
from podplan.lint.checks.registration import COUNT, check, object_schema
from podplan.lint.target import LoweredJob, Target, Violation

_ON = frozenset(("1", "true", "yes", "on"))
_SERIAL = frozenset(("1", "2", "3"))


class Switch(NamedTuple):
    """The values (lower case) that enable a debug variable, and its cost."""

    values: frozenset[str]
    cost: str


class EnabledSwitch(NamedTuple):
    """An enabled switch: the Pods, its path, its name and value, and its cost."""

    group: ReplicaGroup
    doc: TracedDocument
    path: Path
    name: str
    value: str
    cost: str


_WAITS = "makes the host wait for each kernel on the GPU"
VARIABLES = {
    # https://docs.nvidia.com/cuda/cuda-c-programming-guide/#asynchronous-execution
    "CUDA_LAUNCH_BLOCKING": Switch(_ON, _WAITS),
    # https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html
    "HIP_LAUNCH_BLOCKING": Switch(_ON, _WAITS),
    "AMD_SERIALIZE_KERNEL": Switch(_SERIAL, _WAITS),
    "AMD_SERIALIZE_COPY": Switch(_SERIAL, "makes the host wait for each copy to or from the GPU"),
    # https://docs.pytorch.org/docs/stable/distributed.html#torch-distributed-debug
    "TORCH_DISTRIBUTED_DEBUG": Switch(
        frozenset(("detail",)), "checks each collective operation among all ranks before it runs"
    ),
    # https://docs.pytorch.org/docs/stable/cuda_environment_variables.html
    "PYTORCH_NO_CUDA_MEMORY_CACHING": Switch(_ON, "allocates GPU memory for each tensor"),
    # https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-debug
    "NCCL_DEBUG": Switch(frozenset(("trace",)), "logs a line for each NCCL call"),
    # https://docs.jax.dev/en/latest/debugging/flags.html
    "JAX_DEBUG_NANS": Switch(_ON, "replays functions operation by operation"),
    "JAX_DISABLE_JIT": Switch(_ON, "runs each operation by itself, without compiling"),
}
# https://lightning.ai/docs/pytorch/stable/common/trainer.html#detect-anomaly
OPTIONS = {
    "detect_anomaly": "checks each gradient for NaN",
    "autograd_anomaly": "checks each gradient for NaN",
}
# Jobs with these names are meant for debugging.
_DEBUGS = compile_lazily(
    r"(?:^|[-.])(?:debug|repro|bisect|smoke|diagnos|profil|sanity|(?:hang|nan|test|dbg)s?(?:[-.]|$))"
)


@check(params=object_schema({"gpus": COUNT}))
def debug_switch(subject: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """A switch for debugging in a job of at least ``params["gpus"]`` GPUs.

    Values: ``switch`` as written, ``cost``, ``gpus``.
    """
    job = subject.job
    gpus = count_pods_and_gpus(job.pods)[1]
    if gpus < params["gpus"] or is_mode_enabled(job, "debug") or _DEBUGS.search(get_job_name(job)):
        return
    seen: set[str] = set()
    for found in _switches(job):
        if found.name not in seen:
            seen.add(found.name)
            switch = f"{found.name}={found.value}" if found.value else found.name
            values = {"switch": switch, "cost": found.cost, "gpus": format_count(gpus, "GPU")}
            yield Violation(found.path, values, doc=found.doc, group=found.group)


def _switches(job: LoweredJob) -> Iterator[EnabledSwitch]:
    """Yield the enabled switches."""
    for group in job.pods:
        found = find_training_container(group)
        for at, entry in get_entries(found[1], "env") if found is not None else ():
            cost = _cost(get_text(entry, "name"), get_text(entry, "value"))
            if found is not None and cost:
                path = (*found[0], "env", at, "value")
                yield EnabledSwitch(
                    group, group.doc, path, get_text(entry, "name"), get_text(entry, "value"), cost
                )
    for launch in find_launches(job):
        yield from _on_line(job, launch)


def _on_line(job: LoweredJob, launch: ContainerLaunch) -> Iterator[EnabledSwitch]:
    invocation = launch.invocation
    if invocation.is_conditional:
        return
    for name in VARIABLES:
        value = invocation.variables.get(name)
        if value is not None and (cost := _cost(name, value)):
            place = find_assignment_place(launch, name)
            yield EnabledSwitch(launch.group, launch.group.doc, place, name, value, cost)
    for option, doc, path in list_program_options(job, launch):
        if option.last in OPTIONS and option.is_on:
            yield EnabledSwitch(
                launch.group, doc, path, option.name, option.value or "", OPTIONS[option.last]
            )


def _cost(name: str, value: str) -> str:
    """Return the cost of a variable with this value; "" for none."""
    switch = VARIABLES.get(name)
    return switch.cost if switch is not None and value.strip().lower() in switch.values else ""
