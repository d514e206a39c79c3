"""What a change of the repository does to the jobs in it: two trees compared as data, folded for people.

    touched = find_touched(before, after, changed)     # diff.touched: the files that depend on the change
    before, after = Tree(files, …), Tree(files, …)     # diff.trees: facts of every job, compiled and lowered
    found = compare(before, after, "lowered", known)   # a Diff: the impact, the jobs, and the changes, folded
    report.diff_text | diff_markdown | diff_json       # .render(found) is text

Who has paths, a base and flags and wants a Diff calls ``podplan.cli.diff.compared(paths, base=…, **flags)``;
its ``impact`` says in numbers what ``report.diff_words.impact_line(found)`` says in a line, and
``report.diff_markdown.render(found, room)`` is for a job summary or a comment.

Objects are paired by identity (group, kind, namespace, name, environment), so that moving and renaming files
is no change. Values are compared as data: quantities by size, entries of lists by name.
"""

from __future__ import annotations

from podplan.tools.diff.comparison import compare
from podplan.tools.diff.model import Count, Diff, Difference, Impact, JobChange, Queue
from podplan.tools.diff.repository_state import Tree

__all__ = ["Count", "Diff", "Difference", "Impact", "JobChange", "Queue", "Tree", "compare"]
