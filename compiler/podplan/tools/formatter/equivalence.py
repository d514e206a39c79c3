"""Compares what the profiles of a file compile to with two texts of the file."""

from __future__ import annotations

import json

from podplan.core.errors import UsageError
from podplan.core.provenance import TracedDocument
from podplan.core.typing import NamedTuple
from podplan.kinds.compilation import compile_profile
from podplan.pipeline import PipelineSettings
from podplan.profile.resolve import resolve_profile
from podplan.tools.formatter import FormatMismatchError
from podplan.workspace.documents import ClassifiedDocument, classify_documents
from podplan.workspace.loader import Loader
from podplan.yaml import SourceFile, parse_yaml


class CompileOutcome(NamedTuple):
    """The CRs of a profile by environment and instance, as JSON, and its diagnostics, by rule and message."""

    crs: tuple[tuple[str, str], ...]
    diagnostics: tuple[tuple[str, str], ...]


def require_equivalent(source: SourceFile, text: str, settings: PipelineSettings) -> None:
    """Raise FormatMismatchError if the profiles of a file would compile differently with another text.

    Nothing is compiled if both texts have the same data in the same order.
    """
    after = parse_yaml(text.encode(), source.file)
    if _serialize_in_order(source) == _serialize_in_order(after):
        return
    if compile_outcomes(source, settings, Loader()) != compile_outcomes(after, settings, Loader()):
        raise FormatMismatchError(f"{source.file}: a profile would compile to something else")


def compile_outcomes(source: SourceFile, settings: PipelineSettings, reader: Loader) -> list[CompileOutcome]:
    """Compile each profile of a file in every environment."""
    return [
        _compile_item(item, settings, reader)
        for item in classify_documents(source)
        if item.category == "profile"
    ]


def _compile_item(item: ClassifiedDocument, settings: PipelineSettings, reader: Loader) -> CompileOutcome:
    try:
        inventory = reader.find_unique_inventory(item.doc, settings.inventory_path)
        resolution = resolve_profile(
            item.doc, load_base=reader.load_base, inventory=inventory, environments="all", sets={}
        )
    except UsageError as error:  # the same for both texts
        return CompileOutcome((), (("", str(error)),))
    crs, diagnostics = [], list(resolution.diagnostics)
    for variant in resolution.variants:
        compiled = compile_profile(variant.doc, variant.inventory)
        crs.append((variant.id, _serialize_canonically(compiled.cr)))
        diagnostics += compiled.diagnostics
    return CompileOutcome(
        tuple(crs), tuple(sorted((problem.rule, problem.message) for problem in diagnostics))
    )


def _serialize_in_order(source: SourceFile) -> list[str]:
    return [json.dumps(document.data) for document in source.documents]


def _serialize_canonically(cr: TracedDocument | None) -> str:
    return json.dumps(cr.data if cr is not None else None, sort_keys=True)
