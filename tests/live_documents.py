"""Counts how many documents are in memory during a run."""

from __future__ import annotations

import gc
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from podplan import pipeline
from podplan.core.provenance import TracedDocument


def most_alive(patch: pytest.MonkeyPatch, function: Callable[[], Any]) -> int:
    """Return the maximum number of documents in memory after lowering a job, while ``function`` runs."""
    counts = [0]
    calls = count()
    lower = pipeline.lower_plan

    def counting(*arguments: Any) -> Any:
        lowered = lower(*arguments)
        if next(calls) % 5 == 0:  # visiting all objects takes longer than lowering a job
            counts.append(sum(isinstance(one, TracedDocument) for one in gc.get_objects()))
        return lowered

    gc.collect()
    before = sum(isinstance(one, TracedDocument) for one in gc.get_objects())
    patch.setattr(pipeline, "lower_plan", counting)
    function()
    patch.setattr(pipeline, "lower_plan", lower)
    return max(counts) - before
