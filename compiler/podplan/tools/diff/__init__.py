"""The effects of a change of the repository on its jobs: two revisions compared as data, and aggregated.

``repository_state.RepositoryState`` has facts of every compiled and lowered job of one revision,
``comparison.compare`` returns a ``model.Diff`` (impact, jobs, changes), and podplan.report.diff_text,
diff_markdown and diff_json render it.

Objects are paired by identity (group, kind, namespace, name, environment), so that moving and renaming files
is no change. Values are compared as data: quantities by amount, entries of lists by name.
"""

from __future__ import annotations

from podplan.tools.diff.comparison import compare
from podplan.tools.diff.model import Count, Diff, Difference, Impact, JobChange, Queue
from podplan.tools.diff.repository_state import RepositoryState

__all__ = ["Count", "Diff", "Difference", "Impact", "JobChange", "Queue", "RepositoryState", "compare"]
