"""A runtime becomes nothing by itself: its TrainJobs do."""

from __future__ import annotations

from podplan.kinds.trainer.training_runtime.lower import lower

__all__ = ["lower"]
