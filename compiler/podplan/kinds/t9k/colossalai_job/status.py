"""The status rules of ColossalAIJob."""

from __future__ import annotations

from podplan.kinds.t9k.behaviors import restarts_and_end
from podplan.kinds.t9k.launcher_status import build_status_rules

STATUS_RULES = build_status_rules(restarts_and_end.OUTCOME_COLOSSALAI, restarts_and_end.RESTART_COLOSSALAI)
