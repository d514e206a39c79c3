"""Built-in rules: those that the parser, the loader and the schemas report, without a policy file.

A rule code is never reused: when a rule is removed, its code stays unused.
"""

from __future__ import annotations

from podplan.core.findings import Finding, Location, Severity
from podplan.core.typing import NamedTuple


class Rule(NamedTuple):
    """A built-in rule: code, name, default severity, one-sentence summary, and basis.

    ``aliases`` are former names, which are still valid in suppressions and configurations.
    """

    code: str
    name: str
    severity: Severity
    summary: str
    basis: str = "documented"
    aliases: tuple[str, ...] = ()

    def is_named(self, text: str) -> bool:
        """Whether a text is its name, or a former one."""
        return text == self.name or text in self.aliases


QUEUE_OBJECT_RULE = "SCHEMA013"
QUOTA_KEY_RULE = "SCHEMA014"
CONTRADICTION_RULE = "PROF030"
LARGE_CRD_RULE = "GIT072"
MISMATCH_RULE = "CR903"  # about a WorkloadMapping, which many CRs share
INVALID_REFERENCE_RULE = "CR910"
INTERNAL_ERROR_RULE = "RUN001"  # its findings make the exit code 4, too
LIMIT_RULE = "PROF017"  # its findings make the exit code 4

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

