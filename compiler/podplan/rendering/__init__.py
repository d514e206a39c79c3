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
from podplan.typing import Any


def all_plans(
    found: Iterable[Source | Unread], settings: Settings, reader: Reader, wanted: frozenset[str]
) -> list[Plan]:
    """The plans of the documents in the files that are of a ``wanted`` sort: profile, cr.

    Raises RequestError where two results of profiles alone have one name, since one would replace the other,
    and what pipeline.plans raises.
    """
    made: list[Plan] = []
    for source in found:
        if isinstance(source, Unread):
            continue
        for item in items(source):
            if item.what in wanted or item.what == "podplan":
                made += plans(item, settings, reader)
    if "cr" not in wanted:
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
    """The CR of a plan as one YAML document, with its header. Raises BoundExceeded."""
    assert plan.cr is not None
    return header(plan, settings) + _emitted(plan, plan.cr.data)


def lowered(made: Sequence[Plan]) -> Iterator[str]:
    """The lowered objects of plans as YAML documents, every replica written out. Raises BoundExceeded."""
    _demand_few(made)
    for plan in made:
        for group in plan.groups:
            for data in expand(group):
                yield _emitted(plan, data)


def _demand_few(made: Iterable[Plan]) -> None:
    """Raises BoundExceeded for more replicas than are written out, which names the file with most of them."""
    of_file: dict[str, int] = {}
    for plan in made:
        file = plan.item.doc.name
        of_file[file] = of_file.get(file, 0) + sum(group.replicas for group in plan.groups)
    try:
        demand_few("this, with the other files," if len(of_file) > 1 else "this", sum(of_file.values()))
    except BoundExceeded as error:
        raise error.in_file(max(of_file, key=of_file.__getitem__)) from None


def lowered_folded(made: Sequence[Plan]) -> Iterator[str]:
    """The replica groups of plans as YAML documents, with ``{0..31}`` for the index; for reading."""
    for plan in made:
        for group in plan.groups:
            yield f"# {_size(group)}\n{_emitted(plan, folded(group))}"


def _emitted(plan: Plan, data: Any) -> str:
    """A document that came of a plan. Raises BoundExceeded, which names the file."""
    try:
        return emit_document(data)
    except BoundExceeded as error:
        raise error.in_file(plan.item.doc.name) from None


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
