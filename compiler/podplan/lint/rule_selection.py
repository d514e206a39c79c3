"""Which rules are on: presets, previews, and codes or prefixes of codes chosen one by one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from podplan.core.builtin_rules import BUILTIN_RULES, Rule
from podplan.core.errors import UsageError
from podplan.core.findings import Severity
from podplan.core.suggestions import suggest_phrase
from podplan.core.typing import Any, NamedTuple
from podplan.lint.namespaces import find_pod_security
from podplan.lint.policy import Policy
from podplan.lint.target import LoweredJob, cache_recent

PRESETS = ("default", "strict", "audit")
# What breaks these was not read or not evaluated, so that nothing else was found; they cannot be turned off.
UNSUPPRESSIBLE_RULES = frozenset(
    {"YAML001", "YAML003", "YAML009", "YAML013", "PROF017", "POLICY001", "RUN001"}
)
POD_SECURITY_STANDARDS = ("baseline", "restricted")
PRIVILEGED_LEVEL = "privileged"


class RuleSelection(NamedTuple):
    """The configured rules: ``select`` replaces the preset, ``extend_select`` adds, ``ignore`` removes.

    Each has codes, names or prefixes of codes (SEC, DIST0); ALL is every rule. ``severities`` gives rules
    another severity. Rules that are ``mandatory`` are on in any case. For rules that a selection does not
    mention, the ``outer`` one decides.
    """

    preset: str = "default"
    preview: bool = False
    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severities: Mapping[str, Severity] = {}
    mandatory: tuple[str, ...] = ()
    outer: RuleSelection | None = None

    @property
    def replaces_preset(self) -> bool:
        """Whether the preset is replaced, here or in an outer selection."""
        return any(one.select for one in _iter_outer_selections(self))


class ResolvedRules(NamedTuple):
    """The rules for a file: the ``policies`` that are on, and the ``changed_severities`` of built-in rules.

    ``changed_severities`` has the severity by code, or None for a rule that is off.
    """

    policies: tuple[Policy, ...] = ()
    changed_severities: Mapping[str, Severity | None] = {}

    @property
    def enabled_codes(self) -> frozenset[str]:
        """The codes of all rules that are on."""
        builtin_codes = {
            code for code in BUILTIN_RULES if self.changed_severities.get(code, Severity.ERROR) is not None
        }
        return frozenset(builtin_codes | {policy.rule.code for policy in self.policies})


def resolve_rules(policies: tuple[Policy, ...], selection: RuleSelection) -> ResolvedRules:
    """What a selection comes to. Raises UsageError for a text that means no rule."""
    if not _is_preset_only(selection):
        return ResolvedRules(tuple(select_policies(policies, selection)), _find_changed_severities(selection))
    rules_by_preset = _get_preset_cache(policies)
    preset = selection.preset, selection.preview
    if preset not in rules_by_preset:
        rules_by_preset[preset] = ResolvedRules(tuple(select_policies(policies, selection)))
    return rules_by_preset[preset]


@cache_recent  # one tuple for all runs of a process, so that what applies to a job is worked out once
def _get_preset_cache(_policies: tuple[Policy, ...]) -> dict[tuple[str, bool], ResolvedRules]:
    return {}


def select_policies(policies: Iterable[Policy], selection: RuleSelection) -> list[Policy]:
    """The policies that are on, with the severities that they have in this run. Raises UsageError."""
    policies = list(policies)
    rules = [*BUILTIN_RULES.values(), *(policy.rule for policy in policies)]
    texts = (*selection.select, *selection.extend_select, *selection.ignore, *selection.severities)
    for text in (*texts, *selection.mandatory):
        require_known_rule(text, rules)
    if _is_preset_only(selection):
        return [policy for policy in policies if _is_in_preset(policy, selection)]
    keeps_preset = not selection.replaces_preset
    return [
        _apply_policy_severity(policy, selection)
        for policy in policies
        if _is_enabled(policy.rule, selection, keeps_preset and _is_in_preset(policy, selection))
    ]


def matches_rule(text: str, rule: Rule) -> bool:
    """Whether a code, a prefix of codes, a name or ALL means a rule."""
    return _match_length(rule, text) >= 0


def enforce_standard(policies: Iterable[Policy], standard: str) -> tuple[Policy, ...]:
    """The policies where namespaces enforce a Pod Security Standard, such as "restricted@1.34" or "baseline".

    What the namespace refuses is an error, by the rules of that version.
    """
    level, _, version = standard.partition("@")
    enforced_levels = POD_SECURITY_STANDARDS[: POD_SECURITY_STANDARDS.index(level) + 1]
    return tuple(
        policy._replace(
            rule=policy.rule._replace(severity=Severity.ERROR),
            preset=PRESETS[0],
            params={**policy.params, "enforced": level, **({"version": version} if version else {})},
        )
        if policy.body == "pod-security" and policy.params.get("level") in enforced_levels
        else policy
        for policy in policies
    )


def relax_for_privileged(policies: Iterable[Policy]) -> tuple[Policy, ...]:
    """The policies for a privileged namespace: it refuses nothing, so what baseline forbids is an info."""
    return tuple(
        policy._replace(rule=policy.rule._replace(severity=Severity.INFO))
        if policy.body == "pod-security" and policy.origin_doc is None
        else policy
        for policy in policies
    )


def find_enforced_level(job: LoweredJob) -> str:
    """The level of Pod Security that the namespace of a job enforces; "" for unknown."""
    stated = find_pod_security(job)
    level = stated.value if stated is not None else None
    return level if level in (*POD_SECURITY_STANDARDS, PRIVILEGED_LEVEL) else ""


def _find_changed_severities(selection: RuleSelection) -> dict[str, Severity | None]:
    changed: dict[str, Severity | None] = {}
    keeps_preset = not selection.replaces_preset
    for rule in BUILTIN_RULES.values():
        # What select leaves out is silent, but for the errors: they keep a document from being checked.
        by_default = keeps_preset or rule.severity is Severity.ERROR
        if rule.code not in UNSUPPRESSIBLE_RULES and not _is_enabled(rule, selection, by_default):
            changed[rule.code] = None
        elif (new_severity := _apply_rule_severity(rule, selection).severity) is not rule.severity:
            changed[rule.code] = new_severity
    return changed


def _is_preset_only(selection: RuleSelection) -> bool:
    return selection == RuleSelection(selection.preset, selection.preview)


def _is_in_preset(policy: Policy, selection: RuleSelection) -> bool:
    in_preset = PRESETS.index(policy.preset) <= PRESETS.index(selection.preset)
    return in_preset and (selection.preview or not policy.preview)


def _is_enabled(rule: Rule, selection: RuleSelection, is_default: bool) -> bool:
    """The longest code or prefix that speaks of a rule decides; of equal ones, ignore wins."""
    if _find_longest_match(rule, selection.mandatory) >= 0:
        return True
    for layer in _iter_outer_selections(selection):
        selected_length = max(
            _find_longest_match(rule, layer.select), _find_longest_match(rule, layer.extend_select)
        )
        ignored_length = _find_longest_match(rule, layer.ignore)
        if max(selected_length, ignored_length) > -1:
            return selected_length > ignored_length
        if layer.select:
            break
    return is_default


def list_ignored_texts(
    texts: Iterable[str], selection: RuleSelection, rules: Iterable[Rule]
) -> Iterator[tuple[str, str]]:
    """Yield the texts of ``select`` and ``extend_select`` that turn no rule on, because ``ignore`` wins for
    each; with the first entry of ``ignore`` that does so."""
    rules = list(rules)
    for text in texts:
        selected = [
            rule for rule in rules if rule.code not in UNSUPPRESSIBLE_RULES and matches_rule(text, rule)
        ]
        if selected and not any(_is_enabled(rule, selection, is_default=False) for rule in selected):
            yield text, next(one for one in selection.ignore if matches_rule(one, selected[0]))


def _iter_outer_selections(selection: RuleSelection) -> Iterator[RuleSelection]:
    """A selection and its outer ones; a loop, since each [[paths]] of a podplan.toml may have added one."""
    current: RuleSelection | None = selection
    while current is not None:
        yield current
        current = current.outer


def _find_longest_match(rule: Rule, texts: Collection[str]) -> int:
    """The length of the most specific text that means the rule; -1 for none, 0 for ALL."""
    return max([_match_length(rule, text) for text in texts]) if texts else -1


def _match_length(rule: Rule, text: str) -> int:
    if text == "ALL":
        return 0
    if rule.is_named(text):
        return len(rule.code)
    return len(text) if rule.code.startswith(text) else -1


def _apply_policy_severity(policy: Policy, selection: RuleSelection) -> Policy:
    rule = _apply_rule_severity(policy.rule, selection)
    return policy if rule is policy.rule else policy._replace(rule=rule)


def _apply_rule_severity(rule: Rule, selection: RuleSelection) -> Rule:
    texts = [text for text in selection.severities if _match_length(rule, text) >= 0]
    if not texts:
        return rule
    best_match = max(texts, key=lambda text: _match_length(rule, text))
    return rule._replace(severity=selection.severities[best_match])


def require_known_rule(text: str, rules: Iterable[Rule]) -> None:
    """Raises UsageError where a code, prefix or name means none of the rules."""
    rules = list(rules)
    if not text or not (
        text == "ALL"
        or any(rule.code.startswith(text) or text in (rule.name, *rule.aliases) for rule in rules)
    ):
        raise UsageError(f'no rule has the code, prefix or name "{text}"{suggest_rule(text, rules)}')


def suggest_rule(text: str, rules: Iterable[Rule]) -> str:
    """``; did you mean "x"?`` with the code or name that is most like ``text``, else where to look."""
    words = (word for rule in rules for word in (rule.code, rule.name))
    return suggest_phrase(text, words) or "; podplan rules lists them"


def narrow_selection(selection: RuleSelection, changes: Mapping[str, Any]) -> RuleSelection:
    """Return the selection for some files, with ``changes``; the outer one decides the rest."""
    return RuleSelection(
        preset=changes.get("preset", selection.preset),
        preview=changes.get("preview", selection.preview),
        select=changes.get("select", ()),
        extend_select=changes.get("extend_select", ()),
        ignore=changes.get("ignore", ()),
        severities={**selection.severities, **changes.get("severities", {})},
        mandatory=selection.mandatory,
        outer=selection,
    )
