"""Suppressions: the findings that they suppress, and findings about the suppressions themselves.

A suppression applies to findings of its rules whose location is in the node that it covers. The location of a
finding is where its provenance ends: what is suppressed in a base profile is suppressed in all profiles that
extend it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podplan.core.builtin_rules import Rule, build_file_finding
from podplan.core.findings import Finding, Location
from podplan.core.provenance import TracedDocument
from podplan.core.typing import NamedTuple
from podplan.lint.lint_config import IGNORE_ANNOTATION, LintConfig, index_rules
from podplan.lint.location import locate
from podplan.lint.rule_selection import UNSUPPRESSIBLE_RULES, matches_rule, suggest_rule
from podplan.lint.suppression_comments import CoveredRange, SuppressionComment, find_suppression_comments
from podplan.lint.suppression_syntax import ANNOTATION_SYNTAX, COMMENT_SYNTAX, parse_annotation
from podplan.yaml import SourceFile
from podplan.yaml.edits.comments import remove_rule_from_comment


class Suppression(NamedTuple):
    """A rule, or a group of rules, that a comment or an annotation suppresses.

    ``rule`` is as written. ``expiry_date`` is YYYY-MM-DD or "". ``covered_range`` is None for an annotation,
    which covers its object. ``is_only_rule`` is false if the comment or annotation names other rules, too.
    """

    rule: str
    reason: str
    expiry_date: str
    location: Location
    covered_range: CoveredRange | None
    is_only_rule: bool


class FileSuppressions(NamedTuple):
    """The suppressions in one file, the findings about invalid ones, and the text of the file.

    ``document_starts`` has the line and the index of each document.
    """

    suppressions: tuple[Suppression, ...]
    findings: tuple[Finding, ...]
    document_starts: tuple[tuple[int, int], ...]
    has_expiry_dates: bool
    text: str


class SuppressionUsage(NamedTuple):
    """The suppressions that a run used, and the refused ones with the code of their mandatory rule."""

    used: set[Suppression]
    refused: dict[Suppression, str]


def read_file_suppressions(source: SourceFile, config: LintConfig) -> FileSuppressions:
    """The suppressions of a file. Raises LimitExceeded."""
    comments = find_suppression_comments(source)
    accepted: list[Suppression] = []
    findings: list[Finding] = []
    for comment in comments:
        usable, comment_findings = _validate_comment(comment, config)
        accepted += usable
        findings += comment_findings
    document_starts = (
        tuple((document.span(()).line, document.index) for document in source.documents) if comments else ()
    )
    has_expiry_dates = any(comment.directive.expiry_date for comment in comments)
    return FileSuppressions(tuple(accepted), tuple(findings), document_starts, has_expiry_dates, source.text)


def read_annotation_suppressions(
    doc: TracedDocument, config: LintConfig
) -> tuple[list[Suppression], list[Finding]]:
    """The suppressions in the annotation of a CR or an object, and what is wrong with it."""
    metadata = doc.data.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(annotations, dict) or IGNORE_ANNOTATION not in annotations:
        return [], []
    location = locate(doc, ("metadata", "annotations", IGNORE_ANNOTATION)).location
    parts = list(parse_annotation(annotations[IGNORE_ANNOTATION]))
    accepted: list[Suppression] = []
    findings: list[Finding] = []
    for directive in parts:
        usable, part_findings = _validate_comment(
            SuppressionComment(directive, location, CoveredRange((0, 0), (0, 0))), config, ANNOTATION_SYNTAX
        )
        accepted += (one._replace(covered_range=None, is_only_rule=len(parts) == 1) for one in usable)
        findings += part_findings
    return accepted, findings


def suppress_finding(
    finding: Finding,
    suppressions: Iterable[Suppression],
    config: LintConfig,
    usage: SuppressionUsage,
    file_suppressions: FileSuppressions | None = None,
) -> Finding:
    """Return the finding, marked as suppressed if one of the suppressions covers it.

    ``file_suppressions`` are those of its file, None for annotations. The first one that covers it gives the
    reason, and all of them count as used.
    """
    rule = index_rules(config)[finding.rule]
    covering = [
        one
        for one in suppressions
        if _matches_rule(one.rule, rule) and _covers(one, finding, file_suppressions)
    ]
    if not covering or _is_unsuppressible(rule):
        return finding
    if any(matches_rule(text, rule) for text in config.selection.mandatory):
        usage.refused.update(dict.fromkeys(covering, rule.code))
        return finding
    usage.used.update(covering)
    if finding.suppressed:
        return finding
    return finding._replace(suppressed=True, reason=covering[0].reason or "no reason given")


def iter_suppression_findings(
    suppressions: Iterable[Suppression],
    usage: SuppressionUsage,
    enabled_codes: frozenset[str],
    config: LintConfig,
    text: str = "",
) -> Iterator[Finding]:
    """Yield findings about suppressions without effect, as far as their rules are in ``enabled_codes``.

    ``text`` is that of the file, for suppressions in comments.
    """
    for suppression in suppressions:
        if suppression in usage.refused:
            code = usage.refused[suppression]
            message = f"{code} is mandatory here, so that it cannot be ignored; mend what it says"
            yield build_file_finding("LINT006", message, suppression.location)
        elif suppression not in usage.used and any(
            _matches_rule(suppression.rule, rule) and rule.code in enabled_codes
            for rule in index_rules(config).values()
        ):
            carrier = "the comment" if suppression.covered_range else "the annotation"
            remedy = (
                f"remove {carrier}"
                if suppression.is_only_rule
                else f'remove "{suppression.rule}" from {carrier}'
            )
            message = f'"{suppression.rule}" finds nothing here that could be ignored; {remedy}'
            fix = (
                remove_rule_from_comment(
                    text, suppression.location, suppression.rule, suppression.is_only_rule
                )
                if suppression.covered_range
                else None
            )
            yield build_file_finding("LINT005", message, suppression.location)._replace(fix=fix)


def _validate_comment(
    comment: SuppressionComment, config: LintConfig, syntax: str = COMMENT_SYNTAX
) -> tuple[list[Suppression], list[Finding]]:
    """The suppressions that a comment amounts to, and what is wrong with it."""
    directive, location, covered_range = comment
    if directive.error:
        return [], [build_file_finding("LINT001", directive.error, location)]
    if config.require_reasons and not directive.reason:
        message = f"this does not say why, so that it silences nothing; the form is {syntax}"
        return [], [build_file_finding("LINT003", message, location)]
    if config.today and directive.expiry_date and directive.expiry_date < config.today:
        message = (
            f"this was to be mended by {directive.expiry_date}, and today is {config.today}; mend it or give"
            " a new day"
        )
        return [], [build_file_finding("LINT004", message, location)]
    accepted: list[Suppression] = []
    findings: list[Finding] = []
    for text in directive.rules:
        rules = index_rules(config).values()
        rules_meant = [rule for rule in rules if _matches_rule(text, rule)]
        if not rules_meant:
            message = f'no rule has the code, group or name "{text[:100]}"{suggest_rule(text, rules)}'
            findings.append(build_file_finding("LINT002", message, location))
        elif refusal := _explain_unsuppressible(rules_meant, config):
            findings.append(build_file_finding("LINT006", f'"{text}" {refusal}', location))
        else:
            is_only_rule = len(directive.rules) == 1
            accepted.append(
                Suppression(
                    text, directive.reason, directive.expiry_date, location, covered_range, is_only_rule
                )
            )
    return accepted, findings


def _explain_unsuppressible(matched_rules: list[Rule], config: LintConfig) -> str:
    """Why none of the rules may be ignored, as the rest of a sentence; "" where some may."""
    if all(_is_unsuppressible(rule) for rule in matched_rules):
        return "cannot be ignored: it tells what was not checked, or how suppressions are used"
    if all(any(matches_rule(text, rule) for text in config.selection.mandatory) for rule in matched_rules):
        return "is mandatory here, so it cannot be ignored; mend what it says"
    return ""


def is_suppressible(finding: Finding, config: LintConfig) -> bool:
    """Whether a comment, an annotation or the baseline may suppress a finding."""
    rule = index_rules(config)[finding.rule]
    return not (
        _is_unsuppressible(rule) or any(matches_rule(text, rule) for text in config.selection.mandatory)
    )


def _is_unsuppressible(rule: Rule) -> bool:
    return rule.code in UNSUPPRESSIBLE_RULES or rule.code.startswith("LINT")


def _matches_rule(text: str, rule: Rule) -> bool:
    """Whether a suppression's word means a rule: code, name, or the group and first digits of the code."""
    if rule.is_named(text):
        return True
    letters = rule.code.rstrip("0123456789")
    return text.startswith(letters) and rule.code.startswith(text)


def _covers(suppression: Suppression, finding: Finding, file_suppressions: FileSuppressions | None) -> bool:
    covered_range, location = suppression.covered_range, finding.location
    if covered_range is None:
        return True
    if file_suppressions is None:
        return False
    if covered_range.start <= (location.line, location.column) < covered_range.end:
        return True
    # A node behind an alias stands elsewhere in the text.
    path = covered_range.path
    return (
        path is not None
        and location.path[: len(path)] == path
        and finding.identity is not None
        and covered_range.document == _find_document_index(file_suppressions, location.line)
    )


def _find_document_index(file_suppressions: FileSuppressions, line: int) -> int | None:
    return next(
        (index for start, index in reversed(file_suppressions.document_starts) if start <= line), None
    )
