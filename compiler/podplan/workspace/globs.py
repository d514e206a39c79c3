"""Shell patterns over paths: ``*`` stays within one folder, ``**`` does not."""

from __future__ import annotations

from fnmatch import fnmatchcase


def matches_glob(path: str, pattern: str) -> bool:
    """Whether a pattern matches a path, or a folder above it; both relative, with forward slashes.

    A pattern without a slash matches at any depth, as in .gitignore.
    """
    segments = pattern.strip("/").split("/")
    if len(segments) == 1 and not pattern.startswith("/"):
        segments = ["**", *segments]
    steps = path.split("/")
    # reached[i]: the first i steps of the path match the part of the pattern that was read.
    reached = [True] + [False] * len(steps)
    for segment in segments:
        if segment == "**":
            first = reached.index(True) if True in reached else len(reached)
            reached = [i >= first for i in range(len(reached))]
        else:
            reached = [False] + [reached[i] and fnmatchcase(steps[i], segment) for i in range(len(steps))]
    return any(reached[1:])
