"""What the controllers do, one fact each: how well it is known, and where it is written.

Sources are sections of docs/evidence, which name the public
document behind them. A fact with a value can be given another one in the configuration,
under ``[lowering]``, by its id.

What several kinds are lowered with is imported here; what only one kind does is in its package. What becomes
of a job that runs is in ``termination`` and ``job_status``, what becomes of a change in ``change_effects``.
"""

from __future__ import annotations

from podplan.kinds.common.behaviors import *  # noqa: F403
from podplan.kinds.t9k.behaviors.jobs import *  # noqa: F403
from podplan.kinds.t9k.behaviors.ssh import *  # noqa: F403
