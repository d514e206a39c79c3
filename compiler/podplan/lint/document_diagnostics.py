"""What was seen where, before anybody looked up the line."""

from __future__ import annotations

from podplan.core.builtin_rules import Rule
from podplan.core.findings import Problem
from podplan.core.provenance import Doc, Place
from podplan.core.replica_groups import Group
from podplan.core.typing import Any, NamedTuple


class Seen(NamedTuple):
    """A problem, the document it was seen in, and the level of that document.

    ``level`` is file, profile, cr or lowered; ``group`` are the lowered objects that it is about. ``rule`` is
    that of a policy, None for the rules in rules.py. ``also`` are further places, each with a label.
    ``change_in`` is the document that the change of the problem is about, where it is another. ``about`` are
    further files that it is about.
    """

    level: str
    doc: Doc
    problem: Problem
    group: Group | None = None
    rule: Rule | None = None
    also: tuple[tuple[Place, str], ...] = ()
    change_in: Doc | None = None
    about: tuple[str, ...] = ()


class Sighting(NamedTuple):
    """Something seen in one variant of a document, or in it as a whole (None).

    ``object`` is the CR or Kubernetes object that it is in.
    """

    variant: str | None
    seen: Seen
    object: dict[str, Any] | None
