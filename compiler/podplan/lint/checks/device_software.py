"""Programs that cannot use the devices of their container, and programs that need devices it lacks.

Sources: https://pytorch.org/get-started/locally/ (the CPU build has no CUDA),
https://docs.pytorch.org/docs/stable/distributed.html#which-backend-to-use (NCCL is for GPUs),
https://docs.jax.dev/en/latest/config_options.html (JAX_PLATFORMS).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, below
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.analysis.features import PYTHON_TEXT, list_features
from podplan.lint.analysis.launches import TRAINING_LAUNCHERS, ContainerLaunch
from podplan.lint.analysis.processes import programs_of
from podplan.lint.analysis.resources import (
    count_accelerators,
    has_own_software,
    list_containers,
    list_resources,
)
from podplan.lint.analysis.script_options import ScriptOption, list_program_options
from podplan.lint.checks.outputs import ContainerPath, trainings
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

Clue = tuple[TracedDocument, Path, str]  # the path of a setting, and its description in a message

_TAG_PARTS = compile_lazily(r"[^-_.+]+")
_ON_GPUS = compile_lazily(r"(?:gpus?|cuda\d*|cu\d+|rocm\d*|npu|cann\d*|xpu|hpu|tpu|dcu)")
# The vendor in the name of an image, and the vendor whose devices its programs cannot use.
_OTHER_VENDOR = (
    ("ROCm", compile_lazily(r"rocm\d*"), ("nvidia.com/",)),
    ("CUDA", compile_lazily(r"cuda\d*|cu1[0-9]{2}"), ("amd.com/", "hygon.com/", "huawei.com/")),
)
# Public images whose tags name their GPU software: without such a word they are built for the CPU.
_CPU_BY_DEFAULT = compile_lazily(
    r"(?:docker\.io/|index\.docker\.io/)?(?:tensorflow/tensorflow|rayproject/ray(?:-ml)?|bitnami/(?:pytorch|tensorflow))"
    r"|(?:quay\.io/|docker\.io/)?jupyter/(?:pytorch|tensorflow)-notebook"
)
_CPU_WHEEL = compile_lazily(
    r"(?:https?://)?download\.pytorch\.org/whl/(?:nightly/)?cpu/?"
    r"|(?:torch\w*==[\w.]+\+cpu|tensorflow-cpu|jax\[cpu\])(?:[=<>~!].*)?"
)
_INSTALLERS = frozenset(("pip", "pip3", "uv", "python", "python3"))
_BACKEND = compile_lazily(r"(?!rdzv)(?:\w+_)?(?:(?:dist|distributed|ddp|comm|process_group|pg)_)?backend")
_CHOSEN_DEVICE = frozenset(("device", "accelerator"))
_CPU_SWITCHES = frozenset(("use_cpu", "no_cuda", "disable_cuda", "cpu", "cpu_only"))
_CPU_VARIABLES = {
    "JAX_PLATFORMS": "cpu",
    "JAX_PLATFORM_NAME": "cpu",
    "ACCELERATE_USE_CPU": "true",
}
_GPU_DEVICE = compile_lazily(r"(?:cuda|gpu|rocm)(?::\d+)?")
# Devices that do not compute.
_NO_COMPUTING = ("rdma/", "hugepages-")


@check()
def cpu_only_software(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Software for the CPU, or for another vendor, in a container with GPUs. Values: ``what``, ``gpus``."""
    job = target.job
    seen = set[tuple[int, Path]]()
    for launch, where in trainings(job):
        amount = count_accelerators(where.container)
        if not amount.number or amount.path is None or launch.invocation.is_conditional:
            continue
        if has_own_software(amount.resource):  # TensorFlow for TPUs is its build for CPUs with libtpu
            continue
        for doc, path, what in _iter_cpu_clues(job, launch, where, amount.resource):
            if (id(doc), path) in seen:
                continue
            seen.add((id(doc), path))
            values = {"what": what, "gpus": f"{amount.number} × {amount.resource}"}
            related = [(where.group.doc, (*where.base, *amount.path), "the requested devices")]
            yield Violation(path, values, related, doc=doc, group=where.group)


def _iter_cpu_clues(
    job: LoweredJob, launch: ContainerLaunch, where: ContainerPath, resource: str
) -> Iterator[Clue]:
    what = _describe_image(get_text(where.container, "image"), resource)
    if what:
        yield where.group.doc, (*where.base, "image"), what
    for _, process in programs_of(where.container):
        for word in process.words if process.name in _INSTALLERS else ():
            if _CPU_WHEEL.fullmatch(word.text):
                yield where.group.doc, below(where.base, word.place), f"{word.text} is a CPU build"
    for at, entry in get_entries(where.container, "env"):
        name, value = get_text(entry, "name"), get_text(entry, "value").strip().lower()
        if value and _CPU_VARIABLES.get(name) == value:
            yield (
                where.group.doc,
                (*where.base, "env", at, "value"),
                f"{name}={value} keeps the program on the CPU",
            )
    if launch.invocation.launcher in TRAINING_LAUNCHERS:
        for option, doc, path in list_program_options(job, launch):
            if _is_cpu_option(option):
                yield doc, path, f"{_show(option)} keeps the program on the CPU"


