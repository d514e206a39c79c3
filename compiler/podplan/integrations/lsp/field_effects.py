"""What becomes of a place in a file: the fields of CRs and lowered objects that come from it, and why."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice

from podplan.core.findings import Path, value_at
from podplan.core.path_syntax import show
from podplan.core.provenance import Doc, Fact, origin_of
from podplan.core.replica_groups import folded
from podplan.core.typing import Any, NamedTuple
from podplan.lint.analysis.resources import accelerators, containers
from podplan.lint.redaction import redactor_for
from podplan.pipeline import Plan
from podplan.redaction.redactor import NOT_SHOWN, REDACTED, Redactor, redact_data
from podplan.yaml import Document

MAX_PLANS = 24
MAX_LEAVES = 5_000
MAX_SHOWN = 80


class Effect(NamedTuple):
    """A scalar that comes from a place: where it stands, as text, and the facts on the way there."""

    document: str
    path: str
    value: str
    facts: tuple[Fact, ...]


def pods(made: Iterable[Plan]) -> list[str]:
    """The Pods and GPUs of each variant, such as ``dev: worker → 1 Pod × 8 GPUs``; equal ones together."""
    told: dict[str, list[str]] = {}
    for plan in islice(made, MAX_PLANS):
        if plan.lowered and plan.variant is not None:
            told.setdefault(_pods(plan), []).append(plan.variant or "as written")
    if len(told) == 1:
        return [text for text in told if text]
    return [f"{_names(ids)}: {text or 'no Pods'}" for text, ids in told.items()]


def _names(ids: list[str]) -> str:
    return ", ".join(ids[:4]) + (f" and {len(ids) - 4} more" if len(ids) > 4 else "")


def _pods(plan: Plan) -> str:
    roles: dict[str, list[int]] = {}
    for group in plan.groups:
        if group.doc.data.get("kind") == "Pod":
            gpus = sum(accelerators(container).number for _, container in containers(group))
            role = roles.setdefault(group.role, [0, 0, 0])
            role[:] = role[0] + group.replicas, gpus, role[2] + gpus * group.replicas
    lines = [_role(name, *numbers) for name, numbers in roles.items()]
    total = sum(gpus for _, _, gpus in roles.values())
    return "; ".join(lines) + (
        f"; {total} GPUs in all" if len([n for n in roles.values() if n[2]]) > 1 else ""
    )


def _role(name: str, replicas: int, gpus: int, total: int) -> str:
    what = f"{replicas} Pod{'s' if replicas != 1 else ''}"
    each = f" × {gpus} GPU{'s' if gpus != 1 else ''} = {total}" if gpus else ", no GPU"
    return f"{name or 'job'} → {what}{each}"


def effects(plan: Plan, document: Document, path: Path) -> Iterator[Effect]:
    """What comes from a place of a file: of a profile in the CR, of a CR in the lowered objects."""
    if plan.cr is None:
        return
    docs = [plan.cr] if plan.profile is not None else [group.doc for group in plan.groups]
    folds = {id(group.doc): group for group in plan.groups}
    secrets = redactor_for([plan.cr, plan.profile])
    for doc in docs:
        shown = redact_data(folded(folds[id(doc)]) if id(doc) in folds else doc.data)
        for leaf in islice(_leaves(doc.data), MAX_LEAVES):
            facts = _comes_from(doc, leaf, document, path)
            if facts is not None:
                name = shown.get("metadata", {}).get("name", "")
                value = _value(value_at(shown, leaf), secrets)
                yield Effect(f"{doc.data.get('kind')}/{name}", show(doc.data, leaf), value, facts)


def _leaves(data: Any, path: Path = ()) -> Iterator[Path]:
    steps = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    empty = True
    for step, value in steps:
        empty = False
        yield from _leaves(value, (*path, step))
    if empty:
        yield path


def _comes_from(doc: Doc, leaf: Path, document: Document, path: Path) -> tuple[Fact, ...] | None:
    """The facts on the way from a leaf to a place or to what is below it; None where it is from elsewhere."""
    waiting: list[tuple[Doc, Path, tuple[Fact, ...]]] = [(doc, leaf, ())]
    seen = set()
    while waiting:
        here, at, facts = waiting.pop()
        if here.source is not None:
            same = here.source.file == document.file and here.source.index == document.index
            if same and at[: len(path)] == path:
                return facts
            continue
        if (id(here), at) in seen:
            continue
        seen.add((id(here), at))
        try:
            origin, rest = origin_of(here, at)
        except LookupError:
            continue
        facts = (*facts, origin.fact) if origin.fact is not None and origin.fact not in facts else facts
        for number, place in enumerate(origin.places):
            whole = origin.how == "copied" and number == 0
            waiting.append((place.doc, (*place.path, *rest) if whole else place.path, facts))
    return None


def _value(value: Any, secrets: Redactor) -> str:
    value = secrets.value(value)
    text = NOT_SHOWN if value == REDACTED else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]} …"
