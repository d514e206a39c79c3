"""What the profiles of a file compile to, for the comparison of two texts of it."""

from __future__ import annotations

import json

from podplan.core.errors import RequestError
from podplan.core.provenance import Doc
from podplan.core.typing import NamedTuple
from podplan.kinds.compilation import compile_profile
from podplan.pipeline import Settings
from podplan.profile.resolve import resolve
from podplan.tools.formatter import Unequal
from podplan.workspace import Reader
from podplan.workspace.documents import Item, items
from podplan.yaml import Source, read


class Outcome(NamedTuple):
    """The CRs of a profile by environment and instance, as JSON, and what is wrong, by rule and message."""

    crs: tuple[tuple[str, str], ...]
    problems: tuple[tuple[str, str], ...]


def demand_same(source: Source, text: str, settings: Settings) -> None:
    """Raises Unequal where the profiles of a file would compile to something else with another text.

    Where both texts have the same data in the same order, nothing is compiled: that gives the same.
    """
    after = read(text.encode(), source.file)
    if _in_order(source) == _in_order(after):
        return
    if outcomes(source, settings, Reader()) != outcomes(after, settings, Reader()):
        raise Unequal(f"{source.file}: a profile would compile to something else")


def outcomes(source: Source, settings: Settings, reader: Reader) -> list[Outcome]:
    """What each profile of a file compiles to, under every environment."""
    return [_outcome(item, settings, reader) for item in items(source) if item.what == "profile"]


def _outcome(item: Item, settings: Settings, reader: Reader) -> Outcome:
    try:
        inventory = reader.inventory_if_any(item.doc, settings.inventory)
        resolution = resolve(item.doc, load=reader.load, inventory=inventory, environments="all", sets={})
    except RequestError as error:  # the same for both texts, and none of ours
        return Outcome((), (("", str(error)),))
    crs, problems = [], [problem for _, problem in resolution.problems]
    for variant in resolution.variants:
        compiled = compile_profile(variant.doc, variant.inventory)
        crs.append((variant.id, _canonical(compiled.cr)))
        problems += compiled.problems
    return Outcome(tuple(crs), tuple(sorted((problem.rule, problem.message) for problem in problems)))


def _in_order(source: Source) -> list[str]:
    return [json.dumps(document.data) for document in source.documents]


def _canonical(cr: Doc | None) -> str:
    return json.dumps(cr.data if cr is not None else None, sort_keys=True)
