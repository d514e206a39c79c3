"""Profiles in tests: from text to documents, and through resolution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Path, TracedDocument, trace_to_source
from podplan.profile.resolve import Resolution, resolve_profile
from podplan.yaml import parse_yaml

HEAD = "apiVersion: podplan/v1\nkind: JobProfile\nmetadata: {name: resnet}\nspec:\n"
BASE = "apiVersion: podplan/v1\nkind: JobProfileBase\nspec:\n"


def doc(text: str, file: str = "profile.yaml") -> TracedDocument:
    """Build the document of a file with ``text``."""
    source = parse_yaml(text.encode(), file)
    assert not source.diagnostics
    return TracedDocument(file, source.documents[0].data, source=source.documents[0])


def profile(spec: str, head: str = HEAD) -> str:
    """Return the text of a profile whose spec is ``spec``, indented by two spaces."""
    return head + "".join(f"  {line}\n" for line in spec.strip("\n").splitlines())


def run(
    text: str,
    *,
    bases: Mapping[str, str] | None = None,
    environments: Literal["all"] | tuple[str, ...] | None = None,
    sets: Mapping[str, str] | None = None,
    inventory: TracedDocument | None = None,
) -> Resolution:
    """Resolve the profile ``text``; ``bases`` are the texts of files by name."""
    files = bases or {}

    def load(reference: str, _: TracedDocument) -> TracedDocument | Diagnostic:
        if reference in files:
            return doc(files[reference], reference)
        return Diagnostic("PROF002", f'there is no file "{reference}"')

    return resolve_profile(
        doc(text), load_base=load, inventory=inventory, environments=environments, sets=sets or {}
    )


def one(text: str, **more: Any) -> TracedDocument:
    """Return the only variant of a profile without diagnostics."""
    result = run(text, **more)
    assert result.diagnostics == ()
    (variant,) = result.variants
    return variant.doc


def spec(text: str, **more: Any) -> Any:
    """Return the resolved spec of a profile with one variant and no diagnostics."""
    return one(text, **more).data["spec"]


def faults(text: str, **more: Any) -> list[tuple[str, int]]:
    """The rule and the line of each problem."""
    return [(problem.rule, line(problem)) for problem in run(text, **more).diagnostics]


def messages(text: str, **more: Any) -> str:
    """The sentences of all problems."""
    return "\n".join(problem.message for problem in run(text, **more).diagnostics)


def line(problem: Diagnostic) -> int:
    """The line of the file that a problem leads to."""
    assert problem.doc is not None
    last = trace_to_source(problem.doc, problem.path)[-1]
    assert last.doc.source is not None
    return last.doc.source.span(last.path, problem.on_key).line


def came_from(document: TracedDocument, path: Path) -> str:
    """Return ``file:line`` that set a value, or the flag."""
    last = trace_to_source(document, path)[-1]
    if last.doc.source is not None:
        return f"{last.doc.source.file}:{last.doc.source.span(last.path).line}"
    assert last.origin is not None
    assert last.origin.flag is not None
    return last.origin.flag.name


def paths(value: Any, path: Path = ()) -> list[Path]:
    """Return every path of plain data."""
    result: list[Path] = [path]
    if isinstance(value, dict):
        for key, below in value.items():
            result += paths(below, (*path, key))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            result += paths(below, (*path, index))
    return result
