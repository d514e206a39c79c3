"""What the command line of a training container says about its variables."""

from __future__ import annotations

import json
from collections.abc import Mapping

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.launchers.discovery import find_programs

_TORCHRUN = ("torchrun", "torch.distributed.launch")
_REFERENCE = compile_lazily(r"\$(?:\{|\(|)([A-Za-z_][A-Za-z0-9_]*)")


def starts_torchrun(container: Mapping[str, Any]) -> bool:
    """Whether torchrun is the last program that the container starts; it sets the variables itself."""
    invocations = find_programs(container).invocations
    return bool(invocations) and invocations[-1].launcher in _TORCHRUN


def states_process_count(container: Mapping[str, Any]) -> bool:
    """Whether the command line of torchrun has the number of processes."""
    return any("nproc_per_node" in one.options for one in find_programs(container).invocations)


def find_named_variables(container: Mapping[str, Any]) -> frozenset[str]:
    """Return the variables that command, args and other variables refer to."""
    text = json.dumps([container.get(key) for key in ("command", "args", "env")])
    return frozenset(_REFERENCE.findall(text))
