"""What was seen where, before anybody looked up the line."""

from __future__ import annotations

from podplan.core.builtin_rules import Rule
from podplan.core.findings import Diagnostic
from podplan.core.provenance import DocumentPath, TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import NamedTuple


class DocumentDiagnostic(NamedTuple):
    """A problem, the document it was seen in, and the level of that document.

    ``level`` is file, profile, cr or lowered; ``group`` are the lowered objects that it is about. ``rule`` is
    that of a policy, None for the rules in rules.py. ``also`` are further places, each with a label.
    ``change_in`` is the document that the change of the problem is about, where it is another. ``about`` are
    further files that it is about.
    """

    level: str
    doc: TracedDocument
    diagnostic: Diagnostic
    group: ReplicaGroup | None = None
    rule: Rule | None = None
    extra_places: tuple[tuple[DocumentPath, str], ...] = ()
    change_doc: TracedDocument | None = None
    related_files: tuple[str, ...] = ()
