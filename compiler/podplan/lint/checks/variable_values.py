"""Values of variables that the library which reads them refuses or ignores.

Sources: https://docs.pytorch.org/docs/stable/notes/cuda.html#environment-variables (option:value,…),
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html,
https://docs.pytorch.org/docs/stable/distributed.html#torch-distributed-debug,
https://www.openmp.org/spec-html/5.0/openmpse50.html (a positive number, or a list of them).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_text
from podplan.lint.analysis.jobs import has_isolated_replicas
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation


class ValueForm(NamedTuple):
    """The values that a variable takes, what they are called, and what becomes of others."""

    pattern: str
    expected: str
    effect: str


_ALLOCATOR = ValueForm(
    r"\s*\w+\s*:\s*(?:\[[^\]]*\]|[^,=\s]+)(?:\s*,\s*\w+\s*:\s*(?:\[[^\]]*\]|[^,=\s]+))*\s*",
    "option:value pairs, separated by commas",
    "torch stops when it uses a GPU for the first time",
)
_NAMES_AN_INTERFACE = r"(?![=^]?(?:eth|en[ospx]|bond|ib|net)\d)[\s\S]*"
FORMS = {
    "PYTORCH_CUDA_ALLOC_CONF": _ALLOCATOR,
    "PYTORCH_ALLOC_CONF": _ALLOCATOR,
    "OMP_NUM_THREADS": ValueForm(r"\s*[1-9]\d*(?:\s*,\s*[1-9]\d*)*\s*", "a number above 0", "it is ignored"),
    "NCCL_DEBUG": ValueForm(
        r"(?i:none|version|warn|info|trace|abort)", "VERSION, WARN, INFO or TRACE", "it is ignored"
    ),
    "TORCH_DISTRIBUTED_DEBUG": ValueForm(
        r"(?i:off|info|detail)", "OFF, INFO or DETAIL", "torch stops at its start"
    ),
    "NCCL_IB_HCA": ValueForm(
        _NAMES_AN_INTERFACE, "the name of an adapter such as mlx5_0", "NCCL finds no adapter and uses sockets"
    ),
}
_PATTERNS = {name: compile_lazily(form.pattern) for name, form in FORMS.items()}
_LOOPBACK = frozenset(("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"))
_LONGEST = 300  # characters of a value


@check()
def variable_value(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A variable with a value of another form. Values: ``name``, ``value``, ``expected``, ``effect``."""
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
