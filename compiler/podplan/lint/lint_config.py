"""On what terms findings are kept: which rules are on where, and what may silence them."""

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
    """Other settings for some files: patterns below ``folder`` (absolute), and changes to a Selection."""

    folder: str
    patterns: tuple[str, ...]
    changes: Mapping[str, Any]


class LintConfig(NamedTuple):
    """What flags and configuration say about rules and suppressions.

    ``known`` are all policies, on or not; they are not asked where ``asks_policies`` is false. ``today`` is
    YYYY-MM-DD; without it nothing expires. ``baseline`` is what was found before, None for none.
    ``policy_faults`` are what is wrong with policies of an organisation, in files with ``policy_texts``.
    ``standard`` is the Pod Security Standard that all namespaces enforce by the configuration, "" for none.
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
