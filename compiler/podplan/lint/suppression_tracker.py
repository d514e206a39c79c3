"""The findings of a run on their way to the report: graded, silenced, and what silenced them looked after."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from podplan.core.builtin_rules import RULES
from podplan.core.findings import Finding
from podplan.core.provenance import Doc
from podplan.core.typing import TYPE_CHECKING, NamedTuple
from podplan.lint.lint_config import ANNOTATION, COMMENT, Terms, ruling_under, sections_of
from podplan.lint.policy import Policy
from podplan.lint.rule_selection import PRIVILEGED, Ruling, eased, raised
from podplan.workspace.documents import identity
from podplan.yaml import Source

if TYPE_CHECKING:
    from podplan.lint.suppressions import Page, Suppression


class Marked(NamedTuple):
    """What grows in a run, as plain data; ``rulings`` are what those that were asked for depend on."""

    rulings: tuple[tuple[tuple[int, ...], str], ...]
    undecided: set[str]
    pages: dict[str, Page]
    annotations: dict[Suppression, str]
    faults: dict[Finding, None]
    dated: bool
    used: set[Suppression]
    refused: dict[Suppression, str]


class Silences:
    """What grows in a run: the suppressions of the files that are checked, and what each of them did."""

    def __init__(self, policies: Sequence[Policy], terms: Terms) -> None:
        self.terms = terms if terms.known else terms._replace(known=tuple(policies))
        self.undecided: set[str] = set()
        self._rulings: dict[tuple[tuple[int, ...], str], Ruling] = {}
        self._all_on = not terms.known
        self._pages: dict[str, Page] = {}
        self._annotations: dict[Suppression, str] = {}
        self._faults: dict[Finding, None] = {}
        self._dated = False
        self._used: set[Suppression] = set()
        self._refused: dict[Suppression, str] = {}

    def ruling(self, file: str, standard: str = "") -> Ruling:
        """Which rules are on for a file. Raises RequestError.

        ``standard`` is the Pod Security Standard that a namespace enforces: what it refuses is an error. Of a
        privileged one nothing is, unless the configuration says of all namespaces what they enforce.
        """
        return self._ruling((sections_of(self.terms, file), standard))

    def _ruling(self, key: tuple[tuple[int, ...], str]) -> Ruling:
        if key not in self._rulings:
            sections, standard = key
            known = _under(standard, self.terms)
            terms = self.terms._replace(known=known)
            self._rulings[key] = Ruling(known) if self._all_on else ruling_under(terms, sections)
        return self._rulings[key]

    def marked(self) -> Marked:
        """What is known here of a part of the files, for a run of which they are a part."""
        return Marked(
            tuple(self._rulings),
            self.undecided,
            self._pages,
            self._annotations,
            self._faults,
            self._dated,
            self._used,
            self._refused,
        )

    def add(self, marked: Marked) -> None:
        """Takes over what is known of a part of the files. Raises RequestError."""
        for key in marked.rulings:
            self._ruling(key)
        self.undecided |= marked.undecided
        self._pages |= marked.pages
        self._annotations |= marked.annotations
        self._faults |= marked.faults
        self._dated = self._dated or marked.dated
        self._used |= marked.used
        self._refused |= marked.refused

    def anywhere(self) -> list[Policy]:
        """The policies that are on for some file of those asked for so far."""
        on = {policy.rule.code: policy for ruling in self._rulings.values() for policy in ruling.policies}
        return list(on.values())

    def open(self, source: Source) -> bool:
        """Looks for suppressions in a file that is checked; whether there are any. Raises BoundExceeded."""
        found = self._read(source)
        if found is None:
            return False
        self._faults.update(dict.fromkeys(found.faults))
        self._pages[_real(source.file)] = found
        return bool(found.suppressions or found.faults)

    def has(self, file: str) -> bool:
        """Whether there are any in a file that was opened."""
        page = self._pages.get(_real(file))
        return page is not None and bool(page.suppressions or page.faults)

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
        suppressions = {key: usable for doc in docs for key, usable in self.annotations(file, doc)}
        return self.without_annotated(suppressions, findings)

    def annotations(self, file: str, doc: Doc) -> Iterator[tuple[str, list[Suppression]]]:
        """The suppressions in the annotations of an object of a file, if it has any."""
        if not (self.terms.heed_ignores and _is_annotated(doc)):
            return
        from podplan.lint.suppressions import annotated

        usable, faults = annotated(doc, self.terms)
        if usable:
            yield _key(identity(doc.data)), usable
        self._annotations.update(dict.fromkeys(usable, file))
        self._faults.update(dict.fromkeys(faults))

    def without_annotated(
        self, suppressions: Mapping[str, list[Suppression]], findings: Iterable[Finding]
    ) -> list[Finding]:
        """The findings without what such suppressions silence."""
        if not suppressions:
            return list(findings)
        return [self._silenced(found, suppressions.get(_key(found.object), ())) for found in findings]

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
                found = self._silenced(found, there.suppressions, there)
            kept.append(found)
        if not self.terms.baseline:
            return kept
        from podplan.lint.baseline import without_known
        from podplan.lint.suppressions import may_be_silenced

        return without_known(
            kept, self.terms.baseline, texts, lambda found: may_be_silenced(found, self.terms)
        )

    def _page(self, file: str, source_of: Callable[[str], Source | None]) -> Page | None:
        """The suppressions in a file, checked or only referred to."""
        if not self.terms.heed_ignores or _real(file) in self._pages:
            return self._pages.get(_real(file))
        source = source_of(file)
        return self._read(source) if source is not None else None

    def _read(self, source: Source) -> Page | None:
        """The suppressions in the comments of a file; None where none are heeded."""
        if not self.terms.heed_ignores or COMMENT not in source.text:
            return None
        from podplan.lint.suppressions import page

        found = page(source, self.terms)
        self._dated = self._dated or found.dated
        return found

    def _silenced(
        self, found: Finding, suppressions: Iterable[Suppression], there: Page | None = None
    ) -> Finding:
        from podplan.lint.suppressions import Marks, silenced

        return silenced(found, suppressions, self.terms, Marks(self._used, self._refused), there)

    def faults(self, is_whole: Callable[[str], bool]) -> list[Finding]:
        """What is wrong with the suppressions; ``is_whole`` tells if all was seen that a file is about."""
        if not self._pages and not self._annotations and not self._faults:
            return []
        from podplan.lint.suppressions import Marks, hygiene

        found, marks = list(self._faults), Marks(self._used, self._refused)
        for there in self._pages.values():
            for file in {one.location.file for one in there.suppressions}:
                found += hygiene(there.suppressions, marks, self._on(file, is_whole), self.terms, there.text)
        for one, file in self._annotations.items():
            found += hygiene([one], marks, self._on(file, is_whole), self.terms)
        return [graded for fault in found for graded in self.graded(fault.location.file, [fault])]

    @property
    def today(self) -> str:
        """The day by which suppressions were judged; "" where it made no difference."""
        return self.terms.today if self._dated else ""

    def _on(self, file: str, is_whole: Callable[[str], bool]) -> frozenset[str]:
        return self.ruling(file).codes - self.undecided if is_whole(file) else frozenset()


def _under(standard: str, terms: Terms) -> tuple[Policy, ...]:
    """The policies with the severities that the standard of a namespace gives them; "" for none."""
    if standard == PRIVILEGED:
        return terms.known if terms.standard else eased(terms.known)
    return raised(terms.known, standard) if standard else tuple(terms.known)


def _is_annotated(doc: Doc) -> bool:
    metadata = doc.data.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return isinstance(annotations, dict) and ANNOTATION in annotations


def _key(named: Mapping[str, object] | None) -> str:
    return repr(named)  # the parts may be anything that somebody wrote


def _real(file: str) -> str:
    """A file by one name, however it was referred to."""
    return os.path.abspath(file)
