"""The behaviors of the controllers, with their evidence.

Sources are sections of docs/evidence, which cite the public document. The configuration can replace a value
under ``[lowering]``, by the id of its behavior.

This package has what several kinds are lowered with; what only one kind does is in its package. Behaviors of
running jobs are in ``restarts_and_end`` and ``job_status``, effects of changes in ``change_effects``.
"""

from __future__ import annotations

from podplan.kinds.common.behaviors import *  # noqa: F403
from podplan.kinds.t9k.behaviors.jobs import *  # noqa: F403
from podplan.kinds.t9k.behaviors.ssh import *  # noqa: F403
