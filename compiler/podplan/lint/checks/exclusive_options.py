"""Options of training scripts that exclude each other.

Sources: training_args.py (fp16 and bf16), trainer.py (fsdp and deepspeed) and utils/quantization_config.py (4
and 8 bits) in https://github.com/huggingface/transformers/tree/main/src/transformers,
https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/training/arguments.py (fp16 and bf16).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any
from podplan.lint.analysis.launches import find_launches
from podplan.lint.analysis.script_options import Placed, of_program
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

_PAIRS = (("fp16", "bf16"), ("load_in_4bit", "load_in_8bit"), ("fsdp", "deepspeed"))
_WITH_VALUE = frozenset(("fsdp", "deepspeed"))


@check()
def exclusive_options(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Two options of which a trainer takes one. Values: ``one``, ``other``."""
    for launch in find_launches(target.job):
        if launch.invocation.is_conditional:
            continue
        given = {placed.option.key: placed for placed in of_program(target.job, launch) if _is_on(placed)}
        for one, other in _PAIRS:
            if one in given and other in given:
                first, second = given[one], given[other]
                values = {"one": first.option.name, "other": second.option.name}
                related = [(first.doc, first.path, "the other option")]
                yield Violation(second.path, values, related, doc=second.doc, group=launch.group)


def _is_on(placed: Placed) -> bool:
    option = placed.option
    if not option.name.startswith("--"):
        return False
    return bool(option.value) and not option.is_off if option.key in _WITH_VALUE else option.is_on
