"""Options that need a newer GPU than the nodes that a Pod selects.

Sources: https://developer.nvidia.com/cuda-gpus (compute capabilities);
https://huggingface.co/docs/transformers/main_classes/trainer (tf32, bf16: Ampere or newer);
https://huggingface.co/docs/transformers/perf_infer_gpu_one#flashattention-2 (Ampere or newer);
https://docs.nvidia.com/deeplearning/transformer-engine/user-guide/installation.html (FP8: 8.9 or newer).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.lint.analysis.jobs import count_gpus, has_trait, is_mode_enabled
from podplan.lint.analysis.launches import find_launches
from podplan.lint.analysis.script_options import ScriptOption, list_program_options
from podplan.lint.checks.python_sources import (
    get_constant,
    iter_certain_expressions,
    iter_certain_statements,
    list_python_sources,
)
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

# The compute capability, times ten, of GPU names in node labels.
_PRODUCTS = (
    (compile_lazily(r"(?:.*[^a-z0-9])?(?:v100|titan[-_ ]?v)s?(?:[^0-9].*)?"), 70),
    (
        compile_lazily(r"(?:.*[^a-z0-9])?(?:t4|rtx[-_ ]?20\d0|quadro[-_ ]rtx[-_ ]?[4-8]000)(?:[^0-9a-z].*)?"),
        75,
    ),
    (compile_lazily(r"(?:.*[^a-z0-9])?p(?:100|40|4)(?:[^0-9a-z].*)?"), 60),
    (compile_lazily(r"(?:.*[^a-z0-9])?(?:a100|a800|a30)(?:[^0-9].*)?"), 80),
    (
        compile_lazily(
            r"(?:.*[^a-z0-9])?(?:a10g?|a16|a40|rtx[-_ ]?30\d0|rtx[-_ ]?a[4-6]000)(?:[^0-9a-z].*)?"
        ),
        86,
    ),
)
_GPU_LABEL = compile_lazily(r".*(?:gpu|accelerator|nvidia|product|card|device).*")
# Machines of clouds by the GPUs that they have.
_INSTANCES = (
    (compile_lazily(r"(?:ml\.)?(?:p3(?:dn)?\..*)|standard_nc\d+r?s_v3|standard_nd40rs_v2"), 70),
    (compile_lazily(r"(?:ml\.)?(?:g4dn\..*)|standard_nc\d+as_t4_v3"), 75),
    (
        compile_lazily(r"(?:ml\.)?(?:p4d|p4de)\..*|standard_nc\d+ads_a100_v4|standard_nd96\w*_a100_v4|a2-.*"),
        80,
    ),
)
_INSTANCE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
AMPERE, _ADA = 80, 89
_NO_BF16 = "GPUs before Ampere have no bf16: it is rejected or emulated slowly"
_PRECISIONS = ("mixed_precision", "precision")
LONGEST = 200


class CapabilityNeed(NamedTuple):
    """The compute capability that an option needs, times ten, and what happens below it."""

    capability: int
    fails: str


class NodeGpu(NamedTuple):
    """The newest GPU of the nodes that a Pod selects: its name, its compute capability, times ten, and the
    place in the Pods."""

    product: str
    capability: int
    path: Path
    group: ReplicaGroup


@check()
def gpu_too_old(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """An option that the GPUs of the nodes do not support. Values: ``option``, ``gpu``, ``fails``."""
    job = subject.job
    if is_mode_enabled(job, "debug"):
        return
    for launch in find_launches(job):
        gpu = find_gpu(job, launch.group)
        if gpu is None or launch.invocation.is_conditional:
            continue
        related = [(gpu.group.doc, gpu.path, "the GPUs of the nodes")]
        for option, doc, path in list_program_options(job, launch):
            need = _need(option)
            if need is not None and gpu.capability < need.capability:
                shown = f"{option.name} {option.value}" if option.value is not None else option.name
                values = {"option": shown, "gpu": gpu.product, "fails": need.fails}
                yield Violation(path, values, related, doc=doc, group=launch.group)
        for source in list_python_sources(job) if gpu.capability < AMPERE else ():
            found = _find_bf16(source.tree) if source.launch is launch else None
            if found is not None:
                values = {
                    "option": f"{found.arg}={ast.unparse(found.value)}",
                    "gpu": gpu.product,
                    "fails": _NO_BF16,
                }
                yield Violation(
                    source.locate(found.value), values, related, doc=source.doc, group=source.group
                )


def _find_bf16(tree: ast.Module) -> ast.keyword | None:
    """Return the argument with which a script certainly trains in bf16."""
    for statement in iter_certain_statements(tree):
        for node in iter_certain_expressions(statement):
            for one in node.keywords if isinstance(node, ast.Call) else ():
                value = get_constant(one.value)
                is_switch = one.arg == "bf16" and value is True
                if is_switch or (one.arg in _PRECISIONS and str(value).partition("-")[0] == "bf16"):
                    return one
    return None


def find_gpu(job: LoweredJob, group: ReplicaGroup) -> NodeGpu | None:
    """Return the newest GPU of the nodes on which a training runs; None if it is not known."""
    workers = _worker(job, group)
    return _oldest(workers) if count_gpus(workers) else None


def _worker(job: LoweredJob, group: ReplicaGroup) -> ReplicaGroup:
    """Return the Pods that train: for a launcher without GPUs, its workers."""
    if not has_trait(job, "launcher-replica"):
        return group
    return next((each for each in job.pods if each.replica_type == "worker"), group)


def _need(option: ScriptOption) -> CapabilityNeed | None:
    """Return the need of an option; None if it has none, or it is not known."""
    value = (option.value or "").lower()
    if option.last == "tf32" and option.is_on:
        return CapabilityNeed(AMPERE, "transformers rejects it on GPUs before Ampere")
    if (option.last == "bf16" and option.is_on) or (option.last == "mixed_precision" and value == "bf16"):
        return CapabilityNeed(AMPERE, _NO_BF16)
    if option.last == "attn_implementation" and value == "flash_attention_2":
        return CapabilityNeed(AMPERE, "FlashAttention 2 has no kernels for GPUs before Ampere")
    if option.last in ("mixed_precision", "fp8") and (
        value == "fp8" or (option.last == "fp8" and option.is_on)
    ):
        return CapabilityNeed(_ADA, "FP8 requires GPUs of the Ada or Hopper generation")
    return None


def _oldest(group: ReplicaGroup) -> NodeGpu | None:
    """Return the newest GPU that a Pod's node labels allow; None if it is not known."""
    spec = get_mapping(group.doc.data, "spec")
    for key, value in get_mapping(spec, "nodeSelector").items():
        capability = _capability(key, value)
        if capability:
            return NodeGpu(value, capability, ("spec", "nodeSelector", key), group)
    base = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    required = get_mapping(get_mapping(get_mapping(spec, base[0]), base[1]), base[2])
    terms = get_entries(required, "nodeSelectorTerms")
    for at, expression in get_entries(terms[0][1], "matchExpressions") if len(terms) == 1 else ():
        values = [value for _, value in get_texts(expression, "values")]
        known = [_capability(get_text(expression, "key"), value) for value in values]
        if get_text(expression, "operator") == "In" and known and all(known):
            newest = max(known)
            path = (
                "spec",
                *base,
                "nodeSelectorTerms",
                0,
                "matchExpressions",
                at,
                "values",
                known.index(newest),
            )
            return NodeGpu(values[known.index(newest)], newest, path, group)
    return None


def _capability(key: str, value: Any) -> int:
    """Return the compute capability, times ten, of a GPU in a label; 0 if it is not known."""
    if not isinstance(value, str) or len(value) + len(key) > LONGEST:
        return 0
    if key in _INSTANCE_LABELS:
        return next((number for form, number in _INSTANCES if form.fullmatch(value.lower())), 0)
    if not _GPU_LABEL.fullmatch(key.lower()):
        return 0
    return next((number for form, number in _PRODUCTS if form.fullmatch(value.lower())), 0)
