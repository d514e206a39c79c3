"""CRs and profiles as they are written today: new names for old ones, one dialect of ColossalAIJob.

Steps are made one after the other, each in the text that the one before left; comments and layout stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from podplan.findings import Change, Path
from podplan.fixing.apply import applied
from podplan.fixing.edits import Refused
from podplan.formatting.comments import commented, said
from podplan.formatting.extents import extents
from podplan.formatting.rewriting import changed, rewritten
from podplan.migrating.dialect import in_new_dialect, is_old
from podplan.migrating.profiles import launcher_dialects, patches, without_dialect
from podplan.migrating.spellings import Old, edits, moved, old_spellings
from podplan.provenance import trace
from podplan.reading.documents import items
from podplan.schema.spelling import old_kind
from podplan.source import Document, Source, read
from podplan.source.tree import Tree

MAX_STEPS = 1_000
NEW_DIALECT = "launcher, worker → torchConfig, replicaSpecs"
OF_PROFILE = "colossalai.dialect launcher → replicaSpecs"


class Step(NamedTuple):
    """What was done at a 1-based line of the text as it then was, and why; or why it was not done."""

    line: int
    says: str
    why: str = ""


class Migrated(NamedTuple):
    """The text of a file as it is written today, what was done for that, and what could not be."""

    text: str
    done: tuple[Step, ...]
    refused: tuple[Step, ...]


class _Wanted(NamedTuple):
    """One thing that can be done: at which path of which document, and how."""

    document: Document
    path: Path
    says: str
    why: str
    old: Old | None = None
    data: Any = None


def migrates(source: Source) -> bool:
    """Whether a file holds a CR, a profile or a base."""
    return any(item.what in ("cr", "profile", "base") for item in items(source))


def migrated(source: Source) -> Migrated:
    """A file without faults as it is written today."""
    done: list[Step] = []
    refused: dict[tuple[int, Path, str], Step] = {}
    for _ in range(MAX_STEPS):
        tried = _first(source, refused)
        if tried is None:
            break
        wanted, text = tried
        done.append(Step(_line(wanted), wanted.says, wanted.why))
        source = read(text.encode(), source.file)
    return Migrated(source.text, tuple(done), tuple(refused.values()))


def _first(source: Source, refused: dict[tuple[int, Path, str], Step]) -> tuple[_Wanted, str] | None:
    """The first thing that can be done, and the text after it; None where nothing is left."""
    # What changes in place comes first, so that lines are told as they were.
    for wanted in sorted(_all(source), key=lambda one: one.old is None or one.old.change is None):
        key = (wanted.document.index, wanted.path, wanted.says)
        if key in refused:
            continue
        try:
            text = _made(wanted)
            after = read(text.encode(), source.file)
            lost = said(source) - said(after)
            if wanted.says == OF_PROFILE and lost:
                gone = f"{', '.join(lost)} goes with it"
                wanted, lost = wanted._replace(why=f"{wanted.why}; {gone}"), Counter()
            if text != source.text and not after.faults and not lost and not said(after) - said(source):
                return wanted, text
            refused[key] = Step(_line(wanted), wanted.says, "the text around it does not allow it")
        except Refused as error:
            refused[key] = Step(_line(wanted), wanted.says, str(error))
    return None


def _line(wanted: _Wanted) -> int:
    return wanted.document.span(wanted.path, on_key=bool(wanted.path)).line


def _all(source: Source) -> Iterator[_Wanted]:
    for item in items(source):
        place = trace(item.doc, ())[-1] if item.doc.source is None else None
        document = item.doc.source if place is None else place.doc.source
        top: Path = place.path if place is not None else ()
        if document is None:
            continue
        if item.what == "cr":
            yield from _of_cr(document, top, item.doc.data)
        elif item.what in ("profile", "base"):
            yield from _of_profile(document)


def _of_cr(document: Document, top: Path, cr: Any) -> Iterator[_Wanted]:
    for old in old_spellings(cr, top):
        yield _Wanted(document, old.path, old.says, old.why, old)
    if is_old(cr):
        first = next(name for name in cr["spec"] if name in ("launcher", "worker"))
        yield _Wanted(document, (*top, "spec", first), NEW_DIALECT, "", data=cr["spec"])


def _of_profile(document: Document) -> Iterator[_Wanted]:
    data = document.data
    spec = data.get("spec")
    job = spec.get("job") if isinstance(spec, dict) else None
    if isinstance(job, str) and (kind := old_kind(job)):
        path: Path = ("spec", "job")
        old = Old(path, Change("", "set", path, kind), path, f"job {job} → {kind}", "the API has no other")
        yield _Wanted(document, path, old.says, old.why, old)
    for top, patch in patches(data):
        for old in old_spellings(patch, top):
            yield _Wanted(document, old.path, old.says, old.why, old)
    for path in launcher_dialects(data):
        yield _Wanted(document, path, OF_PROFILE, "it is what podplan writes unless told otherwise")


def _made(wanted: _Wanted) -> str:
    """The text of the file when something is done. Raises Refused."""
    document, old = wanted.document, wanted.old
    if old is not None and old.change is not None:
        return applied(document.text, edits(document, old))
    if old is None and wanted.says == OF_PROFILE:
        return without_dialect(document, wanted.path)
    extent = extents(document.text)[document.index]  # in a file without faults, all are counted
    tree = commented(document.text, extent.tree, extent.start, extent.end)
    new = moved(tree, old) if old is not None else _in_new_dialect(tree, wanted)
    text = rewritten(document.text, tree, new, extent.start, extent.end)
    return document.text[: extent.start] + text + document.text[extent.end :]


def _in_new_dialect(tree: Tree, wanted: _Wanted) -> Tree:
    try:
        return changed(tree, wanted.path[:-1], lambda spec: in_new_dialect(spec, wanted.data))
    except LookupError:
        raise Refused("it comes through an alias or a merge key") from None