def _describe_image(image: str, resource: str) -> str:
    """Explain by name and tag why the programs of an image cannot use a device; "" if they may."""
    name, _, tag = image.partition("@")[0].rpartition("/")[2].partition(":")
    name_parts, tag_parts = _TAG_PARTS.findall(name.lower()), _TAG_PARTS.findall(tag.lower())
    parts = [*name_parts, *tag_parts]
    is_cpu = ("cpu" in tag_parts and "offload" not in parts) or name_parts[-1:] == ["cpu"]
    is_cpu = is_cpu or bool(
        tag and _CPU_BY_DEFAULT.fullmatch(image.partition("@")[0].removesuffix(f":{tag}"))
    )
    if is_cpu and not any(_ON_GPUS.fullmatch(part) for part in parts):
        return f"the image {image.rpartition('/')[2]} is a CPU build"
    vendors = [one for one in _OTHER_VENDOR if any(one[1].fullmatch(part) for part in parts)]
    if len(vendors) == 1 and resource.startswith(vendors[0][2]):
        return f"the image {image.rpartition('/')[2]} is built for {vendors[0][0]}"
    return ""


def _is_cpu_option(option: ScriptOption) -> bool:
    if option.last in _CHOSEN_DEVICE:
        return (option.value or "").lower() == "cpu"
    return option.last in _CPU_SWITCHES and option.name.startswith("--") and option.is_on


@check()
def backend_without_gpus(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A training whose options require GPUs, in a Pod without any. Values: ``what``, ``instead``."""
    job = target.job
    for launch, where in trainings(job):
        if _may_have_gpus(where.group) or launch.invocation.is_conditional:
            continue
        for doc, path, what, instead in _iter_gpu_clues(job, launch, where):
            related = [(where.group.doc, (*where.base, "resources"), "no GPUs")]
            yield Violation(path, {"what": what, "instead": instead}, related, doc=doc, group=where.group)
            break
    if PYTHON_TEXT in list_features(job):
        from podplan.lint.checks.source_devices import iter_gpu_calls

        for source, node, what, instead in iter_gpu_calls(job):
            if _may_have_gpus(source.where.group):
                continue
            related = [(source.where.group.doc, (*source.where.base, "resources"), "no GPUs")]
            values = {"what": f"{source.name} calls {what}", "instead": instead}
            yield Violation(source.locate(node), values, related, doc=source.doc, group=source.group)


def _iter_gpu_clues(
    job: LoweredJob, launch: ContainerLaunch, where: ContainerPath
) -> Iterator[tuple[TracedDocument, Path, str, str]]:
    for option, doc, path in list_program_options(job, launch):
        value = (option.value or "").lower()
        if _BACKEND.fullmatch(option.last) and value == "nccl":
            yield doc, path, f"{_show(option)} selects NCCL, which requires GPUs", "use gloo"
        elif option.last in _CHOSEN_DEVICE and _GPU_DEVICE.fullmatch(value):
            yield doc, path, f"{_show(option)} selects a GPU", "use cpu"
    for at, entry in get_entries(where.container, "env"):
        name = get_text(entry, "name")
        if _BACKEND.fullmatch(name.lower()) and get_text(entry, "value").strip().lower() == "nccl":
            path = (*where.base, "env", at, "value")
            yield where.group.doc, path, f"{name}=nccl selects NCCL, which requires GPUs", "use gloo"


def _may_have_gpus(group: ReplicaGroup) -> bool:
    """Whether a Pod may have GPUs: by a resource or a claim, or without asking for them."""
    spec = get_mapping(group.doc.data, "spec")
    devices = [name for name in list_resources(group) if "/" in name and not name.startswith(_NO_COMPUTING)]
    makes_visible = any(
        get_text(entry, "name") == "NVIDIA_VISIBLE_DEVICES"
        for _, container in list_containers(group)
        for _, entry in get_entries(container, "env")
    )
    privileged = any(
        get_mapping(container, "securityContext").get("privileged") is True
        for _, container in list_containers(group)
    )
    return bool(
        devices or spec.get("resourceClaims") or spec.get("runtimeClassName") or makes_visible or privileged
    )


def _show(option: ScriptOption) -> str:
    """Format an option on one line."""
    return f"{option.name}={option.value}" if option.value else option.name
