"""Which policies are on: presets, previews, and codes or prefixes of codes chosen one by one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from podplan.findings import Severity
from podplan.lint.policy import Policy
from podplan.requests import RequestError

PRESETS = ("default", "strict", "audit")


class Selection(NamedTuple):
    """What is asked for: ``select`` replaces the preset, ``extend_select`` adds, ``ignore`` takes away.

    Each is codes, names or prefixes of codes (SEC, DIST0); ALL is every rule. ``severities`` gives rules
    another severity.
    """

    preset: str = "default"
    preview: bool = False
    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severities: Mapping[str, Severity] = {}


def selected(policies: Iterable[Policy], selection: Selection) -> list[Policy]:
    """The policies that are on, with the severities that they have in this run. Raises RequestError."""
    policies = list(policies)
    for text in (*selection.select, *selection.extend_select, *selection.ignore, *selection.severities):
        _demand_known(text, policies)
    return [_graded(policy, selection) for policy in policies if _is_on(policy, selection)]


def _is_on(policy: Policy, selection: Selection) -> bool:
    """The longest code or prefix that speaks of a policy decides; of equal ones, ignore wins."""
    chosen = _longest(policy, (*selection.select, *selection.extend_select))
    left_out = _longest(policy, selection.ignore)
    if chosen > left_out:
        return True
    if left_out > -1 or selection.select:
        return False
    in_preset = PRESETS.index(policy.preset) <= PRESETS.index(selection.preset)
    return in_preset and (selection.preview or not policy.preview)


def _longest(policy: Policy, texts: Collection[str]) -> int:
    """The length of the most specific text that means the policy; -1 for none, 0 for ALL."""
    return max((_specificity(policy, text) for text in texts), default=-1)


def _specificity(policy: Policy, text: str) -> int:
    if text == "ALL":
        return 0
    if text == policy.rule.name:
        return len(policy.rule.code)
    return len(text) if policy.rule.code.startswith(text) else -1


def _graded(policy: Policy, selection: Selection) -> Policy:
    texts = [text for text in selection.severities if _specificity(policy, text) >= 0]
    if not texts:
        return policy
    most = max(texts, key=lambda text: _specificity(policy, text))
    return policy._replace(rule=policy.rule._replace(severity=selection.severities[most]))


def _demand_known(text: str, policies: Iterable[Policy]) -> None:
    from podplan.rules import RULES

    known = text == "ALL" or any(code.startswith(text) for code in RULES)
    if not known and not any(_specificity(policy, text) >= 0 for policy in policies):
        raise RequestError(f'no rule has the code, prefix or name "{text}"; podplan rules lists them')
