"""CRs and profiles as they are written today: new names for old ones, one dialect of ColossalAIJob.

Steps are made one after the other, each in the text that the one before left; comments and layout stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from podplan.findings import Change, Path
from podplan.fixing.edits import Refused
from podplan.formatting.comments import commented, said
from podplan.formatting.extents import Extent, extents
from podplan.formatting.rewriting import changed, rewritten
from podplan.migrating.dialect import in_new_dialect, is_old
from podplan.migrating.profiles import launcher_dialects, patches, without_dialect
from podplan.migrating.spellings import Old, edits, moved, old_spellings
from podplan.provenance import trace
from podplan.reading.documents import items
from podplan.schema.spelling import old_kind
from podplan.source import Document, Source, read
from podplan.source.tree import Tree
from podplan.typing import Any, NamedTuple

MAX_STEPS = 1_000  # of one file
NEW_DIALECT = "launcher, worker → torchConfig, replicaSpecs"
OF_PROFILE = "colossalai.dialect launcher → replicaSpecs"

_Key = tuple[int, Path, str]  # the document, the path, and what is to be done there


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


class _Cut(NamedTuple):
    """A stretch of a text, by its 0-based offsets, and what it becomes."""

    start: int
    end: int
    text: str


def migrates(source: Source) -> bool:
    """Whether a file holds a CR, a profile or a base."""
    return any(item.what in ("cr", "profile", "base") for item in items(source))


def migrated(source: Source) -> Migrated:
    """A file without faults as it is written today."""
    done: list[Step] = []
    refused: dict[_Key, Step] = {}
    for _ in range(MAX_STEPS):
        made, text = _together(source, refused) or _first(source, refused) or ([], "")
        if not made:
            break
        done += [Step(_line(wanted), wanted.says, wanted.why) for wanted in made]
        source = read(text.encode(), source.file)
    return Migrated(source.text, tuple(done), tuple(refused.values()))


def _together(source: Source, refused: dict[_Key, Step]) -> tuple[list[_Wanted], str] | None:
    """All that can be done at once; None where there is nothing, or it does not go together.

    What changes in place comes first, so that lines are told as they were; then one move for each document.
    """
    for chosen in _in_place(_all(source)), _one_each(_all(source), refused):
        made: list[_Wanted] = []
        found: list[_Cut] = []
        written = extents(source.text) if any(chosen) else []
        for wanted in chosen:
            if _key(wanted) in refused:
                continue
            try:
                found += _cuts(wanted, written)
                made.append(wanted)
            except Refused as error:
                refused[_key(wanted)] = Step(_line(wanted), wanted.says, str(error))
        found.sort()
        if made and not any(one.end > other.start for one, other in pairwise(found)):
            text = _spliced(source.text, found)
            if _holds(source, text):
                return made, text
    return None


def _in_place(found: Iterator[_Wanted]) -> list[_Wanted]:
    return [wanted for wanted in found if wanted.old is not None and wanted.old.change is not None]


def _one_each(found: Iterator[_Wanted], refused: dict[_Key, Step]) -> list[_Wanted]:
    """The first of each document that can still be done."""
    first: dict[int, _Wanted] = {}
    for wanted in found:
        if _key(wanted) not in refused:
            first.setdefault(wanted.document.index, wanted)
    return list(first.values())


def _first(source: Source, refused: dict[_Key, Step]) -> tuple[list[_Wanted], str] | None:
    """The first thing that can be done, and the text after it; None where nothing is left."""
    written = extents(source.text)
    for wanted in _all(source):
        key = _key(wanted)
        if key in refused:
            continue
        try:
            text = _spliced(source.text, sorted(_cuts(wanted, written)))
        except Refused as error:
            refused[key] = Step(_line(wanted), wanted.says, str(error))
            continue
        if wanted.says == OF_PROFILE and (lost := _lost(source, text)):
            return [wanted._replace(why=f"{wanted.why}; {', '.join(lost)} goes with it")], text
        if _holds(source, text):
            return [wanted], text
        refused[key] = Step(_line(wanted), wanted.says, "the text around it does not allow it")
    return None


def _spliced(text: str, cuts: list[_Cut]) -> str:
    """A text with stretches replaced that do not overlap, in order."""
    parts, last = [], 0
    for cut in cuts:
        parts += [text[last : cut.start], cut.text]
        last = cut.end
    return "".join([*parts, text[last:]])


def _holds(source: Source, text: str) -> bool:
    """Whether a new text of a file can be read, and has all of its comments."""
    after = read(text.encode(), source.file)
    return text != source.text and not after.faults and said(after) == said(source)


def _lost(source: Source, text: str) -> list[str]:
    """The comments that a new text of a file does not have; none where it cannot be read."""
    after = read(text.encode(), source.file)
    return [] if after.faults else list(said(source) - said(after))


def _key(wanted: _Wanted) -> _Key:
    return wanted.document.index, wanted.path, wanted.says


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


def _cuts(wanted: _Wanted, written: list[Extent]) -> list[_Cut]:
    """The stretches of the file that become something else when something is done. Raises Refused."""
    document, old = wanted.document, wanted.old
    if old is not None and old.change is not None:
        return [_Cut(edit.start, edit.end, edit.text) for edit in edits(document, old)]
    if old is None and wanted.says == OF_PROFILE:
        return [_Cut(0, len(document.text), without_dialect(document, wanted.path))]
    extent = written[document.index]  # in a file without faults, all are counted
    tree = commented(document.text, extent.tree, extent.start, extent.end)
    new = moved(tree, old) if old is not None else _in_new_dialect(tree, wanted)
    return [_Cut(extent.start, extent.end, rewritten(document.text, tree, new, extent.start, extent.end))]


def _in_new_dialect(tree: Tree, wanted: _Wanted) -> Tree:
    try:
        return changed(tree, wanted.path[:-1], lambda spec: in_new_dialect(spec, wanted.data))
    except LookupError:
        raise Refused("it comes through an alias or a merge key") from None
