"""The rules that are part of reading and of the schemas, and so are not policies of their own.

A rule code is stable for ever; a rule that goes away leaves its code unused.
"""

from __future__ import annotations

from podplan.core.findings import Severity
from podplan.core.typing import NamedTuple


class Rule(NamedTuple):
    """A code with its name, its severity and one sentence that says what it means."""

    code: str
    name: str
    severity: Severity
    summary: str
    basis: str = "documented"


MISMATCH_RULE = "CR903"  # of a WorkloadMapping, which many CRs share
LIMIT_RULE = "PROF017"  # a finding of it makes the exit code 4

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

BUILTIN_RULES: dict[str, Rule] = {
    rule.code: rule
    for rule in (
        Rule("YAML001", "syntax", _ERROR, "The text is not YAML."),
        Rule(
            "YAML002",
            "duplicate-key",
            _ERROR,
            "A mapping has the same key twice; the last one wins silently.",
        ),
        Rule("YAML003", "tab", _ERROR, "A tab stands where YAML wants spaces."),
        Rule("YAML004", "unknown-tag", _ERROR, "A tag that Kubernetes ignores or refuses."),
        Rule(
            "YAML005",
            "merge-key",
            _WARNING,
            "A merge key that overrides a key above it in kubectl, and not in other tools.",
        ),
        Rule("YAML006", "alias", _ERROR, "An alias that leads nowhere or contains itself."),
        Rule("YAML007", "not-json", _ERROR, "A value that JSON cannot hold (.inf, .nan)."),
        Rule("YAML008", "key-type", _ERROR, "A key that is not a scalar, or is null."),
        Rule("YAML009", "encoding", _ERROR, "Bytes that are not UTF-8, or control characters."),
        Rule(
            "YAML010",
            "implicit-type",
            _WARNING,
            "A plain scalar that Kubernetes reads as another type than it looks.",
        ),
        Rule("YAML011", "directive", _ERROR, "A %YAML directive that Kubernetes refuses."),
        Rule(
            "YAML012", "merge-source", _ERROR, "A merge key whose value is not a mapping or a list of them."
        ),
        Rule("YAML013", "merge-conflict", _ERROR, "Detects the markers of an unresolved merge conflict."),
        Rule("CR900", "not-lowered", _WARNING, "A kind that podplan knows and cannot lower yet."),
        Rule(
            "CR901",
            "missing-reference",
            _WARNING,
            "Reports a CR that is not lowered because a document it refers to is not in the repository.",
        ),
        Rule(
            "CR902",
            "ambiguous-reference",
            _WARNING,
            "Reports a CR that is not lowered because several documents have the name it refers to.",
        ),
        Rule(
            "CR903",
            "mapping-mismatch",
            _ERROR,
            "Rejects a WorkloadMapping that does not fit the CRs it is for.",
        ),
        Rule("POLICY001", "policy-failed", _ERROR, "A policy that cannot be read or evaluated."),
        Rule(
            "POLICY002",
            "policy-without-effect",
            _WARNING,
            "A policy that nothing binds, or that is about nothing podplan looks at.",
        ),
        Rule("POLICY003", "policy-part-ignored", _INFO, "A part of a policy that means nothing offline."),
        Rule(
            "POLICY004",
            "policy-failure-ignored",
            _WARNING,
            "A policy that cannot be evaluated, and says that then everything passes.",
        ),
        Rule("GIT001", "stale-render", _ERROR, "A rendered file differs from what its source renders now."),
        Rule("SCHEMA001", "unknown-field", _ERROR, "A field that the schema does not know."),
        Rule("SCHEMA002", "wrong-type", _ERROR, "A value of the wrong type."),
        Rule("SCHEMA003", "missing-field", _ERROR, "A required field is not there."),
        Rule("SCHEMA004", "not-allowed", _ERROR, "A value that is not one of the allowed ones."),
        Rule("SCHEMA005", "out-of-range", _ERROR, "A number, length or count outside its range."),
        Rule(
            "SCHEMA006", "bad-format", _ERROR, "A name, quantity or other text that does not have its form."
        ),
        Rule("SCHEMA007", "duplicate", _ERROR, "Two entries of a list have the same key."),
        Rule("SCHEMA008", "dangling-reference", _ERROR, "A name that refers to nothing in the same object."),
        Rule(
            "SCHEMA009", "conflict", _ERROR, "Fields that may not stand together, or contradict each other."
        ),
        Rule("SCHEMA010", "unknown-kind", _ERROR, "An apiVersion or kind that does not exist."),
        Rule(
            "SCHEMA011",
            "old-spelling",
            _ERROR,
            "A field or kind under a name that it no longer has, or never had.",
        ),
        Rule("PROF001", "profile-form", _ERROR, "A profile that does not have the form of one."),
        Rule(
            "PROF002",
            "extends",
            _ERROR,
            "A base that cannot be extended: missing, of another kind, in a cycle or too deep.",
        ),
        Rule("PROF003", "type-change", _ERROR, "An overlay that gives a field another type than it had."),
        Rule(
            "PROF004",
            "nothing-to-overlay",
            _ERROR,
            "An overlay that names an entry, or deletes a field, that is not there.",
        ),
        Rule("PROF005", "missing-param", _ERROR, "A param that has neither a default nor a value."),
        Rule(
            "PROF006",
            "param-value",
            _ERROR,
            "A value that its param does not allow, or that is for no param.",
        ),
        Rule("PROF007", "param-schema", _ERROR, "A param whose own JSON Schema cannot be used."),
        Rule("PROF008", "expression", _ERROR, "An expression that cannot be read, is not allowed, or fails."),
        Rule("PROF009", "undefined-name", _ERROR, "An expression that names something that is not there."),
        Rule("PROF010", "not-templated", _ERROR, "An expression where none may stand."),
        Rule("PROF011", "matrix", _ERROR, "A matrix whose axes, include or exclude do not fit together."),
        Rule("PROF012", "too-many-instances", _ERROR, "A matrix with more instances than it may have."),
        Rule(
            "PROF013",
            "instance-name",
            _ERROR,
            "A name that two instances share, or that Kubernetes would refuse.",
        ),
        Rule("PROF014", "unknown-environment", _ERROR, "An environment that the profile does not have."),
        Rule("PROF015", "set-flag", _ERROR, "A --set that cannot be applied."),
        Rule("PROF016", "not-in-inventory", _ERROR, "A name that the ClusterInventory does not have."),
        Rule(LIMIT_RULE, "limit", _ERROR, "A profile that reaches a limit of podplan."),
        Rule("PROF020", "unused-field", _ERROR, "A field that this kind of job has no use for."),
        Rule("PROF021", "conflicting-fields", _ERROR, "Fields of a profile that may not stand together."),
        Rule("PROF022", "nothing-to-count", _ERROR, "An auto whose value nothing gives."),
        Rule("PROF023", "unknown-role", _ERROR, "A role that this kind of job does not have."),
        Rule("PROF024", "other-kinds-value", _ERROR, "A value that this kind of job does not have."),
        Rule("PROF025", "no-job", _ERROR, "A profile that does not say which kind of job it is."),
        Rule("PROF026", "import", _WARNING, "Something of a CR that a profile cannot say as it is."),
        Rule(
            "LINT001",
            "malformed-suppression",
            _WARNING,
            "A comment that would ignore findings, but cannot be read.",
        ),
        Rule(
            "LINT002",
            "suppression-of-no-rule",
            _WARNING,
            "A suppression that names a rule that does not exist.",
        ),
        Rule(
            "LINT003",
            "suppression-without-reason",
            _WARNING,
            "A suppression that does not say why; it silences nothing.",
        ),
        Rule(
            "LINT004",
            "expired-suppression",
            _WARNING,
            "A suppression whose day is over; it silences nothing.",
        ),
        Rule("LINT005", "unused-suppression", _WARNING, "A suppression that silences nothing."),
        Rule(
            "LINT006",
            "mandatory-rule",
            _WARNING,
            "A suppression of a rule that the configuration makes mandatory.",
        ),
    )
}
