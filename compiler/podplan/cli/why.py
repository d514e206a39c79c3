"""podplan why"""

from __future__ import annotations

import re

import click

from podplan.cli.exit_codes import CLEAN
from podplan.cli.help import HelpCommand
from podplan.cli.options import input_options, lowering_options
from podplan.cli.output import write_escaped_stdout, write_stdout
from podplan.cli.plan_loader import load_job_plans
from podplan.cli.shell_completion import complete_files
from podplan.core.errors import UsageError
from podplan.core.indexed_text import Indexed
from podplan.core.path_syntax import FieldNotFound, resolve_path
from podplan.core.provenance import Path, TracedDocument
from podplan.core.replica_groups import (
    ReplicaGroup,
    build_at_index,
    find_name_path,
    find_name_text,
    find_object_name,
    fold_group,
)
from podplan.core.typing import Any
from podplan.kinds.registry import resource_label
from podplan.pipeline import JobPlan, PipelineSettings

MAX_NAMES = 20  # of objects in a message


@click.command("why", cls=HelpCommand, without_effect=("--fail-on",))
@click.argument("file", shell_complete=complete_files)
@click.argument("path")
@input_options
@lowering_options
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text")
def command(file: str, path: str, format_: str, **flags: Any) -> int:
    """Show the origin of a value: the line in your files, and each step from there.

    PATH is a field of the CR (spec.replicaSpecs[worker].replicas), or of a lowered object
    (Pod/NAME:spec.containers[0].image). JSON Pointers are accepted too.
    """
    search = _Search(file, path)
    loaded = load_job_plans([file], frozenset({"profile", "cr"}), search.add, **{**flags, "fail_on": "never"})
    if loaded.code != CLEAN:
        return loaded.code
    doc, value_path = search.found()
    from podplan.report import why

    if format_ == "json":
        write_stdout(why.render_json(doc, value_path))
    else:
        write_escaped_stdout(why.render_text(doc, value_path))
    return CLEAN


class _Search:
    """Finds the document and the path that PATH means, in one plan after the other.

    A CR takes precedence over a lowered object, and the first match over later ones.
    """

    def __init__(self, file: str, text: str) -> None:
        match = re.match(r"([A-Za-z]\w*)/([^:]+):?(.*)", text)
        self._file = file
        self._object = (match[1], match[2]) if match else None
        self._field = match[3] if match else text
        self._cr: tuple[TracedDocument, Path] | None = None
        self._lowered: tuple[TracedDocument, Path] | None = None
        self._failure = ""  # of the first document that lacks the field
        self._names: list[str] = []

    def add(self, plan: JobPlan, _: PipelineSettings) -> None:
        """Add a plan that has a CR."""
        if plan.cr is None or not plan.is_lowered:
            return
        if self._object is None or _is_object(plan.cr, *self._object):
            self._cr = self._cr or self._selected(plan.cr)
        if self._object is None:
            return
        for group in plan.replica_groups:
            if len(self._names) <= MAX_NAMES:
                self._names.append(_format_group_name(group))
            if self._lowered is None and _contains_replica(group, *self._object):
                self._lowered = self._selected(_build_replica_doc(group, self._object[1]))

    def _selected(self, doc: TracedDocument) -> tuple[TracedDocument, Path] | None:
        try:
            return doc, resolve_path(doc.data, self._field) if self._field else ()
        except FieldNotFound as error:
            self._failure = self._failure or f"{doc.name}: {error}"
        return None

    def found(self) -> tuple[TracedDocument, Path]:
        """Return the match. Raises UsageError: if there is none."""
        if (found := self._cr or self._lowered) is not None:
            return found
        if self._failure:
            raise UsageError(self._failure)
        if self._object is None:
            raise UsageError(f"{self._file}: no training job and no profile of one")
        more = ", …" if len(self._names) > MAX_NAMES else ""
        there = ", ".join(self._names[:MAX_NAMES]) + more or "none"
        raise UsageError(f"{self._file}: lowers to no {'/'.join(self._object)}; there are {there}")


def _is_object(cr: TracedDocument, kind: str, name: str) -> bool:
    return _is_kind(cr, kind) and bool(cr.data.get("metadata", {}).get("name") == name)


def _is_kind(doc: TracedDocument, kind: str) -> bool:
    """Whether a document is of a kind, which may be written in lower case as for kubectl."""
    names = (doc.data.get("kind"), resource_label(doc.data.get("apiVersion"), doc.data.get("kind")))
    return kind.lower() in (str(name).lower() for name in names)


def _contains_replica(group: ReplicaGroup, kind: str, name: str) -> bool:
    return _is_kind(group.doc, kind) and _find_index(group, name) is not None


def _find_index(group: ReplicaGroup, name: str) -> int | None:
    """Return the index of the replica called ``name`` in a group, or None."""
    if find_name_path(group.doc)[-1] == "generateName":
        name = f"{name.removesuffix('-')}-"
    name_pattern = find_name_text(group.doc)
    if not isinstance(name_pattern, Indexed):
        return group.start if find_object_name(group.doc) == name else None
    index = name_pattern.find_index(name)
    return index if index is not None and group.start <= index < group.start + group.replicas else None


def _build_replica_doc(group: ReplicaGroup, name: str) -> TracedDocument:
    """Build the document of one replica of a group."""
    index = _find_index(group, name)
    assert index is not None
    doc = group.doc
    return TracedDocument(f"{doc.data['kind']}/{name}", build_at_index(doc, index), origins=doc.origins)


def _format_group_name(group: ReplicaGroup) -> str:
    """Format the objects of a group, such as ``Pod/train-worker-{1..3}``."""
    folded_object = fold_group(group)
    name = folded_object["metadata"][find_name_path(group.doc)[-1]]
    return f"{folded_object['kind']}/{name}"
