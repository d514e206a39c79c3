"""Optimizer states in the memory of the node that exceed the memory limit.

Sources: https://deepspeed.readthedocs.io/en/latest/memory.html (16 bytes for each parameter on the CPU with
ZeRO-3 and both offloads), https://www.deepspeed.ai/docs/config-json/#zero-optimizations-for-fp16-training.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.kubernetes import quantities
from podplan.lint.analysis.process_worlds import iter_worlds
from podplan.lint.analysis.resources import format_amount, get_resource_entries
from podplan.lint.analysis.script_options import PlacedOption, list_program_options
from podplan.lint.checks.outputs import trainings
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

# Adam stores for each parameter in single precision: the parameter and two moments.
_BYTES = 12
_MODEL = compile_lazily(
    r"(?:\w+_)?(?:model|pretrained|base_model)(?:_(?:name|path|id|name_or_path|dir|size|checkpoint))*"
)
_SIZE = compile_lazily(r"(?:^|[-_/.])(\d{1,3}(?:\.\d)?)b(?:$|[-_/.])")
_OFFLOADS = frozenset(("offload_optimizer", "offload_optimizer_device", "zero3_offload_optimizer"))
_FSDP_OFFLOADS = frozenset(("fsdp_offload_params", "fsdp_cpu_offload"))
# Options of trainings that train few of the parameters, or store smaller states.
_SMALLER = compile_lazily(
    r"lora|peft|qlora|adapter|freeze|frozen|prompt|8bit|4bit|galore|adafactor|lion|sgd|badam|nvme"
)


@check()
def offload_beyond_memory(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """States that are larger than the memory. Values: ``option``, ``model``, ``needs``, ``limit``."""
    containers = {id(launch.group): where for launch, where in trainings(target.job)}
    for world in iter_worlds(target.job):
        where = containers.get(id(world.launch.group))
        options = list(list_program_options(target.job, world.launch))
        texts = [f"{one.option.key}={one.option.value or ''}".lower() for one in options]
        offload = next((one for one in options if _is_offload(one)), None)
        if where is None or offload is None or any(_SMALLER.search(text) for text in texts):
            continue
        limit = quantities.parse_quantity(get_resource_entries(where.container, "limits").get("memory"))
        model, billions = find_model(options)
        if limit is None or model is None:
            continue
        needs = int(billions * _BYTES * 1e9 / world.nodes) * quantities.UNITS_PER_ONE
        if needs > limit:
            values = {
                "option": f"{offload.option.name}={offload.option.value}".removesuffix("=None"),
                "model": model.option.value,
                "needs": format_amount(needs, "memory"),
                "limit": format_amount(limit, "memory"),
            }
            related = [
                (where.group.doc, (*where.base, "resources", "limits", "memory"), "the limit"),
                (model.doc, model.path, "the model"),
            ]
            yield Violation(offload.path, values, related, doc=offload.doc)


def _is_offload(placed: PlacedOption) -> bool:
    option = placed.option
    if option.last in _OFFLOADS:
        return (option.value or "").lower() == "cpu"
    return option.last in _FSDP_OFFLOADS and option.is_on


def find_model(options: list[PlacedOption]) -> tuple[PlacedOption | None, float]:
    """Return the option that names the model, and the billions of parameters in that name."""
    for placed in options:
        value = (placed.option.value or "").lower()
        name = placed.option.last
        is_model = ("model" in name or "pretrained" in name) and _MODEL.fullmatch(name)
        sizes = _SIZE.findall(value) if is_model else []
        if len(sizes) == 1 and "x" + sizes[0] not in value:
            return placed, float(sizes[0])
    return None, 0
