"""podplan against a real API server: 2,990 objects with the verdict of Kubernetes 1.36.

The rules were written with one half of the objects in view (``development``); the other half was held
out until they were done.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from pathlib import Path as File
from typing import Any, NamedTuple

import pytest

from podplan import kubernetes
from podplan.core.findings import Diagnostic, Path

VERDICTS = File(__file__).parents[1] / "fixtures" / "kubernetes" / "verdicts.jsonl.gz"
MISSING = re.compile(r'required field "([^"]+)" is missing')
# The server blames these maps as a whole, or a key of them in brackets; podplan names the key.
MAPS = {"annotations", "data", "labels", "limits", "matchLabels", "nodeSelector", "requests", "selector"}


class Figures(NamedTuple):
    """How many verdicts podplan shares, and the objects on which it does not."""

    accepted: int
    rejected: int
    missed: list[str]
    elsewhere: list[str]
    false: list[str]


def verdicts() -> list[dict[str, Any]]:
    with gzip.open(VERDICTS, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def half(verdict: dict[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(verdict["object"], sort_keys=True).encode()).digest()
    return "held out" if digest[0] & 1 else "development"


def written(path: Path) -> str:
    """A path as the API server writes it; it escapes control characters in keys."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += ("." if text else "") + step.replace("\n", "\\n")
    return text


def blames(problem: Diagnostic, field: str, obj: dict[str, Any]) -> bool:
    """Whether a problem stands at the field that the server blames, apart from ways of writing it."""
    at = written(problem.path)
    found = MISSING.match(problem.message)
    if found:  # podplan points at the mapping that lacks the field, the server at the field or below it
        lacking = written((*problem.path, found[1]))
        return field == lacking or field.startswith(lacking + ".")
    if at == field:
        return True
    if len(problem.path) > 1 and isinstance(problem.path[-1], str):
        holder = written(problem.path[:-1])
        if field == f"{holder}[{problem.path[-1]}]" or (field == holder and problem.path[-2] in MAPS):
            return True
    # The server leaves the index out of two paths, and copies clusterIP to clusterIPs first.
    return (
        (field.endswith(".envFrom") and at.rpartition("[")[0] == field)
        or (field.endswith("volumeMounts.subPath") and re.sub(r"\[\d+\]\.subPath$", ".subPath", at) == field)
        or (field == "spec.clusterIPs[0]" and at == "spec.clusterIP" and "clusterIPs" not in obj["spec"])
    )


def follows(field: str, obj: dict[str, Any], problems: list[Diagnostic]) -> bool:
    """Whether the server blames a mount only since it dropped the volume for a fault of its own."""
    found = re.match(r"spec\.(\w+)\[(\d+)\]\.volumeMounts\[(\d+)\]\.name$", field)
    if not found:
        return False
    name = obj["spec"][found[1]][int(found[2])]["volumeMounts"][int(found[3])].get("name")
    return any(
        isinstance(volume, dict)
        and volume.get("name") == name
        and any(problem.path[:3] == ("spec", "volumes", index) for problem in problems)
        for index, volume in enumerate(obj["spec"].get("volumes") or [])
    )


def figures(chosen: list[dict[str, Any]]) -> Figures:
    counted = Figures(
        sum(verdict["accepted"] for verdict in chosen),
        sum(not verdict["accepted"] for verdict in chosen),
        [],
        [],
        [],
    )
    for verdict in chosen:
        obj = verdict["object"]
        problems = kubernetes.validate_object(obj, "1.36")
        said = [f"{written(problem.path)}: {problem.message}" for problem in problems]
        if verdict["accepted"]:
            if problems:
                counted.false.append(f"accepted, but podplan says {said}")
            continue
        if not problems:
            counted.missed.append(f"{verdict['fields'] or 'not decoded'} in {json.dumps(obj)[:2000]}")
            continue
        left = [
            field
            for field in verdict["fields"]
            if not any(blames(problem, field, obj) for problem in problems)
            and not follows(field, obj, problems)
        ]
        if left:
            counted.elsewhere.append(f"server blames {left}, podplan says {said}")
    return counted


@pytest.mark.parametrize("part", ["development", "held out"])
def test_agreement_with_the_api_server(part: str) -> None:
    found = figures([verdict for verdict in verdicts() if half(verdict) == part])
    wrong = len(found.missed) + len(found.elsewhere)
    print(
        f"\n{part}: {found.rejected} refused, {len(found.missed)} missed, "
        f"{len(found.elsewhere)} blamed elsewhere; {found.accepted} accepted, {len(found.false)} refused"
    )
    listing = "\n".join([*found.missed, *found.elsewhere, *found.false])
    assert found.rejected > 1000
    assert found.accepted > 400
    assert not found.missed, listing
    assert wrong <= 0.02 * found.rejected, listing
    assert len(found.false) <= 0.002 * found.accepted, listing


def test_older_and_newer_versions_take_what_1_36_takes() -> None:
    # Service names may begin with a digit, and variables hold more characters, from some version on.
    grown = re.compile(r"name .*(?:with a letter first|before 1\.32)")
    accepted = [verdict["object"] for verdict in verdicts() if verdict["accepted"]]
    for version in kubernetes.supported_versions():
        for obj in accepted[:: 10 if version != "1.24" else 1]:
            problems = kubernetes.validate_object(obj, version)
            assert not [p for p in problems if not grown.match(p.message)], (version, problems)
