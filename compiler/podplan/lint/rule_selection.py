"""Which rules are on: presets, previews, and codes or prefixes of codes chosen one by one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from podplan.core.builtin_rules import RULES, Rule
from podplan.core.errors import RequestError
from podplan.core.findings import Severity
from podplan.core.suggestions import did_you_mean
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import mapping
from podplan.lint.policy import Policy
from podplan.lint.target import Job

PRESETS = ("default", "strict", "audit")
# What breaks these was not read or not evaluated, so that nothing else was found; they cannot be turned off.
UNSILENCED = frozenset({"YAML001", "YAML003", "YAML009", "YAML013", "PROF017", "POLICY001"})
STANDARDS = ("baseline", "restricted")
PRIVILEGED = "privileged"


class Selection(NamedTuple):
    """What is asked for: ``select`` replaces the preset, ``extend_select`` adds, ``ignore`` takes away.

    Each is codes, names or prefixes of codes (SEC, DIST0); ALL is every rule. ``severities`` gives rules
    another severity. Rules that are ``mandatory`` are on whatever the others say. What a selection does not
    speak of, the ``wider`` one decides.
    """

    preset: str = "default"
    preview: bool = False
    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severities: Mapping[str, Severity] = {}
    mandatory: tuple[str, ...] = ()
    wider: Selection | None = None

    @property
    def selects(self) -> bool:
        """Whether the preset is replaced, here or in a wider place."""
        return any(one.select for one in _outwards(self))


class Ruling(NamedTuple):
    """What holds for a file: the ``policies`` that are on, and what ``changes`` for the rules in rules.py.

    ``changes`` has another severity by code, or None for a rule that is off.
    """

    policies: tuple[Policy, ...] = ()
    changes: Mapping[str, Severity | None] = {}

    @property
    def codes(self) -> frozenset[str]:
        """The codes of all rules that are on."""
        own = {code for code in RULES if self.changes.get(code, Severity.ERROR) is not None}
        return frozenset(own | {policy.rule.code for policy in self.policies})


def ruling(policies: Iterable[Policy], selection: Selection) -> Ruling:
    """What a selection comes to. Raises RequestError for a text that means no rule."""
    return Ruling(tuple(selected(policies, selection)), _changes(selection))


def selected(policies: Iterable[Policy], selection: Selection) -> list[Policy]:
    """The policies that are on, with the severities that they have in this run. Raises RequestError."""
    policies = list(policies)
    rules = [*RULES.values(), *(policy.rule for policy in policies)]
    texts = (*selection.select, *selection.extend_select, *selection.ignore, *selection.severities)
    for text in (*texts, *selection.mandatory):
        demand_known(text, rules)
    if selection == Selection(selection.preset, selection.preview):
        return [policy for policy in policies if _is_in_preset(policy, selection)]
    return [
        _graded_policy(policy, selection)
        for policy in policies
        if _is_on(policy.rule, selection, not selection.selects and _is_in_preset(policy, selection))
    ]


def means(text: str, rule: Rule) -> bool:
    """Whether a code, a prefix of codes, a name or ALL means a rule."""
    return _specificity(rule, text) >= 0


def raised(policies: Iterable[Policy], standard: str) -> tuple[Policy, ...]:
    """The policies where namespaces enforce a Pod Security Standard, such as "restricted@1.34" or "baseline".

    What the namespace refuses is an error, by the rules of that version.
    """
    level, _, version = standard.partition("@")
    enforced = STANDARDS[: STANDARDS.index(level) + 1]
    return tuple(
        policy._replace(
            rule=policy.rule._replace(severity=Severity.ERROR),
            params={**policy.params, "enforced": level, **({"version": version} if version else {})},
        )
        if policy.body == "pod-security" and policy.params.get("level") in enforced
        else policy
        for policy in policies
    )


def eased(policies: Iterable[Policy]) -> tuple[Policy, ...]:
    """The policies for a privileged namespace: it refuses nothing, so what baseline forbids is an info."""
    return tuple(
        policy._replace(rule=policy.rule._replace(severity=Severity.INFO))
        if policy.body == "pod-security" and policy.origin is None
        else policy
        for policy in policies
    )


def enforced(job: Job) -> str:
    """The level of Pod Security that the namespace of a job enforces by the inventory; "" for unknown."""
    metadata = mapping(job.cr.data, "metadata") if job.cr is not None else {}
    namespaces = mapping(job.inventory.data.get("spec"), "namespaces") if job.inventory is not None else {}
    level = mapping(namespaces, str(metadata.get("namespace"))).get("podSecurity")
    return level if level in (*STANDARDS, PRIVILEGED) else ""


def _changes(selection: Selection) -> dict[str, Severity | None]:
    changes: dict[str, Severity | None] = {}
    if selection == Selection(selection.preset, selection.preview):
        return changes
    for rule in RULES.values():
        # What select leaves out is silent, but for the errors: they keep a document from being checked.
        by_default = not selection.selects or rule.severity is Severity.ERROR
        if rule.code not in UNSILENCED and not _is_on(rule, selection, by_default):
            changes[rule.code] = None
        elif (now := _graded(rule, selection).severity) is not rule.severity:
            changes[rule.code] = now
    return changes


def _is_in_preset(policy: Policy, selection: Selection) -> bool:
    in_preset = PRESETS.index(policy.preset) <= PRESETS.index(selection.preset)
    return in_preset and (selection.preview or not policy.preview)


def _is_on(rule: Rule, selection: Selection, by_default: bool) -> bool:
    """The longest code or prefix that speaks of a rule decides; of equal ones, ignore wins."""
    if _longest(rule, selection.mandatory) >= 0:
        return True
    for one in _outwards(selection):
        chosen = max(_longest(rule, one.select), _longest(rule, one.extend_select))
        left_out = _longest(rule, one.ignore)
        if max(chosen, left_out) > -1:
            return chosen > left_out
        if one.select:
            break
    return by_default


def _outwards(selection: Selection) -> Iterator[Selection]:
    """A selection and the wider ones; a loop, for each [[paths]] of a podplan.toml may have made one."""
    wider: Selection | None = selection
    while wider is not None:
        yield wider
        wider = wider.wider


def _longest(rule: Rule, texts: Collection[str]) -> int:
    """The length of the most specific text that means the rule; -1 for none, 0 for ALL."""
    return max([_specificity(rule, text) for text in texts]) if texts else -1


def _specificity(rule: Rule, text: str) -> int:
    if text == "ALL":
        return 0
    if text == rule.name:
        return len(rule.code)
    return len(text) if rule.code.startswith(text) else -1


def _graded_policy(policy: Policy, selection: Selection) -> Policy:
    rule = _graded(policy.rule, selection)
    return policy if rule is policy.rule else policy._replace(rule=rule)


def _graded(rule: Rule, selection: Selection) -> Rule:
    texts = [text for text in selection.severities if _specificity(rule, text) >= 0]
    if not texts:
        return rule
    most = max(texts, key=lambda text: _specificity(rule, text))
    return rule._replace(severity=selection.severities[most])


def demand_known(text: str, rules: Iterable[Rule]) -> None:
    """Raises RequestError where a code, prefix or name means none of the rules."""
    rules = list(rules)
    if not text or not any(means(text, rule) for rule in rules):
        raise RequestError(f'no rule has the code, prefix or name "{text}"{meant(text, rules)}')


def meant(text: str, rules: Iterable[Rule]) -> str:
    """``; did you mean "x"?`` with the code or name that is most like ``text``, else where to look."""
    words = (word for rule in rules for word in (rule.code, rule.name))
    return did_you_mean(text, words) or "; podplan rules lists them"


def with_changes(selection: Selection, changes: Mapping[str, Any]) -> Selection:
    """The selection for a narrower place, which says ``changes`` and leaves the rest to the wider one."""
    return Selection(
        preset=changes.get("preset", selection.preset),
        preview=changes.get("preview", selection.preview),
        select=changes.get("select", ()),
        extend_select=changes.get("extend_select", ()),
        ignore=changes.get("ignore", ()),
        severities={**selection.severities, **changes.get("severities", {})},
        mandatory=selection.mandatory,
        wider=selection,
    )
