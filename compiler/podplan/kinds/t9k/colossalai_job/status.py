"""The status rules of ColossalAIJob."""

from __future__ import annotations

from podplan.kinds.t9k.behaviors import termination
from podplan.kinds.t9k.launcher_status import build_status_rules

STATUS_RULES = build_status_rules(termination.OUTCOME_COLOSSALAI, termination.RESTART_COLOSSALAI)
