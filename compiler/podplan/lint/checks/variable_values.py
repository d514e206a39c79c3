"""Values of variables that the library that reads them refuses or ignores.

Sources: https://docs.pytorch.org/docs/stable/notes/cuda.html#environment-variables (option:value,…),
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html,
https://docs.pytorch.org/docs/stable/distributed.html#torch-distributed-debug,
https://docs.pytorch.org/docs/stable/torch_nccl_environment_variables.html,
https://docs.pytorch.org/docs/stable/distributed.html#choosing-the-network-interface-to-use,
https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/training/arguments.py (CUDA_DEVICE_MAX_CONNECTIONS),
https://docs.jax.dev/en/latest/gpu_memory_allocation.html (a fraction of the memory),
https://www.openmp.org/spec-html/5.0/openmpse50.html (a positive number, or a list of them).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.analysis.jobs import has_isolated_replicas, spec_of
from podplan.lint.analysis.launches import find_launches
from podplan.lint.analysis.script_options import PlacedOption, list_program_options
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation


class ValueForm(NamedTuple):
    """The valid values of a variable, their description, and the effect of others."""

    pattern: str
    expected: str
    effect: str


_ALLOCATOR = ValueForm(
    r"\s*\w+\s*:\s*(?:\[[^\]]*\]|[^,=\s]+)(?:\s*,\s*\w+\s*:\s*(?:\[[^\]]*\]|[^,=\s]+))*\s*",
    "option:value pairs, separated by commas",
    "torch stops when it uses a GPU for the first time",
)
# Above 1 for the unified memory of GPU and host, as in AlphaFold (4.0); ten times the memory is a mistake.
_MEMORY_FRACTION = ValueForm(
    r"\s*\d?(?:\.\d*)?\s*",
    "a fraction, such as 0.90",
    "JAX takes it as that many times the memory of the GPU",
)
_INTERFACES = ValueForm(
    r"[^\^=!].*",
    "the name of an interface such as eth0; only NCCL reads ^ and =",
    "Gloo and TensorPipe find no interface of that name, and the processes stop",
)
_NAMES_AN_INTERFACE = r"(?![=^]?(?:eth|en[ospx]|bond|ib|net)\d)[\s\S]*"
FORMS = {
    "PYTORCH_CUDA_ALLOC_CONF": _ALLOCATOR,
    "PYTORCH_ALLOC_CONF": _ALLOCATOR,
    "OMP_NUM_THREADS": ValueForm(r"\s*[1-9]\d*(?:\s*,\s*[1-9]\d*)*\s*", "a number above 0", "it is ignored"),
    "XLA_PYTHON_CLIENT_MEM_FRACTION": _MEMORY_FRACTION,
    "XLA_CLIENT_MEM_FRACTION": _MEMORY_FRACTION,
    "NCCL_DEBUG": ValueForm(
        r"(?i:none|version|warn|info|trace|abort)", "VERSION, WARN, INFO or TRACE", "it is ignored"
    ),
    "TORCH_DISTRIBUTED_DEBUG": ValueForm(
        r"(?i:off|info|detail)", "OFF, INFO or DETAIL", "torch stops at its start"
    ),
    "GLOO_SOCKET_IFNAME": _INTERFACES,
    "TP_SOCKET_IFNAME": _INTERFACES,
    "NCCL_IB_HCA": ValueForm(
        _NAMES_AN_INTERFACE, "the name of an adapter such as mlx5_0", "NCCL finds no adapter and uses sockets"
    ),
}
_PATTERNS = {name: compile_lazily(form.pattern) for name, form in FORMS.items()}
_LOOPBACK = frozenset(("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"))
_LONGEST = 300  # longest value in a message, in characters
_WATCHDOG = frozenset(("TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING"))
_BLOCKING_WAIT = frozenset(("TORCH_NCCL_BLOCKING_WAIT", "NCCL_BLOCKING_WAIT"))


@check()
def variable_value(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A variable with an invalid value. Values: ``name``, ``value``, ``expected``, ``effect``."""
    job = target.job
    is_alone = sum(group.replicas for group in job.pods) < 2 or has_isolated_replicas(job)
    for at, entry in get_entries(target.data, "env"):
        name, value = get_text(entry, "name"), get_text(entry, "value")
        if not value or "$(" in value or len(value) > _LONGEST:
            continue
        form = FORMS.get(name)
        values = {"name": name, "value": value}
        if form is not None and not _PATTERNS[name].fullmatch(value):
            yield Violation(
                ("env", at, "value"), {**values, "expected": form.expected, "effect": form.effect}
            )
        elif name in _LOOPBACK and value.lstrip("=") == "lo" and not is_alone:
            effect = "the Pods cannot connect to each other"
            expected = "an interface of the Pod network, such as eth0"
            yield Violation(("env", at, "value"), {**values, "expected": expected, "effect": effect})
        elif name in _WATCHDOG and value == "0" and not is_alone and _waits_forever(target):
            effect = "when one process dies the others wait for it and keep their GPUs"
            expected = "1 or 3 in a job without a deadline"
            yield Violation(("env", at, "value"), {**values, "expected": expected, "effect": effect})
        elif name == "CUDA_DEVICE_MAX_CONNECTIONS" and value != "1":
            option = _find_sequence_parallel(job)
            if option is not None:
                effect = (
                    "Megatron stops while it reads its arguments, unless the GPUs are of Blackwell or later"
                )
                expected = f"1 with {option.option.name}"
                related = [(option.doc, option.path, "what needs it")]
                yield Violation(
                    ("env", at, "value"), {**values, "expected": expected, "effect": effect}, related
                )


def _waits_forever(target: Target) -> bool:
    """Whether processes of a job wait forever for one that has died."""
    names = {
        get_text(entry, "name")
        for _, entry in get_entries(target.data, "env")
        if get_text(entry, "value") == "1"
    }
    has_deadline = any(
        "activeDeadlineSeconds" in section
        for section in (
            get_mapping(spec_of(target.job), "runPolicy"),
            get_mapping(target.doc.data, "spec"),
        )
    )
    return target.job.cr is not None and not has_deadline and _BLOCKING_WAIT.isdisjoint(names)


def _find_sequence_parallel(job: LoweredJob) -> PlacedOption | None:
    """Return the option for Megatron's sequence parallelism, if tensors are split."""
    for launch in find_launches(job):
        options = {placed.option.last: placed for placed in list_program_options(job, launch)}
        switch, size = options.get("sequence_parallel"), options.get("tensor_model_parallel_size")
        if switch is not None and size is not None and switch.option.is_on and (size.option.number or 1) > 1:
            return switch
    return None
