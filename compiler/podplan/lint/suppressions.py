"""Which findings somebody silenced, and whether what silences them is as it should be.

A suppression silences a finding of its rules whose place is under the node that it covers. The place of a
finding is where its trace ends: what is silenced in a base is silenced in all that derives from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podplan.core.builtin_rules import RULES, Rule
from podplan.core.findings import Finding, Location
from podplan.core.provenance import Doc
from podplan.core.typing import NamedTuple
from podplan.lint.lint_config import ANNOTATION, Terms, rules
from podplan.lint.location import locate
from podplan.lint.rule_selection import UNSILENCED, means, meant
from podplan.lint.suppression_comments import Cover, SuppressionComment, suppressions
from podplan.lint.suppression_syntax import ANNOTATION_FORM, FORM, annotation
from podplan.yaml import Source
from podplan.yaml.edits.comments import without_rule


class Suppression(NamedTuple):
    """One rule, or a group of them, that a comment or an annotation silences.

    ``rule`` is as written. ``cover`` is None for an annotation, which covers its object. ``alone`` tells that
    no other rule is named beside it.
    """

    rule: str
    reason: str
    until: str
    location: Location
    cover: Cover | None
    alone: bool


class Page(NamedTuple):
    """The suppressions in one file, what is wrong with others, line and index of each document, the text."""

    suppressions: tuple[Suppression, ...]
    faults: tuple[Finding, ...]
    documents: tuple[tuple[int, int], ...]
    dated: bool
    text: str


class Marks(NamedTuple):
    """What became of suppressions in a run: some silenced something, and some were not allowed to.

    ``refused`` has the code of the mandatory rule for each of these.
    """

    used: set[Suppression]
    refused: dict[Suppression, str]


def page(source: Source, terms: Terms) -> Page:
    """The suppressions of a file. Raises BoundExceeded."""
    found = suppressions(source)
    kept: list[Suppression] = []
    faults: list[Finding] = []
    for comment in found:
        usable, wrong = _judged(comment, terms)
        kept += usable
        faults += wrong
    starts = tuple((document.span(()).line, document.index) for document in source.documents) if found else ()
    dated = any(comment.written.until for comment in found)
    return Page(tuple(kept), tuple(faults), starts, dated, source.text)


def annotated(doc: Doc, terms: Terms) -> tuple[list[Suppression], list[Finding]]:
    """The suppressions in the annotation of a CR or an object, and what is wrong with it."""
    metadata = doc.data.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(annotations, dict) or ANNOTATION not in annotations:
        return [], []
    where = locate(doc, ("metadata", "annotations", ANNOTATION)).location
    parts = list(annotation(annotations[ANNOTATION]))
    kept: list[Suppression] = []
    faults: list[Finding] = []
    for written in parts:
        usable, wrong = _judged(
            SuppressionComment(written, where, Cover((0, 0), (0, 0))), terms, ANNOTATION_FORM
        )
        kept += (one._replace(cover=None, alone=len(parts) == 1) for one in usable)
        faults += wrong
    return kept, faults


def silenced(
    found: Finding, suppressions: Iterable[Suppression], terms: Terms, marks: Marks, page: Page | None = None
) -> Finding:
    """The finding, marked as suppressed if one of the suppressions covers it; ``page`` is that of its file.

    The first one gives the reason, and all of them count as used.
    """
    rule = Rule(found.rule, found.name, found.severity, "")
    covering = [one for one in suppressions if _means(one.rule, rule) and _covers(one, found, page)]
    if not covering or _is_fixed(rule):
        return found
    if any(means(text, rule) for text in terms.selection.mandatory):
        marks.refused.update(dict.fromkeys(covering, rule.code))
        return found
    marks.used.update(covering)
    if found.suppressed:
        return found
    return found._replace(suppressed=True, reason=covering[0].reason or "no reason given")


def hygiene(
    suppressions: Iterable[Suppression], marks: Marks, on: frozenset[str], terms: Terms, text: str = ""
) -> Iterator[Finding]:
    """What is wrong with suppressions that did nothing, as far as their rules were ``on``.

    ``text`` is that of the file, for those that are comments.
    """
    for one in suppressions:
        if one in marks.refused:
            code = marks.refused[one]
            message = f"{code} is mandatory here, so that it cannot be ignored; mend what it says"
            yield _finding("LINT006", message, one.location)
        elif one not in marks.used and any(
            _means(one.rule, rule) and rule.code in on for rule in rules(terms)
        ):
            what = "the comment" if one.cover else "the annotation"
            cure = f"remove {what}" if one.alone else f'remove "{one.rule}" from {what}'
            message = f'"{one.rule}" finds nothing here that could be ignored; {cure}'
            fix = without_rule(text, one.location, one.rule, one.alone) if one.cover else None
            yield _finding("LINT005", message, one.location)._replace(fix=fix)


def _judged(
    comment: SuppressionComment, terms: Terms, form: str = FORM
) -> tuple[list[Suppression], list[Finding]]:
    """The suppressions that a comment amounts to, and what is wrong with it."""
    written, where, cover = comment
    if written.fault:
        return [], [_finding("LINT001", written.fault, where)]
    if terms.require_reasons and not written.reason:
        message = f"this does not say why, so that it silences nothing; the form is {form}"
        return [], [_finding("LINT003", message, where)]
    if terms.today and written.until and written.until < terms.today:
        message = (
            f"this was to be mended by {written.until}, and today is {terms.today}; mend it or give a new day"
        )
        return [], [_finding("LINT004", message, where)]
    kept: list[Suppression] = []
    faults: list[Finding] = []
    for text in written.rules:
        rules_meant = [rule for rule in rules(terms) if _means(text, rule)]
        if not rules_meant:
            message = f'no rule has the code, group or name "{text[:100]}"{meant(text, rules(terms))}'
            faults.append(_finding("LINT002", message, where))
        elif fixed := _why_never(rules_meant, terms):
            faults.append(_finding("LINT006", f'"{text}" {fixed}', where))
        else:
            alone = len(written.rules) == 1
            kept.append(Suppression(text, written.reason, written.until, where, cover, alone))
    return kept, faults


def _why_never(found: list[Rule], terms: Terms) -> str:
    """Why none of the rules may be ignored, as the rest of a sentence; "" where some may."""
    if all(_is_fixed(rule) for rule in found):
        return "cannot be ignored: it tells what was not checked, or how suppressions are used"
    if all(any(means(text, rule) for text in terms.selection.mandatory) for rule in found):
        return "is mandatory here, so it cannot be ignored; mend what it says"
    return ""


def may_be_silenced(found: Finding, terms: Terms) -> bool:
    """Whether a comment, an annotation or the baseline may silence a finding."""
    rule = Rule(found.rule, found.name, found.severity, "")
    return not (_is_fixed(rule) or any(means(text, rule) for text in terms.selection.mandatory))


def _is_fixed(rule: Rule) -> bool:
    return rule.code in UNSILENCED or rule.code.startswith("LINT")


def _means(text: str, rule: Rule) -> bool:
    """Whether a suppression's word means a rule: code, name, or the group and first digits of the code."""
    if text == rule.name:
        return True
    letters = rule.code.rstrip("0123456789")
    return text.startswith(letters) and rule.code.startswith(text)


def _covers(one: Suppression, found: Finding, page: Page | None) -> bool:
    cover, where = one.cover, found.location
    if cover is None:
        return True
    if page is None:
        return False
    if cover.first <= (where.line, where.column) < cover.last:
        return True
    # A node behind an alias stands elsewhere in the text.
    path = cover.path
    return (
        path is not None
        and where.path[: len(path)] == path
        and found.anchor is not None
        and cover.document == _document_at(page, where.line)
    )


def _document_at(page: Page, line: int) -> int | None:
    return next((index for start, index in reversed(page.documents) if start <= line), None)


def _finding(code: str, message: str, where: Location) -> Finding:
    rule = RULES[code]
    return Finding(rule.code, rule.name, rule.severity, message, rule.basis, where, "file")