BUILTIN_RULES: dict[str, Rule] = {
    rule.code: rule
    for rule in (
        Rule("YAML001", "syntax", _ERROR, "Rejects text that is not valid YAML."),
        Rule(
            "YAML002",
            "duplicate-key",
            _ERROR,
            "Rejects mappings with a duplicate key, of which YAML parsers silently keep the last.",
        ),
        Rule("YAML003", "tab", _ERROR, "Rejects tabs in indentation."),
        Rule("YAML004", "unknown-tag", _ERROR, "Rejects tags that Kubernetes ignores or refuses."),
        Rule(
            "YAML005",
            "merge-key",
            _WARNING,
            "Detects merge keys that override an earlier key in kubectl and not in other tools.",
        ),
        Rule(
            "YAML006",
            "alias",
            _ERROR,
            "Rejects aliases without an anchor and aliases that contain themselves.",
        ),
        Rule("YAML007", "not-json", _ERROR, "Rejects values that JSON cannot represent (.inf, .nan)."),
        Rule("YAML008", "key-type", _ERROR, "Rejects keys that are null or not scalars."),
        Rule("YAML009", "encoding", _ERROR, "Rejects bytes that are not UTF-8, and control characters."),
        Rule(
            "YAML010",
            "implicit-type",
            _WARNING,
            "Detects plain scalars that Kubernetes reads as another type than they appear to have.",
        ),
        Rule("YAML011", "directive", _ERROR, "Rejects %YAML directives that Kubernetes refuses."),
        Rule(
            "YAML012",
            "merge-source",
            _ERROR,
            "Rejects merge keys whose value is not a mapping or a list of mappings.",
        ),
        Rule("YAML013", "merge-conflict", _ERROR, "Detects the markers of an unresolved merge conflict."),
        Rule(
            "CR900",
            "not-lowered",
            _WARNING,
            "Detects CRs of a kind that podplan recognizes and cannot lower.",
        ),
        Rule(
            "CR901",
            "missing-reference",
            _WARNING,
            "Detects CRs that are not lowered because a referenced document is not in the repository.",
        ),
        Rule(
            "CR902",
            "ambiguous-reference",
            _WARNING,
            "Detects CRs that are not lowered because several documents have the referenced name.",
        ),
        Rule(
            "CR903",
            "mapping-mismatch",
            _ERROR,
            "Rejects WorkloadMappings that do not fit their CRs.",
        ),
        Rule(
            INVALID_REFERENCE_RULE,
            "invalid-reference",
            _ERROR,
            "Detects CRs that are not lowered because a referenced document has errors.",
        ),
        Rule(
            INTERNAL_ERROR_RULE,
            "internal-error",
            _ERROR,
            "Detects documents that podplan could not check, because it failed itself.",
        ),
        Rule("POLICY001", "policy-failed", _ERROR, "Rejects policies that cannot be read or evaluated."),
        Rule(
            "POLICY002",
            "policy-without-effect",
            _WARNING,
            "Detects policies without a binding, and policies that match no object that podplan checks.",
        ),
        Rule(
            "POLICY003",
            "policy-part-ignored",
            _INFO,
            "Detects parts of a policy that have no meaning offline.",
        ),
        Rule(
            "POLICY004",
            "policy-failure-ignored",
            _WARNING,
            "Detects policies that cannot be evaluated and whose failurePolicy lets every object pass.",
        ),
        Rule(
            "GIT001",
            "stale-render",
            _ERROR,
            "Detects rendered files that differ from what their source renders now.",
        ),
        Rule("SCHEMA001", "unknown-field", _ERROR, "Rejects fields that the schema does not define."),
        Rule("SCHEMA002", "wrong-type", _ERROR, "Rejects values of the wrong type."),
        Rule("SCHEMA003", "missing-field", _ERROR, "Requires the fields that the schema marks as required."),
        Rule("SCHEMA004", "not-allowed", _ERROR, "Rejects values that are not one of the allowed values."),
        Rule("SCHEMA005", "out-of-range", _ERROR, "Rejects numbers, lengths and counts outside their range."),
        Rule(
            "SCHEMA006",
            "bad-format",
            _ERROR,
            "Rejects names, quantities and other texts that do not have the required format.",
        ),
        Rule("SCHEMA007", "duplicate", _ERROR, "Rejects list entries with a duplicate key."),
        Rule(
            "SCHEMA008",
            "dangling-reference",
            _ERROR,
            "Rejects names that refer to nothing in the same object.",
        ),
        Rule("SCHEMA009", "conflict", _ERROR, "Rejects fields that exclude or contradict each other."),
        Rule("SCHEMA010", "unknown-kind", _ERROR, "Rejects an apiVersion or kind that does not exist."),
        Rule(
            "SCHEMA011",
            "old-spelling",
            _ERROR,
            "Rejects fields and kinds under a former or wrong name.",
        ),
        Rule(
            "SCHEMA012",
            "dropped-field",
            _WARNING,
            "Detects fields that the API server drops without a word, because the CRD does not know them.",
        ),
        Rule(
            QUEUE_OBJECT_RULE,
            "refused-queue-object",
            _ERROR,
            "Rejects objects of Kueue that the API server or the webhook of Kueue refuses.",
        ),
        Rule(
            QUOTA_KEY_RULE,
            "uncounted-quota-key",
            _WARNING,
            "Detects keys of a ResourceQuota that count nothing: extended resources need requests.",
        ),
        Rule(
            LARGE_CRD_RULE,
            "crd-needs-server-side-apply",
            _WARNING,
            "Detects CustomResourceDefinitions that are too large for a client-side apply by Argo CD.",
        ),
        Rule("PROF001", "profile-form", _ERROR, "Rejects profiles that do not satisfy the profile schema."),
        Rule(
            "PROF002",
            "extends",
            _ERROR,
            "Rejects bases that are missing, of another kind, in a cycle or nested too deeply.",
        ),
        Rule("PROF003", "type-change", _ERROR, "Rejects overlays that change the type of a field."),
        Rule(
            "PROF004",
            "nothing-to-overlay",
            _ERROR,
            "Rejects overlays of an entry, and deletions of a field, that do not exist.",
        ),
        Rule("PROF005", "missing-param", _ERROR, "Requires a value for each param without a default."),
        Rule(
            "PROF006",
            "param-value",
            _ERROR,
            "Rejects param values that the param does not allow, and values for undeclared params.",
        ),
        Rule("PROF007", "param-schema", _ERROR, "Rejects params with an unusable JSON Schema."),
        Rule(
            "PROF008",
            "expression",
            _ERROR,
            "Rejects expressions that cannot be parsed, are not allowed, or fail.",
        ),
        Rule("PROF009", "undefined-name", _ERROR, "Rejects expressions that use an undefined name."),
        Rule("PROF010", "not-templated", _ERROR, "Rejects expressions in fields that do not support them."),
        Rule(
            "PROF011",
            "matrix",
            _ERROR,
            "Rejects matrices whose axes, include and exclude contradict each other.",
        ),
        Rule("PROF012", "too-many-instances", _ERROR, "Rejects matrices with more instances than the limit."),
        Rule(
            "PROF013",
            "instance-name",
            _ERROR,
            "Rejects instance names that are duplicate or invalid in Kubernetes.",
        ),
        Rule(
            "PROF014", "unknown-environment", _ERROR, "Rejects environments that the profile does not define."
        ),
        Rule("PROF015", "set-flag", _ERROR, "Rejects --set flags that cannot be applied."),
        Rule(
            "PROF016", "not-in-inventory", _ERROR, "Rejects names that the ClusterInventory does not define."
        ),
        Rule(LIMIT_RULE, "limit", _ERROR, "Rejects profiles that reach a limit of podplan."),
        Rule("PROF020", "unused-field", _ERROR, "Rejects fields that the kind of job does not support."),
        Rule("PROF021", "conflicting-fields", _ERROR, "Rejects profile fields that exclude each other."),
        Rule("PROF022", "nothing-to-count", _ERROR, "Rejects auto where nothing determines its value."),
        Rule("PROF023", "unknown-role", _ERROR, "Rejects roles that the kind of job does not have."),
        Rule("PROF024", "other-kinds-value", _ERROR, "Rejects values that the kind of job does not support."),
        Rule("PROF025", "no-job", _ERROR, "Requires the kind of job in a profile."),
        Rule("PROF026", "import", _WARNING, "Detects parts of an imported CR that a profile cannot express."),
        Rule(
            CONTRADICTION_RULE,
            "inventory-contradiction",
            _INFO,
            "Detects facts about the cluster that files of the repository state differently.",
        ),
        Rule(
            "LINT001",
            "malformed-suppression",
            _WARNING,
            "Detects suppression comments that cannot be parsed.",
        ),
        Rule(
            "LINT002",
            "suppression-of-no-rule",
            _WARNING,
            "Detects suppressions of rules that do not exist.",
        ),
        Rule(
            "LINT003",
            "suppression-without-reason",
            _WARNING,
            "Requires a reason for each suppression; without one it has no effect.",
        ),
        Rule(
            "LINT004",
            "expired-suppression",
            _WARNING,
            "Detects suppressions whose expiry date has passed; they have no effect.",
        ),
        Rule("LINT005", "unused-suppression", _WARNING, "Detects suppressions that match no finding."),
        Rule(
            "LINT006",
            "mandatory-rule",
            _WARNING,
            "Detects suppressions of rules that the configuration makes mandatory.",
        ),
    )
}


def build_file_finding(code: str, message: str, location: Location, help_text: str = "") -> Finding:
    """Build a finding of a built-in rule about the text of a file instead of a document in it."""
    rule = BUILTIN_RULES[code]
    return Finding(rule.code, rule.name, rule.severity, message, rule.basis, location, "file", help=help_text)
