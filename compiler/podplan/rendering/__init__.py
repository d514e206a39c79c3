"""The CRs and the lowered objects of files as text: all of them, or none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from podplan.emit import emit_document
from podplan.groups import Group, demand_few, expand, folded
from podplan.limits import MAX_WRITTEN_TEXT, BoundExceeded, beyond
from podplan.pipeline import Plan, Settings, plans
from podplan.reading import Reader
from podplan.reading.documents import identity, items
from podplan.reading.opening import Unread
from podplan.rendering.origin import header
from podplan.requests import RequestError
from podplan.source import Source


def all_plans(
    found: Iterable[Source | Unread], settings: Settings, reader: Reader, wanted: frozenset[str]
) -> list[Plan]:
    """The plans of the documents in the files that are of a ``wanted`` sort: profile, cr.

    Raises RequestError where two results have one name, and what pipeline.plans raises.
    """
    made: list[Plan] = []
    for source in found:
        if isinstance(source, Unread):
            continue
        for item in items(source):
            if item.what in wanted or item.what == "podplan":
                made += plans(item, settings, reader)
    _refuse_duplicates(made)
    return made


def _refuse_duplicates(made: Iterable[Plan]) -> None:
    seen: dict[tuple[str, ...], str] = {}
    for plan in made:
        if plan.cr is None:
            continue
        named = identity(plan.cr.data)
        key = tuple(str(named[part]) for part in ("kind", "namespace", "name"))
        here = f"{plan.item.doc.name} ({plan.variant})" if plan.variant else plan.item.doc.name
        if key in seen and named["name"] is not None:
            raise RequestError(
                f"two results are both {named['kind']} {named['name']}: from {seen[key]} and from {here};"
                " give them different names or namespaces"
            )
        seen[key] = here


def rendered(plan: Plan, settings: Settings) -> str:
    """The CR of a plan as one YAML document, with its header."""
    assert plan.cr is not None
    return header(plan, settings) + emit_document(plan.cr.data)


def lowered(made: Sequence[Plan]) -> Iterator[str]:
    """The lowered objects of plans as YAML documents, every replica written out. Raises BoundExceeded."""
    groups = [group for plan in made for group in plan.groups]
    demand_few("this", sum(group.replicas for group in groups))
    for group in groups:
        for data in expand(group):
            yield emit_document(data)


def lowered_folded(made: Sequence[Plan]) -> Iterator[str]:
    """The replica groups of plans as YAML documents, with ``{0..31}`` for the index; for reading."""
    for plan in made:
        for group in plan.groups:
            yield f"# {_size(group)}\n{emit_document(folded(group))}"


def _size(group: Group) -> str:
    if not group.role:
        return "one object"
    if group.replicas == 1:
        return f"{group.role} {group.start}"
    return f"{group.role} {group.indexes}: {group.replicas} objects"


def stream(documents: Iterable[str]) -> str:
    """Documents as one YAML stream. Raises BoundExceeded for one that would fill the memory."""
    return "".join(_bounded(f"---\n{document}" for document in documents))


def _bounded(texts: Iterable[str]) -> Iterator[str]:
    length = 0
    for text in texts:
        length += len(text)
        if length > MAX_WRITTEN_TEXT:
            message = f"this is more than {MAX_WRITTEN_TEXT:,} characters of YAML"
            raise BoundExceeded(beyond("written-text", f"{message}; ask for fewer jobs at once, or --fold"))
        yield text
