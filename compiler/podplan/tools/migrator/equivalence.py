"""Whether what was migrated lowers to the same objects as before; and if not, what differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from podplan.core.findings import Path
from podplan.core.replica_groups import folded
from podplan.core.typing import Any, NamedTuple
from podplan.lint.redaction import redactor_for
from podplan.pipeline import Plan, Settings, plans
from podplan.redaction.redactor import Redactor, redact_change
from podplan.workspace import Reader
from podplan.workspace.documents import items
from podplan.yaml import Source

# What tells the entries of a list apart where their order says little.
_KEYS = ("name", "mountPath")


class Difference(NamedTuple):
    """One part of one object, before and after; None for what is not there.

    ``ordered``: the entries are the same, in another order.
    """

    object: str
    path: Path
    before: Any
    after: Any
    ordered: bool = False


class Proof(NamedTuple):
    """What became of one CR, hand-written or compiled under ``variant``.

    ``objects`` counts what it lowers to by kind, every replica, and is empty where it does not; then
    ``reason`` says why. ``was_lowered`` tells whether it did before.
    """

    job: str
    variant: str
    objects: Mapping[str, int]
    was_lowered: bool
    reason: str
    differences: tuple[Difference, ...]


def proofs(before: Source, after: Source, settings: Settings, instead: Mapping[str, str]) -> list[Proof]:
    """A proof for each CR of a file that changes with its text; ``instead`` has the new texts of all."""
    old, new = _plans(before, settings, Reader()), _plans(after, settings, Reader(instead=instead))
    names = [name for name in new if name in old and _cr(old[name]) != _cr(new[name])]
    return [_proof(name, old[name], new[name]) for name in names]


def _cr(plan: Plan) -> Any:
    return plan.cr.data if plan.cr is not None else None


def _plans(source: Source, settings: Settings, reader: Reader) -> dict[tuple[int, str], Plan]:
    found = {}
    for index, item in enumerate(items(source)):
        if item.what in ("cr", "profile"):
            for plan in plans(item, settings, reader):
                if plan.variant is not None:
                    found[index, plan.variant] = plan
    return found


def _proof(name: tuple[int, str], old: Plan, new: Plan) -> Proof:
    data = new.cr.data if new.cr is not None else new.item.doc.data
    job = f"{data.get('kind')}/{(data.get('metadata') or {}).get('name', '?')}"
    objects: Counter[str] = Counter()
    for group in new.groups:
        objects[group.doc.data["kind"]] += group.replicas
    secrets = redactor_for([old.item.doc, old.profile, old.cr, new.item.doc, new.profile, new.cr])
    reason = "" if new.lowered else next((seen.problem.message for seen in new.seen), "it is not lowered")
    both = old.lowered and new.lowered
    found = _differences(_objects(old), _objects(new)) if both else ()
    differences = tuple(_redacted(one, secrets) for one in found)
    return Proof(job, name[1], objects, old.lowered, secrets.text(reason), differences)


def _redacted(found: Difference, secrets: Redactor) -> Difference:
    kind = found.object.partition("/")[0]
    before, after = redact_change(found.before, found.after, found.path, kind, secrets)
    return found._replace(before=before, after=after)


def _objects(plan: Plan) -> dict[str, Any]:
    """The objects by kind and name, replicas folded."""
    whole = [folded(group) for group in plan.groups]
    return {f"{one['kind']}/{one['metadata']['name']}": one for one in whole}


def _differences(old: dict[str, Any], new: dict[str, Any]) -> Iterator[Difference]:
    for name, before in old.items():
        if name in new:
            yield from _compared(name, (), before, new[name])
        else:
            yield Difference(name, (), before, None)
    yield from (Difference(name, (), None, after) for name, after in new.items() if name not in old)


def _compared(name: str, path: Path, before: Any, after: Any) -> Iterator[Difference]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in (*before, *(key for key in after if key not in before)):
            yield from _compared(name, (*path, key), before.get(key), after.get(key))
    elif isinstance(before, list) and isinstance(after, list) and (pairs := _by_key(before, after)):
        if list(pairs[0]) != list(pairs[1]) and set(pairs[0]) == set(pairs[1]):
            yield Difference(name, path, list(pairs[0]), list(pairs[1]), ordered=True)
        for key in (*pairs[0], *(key for key in pairs[1] if key not in pairs[0])):
            yield from _compared(name, (*path, key), pairs[0].get(key), pairs[1].get(key))
    elif before != after or type(before) is not type(after):
        yield Difference(name, path, before, after)


def _by_key(*lists: Sequence[Any]) -> list[dict[str, Any]]:
    """The entries of lists by what tells them apart; none where nothing does."""
    for key in _KEYS:
        if all(isinstance(entry, dict) and isinstance(entry.get(key), str) for one in lists for entry in one):
            found = [{entry[key]: entry for entry in one} for one in lists]
            if [len(one) for one in found] == [len(one) for one in lists]:
                return found
    return []
