"""Repairs: what is to change in a document of any step, and what that is in the text of a file."""

from podplan.yaml.edits.changes import Refused, edits_for
from podplan.yaml.edits.source_spans import at_source

__all__ = ["Refused", "at_source", "edits_for"]
