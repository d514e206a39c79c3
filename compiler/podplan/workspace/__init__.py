"""Files that others name: never read outside the root of the one that names them, refused if they change."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from sys import intern

from podplan.core.builtin_rules import RULES
from podplan.core.errors import RequestError
from podplan.core.findings import Problem, Severity
from podplan.core.limits import BoundExceeded
from podplan.core.provenance import Doc
from podplan.core.typing import NamedTuple
from podplan.workspace.documents import items
from podplan.workspace.file_loader import changed, content_of, reason_of
from podplan.workspace.files import (
    OutsideRoot,
    beside,
    demand_inside,
    files_below,
    in_user_terms,
    is_top,
    read_found,
    root_of,
    why_no_path,
)
from podplan.yaml import Source, read

# Files that others name and that are kept: bases serve many profiles, the source of a rendered CR one.
MOST_SOURCES = 1_000


class Noted(NamedTuple):
    """What a Reader notes: which files each file names, profiles extend and hold inventories; and of
    each file that it read the root, and what tells in this run whether it still has the text that it had."""

    named: dict[str, tuple[str, ...]]
    extended: set[str]
    inventories: set[str]
    roots: dict[str, str]
    texts: dict[str, int]

    def note(self, file: str, others: Iterable[str]) -> None:
        """Keeps in mind that ``file`` names other files, of which each is named by many."""
        there = self.named.get(file, ())
        self.named[file] = (*there, *(intern(one) for one in dict.fromkeys(others) if one not in there))


class Reader:
    """Reads the files that others refer to, and keeps the last of them: bases, inventories, sources of CRs.

    A given ``inventory`` is that of every profile and CR, and none is looked for; else it is not looked for
    in what ``exclude`` says, shell patterns as for ``files.expand``. ``instead`` has texts that are taken for
    the content of files, by their paths as they are called in the run.
    """

    def __init__(
        self, inventory: Doc | None = None, exclude: Sequence[str] = (), instead: Mapping[str, str] = {}
    ) -> None:
        self._given = inventory
        self._exclude = exclude
        self.instead = instead
        self._sources: dict[str, Source] = {}
        self._inventories: dict[str, Doc | None] = {}
        self._noted = Noted({}, set(), set(), {}, {})
        self._firsts: dict[str, str] = {}
        self._files: Iterator[str] = iter(())

    def begin(self, files: Iterable[str]) -> None:
        """Takes note of the files of a run: what lies above them is called as seen from the first one."""
        self._firsts, self._files = {}, iter(files)

    @property
    def named(self) -> Mapping[str, Collection[str]]:
        """Which files each file names, whether they are there or not."""
        return self._noted.named

    @property
    def extended(self) -> set[str]:
        """The files that profiles and bases extend."""
        return self._noted.extended

    @property
    def inventories(self) -> set[str]:
        """The files with inventories that were taken."""
        return self._noted.inventories

    def noted(self) -> Noted:
        """What was noted since this was last asked, to be added to another Reader."""
        noted, self._noted = self._noted, Noted({}, set(), set(), {}, {})
        return noted

    def add(self, noted: Noted) -> None:
        """Takes over what another Reader noted in a run. Raises RequestError where it read another text."""
        for file, others in noted.named.items():
            self._noted.note(file, others)
        self._noted.extended.update(noted.extended)
        self._noted.inventories.update(noted.inventories)
        self._noted.roots.update(noted.roots)
        for file, text in noted.texts.items():
            self._demand_same(file, text)

    def load(self, reference: str, referrer: Doc) -> Doc | Problem:
        """The profile or base that ``extends`` of ``referrer`` names, relative to that file."""
        file = _file(referrer)
        if os.path.isabs(reference):
            return Problem("PROF002", f'"{reference}" is an absolute path; write it relative to this file')
        if why := why_no_path(reference):
            return Problem("PROF002", f'cannot extend "{reference}": {why}')
        path = beside(file, reference)
        self.note(file, path)
        self._noted.extended.add(path)
        try:
            source = self.source(root_of(file), path)
        except OutsideRoot as error:
            return Problem("PROF002", f"cannot extend {error}")
        except OSError as error:
            return Problem("PROF002", f'cannot read "{reference}": {reason_of(error)}')
        broken = [fault for fault in source.faults if RULES[fault.rule].severity is Severity.ERROR]
        if broken:
            line, message = broken[0].span.line, broken[0].message
            return Problem("PROF002", f'cannot extend "{reference}": line {line}: {message}')
        found = [item.doc for item in items(source) if item.what in ("profile", "base")]
        if len(found) != 1:
            count = len(found) or "no"
            return Problem("PROF002", f'"{reference}" holds {count} profiles or bases, and one is wanted')
        return found[0]

    def inventory_for(self, doc: Doc, named: str = "") -> Doc | None:
        """The ClusterInventory for a profile: the ``named`` file, else the one below the root of the profile.

        Raises RequestError where the named file holds none, or where there are two to choose from.
        """
        if self._given is not None:
            return self._given
        if named:
            return self._inventory(root_of(named), named)
        file = _file(doc)
        root = root_of(file)
        if root not in self._inventories:
            shown = in_user_terms(root, self._first_below(root) or file)
            found = list(_inventories(root, shown, self._exclude, self.instead))
            if len(found) > 1:
                first = " and ".join(found[:2])
                raise RequestError(
                    f"there are {len(found)} ClusterInventory files ({first}); say which one with --inventory"
                    " or with inventory = in podplan.toml"
                )
            self._inventories[root] = self._inventory(root, found[0]) if found else None
        return self._inventories[root]

    def _first_below(self, root: str) -> str:
        """The first file of the run below a root, whoever asks: workers do in any order. "" for none."""
        while root not in self._firsts and (file := next(self._files, "")):
            self._firsts.setdefault(root_of(file), file)
        return self._firsts.get(root, "")

    def inventory_if_any(self, doc: Doc, named: str = "") -> Doc | None:
        """The same, but None where there are several to choose from."""
        try:
            return self.inventory_for(doc, named)
        except RequestError:
            if named:
                raise
            return None

    def note(self, file: str, named: str) -> None:
        """Keeps in mind that ``file`` names another file, so that it depends on it."""
        self._noted.note(file, (named,))

    def texts(self, files: Iterable[str]) -> dict[str, str]:
        """The texts of those of ``files`` that were read."""
        found = ((file, self.source_of(file)) for file in files)
        return {file: source.text for file, source in found if source is not None}

    def source(self, root: str, path: str) -> Source:
        """The file at ``path``. Raises OutsideRoot and OSError, and RequestError if it is not what it was."""
        source = self._sources.pop(path, None) or read(content_of(root, path, self.instead), path)
        self._sources[path] = source  # the last of them is the one that was asked for last
        if len(self._sources) > MOST_SOURCES:
            del self._sources[next(iter(self._sources))]
        self._noted.roots[path] = root
        self._demand_same(path, hash(source.text))
        return source

    def _demand_same(self, file: str, text: int) -> None:
        """What is said of one text, and what is hidden of it, does not hold for another."""
        if self._noted.texts.setdefault(file, text) != text:
            raise changed(file)

    def source_of(self, file: str) -> Source | None:
        """The file, if it was read, here or by another Reader of the run."""
        root = self._noted.roots.get(file)
        if root is not None and file not in self._sources:
            with suppress(OSError, OutsideRoot, BoundExceeded):
                return self.source(root, file)
        return self._sources.get(file)

    def _inventory(self, root: str, path: str) -> Doc:
        self._noted.inventories.add(path)
        try:
            demand_inside(path)
            source = self.source(root, path)
        except (OSError, OutsideRoot) as error:
            reason = reason_of(error) if isinstance(error, OSError) else str(error)
            raise RequestError(f"cannot read the inventory {path}: {reason}") from None
        docs = [item.doc for item in items(source) if item.what == "inventory"]
        if len(docs) != 1:
            raise RequestError(f"{path}: wants one ClusterInventory, and has {len(docs) or 'none'}")
        return docs[0]


def _file(doc: Doc) -> str:
    """The file that a document is in; an entry of a List is called after it."""
    return doc.source.file if doc.source is not None else doc.name


def _inventories(root: str, shown: str, exclude: Sequence[str], instead: Mapping[str, str]) -> Iterator[str]:
    """The files below ``root``, which the user calls ``shown``, that hold an inventory.

    What cannot be read is skipped: most files here have nothing to do with the one that is checked.
    """
    folder = shown if os.path.realpath(shown) == root else root
    # Without a repository nobody knows what the folders below belong to: they may be temporary ones.
    for path in files_below(folder, exclude, [], "repository" if is_top(root) else "folder"):
        try:
            text = instead.get(path)
            content = read_found(root, path) if text is None else text.encode()
            if b"ClusterInventory" in content and any(
                item.what == "inventory" for item in items(read(content, path))
            ):
                yield path
        except (OSError, OutsideRoot, BoundExceeded):
            continue
