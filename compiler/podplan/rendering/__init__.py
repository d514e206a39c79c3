"""The CRs and the lowered objects of files as text: all of them, or none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podplan.core.errors import UsageError
from podplan.core.limits import LimitExceeded
from podplan.core.replica_groups import ReplicaGroup, expand_group, fold_group, require_expandable
from podplan.core.typing import Any
from podplan.pipeline import JobPlan, PipelineSettings
from podplan.rendering.header import format_header
from podplan.rendering.spool import Spool
from podplan.workspace.documents import identify_object
from podplan.yaml.writer import emit_document


class Output:
    """What is printed of plans, one after the other; nothing of a plan is kept but its text.

    What would have to be told of the text waits for ``finished``: findings come first.
    """

    def __init__(self) -> None:
        self._spool = Spool()
        self._failure: LimitExceeded | ValueError | None = None

    def add(self, plan: JobPlan, settings: PipelineSettings) -> None:
        """One more plan that has a CR."""
        if self._failure is not None:
            return
        try:
            for text in self.documents(plan, settings):
                self._spool.add(f"---\n{text}")
        except LimitExceeded as error:
            self._failure = error.with_file(plan.item.doc.name)
        except ValueError as error:  # a number that no YAML has, in a CR with errors
            self._failure = error

    def documents(self, plan: JobPlan, settings: PipelineSettings) -> Iterator[str]:
        """The YAML documents of a plan. Raises LimitExceeded."""
        raise NotImplementedError

    def finished(self) -> Spool:
        """The text of all of them. Raises LimitExceeded."""
        if self._failure is not None:
            raise self._failure
        return self._spool


class Rendered(Output):
    """The CRs of profiles. Two of one name are a UsageError, since one would replace the other."""

    def __init__(self) -> None:
        super().__init__()
        self._names = Names()

    def documents(self, plan: JobPlan, settings: PipelineSettings) -> Iterator[str]:
        self._names.add(plan)
        yield render_cr(plan, settings)


class Lowered(Output):
    """The lowered objects of plans, every replica written out."""

    def __init__(self) -> None:
        super().__init__()
        self._replicas: dict[str, int] = {}

    def documents(self, plan: JobPlan, settings: PipelineSettings) -> Iterator[str]:  # noqa: ARG002 (as in Output)
        for group in plan.replica_groups:
            for data in expand_group(group):
                yield _emit_plan_document(plan, data)

    def add(self, plan: JobPlan, settings: PipelineSettings) -> None:
        file = plan.item.doc.name
        replicas = sum(group.replicas for group in plan.replica_groups)
        self._replicas[file] = self._replicas.get(file, 0) + replicas
        if self._too_many() is None:
            super().add(plan, settings)

    def _too_many(self) -> LimitExceeded | None:
        """That there are more replicas than are written out, with the file that has most of them."""
        this = "this, with the other files," if len(self._replicas) > 1 else "this"
        try:
            require_expandable(this, sum(self._replicas.values()))
        except LimitExceeded as error:
            return error.with_file(max(self._replicas, key=self._replicas.__getitem__))
        return None

    def finished(self) -> Spool:
        if (too_many := self._too_many()) is not None:
            raise too_many
        return super().finished()


class Folded(Output):
    """The replica groups of plans, with ``{0..31}`` for the index; for reading."""

    def documents(self, plan: JobPlan, settings: PipelineSettings) -> Iterator[str]:  # noqa: ARG002 (as in Output)
        for group in plan.replica_groups:
            yield f"# {_describe_group_size(group)}\n{_emit_plan_document(plan, fold_group(group))}"


class Names:
    """The names of CRs, each of which only one result may have."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, ...], str] = {}

    def add(self, plan: JobPlan) -> None:
        """One more. Raises UsageError where another one has its name."""
        assert plan.cr is not None
        named = identify_object(plan.cr.data)
        key = tuple(str(named[part]) for part in ("kind", "namespace", "name"))
        here = f"{plan.item.doc.name} ({plan.variant_id})" if plan.variant_id else plan.item.doc.name
        if key in self._places and named["name"] is not None:
            raise UsageError(
                f"two results are both {named['kind']} {named['name']}: from {self._places[key]} and from"
                f" {here}; give them different names or namespaces"
            )
        self._places[key] = here


def render_cr(plan: JobPlan, settings: PipelineSettings) -> str:
    """The CR of a plan as one YAML document, with its header. Raises LimitExceeded."""
    assert plan.cr is not None
    return format_header(plan, settings) + _emit_plan_document(plan, plan.cr.data)


def _emit_plan_document(plan: JobPlan, data: Any) -> str:
    """A document that came of a plan. Raises LimitExceeded, which names the file."""
    try:
        return emit_document(data)
    except LimitExceeded as error:
        raise error.with_file(plan.item.doc.name) from None


def _describe_group_size(group: ReplicaGroup) -> str:
    if not group.replica_type:
        return "one object"
    if group.replicas == 1:
        return f"{group.replica_type} {group.start}"
    return f"{group.replica_type} {group.indexes}: {group.replicas} objects"


def join_documents(documents: Iterable[str]) -> Spool:
    """Documents as one YAML stream. Raises LimitExceeded where they are too much."""
    spool = Spool()
    for document in documents:
        spool.add(f"---\n{document}")
    return spool
