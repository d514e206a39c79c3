"""What both dialects of ColossalAIJob say, in one form."""

from __future__ import annotations

from podplan.core.provenance import Cursor
from podplan.core.typing import NamedTuple
from podplan.kinds.t9k.child_metadata import TracedMap
from podplan.kinds.t9k.job import ReplicaType


class ColossalAISettings(NamedTuple):
    """The workers, the launcher, and what the launcher starts.

    ``launcher`` is a role whose template may be missing. ``container`` are the fields of its container as
    far as they are written, ``position`` is where it stands in the template, and ``place`` is where a person
    would write what is missing.
    """

    workers: ReplicaType
    launcher: ReplicaType
    launcher_fields: TracedMap
    launcher_index: int
    launcher_cursor: Cursor
    processes: Cursor
    script: Cursor
    torchrun_options: Cursor


def build_absent_cursor(parent: Cursor, *steps: str) -> Cursor:
    """A place below ``where`` that counts as not written, whatever is there."""
    return Cursor(parent.doc, (*parent.path, *steps), None)
