"""CRs and profiles as they are written today: new names for old ones, one dialect of ColossalAIJob.

Steps are made one after the other, each in the text that the one before left; comments and layout stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise

from podplan.core.findings import Change, Path
from podplan.core.provenance import trace
from podplan.core.typing import Any, NamedTuple
from podplan.schema.old_spellings import old_kind
from podplan.tools.formatter.comments import commented, said
from podplan.tools.formatter.document_spans import Extent, extents
from podplan.tools.formatter.rewriting import changed, rewritten
from podplan.tools.migrator.colossalai_dialect import in_new_dialect, is_old
from podplan.tools.migrator.old_spellings import Old, edits, moved, old_spellings
from podplan.tools.migrator.profiles import launcher_dialects, patches, without_dialect
from podplan.workspace.documents import items
from podplan.yaml import Document, Source, read
from podplan.yaml.edits.changes import Refused
from podplan.yaml.tree import Tree

SORTS = frozenset({"cr", "profile", "base"})
MAX_STEPS = 1_000  # of one file
MAX_FAILED = 4  # that are told apart in one file; each takes reading its document a dozen times
DOES_NOT_HOLD = "the text around it does not allow it"
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
    return any(item.what in SORTS for item in items(source))


def migrated(source: Source) -> Migrated:
    """A file without faults as it is written today."""
    done: list[Step] = []
    refused: dict[_Key, Step] = {}
    for _ in range(MAX_STEPS):
        made, cuts = _together(source, refused)
        after = read(_spliced(source.text, cuts).encode(), source.file)
        if not made or after.faults:
            break
        done += [Step(_line(wanted), wanted.says, wanted.why) for wanted in made]
        source = after
    return Migrated(source.text, tuple(done), tuple(refused.values()))


def _together(source: Source, refused: dict[_Key, Step]) -> tuple[list[_Wanted], list[_Cut]]:
    """What can be done at once, and what becomes of the documents; each is judged by itself.

    What changes in place comes first, so that lines are told as they were; then moves that are apart.
    """
    for chosen in _in_place, _apart:
        wanted = chosen(one for one in _all(source) if _key(one) not in refused)
        written = extents(source.text) if wanted else []
        made: list[_Wanted] = []
        cuts: list[_Cut] = []
        for index, found in groupby(wanted, key=lambda one: one.document.index):
            extent = written[index]  # in a file without faults, all are counted
            those, text = _most(extent, list(found), refused)
            if those:
                made += those
                cuts.append(_Cut(extent.start, extent.end, text))
        if made:
            return made, cuts
    return [], []


def _in_place(found: Iterable[_Wanted]) -> list[_Wanted]:
    return [wanted for wanted in found if wanted.old is not None and wanted.old.change is not None]


def _apart(found: Iterable[_Wanted]) -> list[_Wanted]:
    """The first for each entry of a list, or document, but none within that of another."""
    chosen: list[_Wanted] = []
    homes: set[tuple[int, Path]] = set()
    above: set[tuple[int, Path]] = set()
    for wanted in found:
        home = _home(wanted)
        number = wanted.document.index
        ways = {(number, home[:cut]) for cut in range(len(home) + 1)}
        if (number, home) not in above and homes.isdisjoint(ways):
            chosen.append(wanted)
            homes.add((number, home))
            above |= ways
    return chosen


def _home(wanted: _Wanted) -> Path:
    """The innermost entry of a list that all of a change is in; the document where there is none."""
    if wanted.says == OF_PROFILE:
        return ()
    path, to = wanted.path, wanted.old.to if wanted.old is not None else wanted.path
    common = 0
    while common < min(len(path), len(to)) and path[common] == to[common]:
        common += 1
    return path[: max((at + 1 for at in range(common) if isinstance(path[at], int)), default=0)]


def _most(extent: Extent, chosen: list[_Wanted], refused: dict[_Key, Step]) -> tuple[list[_Wanted], str]:
    """All of ``chosen`` made in a document; where they do not go together, as many as do, found by halves.

    What is made comes back, and the text of the document then.
    """
    made, found, lost = _cuts(extent, chosen, refused)
    if not made:
        return [], ""
    found.sort()
    if not any(one.end > other.start for one, other in pairwise(found)):
        before = made[0].document.text[extent.start : extent.end]
        inside = [_Cut(start - extent.start, end - extent.start, text) for start, end, text in found]
        text = _spliced(before, inside)
        if _holds(before, text, lost):
            return made, text
    failed = sum(step.why == DOES_NOT_HOLD for step in refused.values())
    if len(made) == 1 or failed >= MAX_FAILED:
        refused |= {_key(wanted): Step(_line(wanted), wanted.says, DOES_NOT_HOLD) for wanted in made}
        return [], ""
    half = len(made) // 2
    first = _most(extent, made[:half], refused)
    return first if first[0] else _most(extent, made[half:], refused)


def _spliced(text: str, cuts: list[_Cut]) -> str:
    """A text with stretches replaced that do not overlap, in order."""
    parts, last = [], 0
    for cut in cuts:
        parts += [text[last : cut.start], cut.text]
        last = cut.end
    return "".join([*parts, text[last:]])


def _holds(before: str, text: str, lost: Counter[str]) -> bool:
    """Whether a new text of a document can be read, and has its comments but for those that go."""
    now = read(text.encode(), "")
    return text != before and not now.faults and said(now) + lost == _said(before)


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


def _cuts(
    extent: Extent, chosen: list[_Wanted], refused: dict[_Key, Step]
) -> tuple[list[_Wanted], list[_Cut], Counter[str]]:
    """Those of ``chosen`` that can be made, what becomes something else for it, and comments that go."""
    made: list[_Wanted] = []
    cuts: list[_Cut] = []
    lost: Counter[str] = Counter()
    text = chosen[0].document.text
    before = now = None
    for wanted in chosen:
        document, old = wanted.document, wanted.old
        try:
            if old is not None and old.change is not None:
                cuts += [_Cut(edit.start, edit.end, edit.text) for edit in edits(document, old)]
            elif old is None and wanted.says == OF_PROFILE:
                new = without_dialect(document, wanted.path, extent)
                cuts.append(_Cut(extent.start, extent.end, new))
                gone = _said(text[extent.start : extent.end]) - _said(new)
                lost += gone
                also = f"; {', '.join(gone)} goes with it" if gone else ""
                wanted = wanted._replace(why=wanted.why + also)
            else:
                before = before or commented(text, extent.tree, extent.start, extent.end)
                now = moved(now or before, old) if old is not None else _in_new_dialect(now or before, wanted)
            made.append(wanted)
        except Refused as error:
            refused[_key(wanted)] = Step(_line(wanted), wanted.says, str(error))
    if before and now:
        new = rewritten(text, before, now, extent.start, extent.end)
        cuts.append(_Cut(extent.start, extent.end, new))
    return made, cuts, lost


def _said(text: str) -> Counter[str]:
    return said(read(text.encode(), ""))


def _in_new_dialect(tree: Tree, wanted: _Wanted) -> Tree:
    try:
        return changed(tree, wanted.path[:-1], lambda spec: in_new_dialect(spec, wanted.data))
    except LookupError:
        raise Refused("it comes through an alias or a merge key") from None
