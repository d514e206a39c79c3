"""What lowering makes of a field, from the table that tools/lowered_fields.py makes of lowered fixtures."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache

from podplan.core import bundled
from podplan.core.provenance import Fact
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.lowering_options import known as known_facts
from podplan.kinds.registry import PACKAGES, load_spec

# Facts of one kind only, by the first word of their ids.
OF_KIND = {load_spec(kind).option_prefix: kind.kind for kind in PACKAGES}
_OWN_NAME = re.compile("[a-z]+[A-Z]")  # a name that is no word of English


class Part(NamedTuple):
    """A part of a CR or of a lowered object that a field gives, and the facts by which it does."""

    kind: str
    path: str
    facts: tuple[Fact, ...] = ()


class Becoming(NamedTuple):
    """``otherwise`` are the facts that hold where the field is not written; ``told`` those that name it."""

    parts: tuple[Part, ...] = ()
    otherwise: tuple[Fact, ...] = ()
    told: tuple[Fact, ...] = ()


def becoming(kind: str, path: str) -> Becoming:
    """What becomes of the field at ``path`` (dots, without brackets) of a profile or CR of ``kind``."""
    rows = _table().get(kind, {})
    row = rows.get(path, {})
    own = [Part(to_kind, to, _facts(ids)) for to_kind, to, ids in row.get("becomes", ())]
    parts = own or _with_another(rows, path)
    said = {fact.id for part in parts for fact in part.facts}
    otherwise = tuple(fact for fact in _facts(row.get("otherwise", ())) if fact.id not in said)
    known = said | {fact.id for fact in otherwise}
    return Becoming(_fewest(parts), otherwise, _naming(kind, path.rpartition(".")[2], known))


def _with_another(rows: Mapping[str, Any], path: str) -> list[Part]:
    """Where a field goes that is copied with one above it, under the same name."""
    above, _, below = path.rpartition(".")
    while "." in above:
        whole = (part for part in rows.get(above, {}).get("becomes", ()) if not part[2])
        name = above.rpartition(".")[2]
        same = ((to_kind, to) for to_kind, to, _ in whole if _plain(to).rpartition(".")[2] == name)
        parts = [Part(to_kind, f"{to}.{below}") for to_kind, to in same]
        if parts:
            return parts
        above, _, step = above.rpartition(".")
        below = f"{step}.{below}"
    return []


def _fewest(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Those that say more than that something above them is there."""
    kept: list[Part] = []
    for part in parts:
        above = (one.path for one in kept if one.kind == part.kind)
        if part.facts or not any(part.path.startswith((f"{path}.", f"{path}[")) for path in above):
            kept.append(part)
    return tuple(kept)


def _naming(kind: str, name: str, known: set[str]) -> tuple[Fact, ...]:
    """The facts that speak of a field of this name."""
    if not _OWN_NAME.match(name):
        return ()
    word = re.compile(rf"\b{re.escape(name)}\b")
    return tuple(
        fact
        for fact in _all().values()
        if word.search(fact.text)
        and fact.id not in known
        and OF_KIND.get(fact.id.partition(".")[0], kind) == kind
    )


def _facts(ids: Iterable[str]) -> tuple[Fact, ...]:
    return tuple(_all()[one] for one in ids if one in _all())


@cache
def _all() -> dict[str, Fact]:
    return {fact.id: fact for fact in known_facts()}


@cache
def _table() -> dict[str, dict[str, Any]]:
    """The table, its fields without brackets."""
    table: dict[str, dict[str, Any]] = {}
    for kind, rows in json.loads(bundled.read("schemas", "lowered-fields.json")).items():
        for field, row in rows.items():
            mine = table.setdefault(kind, {}).setdefault(_plain(field), {})
            for key, entries in row.items():
                mine[key] = [*mine.get(key, ()), *(one for one in entries if one not in mine.get(key, ()))]
    return table


def _plain(path: str) -> str:
    return path.replace("[]", "")
