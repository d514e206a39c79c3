"""Secrets in the texts that are shown beside findings: stars take their place, so that no report has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from podplan.findings import Finding, Location
from podplan.source.places import LINE_BREAK

# The rules whose findings lie on a secret.
ON_SECRETS = frozenset({"PROF107"})


def masked(texts: Mapping[str, str], findings: Iterable[Finding]) -> dict[str, str]:
    """``texts`` by file, with what findings of ``ON_SECRETS`` lie on replaced, character by character."""
    places: dict[str, list[Location]] = {}
    for found in findings:
        if found.rule in ON_SECRETS:
            places.setdefault(found.location.file, []).append(found.location)
    return {file: _without(text, places.get(file, ())) for file, text in texts.items()}


def _without(text: str, places: Iterable[Location]) -> str:
    ends = [match.end() for match in LINE_BREAK.finditer(text)] if places else []
    lines = [text[start:end] for start, end in pairwise((0, *ends, len(text)))]
    for place in places:
        for number in range(place.line, min(place.end_line, len(lines)) + 1):
            line = lines[number - 1]
            start = place.column - 1 if number == place.line else 0
            end = place.end_column - 1 if number == place.end_line else len(line.rstrip("\r\n"))
            lines[number - 1] = line[:start] + "*" * (end - start) + line[end:]
    return "".join(lines)
