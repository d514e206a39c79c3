"""What podplan says of the documents that are open, with their texts in the place of files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping

from podplan.checker.check import Result, check_sources
from podplan.checker.run_state import GivenUp
from podplan.core.errors import RequestError
from podplan.core.findings import Finding
from podplan.core.limits import BoundExceeded
from podplan.core.provenance import Doc
from podplan.core.typing import NamedTuple
from podplan.integrations.lsp.dependents import Extending, dependents, extending
from podplan.integrations.lsp.documents import Documents, Open
from podplan.integrations.lsp.parse_cache import Kept
from podplan.pipeline import Plan, Settings, plans
from podplan.workspace import Reader
from podplan.workspace.documents import Item, items
from podplan.workspace.file_loader import Unread, opened, sources
from podplan.workspace.files import NoSuchPath, OutsideRoot, in_repository, root_of
from podplan.yaml import Source


class Asked(NamedTuple):
    """What the configuration that holds for a file asks for."""

    settings: Settings
    exclude: tuple[str, ...]


class Report(NamedTuple):
    """The findings by file, the texts that their places are in, and by file what kept it from being checked;
    ``left_out`` are the documents that are too long for it, or too many."""

    findings: dict[str, list[Finding]]
    texts: dict[str, str]
    failures: dict[str, str]
    left_out: dict[str, str]


class Workspace:
    """The open documents and the settings of their files; ``asked`` gives those for a path, or raises
    RequestError."""

    def __init__(self, asked: Callable[[str], Asked]) -> None:
        self.documents = Documents()
        self._asked = asked
        self._dependents: dict[str, tuple[str, ...]] = {}
        self._extending_of: dict[tuple[str, tuple[str, ...]], dict[str, Extending]] = {}
        self._fresh: set[tuple[str, tuple[str, ...]]] = set()  # of these, what nothing has changed since
        self._inventories: dict[str, str] = {}
        self._kept = Kept()

    def forget(self) -> None:
        """Files have changed: what is known of those that are not open no longer counts."""
        self._dependents.clear()
        self._fresh.clear()
        self._inventories.clear()
        if not self.documents.open:
            self._kept = Kept()

    def check(self) -> Report:
        """All findings of the open documents, and of the profiles that extend them, as far as they are not
        left out."""
        report = Report({}, {}, {}, self.documents.left_out())
        of_root: dict[str, list[str]] = {}
        for path in self.documents.open:
            if path not in report.left_out:
                of_root.setdefault(root_of(path), []).append(path)
        for paths in of_root.values():
            try:
                self._check(paths, report)
            except (RequestError, NoSuchPath, OutsideRoot, BoundExceeded) as error:
                report.failures.update(dict.fromkeys(paths, str(error)))
        return report

    def result(self, paths: list[str], texts: dict[str, str]) -> Result:
        """The result for files, with further ``texts`` in the place of files. Raises as ``check_sources``.

        Its texts are whole: what a report hides is only hidden from reports.
        """
        asked = self.asked(paths[0])
        instead = self.documents.instead() | texts
        reader = self._kept.reader(asked.exclude, instead)
        files = [*dict.fromkeys((*paths, *self._extending(paths, asked)))]
        found, beyond = _opened(files, instead)
        whole = {one.file: one.text for one in found if isinstance(one, Source)}
        result = check_sources(found, asked.settings, reader)
        whole |= reader.texts(result.texts.keys())
        return result._replace(texts=whole, given_up=(*result.given_up, *beyond))

    def _check(self, paths: list[str], report: Report) -> None:
        result = self.result(paths, {})
        for found in result.findings:
            report.findings.setdefault(found.location.file, []).append(found)
        report.texts.update(result.texts)
        for file, sentence in result.given_up:
            report.failures.update(dict.fromkeys([file] if file in paths else paths, sentence))

    def asked(self, path: str) -> Asked:
        """The settings for a file, with paths that hold wherever the editor was started.

        The inventory of a root is looked for once, not at every key that is pressed.
        """
        asked = self._asked(path)
        settings = asked.settings
        if settings.inventory:
            return asked._replace(settings=settings._replace(inventory=os.path.abspath(settings.inventory)))
        root = root_of(path)
        if root not in self._inventories:
            self._inventories[root] = self._inventory(path, asked)
        return asked._replace(settings=settings._replace(inventory=self._inventories[root]))

    def _inventory(self, path: str, asked: Asked) -> str:
        reader = self._kept.reader(asked.exclude, self.documents.instead())
        found = reader.inventory_if_any(Doc(path, {}))
        return found.name if found is not None else ""

    def inventory(self, path: str) -> Doc | None:
        """The ClusterInventory that holds for a file, None where there is none, or several."""
        try:
            return self.reader(path).inventory_if_any(Doc(path, {}), self.asked(path).settings.inventory)
        except RequestError:
            return None

    def reader(self, path: str) -> Reader:
        """A reader in which the open documents take the place of files."""
        return self._kept.reader(self.asked(path).exclude, self.documents.instead())

    def plans_of(self, document: Open) -> Iterator[Plan]:
        """Every CR that comes from a document: its own, or those of the profiles that extend it."""
        asked = self.asked(document.path)
        reader = self.reader(document.path)
        for path in (document.path, *self._extending([document.path], asked)):
            for source in sources([path], self.documents.instead()):
                if isinstance(source, Source):
                    for item in items(source):
                        yield from _plans(item, asked.settings, reader)

    def _extending(self, paths: list[str], asked: Asked) -> tuple[str, ...]:
        """The profiles below the root that extend one of the files, whether they are open or not."""
        found: dict[str, None] = {}
        for path in paths:
            if path not in self._dependents:
                self._dependents[path] = self._dependents_of(path, asked)
            found |= dict.fromkeys(self._dependents[path])
        return tuple(self.documents.called(path) for path in found)

    def _dependents_of(self, path: str, asked: Asked) -> tuple[str, ...]:
        """Those of one file; outside of a repository there are none."""
        text = self.documents.open[path].text if path in self.documents.open else ""
        if "podplan/" not in text or not in_repository(path):
            return ()
        of = root_of(path), asked.exclude
        if of not in self._fresh:
            self._extending_of[of] = extending(*of, self._extending_of.get(of, {}))
            self._fresh.add(of)
        return dependents(path, self._extending_of[of])


def _plans(item: Item, settings: Settings, reader: Reader) -> Iterator[Plan]:
    if item.what in ("profile", "cr"):
        yield from plans(item, settings, reader)


def _opened(files: Iterable[str], instead: Mapping[str, str]) -> tuple[list[Source | Unread], list[GivenUp]]:
    """The files, and those of ours that reach a bound."""
    found: list[Source | Unread] = []
    beyond: list[GivenUp] = []
    for file in files:
        try:
            found.append(opened(file, instead))
        except BoundExceeded as error:
            beyond.append(GivenUp(file, str(error.in_file(file))))
    return found, beyond
