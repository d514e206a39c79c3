"""Repairs: what is to change in a document of any step, and what that is in the text of a file."""

from podplan.fixing.edits import Refused, edits_for
from podplan.fixing.written import at_source

__all__ = ["Refused", "at_source", "edits_for"]
