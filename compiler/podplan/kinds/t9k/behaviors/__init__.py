"""What the controllers do, one fact each: how well it is known, and where it is written.

Sources are sections of docs/evidence, which name the public
document behind them. A fact with a value can be given another one in the configuration,
under ``[lowering]``, by its id.

What a check lowers with is imported here. What becomes of a job that runs is in ``endings`` and
``reported``, what becomes of a change in ``changes``, and what only GitOps has to know in ``gitops``.
"""

from __future__ import annotations

from podplan.kinds.common.behaviors import *  # noqa: F403
from podplan.kinds.t9k.behaviors.colossalai import *  # noqa: F403
from podplan.kinds.t9k.behaviors.deepspeed import *  # noqa: F403
from podplan.kinds.t9k.behaviors.generic import *  # noqa: F403
from podplan.kinds.t9k.behaviors.jobs import *  # noqa: F403
from podplan.kinds.t9k.behaviors.pytorch import *  # noqa: F403
from podplan.kinds.t9k.behaviors.ssh import *  # noqa: F403
