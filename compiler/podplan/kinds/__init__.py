"""The kinds of job that podplan knows: one package each, and one line in this table.

A package has the modules ``compile``, ``lower`` and ``decompile``; nothing else knows that it exists. It is
imported only when a document of its kind turns up.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from podplan.provenance import Doc, root
from podplan.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from podplan.groups import Group, Options

API_VERSION = "batch.tensorstack.dev/v1beta1"

KINDS: dict[str, str] = {
    "PyTorchTrainingJob": "podplan.kinds.pytorch_training_job",
    "DeepSpeedJob": "podplan.kinds.deepspeed_job",
    "ColossalAIJob": "podplan.kinds.colossalai_job",
    "GenericJob": "podplan.kinds.generic_job",
}


def kind(name: str, part: str) -> ModuleType:
    """The module ``part`` (compile, decompile or lower) of a kind; KeyError for a kind not in the table."""
    return import_module(f"{KINDS[name]}.{part}")


def lower_cr(cr: Doc, options: Options) -> list[Group]:
    """The objects that the controller makes of a CR that its schema accepts, folded."""
    lowered: list[Group] = kind(cr.data["kind"], "lower").lower(root(cr), options)
    return lowered
