"""podplan why"""

from __future__ import annotations

import re

import click

from podplan.cli.exit_codes import CLEAN
from podplan.cli.options import input_options, lowering_options
from podplan.cli.output import write, write_text
from podplan.cli.plan_loader import produce
from podplan.cli.shell_completion import files
from podplan.core.errors import RequestError
from podplan.core.indexed_text import Indexed
from podplan.core.path_syntax import NoSuchField, select
from podplan.core.provenance import Doc, Path
from podplan.core.replica_groups import Group, at_index, folded
from podplan.core.typing import Any
from podplan.pipeline import Plan, Settings

MAX_NAMES = 20  # of objects, where none has the one that is asked for


@click.command("why")
@click.argument("file", shell_complete=files)
@click.argument("path")
@input_options
@lowering_options
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text")
def command(file: str, path: str, format_: str, **flags: Any) -> int:
    """Show where a value comes from, back to the line that somebody wrote.

    PATH is a field of the CR (spec.replicaSpecs[worker].replicas), or of a lowered object as
    Pod/NAME:spec.containers[0].image. A JSON Pointer will do as well.
    """
    search = _Search(file, path)
    made = produce([file], frozenset({"profile", "cr"}), search.add, **{**flags, "fail_on": "never"})
    if made.code != CLEAN:
        return made.code
    doc, where = search.found()
    from podplan.report import why

    if format_ == "json":
        write(why.as_json(doc, where))
    else:
        write_text(why.as_text(doc, where))
    return CLEAN


class _Search:
    """Looks for the document and the path that PATH stands for in plans, one after the other.

    A CR counts before a lowered object, and the first that has the field before the others.
    """

    def __init__(self, file: str, text: str) -> None:
        match = re.match(r"([A-Z]\w*)/([^:]+):?(.*)", text)
        self._file = file
        self._object = (match[1], match[2]) if match else None
        self._field = match[3] if match else text
        self._cr: tuple[Doc, Path] | None = None
        self._lowered: tuple[Doc, Path] | None = None
        self._failure = ""  # of the first document that lacks the field
        self._names: list[str] = []

    def add(self, plan: Plan, _: Settings) -> None:
        """One more plan that has a CR."""
        if plan.cr is None or not plan.lowered:
            return
        if self._object is None or _is(plan.cr, *self._object):
            self._cr = self._cr or self._selected(plan.cr)
        if self._object is None:
            return
        for group in plan.groups:
            if len(self._names) <= MAX_NAMES:
                self._names.append(_group_name(group))
            if self._lowered is None and _has(group, *self._object):
                self._lowered = self._selected(_renamed(group, self._object[1]))

    def _selected(self, doc: Doc) -> tuple[Doc, Path] | None:
        try:
            return doc, select(doc.data, self._field) if self._field else ()
        except NoSuchField as error:
            self._failure = self._failure or f"{doc.name}: {error}"
        return None

    def found(self) -> tuple[Doc, Path]:
        """What was found. Raises RequestError."""
        if (found := self._cr or self._lowered) is not None:
            return found
        if self._failure:
            raise RequestError(self._failure)
        if self._object is None:
            raise RequestError(f"{self._file}: no training job and no profile of one")
        more = ", …" if len(self._names) > MAX_NAMES else ""
        there = ", ".join(self._names[:MAX_NAMES]) + more or "none"
        raise RequestError(f"{self._file}: lowers to no {'/'.join(self._object)}; there are {there}")


def _is(cr: Doc, kind: str, name: str) -> bool:
    return bool(cr.data.get("kind") == kind and cr.data.get("metadata", {}).get("name") == name)


def _has(group: Group, kind: str, name: str) -> bool:
    return group.doc.data["kind"] == kind and _index(group, name) is not None


def _index(group: Group, name: str) -> int | None:
    """The index of the replica called ``name`` in a group, if it is in there."""
    naming = group.doc.varies.get(("metadata", "name"))
    if not isinstance(naming, Indexed):
        return group.start if group.doc.data["metadata"]["name"] == name else None
    digits = re.search(r"[0-9]+$", name)
    index = int(digits[0]) if digits else -1
    inside = group.start <= index < group.start + group.replicas
    return index if inside and naming.text(index) == name else None


def _renamed(group: Group, name: str) -> Doc:
    """The document of one replica of a group, with the values of its index."""
    index = _index(group, name)
    assert index is not None
    doc = group.doc
    return Doc(f"{doc.data['kind']}/{name}", at_index(doc, index), origins=doc.origins)


def _group_name(group: Group) -> str:
    """The objects of a group as text, such as ``Pod/train-worker-{1..3}``."""
    whole = folded(group)
    return f"{whole['kind']}/{whole['metadata']['name']}"
