"""The configuration of the linter: which rules are on for which files, and what may suppress findings."""

from __future__ import annotations

import os
from collections.abc import Mapping

from podplan.core.builtin_rules import BUILTIN_RULES, Rule
from podplan.core.findings import Diagnostic
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple
from podplan.lint.policy import Policy
from podplan.lint.rule_selection import ResolvedRules, RuleSelection, narrow_selection, resolve_rules
from podplan.lint.target import cache_recent
from podplan.workspace.globs import matches_glob

if TYPE_CHECKING:
    from podplan.lint.baseline import BaselineEntry

# What silences findings in a file; most files have neither, and need none of the modules that read them.
COMMENT_MARKER = "podplan:"
IGNORE_ANNOTATION = "lint.podplan.dev/ignore"


class PathSelection(NamedTuple):
    """A rule selection for files that match patterns below ``folder`` (absolute).

    ``changes`` are the fields of RuleSelection that differ.
    """

    folder: str
    patterns: tuple[str, ...]
    changes: Mapping[str, Any]


class LintConfig(NamedTuple):
    """What flags and configuration state about rules and suppressions.

    ``all_policies`` are enabled or not; none is applied unless ``policies_enabled``. ``path_selections``
    change the ``selection`` for some files. ``today`` is YYYY-MM-DD; without it no suppression expires.
    ``baseline`` has the known findings, None without a baseline. ``policy_diagnostics`` are about custom
    policies, in files with ``policy_texts``. ``pod_security_standard`` is the Pod Security Standard that all
    namespaces enforce, "" for none.
    """

    all_policies: tuple[Policy, ...] = ()
    policies_enabled: bool = True
    selection: RuleSelection = RuleSelection()
    path_selections: tuple[PathSelection, ...] = ()
    require_reasons: bool = True
    respect_suppressions: bool = True
    today: str = ""
    baseline: tuple[BaselineEntry, ...] | None = None
    policy_diagnostics: tuple[Diagnostic, ...] = ()
    policy_texts: Mapping[str, str] = {}
    pod_security_standard: str = ""


def index_rules(config: LintConfig) -> Mapping[str, Rule]:
    """All rules there are, by their codes."""
    return _index_rules_of(config.all_policies)


@cache_recent
def _index_rules_of(policies: tuple[Policy, ...]) -> dict[str, Rule]:
    return BUILTIN_RULES | {policy.rule.code: policy.rule for policy in policies}


def resolve_default_rules(config: LintConfig) -> ResolvedRules:
    """What holds where no section matches. Raises UsageError."""
    return resolve_rules_for_selections(config, ())


def resolve_rules_for_selections(config: LintConfig, selection_numbers: tuple[int, ...]) -> ResolvedRules:
    """What holds where some of the sections match, in their order. Raises UsageError."""
    selection = config.selection
    for number in selection_numbers:
        selection = narrow_selection(selection, config.path_selections[number].changes)
    resolved = resolve_rules(config.all_policies, selection)
    return resolved if config.policies_enabled else resolved._replace(policies=())


def find_matching_selections(config: LintConfig, file: str) -> tuple[int, ...]:
    """Which of the sections match a file."""
    if not config.path_selections:
        return ()
    path = os.path.realpath(file)
    return tuple(
        number for number, section in enumerate(config.path_selections) if _selection_matches(section, path)
    )


def _selection_matches(path_selection: PathSelection, path: str) -> bool:
    relative = os.path.relpath(path, path_selection.folder).replace(os.sep, "/")
    is_inside = not relative.startswith("../")
    return is_inside and any(matches_glob(relative, pattern) for pattern in path_selection.patterns)
