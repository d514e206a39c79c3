"""On what terms findings are kept: which rules are on where, and what may silence them."""

from __future__ import annotations

import os
from collections.abc import Mapping

from podplan.core.builtin_rules import RULES, Rule
from podplan.core.findings import Problem
from podplan.core.provenance import Doc
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple
from podplan.lint.policy import Policy
from podplan.lint.rule_selection import Ruling, Selection, ruling, with_changes
from podplan.workspace.globs import matches

if TYPE_CHECKING:
    from podplan.lint.baseline import Entry

# What silences findings in a file; most files have neither, and need none of the modules that read them.
COMMENT = "podplan:"
ANNOTATION = "lint.podplan.dev/ignore"


class Section(NamedTuple):
    """Other settings for some files: patterns below ``folder`` (absolute), and changes to a Selection."""

    folder: str
    patterns: tuple[str, ...]
    changes: Mapping[str, Any]


class Terms(NamedTuple):
    """What flags and configuration say about rules and suppressions.

    ``known`` are all policies, on or not; they are not asked where ``asks_policies`` is false. ``today`` is
    YYYY-MM-DD; without it nothing expires. ``baseline`` is what was found before, None for none.
    ``policy_faults`` are what is wrong with policies of an organisation, in files with ``policy_texts``.
    ``standard`` is the Pod Security Standard that all namespaces enforce by the configuration, "" for none.
    """

    known: tuple[Policy, ...] = ()
    asks_policies: bool = True
    selection: Selection = Selection()
    sections: tuple[Section, ...] = ()
    require_reasons: bool = True
    heed_ignores: bool = True
    today: str = ""
    baseline: tuple[Entry, ...] | None = None
    policy_faults: tuple[tuple[Doc, Problem], ...] = ()
    policy_texts: Mapping[str, str] = {}
    standard: str = ""


def rules(terms: Terms) -> list[Rule]:
    """All rules there are."""
    return [*RULES.values(), *(policy.rule for policy in terms.known)]


def default_ruling(terms: Terms) -> Ruling:
    """What holds where no section matches. Raises RequestError."""
    return ruling_under(terms, ())


def ruling_under(terms: Terms, sections: tuple[int, ...]) -> Ruling:
    """What holds where some of the sections match, in their order. Raises RequestError."""
    selection = terms.selection
    for number in sections:
        selection = with_changes(selection, terms.sections[number].changes)
    found = ruling(terms.known, selection)
    return found if terms.asks_policies else found._replace(policies=())


def sections_of(terms: Terms, file: str) -> tuple[int, ...]:
    """Which of the sections match a file."""
    if not terms.sections:
        return ()
    path = os.path.realpath(file)
    return tuple(number for number, section in enumerate(terms.sections) if _matches(section, path))


def _matches(section: Section, path: str) -> bool:
    relative = os.path.relpath(path, section.folder).replace(os.sep, "/")
    inside = not relative.startswith("../")
    return inside and any(matches(relative, pattern) for pattern in section.patterns)
