"""The settings of a ColossalAIJob, in the same form for both dialects."""

from __future__ import annotations

from podplan.core.provenance import Cursor
from podplan.core.typing import NamedTuple
from podplan.kinds.t9k.child_metadata import TracedMap
from podplan.kinds.t9k.job import ReplicaType


class ColossalAISettings(NamedTuple):
    """The workers, the launcher, and what the launcher starts.

    ``launcher`` is a replica type whose template may be missing. ``launcher_fields`` are the written fields
    of its container, ``launcher_index`` is its index in the template, and ``launcher_cursor`` is where a
    person would write the missing fields.
    """

    workers: ReplicaType
    launcher: ReplicaType
    launcher_fields: TracedMap
    launcher_index: int
    launcher_cursor: Cursor
    processes: Cursor
    script: Cursor
    torchrun_options: Cursor
