"""Hover: what the field means, and what becomes of it here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import islice

from podplan.core.errors import RequestError
from podplan.core.findings import Path
from podplan.core.limits import BoundExceeded
from podplan.core.provenance import Fact
from podplan.core.typing import Any
from podplan.integrations.lsp.cursor import Spot
from podplan.integrations.lsp.field_effects import MAX_PLANS, Effect, effects, pods
from podplan.integrations.lsp.workspace import Workspace
from podplan.pipeline import Plan
from podplan.report.lowering_map import becoming
from podplan.schema import catalog, fields
from podplan.workspace.files import OutsideRoot

MOST_EFFECTS = 6
_OWN_KIND = {"JobProfileBase": "JobProfile"}  # what is a partial one has the same fields
MOST_FACTS = 4
# The fields, of profiles and CRs, that decide how many Pods and GPUs there are.
SIZES = frozenset(
    [
        *(
            "replicas",
            "processes",
            "hardware",
            "resources",
            "roles",
            "elastic",
            "job",
            "matrix",
            "environments",
        ),
        *("replicaSpecs", "worker", "procPerNode", "procPerWorker", "slotsPerWorker", "limits"),
    ]
)


@cache
def whole_schema(kind: str, k8s_version: str) -> dict[str, Any]:
    """The schema of a kind, {} where there is none."""
    name = _OWN_KIND.get(kind, kind)
    return catalog.show(name, k8s_version) if name in catalog.names() else {}


def text(spot: Spot, workspace: Workspace) -> str | None:
    """The hover text as Markdown, None where there is nothing to say."""
    path = spot.path
    if not path:
        return None
    said = list(_meaning(spot, path, workspace.asked(spot.document.path).settings.k8s_version))
    traced: list[Effect] = []
    with suppress(RequestError, BoundExceeded, OutsideRoot):  # the diagnostics say so
        said += _effect(spot, path, workspace, traced)
    told = (*(fact for one in traced for fact in one.facts), *_facts(spot, path, bool(traced)))
    known = {fact.id: fact for fact in told}
    said += _block([f"- {fact.text} [{fact.basis}]" for fact in list(known.values())[:MOST_FACTS]])
    return "\n".join(said) if said else None


def _facts(spot: Spot, path: Path, traced: bool) -> Iterator[Fact]:
    """What lowering does with a field in general: what names it, and what it gives where no trace says so."""
    if path[:2] == ("spec", "environments"):
        path = ("spec", *path[3:])
    kind = _OWN_KIND.get(spot.kind, spot.kind)
    known = becoming(kind, ".".join(step for step in path if isinstance(step, str)))
    if not traced:
        job = spot.value(("spec", "job"))
        own = (part for part in known.parts if part.kind == job or not part.kind.endswith("Job"))
        yield from (fact for part in own for fact in part.facts)
    yield from known.told


def _meaning(spot: Spot, path: Path, version: str) -> Iterator[str]:
    whole = whole_schema(spot.kind, version)
    here = fields.at(whole, path)
    if not here:
        return
    named = ".".join(str(step) for step in path if isinstance(step, str))
    kinds = " or ".join(fields.types(here, whole))
    yield f"**{named}**" + (f" · {kinds}" if kinds else "")
    described = fields.description(here, whole)
    yield from _block([described] if described else [])
    chosen = [str(value) for value in fields.choices(here, whole) if not isinstance(value, bool)]
    limits = fields.bounds(here, whole)
    notes = [f"one of {', '.join(f'`{value}`' for value in chosen)}"] if chosen else []
    notes += [f"{word} `{limits[key]}`" for key, word in _BOUNDS.items() if key in limits]
    yield from _block(["; ".join(notes)] if notes else [])


_BOUNDS = {"minimum": "at least", "maximum": "at most", "default": "default"}


def _effect(spot: Spot, path: Path, workspace: Workspace, traced: list[Effect]) -> Iterator[str]:
    """The Pods that follow, and the fields of CR or Pods that come from here, of one variant, which are
    added to ``traced``."""
    if spot.parsed is None or spot.item is None or spot.item.what not in ("profile", "base", "cr"):
        return
    made = list(islice(workspace.plans_of(spot.document), MAX_PLANS))
    if spot.item.what != "base":
        made = [plan for plan in made if _is_of(plan, spot)]
    if SIZES & {step for step in path[-2:] if isinstance(step, str)}:
        yield from _block([f"- {line}" for line in pods(made)])
    if len(path) < 2:
        return
    for plan in made:
        found = list(islice(effects(plan, spot.parsed, path), MOST_EFFECTS + 1))
        if not found:
            continue
        variant = f", {plan.variant}" if plan.variant else ""
        for document in dict.fromkeys(one.document for one in found[:MOST_EFFECTS]):
            told = [
                f"- `{one.path}`: `{one.value}`" for one in found[:MOST_EFFECTS] if one.document == document
            ]
            yield from _block([f"in {document}{variant}:", *told])
        yield from ["- …"] if len(found) > MOST_EFFECTS else []
        traced += found
        return


def _is_of(plan: Plan, spot: Spot) -> bool:
    source = plan.item.doc.source
    here = spot.parsed
    return source is not None and here is not None and (source.file, source.index) == (here.file, here.index)


def _block(lines: list[str]) -> list[str]:
    return ["", *lines] if lines else []
