"""The CRs and the lowered objects of files as text: all of them, or none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podplan.core.errors import RequestError
from podplan.core.limits import BoundExceeded
from podplan.core.replica_groups import Group, demand_few, expand, folded
from podplan.core.typing import Any
from podplan.pipeline import Plan, Settings
from podplan.rendering.header import header
from podplan.rendering.spool import Spool
from podplan.workspace.documents import identity
from podplan.yaml.writer import emit_document


class Output:
    """What is printed of plans, one after the other; nothing of a plan is kept but its text.

    What would have to be told of the text waits for ``finished``: findings come first.
    """

    def __init__(self) -> None:
        self._spool = Spool()
        self._failure: BoundExceeded | ValueError | None = None

    def add(self, plan: Plan, settings: Settings) -> None:
        """One more plan that has a CR."""
        if self._failure is not None:
            return
        try:
            for text in self.documents(plan, settings):
                self._spool.add(f"---\n{text}")
        except BoundExceeded as error:
            self._failure = error.in_file(plan.item.doc.name)
        except ValueError as error:  # a number that no YAML has, in a CR with errors
            self._failure = error

    def documents(self, plan: Plan, settings: Settings) -> Iterator[str]:
        """The YAML documents of a plan. Raises BoundExceeded."""
        raise NotImplementedError

    def finished(self) -> Spool:
        """The text of all of them. Raises BoundExceeded."""
        if self._failure is not None:
            raise self._failure
        return self._spool


class Rendered(Output):
    """The CRs of profiles. Two of one name are a RequestError, since one would replace the other."""

    def __init__(self) -> None:
        super().__init__()
        self._names = Names()

    def documents(self, plan: Plan, settings: Settings) -> Iterator[str]:
        self._names.add(plan)
        yield rendered(plan, settings)


class Lowered(Output):
    """The lowered objects of plans, every replica written out."""

    def __init__(self) -> None:
        super().__init__()
        self._replicas: dict[str, int] = {}

    def documents(self, plan: Plan, settings: Settings) -> Iterator[str]:  # noqa: ARG002 (as in Output)
        for group in plan.groups:
            for data in expand(group):
                yield _emitted(plan, data)

    def add(self, plan: Plan, settings: Settings) -> None:
        file = plan.item.doc.name
        replicas = sum(group.replicas for group in plan.groups)
        self._replicas[file] = self._replicas.get(file, 0) + replicas
        if self._too_many() is None:
            super().add(plan, settings)

    def _too_many(self) -> BoundExceeded | None:
        """That there are more replicas than are written out, with the file that has most of them."""
        this = "this, with the other files," if len(self._replicas) > 1 else "this"
        try:
            demand_few(this, sum(self._replicas.values()))
        except BoundExceeded as error:
            return error.in_file(max(self._replicas, key=self._replicas.__getitem__))
        return None

    def finished(self) -> Spool:
        if (too_many := self._too_many()) is not None:
            raise too_many
        return super().finished()


class Folded(Output):
    """The replica groups of plans, with ``{0..31}`` for the index; for reading."""

    def documents(self, plan: Plan, settings: Settings) -> Iterator[str]:  # noqa: ARG002 (as in Output)
        for group in plan.groups:
            yield f"# {_size(group)}\n{_emitted(plan, folded(group))}"


class Names:
    """The names of CRs, each of which only one result may have."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, ...], str] = {}

    def add(self, plan: Plan) -> None:
        """One more. Raises RequestError where another one has its name."""
        assert plan.cr is not None
        named = identity(plan.cr.data)
        key = tuple(str(named[part]) for part in ("kind", "namespace", "name"))
        here = f"{plan.item.doc.name} ({plan.variant})" if plan.variant else plan.item.doc.name
        if key in self._places and named["name"] is not None:
            raise RequestError(
                f"two results are both {named['kind']} {named['name']}: from {self._places[key]} and from"
                f" {here}; give them different names or namespaces"
            )
        self._places[key] = here


def rendered(plan: Plan, settings: Settings) -> str:
    """The CR of a plan as one YAML document, with its header. Raises BoundExceeded."""
    assert plan.cr is not None
    return header(plan, settings) + _emitted(plan, plan.cr.data)


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


def stream(documents: Iterable[str]) -> Spool:
    """Documents as one YAML stream. Raises BoundExceeded where they are too much."""
    spool = Spool()
    for document in documents:
        spool.add(f"---\n{document}")
    return spool
