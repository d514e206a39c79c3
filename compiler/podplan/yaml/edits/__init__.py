"""Fixes: changes to a document of any step, as edits of the text of a file."""

from podplan.yaml.edits.changes import FixRefused, build_edits
from podplan.yaml.edits.source_spans import resolve_to_source

__all__ = ["FixRefused", "build_edits", "resolve_to_source"]
