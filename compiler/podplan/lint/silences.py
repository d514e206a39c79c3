"""The findings of a run on their way to the report: graded, silenced, and what silenced them looked after."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence

from podplan.findings import Finding
from podplan.lint.baseline import without_known
from podplan.lint.policy import Policy
from podplan.lint.selection import Ruling
from podplan.lint.suppression import (
    Marks,
    Page,
    Suppression,
    annotated,
    hygiene,
    may_be_silenced,
    page,
    silenced,
)
from podplan.lint.terms import Terms, ruling_under, sections_of
from podplan.provenance import Doc
from podplan.reading.documents import identity
from podplan.rules import RULES
from podplan.source import Source


class Silences:
    """What grows in a run: the suppressions of the files that are checked, and what each of them did."""

    def __init__(self, policies: Sequence[Policy], terms: Terms) -> None:
        self.terms = terms if terms.known else terms._replace(known=tuple(policies))
        self.undecided: set[str] = set()
        self._rulings: dict[tuple[int, ...], Ruling] = {}
        if not terms.known:
            self._rulings[()] = Ruling(tuple(policies))
        self._pages: dict[str, Page] = {}
        self._annotations: dict[Suppression, str] = {}
        self._faults: dict[Finding, None] = {}
        self._dated = False
        self._marks = Marks(set(), {})

    def ruling(self, file: str) -> Ruling:
        """Which rules are on for a file. Raises RequestError."""
        sections = sections_of(self.terms, file)
        if sections not in self._rulings:
            self._rulings[sections] = ruling_under(self.terms, sections)
        return self._rulings[sections]

    def anywhere(self) -> list[Policy]:
        """The policies that are on for some file of those asked for so far."""
        on = {policy.rule.code: policy for ruling in self._rulings.values() for policy in ruling.policies}
        return list(on.values())

    def open(self, source: Source) -> bool:
        """Looks for suppressions in a file that is checked; whether there are any. Raises BoundExceeded."""
        if not self.terms.heed_ignores:
            return False
        found = page(source, self.terms)
        self._dated = self._dated or found.dated
        self._faults.update(dict.fromkeys(found.faults))
        self._pages[_real(source.file)] = found
        return bool(found.suppressions or found.faults)

    def graded(self, file: str, findings: Iterable[Finding]) -> list[Finding]:
        """The findings about a file without those of rules that are off for it, in its own severities."""
        changes = self.ruling(file).changes
        kept = []
        for found in findings:
            severity = changes.get(found.rule, found.severity) if found.rule in RULES else found.severity
            if severity is not None:
                kept.append(found if severity is found.severity else found._replace(severity=severity))
        return kept

    def annotated(self, file: str, docs: Iterable[Doc], findings: Iterable[Finding]) -> list[Finding]:
        """The findings about objects of a file, without what the annotations of these silence."""
        suppressions: dict[str, list[Suppression]] = {}
        for doc in docs if self.terms.heed_ignores else ():
            usable, faults = annotated(doc, self.terms)
            if usable:
                suppressions[_key(identity(doc.data))] = usable
            self._annotations.update(dict.fromkeys(usable, file))
            self._faults.update(dict.fromkeys(faults))
        if not suppressions:
            return list(findings)
        return [
            silenced(found, suppressions.get(_key(found.object), ()), self.terms, self._marks)
            for found in findings
        ]

    def settled(
        self, findings: Iterable[Finding], texts: Mapping[str, str], source_of: Callable[[str], Source | None]
    ) -> list[Finding]:
        """The findings, marked where comments or the baseline silence them.

        ``source_of`` gives the files that were read because others refer to them.
        """
        kept = []
        pages: dict[str, Page | None] = {}
        for found in findings:
            file = found.location.file
            if file not in pages:
                pages[file] = self._page(file, source_of)
            there = pages[file]
            if there is not None and there.suppressions:
                found = silenced(found, there.suppressions, self.terms, self._marks, there)
            kept.append(found)
        if not self.terms.baseline:
            return kept
        return without_known(
            kept, self.terms.baseline, texts, lambda found: may_be_silenced(found, self.terms)
        )

    def _page(self, file: str, source_of: Callable[[str], Source | None]) -> Page | None:
        """The suppressions in a file, checked or only referred to."""
        if not self.terms.heed_ignores or _real(file) in self._pages:
            return self._pages.get(_real(file))
        source = source_of(file)
        found = page(source, self.terms) if source is not None else None
        self._dated = self._dated or (found is not None and found.dated)
        return found

    def faults(self, is_whole: Callable[[str], bool]) -> list[Finding]:
        """What is wrong with the suppressions; ``is_whole`` tells if all was seen that a file is about."""
        found = list(self._faults)
        for there in self._pages.values():
            for file in {one.location.file for one in there.suppressions}:
                found += hygiene(there.suppressions, self._marks, self._on(file, is_whole), self.terms)
        for one, file in self._annotations.items():
            found += hygiene([one], self._marks, self._on(file, is_whole), self.terms)
        return [graded for fault in found for graded in self.graded(fault.location.file, [fault])]

    @property
    def today(self) -> str:
        """The day by which suppressions were judged; "" where it made no difference."""
        return self.terms.today if self._dated else ""

    def _on(self, file: str, is_whole: Callable[[str], bool]) -> frozenset[str]:
        return self.ruling(file).codes - self.undecided if is_whole(file) else frozenset()


def _key(named: Mapping[str, object] | None) -> str:
    return repr(named)  # the parts may be anything that somebody wrote


def _real(file: str) -> str:
    """A file by one name, however it was referred to."""
    return os.path.abspath(file)
