"""Renders the CRs and the lowered objects of files as text: all of them, or none."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

from podplan.core.errors import UsageError
from podplan.core.limits import LimitExceeded
from podplan.core.replica_groups import ReplicaGroup, expand_group, fold_group, require_expandable
from podplan.core.typing import Any, NamedTuple
from podplan.pipeline import JobPlan, PipelineSettings
from podplan.rendering.header import format_header
from podplan.rendering.spool import Spool
from podplan.workspace.documents import identify_object
from podplan.yaml.writer import emit_document


class Output(ABC):
    """The text of plans, added one after the other; of a plan only its text is kept.

    Errors about the text are raised in ``finish``, because findings are reported first.
    """

    def __init__(self) -> None:
        self._spool = Spool()
        self._failure: LimitExceeded | ValueError | None = None

    def add(self, plan: JobPlan, settings: PipelineSettings) -> None:
        """Add a plan that has a CR."""
        if self._failure is not None:
            return
        try:
            for text in self.documents(plan, settings):
                self._spool.add(f"---\n{text}")
        except LimitExceeded as error:
            self._failure = error.with_file(plan.item.doc.name)
        except ValueError as error:  # a number that YAML cannot express, in a CR with errors
            self._failure = error

    @abstractmethod
    def documents(self, plan: JobPlan, settings: PipelineSettings) -> Iterator[str]:
        """Yield the YAML documents of a plan. Raises LimitExceeded: if the text is too long."""

    def finish(self) -> Spool:
        """Return the text of all plans. Raises LimitExceeded: if it is too long."""
        if self._failure is not None:
            raise self._failure
        return self._spool


class Rendered(Output):
    """The CRs of profiles. Two with the same name are a UsageError, because one would replace the other."""

    def __init__(self) -> None:
        super().__init__()
        self._names = Names()

    def documents(self, plan: JobPlan, settings: PipelineSettings) -> Iterator[str]:
        self._names.add(plan)
        yield render_cr(plan, settings)


class Lowered(Output):
    """The lowered objects of plans, with every replica."""

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
        """Return the error for too many replicas, with the file that has most of them, or None."""
        this = "this, with the other files," if len(self._replicas) > 1 else "this"
        try:
            require_expandable(this, sum(self._replicas.values()))
        except LimitExceeded as error:
            return error.with_file(max(self._replicas, key=self._replicas.__getitem__))
        return None

    def finish(self) -> Spool:
        if (too_many := self._too_many()) is not None:
            raise too_many
        return super().finish()


class Folded(Output):
    """The replica groups of plans, with ``{0..31}`` as the index; for people."""

    def documents(self, plan: JobPlan, settings: PipelineSettings) -> Iterator[str]:  # noqa: ARG002 (as in Output)
        for group in plan.replica_groups:
            yield f"# {_describe_group_size(group)}\n{_emit_plan_document(plan, fold_group(group))}"


class Names:
    """The names of CRs, which must be unique."""

    def __init__(self) -> None:
        self._sources: dict[tuple[str, ...], _Source] = {}

    def add(self, plan: JobPlan) -> None:
        """Add the name of a CR. Raises UsageError: if another CR has the same name."""
        assert plan.cr is not None
        named = identify_object(plan.cr.data)
        group = str(named["apiVersion"]).rpartition("/")[0]
        key = (group, *(str(named[part]) for part in ("kind", "namespace", "name")))
        source = _Source(plan.item.doc.name, plan.variant_id or "", plan.environment)
        first = self._sources.get(key)
        if first is not None and named["name"] is not None:
            remedy = "give them different names or namespaces"
            if first.file == source.file and first.environment != source.environment:
                remedy = (
                    "render one environment at a time with -e NAME, each to a folder of its own with -o DIR,"
                    f" or {remedy}"
                )
            raise UsageError(
                f"two results are both {named['kind']} {named['name']}: from {first.describe()} and from"
                f" {source.describe()}; {remedy}"
            )
        self._sources[key] = source


class _Source(NamedTuple):
    """What a CR is rendered from."""

    file: str
    variant_id: str
    environment: str

    def describe(self) -> str:
        return f"{self.file} ({self.variant_id})" if self.variant_id else self.file


def render_cr(plan: JobPlan, settings: PipelineSettings) -> str:
    """Render the CR of a plan as one YAML document, with its header.

    Raises LimitExceeded: if it is too long.
    """
    assert plan.cr is not None
    return format_header(plan, settings) + _emit_plan_document(plan, plan.cr.data)


def _emit_plan_document(plan: JobPlan, data: Any) -> str:
    """Return a document of a plan as YAML. Raises LimitExceeded: with the file, if it is too long."""
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
    """Join documents to one YAML stream. Raises LimitExceeded: if it is too long."""
    spool = Spool()
    for document in documents:
        spool.add(f"---\n{document}")
    return spool
