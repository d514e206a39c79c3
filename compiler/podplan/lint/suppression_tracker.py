"""The findings of a run before the report: severities, suppressions, and the use of each suppression."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.core.findings import Finding
from podplan.core.provenance import TracedDocument
from podplan.core.typing import TYPE_CHECKING, NamedTuple
from podplan.lint.lint_config import (
    COMMENT_MARKER,
    IGNORE_ANNOTATION,
    LintConfig,
    find_matching_selections,
    resolve_rules_for_selections,
)
from podplan.lint.policy import Policy
from podplan.lint.rule_selection import (
    PRIVILEGED_LEVEL,
    ResolvedRules,
    enforce_standard,
    relax_for_privileged,
)
from podplan.workspace.documents import identify_object
from podplan.yaml import SourceFile

if TYPE_CHECKING:
    from podplan.lint.suppressions import FileSuppressions, Suppression


class SuppressionState(NamedTuple):
    """The state of a ``SuppressionTracker`` as plain data.

    ``rule_keys`` are the path sections and Pod Security Standards that rules were resolved for.
    ``annotations`` has the file of each suppression annotation. ``findings`` are about the suppressions
    themselves.
    """

    rule_keys: tuple[tuple[tuple[int, ...], str], ...]
    undecided_rules: set[str]
    file_suppressions: dict[str, FileSuppressions]
    annotations: dict[Suppression, str]
    findings: dict[Finding, None]
    has_expiry_dates: bool
    used: set[Suppression]
    refused: dict[Suppression, str]


class SuppressionTracker:
    """The suppressions of the files that a run checks, and what each of them suppressed."""

    def __init__(self, policies: Sequence[Policy], config: LintConfig) -> None:
        self.config = config if config.all_policies else config._replace(all_policies=tuple(policies))
        self.undecided_rules: set[str] = set()
        self._resolved_rules: dict[tuple[tuple[int, ...], str], ResolvedRules] = {}
        self._all_enabled = not config.all_policies
        self._file_suppressions: dict[str, FileSuppressions] = {}
        self._annotations: dict[Suppression, str] = {}
        self._findings: dict[Finding, None] = {}
        self._has_expiry_dates = False
        self._used: set[Suppression] = set()
        self._refused: dict[Suppression, str] = {}

    def resolve_rules(self, file: str, pod_security_standard: str = "") -> ResolvedRules:
        """Return the rules that are on for a file. Raises UsageError.

        ``pod_security_standard`` is the Pod Security Standard that its namespace enforces: what it refuses is
        an error. For the standard privileged that is an info, unless the configuration states a standard for
        all namespaces.
        """
        return self._resolve_by_key((find_matching_selections(self.config, file), pod_security_standard))

    def _resolve_by_key(self, key: tuple[tuple[int, ...], str]) -> ResolvedRules:
        if key not in self._resolved_rules:
            sections, pod_security_standard = key
            policies = _apply_standard(pod_security_standard, self.config)
            config = self.config._replace(all_policies=policies)
            self._resolved_rules[key] = (
                ResolvedRules(policies)
                if self._all_enabled
                else resolve_rules_for_selections(config, sections)
            )
        return self._resolved_rules[key]

    def export_state(self) -> SuppressionState:
        """Return the state for a part of the files, for ``merge_state`` of the whole run."""
        return SuppressionState(
            tuple(self._resolved_rules),
            self.undecided_rules,
            self._file_suppressions,
            self._annotations,
            self._findings,
            self._has_expiry_dates,
            self._used,
            self._refused,
        )

    def merge_state(self, state: SuppressionState) -> None:
        """Add the state of a part of the files. Raises UsageError."""
        for key in state.rule_keys:
            self._resolve_by_key(key)
        self.undecided_rules |= state.undecided_rules
        self._file_suppressions |= state.file_suppressions
        self._annotations |= state.annotations
        self._findings |= state.findings
        self._has_expiry_dates = self._has_expiry_dates or state.has_expiry_dates
        self._used |= state.used
        self._refused |= state.refused

    def find_enabled_policies(self) -> list[Policy]:
        """The policies that are on for some file whose rules were resolved."""
        enabled = {
            policy.rule.code: policy for ruling in self._resolved_rules.values() for policy in ruling.policies
        }
        return list(enabled.values())

    def load_suppressions(self, source: SourceFile) -> bool:
        """Read the suppressions of a file that is checked; whether there are any. Raises LimitExceeded."""
        file_suppressions = self._read_suppressions(source)
        if file_suppressions is None:
            return False
        self._findings.update(dict.fromkeys(file_suppressions.findings))
        self._file_suppressions[_to_absolute_path(source.file)] = file_suppressions
        return bool(file_suppressions.suppressions or file_suppressions.findings)

    def has_suppressions(self, file: str) -> bool:
        """Whether a file has any suppressions, if they were loaded."""
        file_suppressions = self._file_suppressions.get(_to_absolute_path(file))
        return file_suppressions is not None and bool(
            file_suppressions.suppressions or file_suppressions.findings
        )

    def apply_severities(self, file: str, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings about a file, with its severities and without those of rules that are off."""
        changed_severities = self.resolve_rules(file).changed_severities
        kept_findings = []
        for finding in findings:
            severity = (
                changed_severities.get(finding.rule, finding.severity)
                if finding.rule in BUILTIN_RULES
                else finding.severity
            )
            if severity is not None:
                kept_findings.append(
                    finding if severity is finding.severity else finding._replace(severity=severity)
                )
        return kept_findings

    def apply_annotations(
        self, file: str, docs: Iterable[TracedDocument], findings: Iterable[Finding]
    ) -> list[Finding]:
        """Return the findings about objects of a file, with those marked that their annotations suppress."""
        suppressions = {key: usable for doc in docs for key, usable in self.annotations(file, doc)}
        return self.without_annotated(suppressions, findings)

    def annotations(self, file: str, doc: TracedDocument) -> Iterator[tuple[str, list[Suppression]]]:
        """The suppressions in the annotations of an object of a file, if it has any."""
        if not (self.config.respect_suppressions and _has_ignore_annotation(doc)):
            return
        from podplan.lint.suppressions import read_annotation_suppressions

        usable, faults = read_annotation_suppressions(doc, self.config)
        if usable:
            yield _identity_key(identify_object(doc.data)), usable
        self._annotations.update(dict.fromkeys(usable, file))
        self._findings.update(dict.fromkeys(faults))

    def without_annotated(
        self, suppressions: Mapping[str, list[Suppression]], findings: Iterable[Finding]
    ) -> list[Finding]:
        """Return the findings, with those marked that such suppressions cover."""
        if not suppressions:
            return list(findings)
        return [
            self._suppress(found, suppressions.get(_identity_key(found.object), ())) for found in findings
        ]

    def apply_comments_and_baseline(
        self,
        findings: Iterable[Finding],
        texts: Mapping[str, str],
        source_of: Callable[[str], SourceFile | None],
    ) -> list[Finding]:
        """Return the findings, with those marked that comments or the baseline suppress.

        ``source_of`` returns the files that were read because others refer to them.
        """
        kept_findings = []
        suppressions_by_file: dict[str, FileSuppressions | None] = {}
        for finding in findings:
            file = finding.location.file
            if file not in suppressions_by_file:
                suppressions_by_file[file] = self._find_file_suppressions(file, source_of)
            file_suppressions = suppressions_by_file[file]
            if file_suppressions is not None and file_suppressions.suppressions:
                finding = self._suppress(finding, file_suppressions.suppressions, file_suppressions)
            kept_findings.append(finding)
        if not self.config.baseline:
            return kept_findings
        from podplan.lint.baseline import suppress_known_findings
        from podplan.lint.suppressions import is_suppressible

        return suppress_known_findings(
            kept_findings, self.config.baseline, texts, lambda found: is_suppressible(found, self.config)
        )

    def _find_file_suppressions(
        self, file: str, source_of: Callable[[str], SourceFile | None]
    ) -> FileSuppressions | None:
        """The suppressions in a file, checked or only referred to."""
        if not self.config.respect_suppressions or _to_absolute_path(file) in self._file_suppressions:
            return self._file_suppressions.get(_to_absolute_path(file))
        source = source_of(file)
        return self._read_suppressions(source) if source is not None else None

    def _read_suppressions(self, source: SourceFile) -> FileSuppressions | None:
        """The suppressions in the comments of a file; None if it has none, or if they are disabled."""
        if not self.config.respect_suppressions or COMMENT_MARKER not in source.text:
            return None
        from podplan.lint.suppressions import read_file_suppressions

        file_suppressions = read_file_suppressions(source, self.config)
        self._has_expiry_dates = self._has_expiry_dates or file_suppressions.has_expiry_dates
        return file_suppressions

    def _suppress(
        self,
        finding: Finding,
        suppressions: Iterable[Suppression],
        file_suppressions: FileSuppressions | None = None,
    ) -> Finding:
        from podplan.lint.suppressions import SuppressionUsage, suppress_finding

        return suppress_finding(
            finding, suppressions, self.config, SuppressionUsage(self._used, self._refused), file_suppressions
        )

    def collect_suppression_findings(self, is_whole: Callable[[str], bool]) -> list[Finding]:
        """Return findings about suppressions.

        ``is_whole`` returns whether everything that the suppressions of a file can cover was checked.
        """
        if not self._file_suppressions and not self._annotations and not self._findings:
            return []
        from podplan.lint.suppressions import SuppressionUsage, iter_suppression_findings

        suppression_findings, usage = list(self._findings), SuppressionUsage(self._used, self._refused)
        for file_suppressions in self._file_suppressions.values():
            for file in {one.location.file for one in file_suppressions.suppressions}:
                suppression_findings += iter_suppression_findings(
                    file_suppressions.suppressions,
                    usage,
                    self._find_enabled_codes(file, is_whole),
                    self.config,
                    file_suppressions.text,
                )
        for suppression, file in self._annotations.items():
            suppression_findings += iter_suppression_findings(
                [suppression], usage, self._find_enabled_codes(file, is_whole), self.config
            )
        return [
            graded
            for fault in suppression_findings
            for graded in self.apply_severities(fault.location.file, [fault])
        ]

    @property
    def today(self) -> str:
        """The day that expiry dates were compared with; "" if it made no difference."""
        return self.config.today if self._has_expiry_dates else ""

    def _find_enabled_codes(self, file: str, is_whole: Callable[[str], bool]) -> frozenset[str]:
        return (
            self.resolve_rules(file).enabled_codes - self.undecided_rules if is_whole(file) else frozenset()
        )


def _apply_standard(pod_security_standard: str, config: LintConfig) -> tuple[Policy, ...]:
    """The policies with the severities that the standard of a namespace gives them; "" for none."""
    if pod_security_standard == PRIVILEGED_LEVEL:
        return (
            config.all_policies if config.pod_security_standard else relax_for_privileged(config.all_policies)
        )
    return (
        enforce_standard(config.all_policies, pod_security_standard)
        if pod_security_standard
        else tuple(config.all_policies)
    )


def _has_ignore_annotation(doc: TracedDocument) -> bool:
    metadata = doc.data.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return isinstance(annotations, dict) and IGNORE_ANNOTATION in annotations


def _identity_key(object_identity: Mapping[str, object] | None) -> str:
    return repr(object_identity)  # the parts may be anything that somebody wrote


def _to_absolute_path(file: str) -> str:
    """A file by one name, however it was referred to."""
    return os.path.abspath(file)
