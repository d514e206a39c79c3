"""podplan why"""

from __future__ import annotations

import re

import click

from podplan.cli.completing import files
from podplan.cli.exits import CLEAN
from podplan.cli.options import input_options, lowering_options
from podplan.cli.output import write, write_text
from podplan.cli.producing import produce
from podplan.groups import Group, at_index, folded
from podplan.pipeline import Plan
from podplan.provenance import Doc, Path
from podplan.requests import RequestError
from podplan.selecting import NoSuchField, select
from podplan.typing import Any
from podplan.varying import Indexed


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
    made = produce([file], frozenset({"profile", "cr"}), **{**flags, "fail_on": "never"})
    if made.code != CLEAN:
        return made.code
    doc, where = _find(file, made.plans, path)
    from podplan.report import why

    if format_ == "json":
        write(why.as_json(doc, where))
    else:
        write_text(why.as_text(doc, where))
    return CLEAN


def _find(file: str, plans: list[Plan], text: str) -> tuple[Doc, Path]:
    """The document and the path that PATH stands for. Raises RequestError."""
    match = re.match(r"([A-Z]\w*)/([^:]+):?(.*)", text)
    if match is None:
        found = [plan.cr for plan in plans if plan.cr is not None]
        if not found:
            raise RequestError(f"{file}: no training job and no profile of one")
        return _first(found, text)
    kind, name, rest = match.groups()
    crs = [plan.cr for plan in plans if plan.cr is not None and _is(plan.cr, kind, name)]
    lowered = [_renamed(group, name) for plan in plans for group in plan.groups if _has(group, kind, name)]
    if not crs and not lowered:
        raise RequestError(f"{file}: lowers to no {kind}/{name}; there are {_names(plans)}")
    return _first([*crs, *lowered], rest)


def _first(docs: list[Doc], text: str) -> tuple[Doc, Path]:
    """The first of the documents that has the field."""
    failure: NoSuchField | None = None
    for doc in docs:
        try:
            return doc, select(doc.data, text) if text else ()
        except NoSuchField as error:
            failure = failure or error
    raise RequestError(f"{docs[0].name}: {failure}")


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


def _names(plans: list[Plan]) -> str:
    names = [_group_name(group) for plan in plans for group in plan.groups]
    return ", ".join(names[:20]) + (", …" if len(names) > 20 else "") or "none"
