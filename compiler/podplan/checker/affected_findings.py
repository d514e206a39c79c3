"""Which findings a change of files is about: those on the files, and on all that depends on them."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping

from podplan.core.findings import Finding

# A policy that cannot be evaluated is one that was not looked at, whatever changed.
ALWAYS = frozenset({"POLICY001"})


def affected(changed: Collection[str], named: Mapping[str, Collection[str]]) -> frozenset[str]:
    """``changed`` with all files that name one of them, or one that does: real paths.

    ``named`` is as in Result, and its paths may be any.
    """
    dependents: dict[str, list[str]] = {}
    for file, others in named.items():
        for other in others:
            dependents.setdefault(os.path.realpath(other), []).append(os.path.realpath(file))
    reached, open_ = set(changed), list(changed)
    while open_:
        for file in dependents.get(open_.pop(), ()):
            if file not in reached:
                reached.add(file)
                open_.append(file)
    return frozenset(reached)


def about(files: Collection[str]) -> Callable[[Finding], bool]:
    """Whether a finding is about one of ``files`` (real paths): it lies there, or is of a document there.

    A fault of two jobs together is about both.
    """
    known: dict[str, bool] = {}

    def is_there(file: str) -> bool:
        if file not in known:
            known[file] = os.path.abspath(file) in files or os.path.realpath(file) in files
        return known[file]

    def is_about(found: Finding) -> bool:
        places = (found.location.file, *found.about, *(place.location.file for place in found.related))
        return found.rule in ALWAYS or any(map(is_there, places))

    return is_about
