"""Policies that are CEL expressions, bundled or from a ValidatingAdmissionPolicy.

The body of a policy is the value of ``cel:`` (schemas/Policy.json). ``podplan.lint.vap_import`` adds to it:
``at``, where the expressions stand in the document of the policy; ``paramObject``; ``resources``, selectors
and ``failurePolicy``. Variables of the expressions:
https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from podplan.core.findings import Diagnostic, Path, value_at
from podplan.core.limits import LimitExceeded
from podplan.core.replica_groups import build_folded_at_index
from podplan.core.truncation import truncate
from podplan.core.typing import Any
from podplan.core.wording import add_article
from podplan.kubernetes.accessors import get_mapping
from podplan.lint.analysis.inventory import get_entry
from podplan.lint.cel.rules import CelRules, CelVerdict, ExpressionError, NamedExpression, Validation
from podplan.lint.cel.text import iter_object_paths, iter_variables
from podplan.lint.label_selectors import is_selected
from podplan.lint.policy import Policy, PolicyError
from podplan.lint.target import LoweredJob, Target, Violation

_MAX_EXPRESSION_LENGTH = 100
_IDENTITY_PATHS = (
    ("apiVersion",),
    ("kind",),
    ("metadata", "name"),
    ("metadata", "namespace"),
)  # these errors rarely state the cause


def evaluate_cel_policy(policy: Policy, target: Target) -> Iterator[Violation]:
    """Yield a violation for each validation that is false; ``message`` is the message of the validation.

    If an expression does not compile or fails, raises PolicyError after the violations. Raises UsageError
    without the extra, and LimitExceeded.
    """
    rules = build_rules(policy.body, is_secret=target.doc.data.get("kind") == "Secret")
    errors: dict[ExpressionError, None] = {}
    reported: set[tuple[Path, str]] = set()
    for document, target_value in _iter_examples(target):
        if not is_selected(policy.body, document):
            continue
        try:
            verdict = _evaluate(policy, rules, target, document, target_value)
        except LimitExceeded as bound:
            raise LimitExceeded(f"{policy.rule.code}: {bound}").with_file(policy.file) from None
        errors |= dict.fromkeys(verdict.errors)
        for failure in verdict.failures:
            validation = policy.body["validations"][failure.validation]
            message = (
                _redact_message(failure.message, document)
                or validation.get("message")
                or _describe_failure(validation["expression"])
            )
            path = _find_violation_path(policy.body, failure.validation, target_value)
            if (path, message) not in reported:
                reported.add((path, message))
                yield Violation(path, {"message": message})
    if errors:
        raise PolicyError(policy, tuple(_build_diagnostic(policy, fault, target) for fault in errors))


def build_rules(body: Mapping[str, Any], is_secret: bool = False) -> CelRules:
    """Build the rules of a policy; for Secrets without messageExpressions, which could show values."""
    return CelRules(
        tuple(
            Validation(one["expression"], "" if is_secret else one.get("messageExpression", ""))
            for one in body["validations"]
        ),
        tuple(NamedExpression(one["name"], one["expression"]) for one in body.get("variables", ())),
        tuple(NamedExpression(one["name"], one["expression"]) for one in body.get("matchConditions", ())),
    )


def build_expression_diagnostic(
    body: Mapping[str, Any], error: ExpressionError, kind: str = "", is_ignored: bool = False
) -> Diagnostic:
    """Build the diagnostic for an expression that cannot be evaluated, at its path in the policy."""
    position_text = f" (line {error.line}, column {error.column} of the expression)" if error.line else ""
    ignored_text = ", which the API server lets pass: failurePolicy is Ignore" if is_ignored else ""
    target = f" on {add_article(kind)}" if kind else ""
    path = (*body.get("at", ("cel",)), *error.path)
    rule = "POLICY004" if is_ignored else "POLICY001"
    return Diagnostic(
        rule,
        f"the expression cannot be evaluated{target}: {error.message}{position_text}{ignored_text}",
        path,
    )


def _iter_examples(target: Target) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """Yield the objects to evaluate with the part that the policy targets: the first and the last replica."""
    yield target.doc.data, target.data
    group = target.group
    if group is None or group.replicas == 1 or not group.doc.replica_texts:
        return
    last = build_folded_at_index(group.doc, group.start + group.replicas - 1)
    yield last, value_at(last, target.base_path)


def _evaluate(
    policy: Policy, rules: CelRules, target: Target, document: Mapping[str, Any], target_value: Any
) -> CelVerdict:
    from podplan.lint.cel.sandbox import evaluate_rules

    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    namespace = metadata.get("namespace")
    return evaluate_rules(
        rules,
        {
            "object": target_value,
            "request": _build_request(policy, document, metadata),
            "params": policy.body.get("paramObject", dict(policy.params) or None),
            "namespaceObject": _build_namespace(namespace, target.job)
            if isinstance(namespace, str)
            else None,
        },
    )


def _build_request(
    policy: Policy, document: Mapping[str, Any], metadata: Mapping[str, Any]
) -> dict[str, Any]:
    """Build the admission request for creating the object, as far as it is known offline."""
    group, _, version = str(document.get("apiVersion", "")).rpartition("/")
    kind = {"group": group, "version": version, "kind": str(document.get("kind", ""))}
    plural = policy.body.get("resources", {}).get(kind["kind"], "")
    resource = {"group": group, "version": version, "resource": plural}
    return {
        "operation": "CREATE",
        "kind": kind,
        "requestKind": kind,
        "resource": resource,
        "requestResource": resource,
        "subResource": "",
        "requestSubResource": "",
        "name": str(metadata.get("name", "")),
        "namespace": str(metadata.get("namespace", "")),
        "dryRun": False,
    }


def _build_namespace(name: str, job: LoweredJob) -> dict[str, Any]:
    """Build a namespace object with the default label and the labels in the inventory."""
    inventory_entry = get_entry(job, "namespaces", name)
    labels = {**get_mapping(inventory_entry, "labels"), "kubernetes.io/metadata.name": name}
    if isinstance(inventory_entry.get("podSecurity"), str):
        labels["pod-security.kubernetes.io/enforce"] = inventory_entry["podSecurity"]
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def _describe_failure(expression: str) -> str:
    text = " ".join(expression.split())
    return f"failed expression: {truncate(text, _MAX_EXPRESSION_LENGTH)}"


def _redact_message(message: str, document: Any) -> str:
    """Redact the secrets of the document in a message, which may repeat any part of it."""
    if not message:
        return message
    from podplan.redaction.redactor import build_redactor

    return build_redactor([document]).redact_text(message)


def _build_diagnostic(policy: Policy, error: ExpressionError, target: Target) -> Diagnostic:
    is_ignored = policy.body.get("failurePolicy") == "Ignore"
    error = error._replace(message=_redact_message(error.message, target.doc.data))
    return build_expression_diagnostic(
        policy.body, error, str(target.doc.data.get("kind", "document")), is_ignored
    )


def _find_violation_path(body: Mapping[str, Any], index: int, target_value: Any) -> Path:
    """Return the path that a validation names, else the common prefix of its fields."""
    validation = body["validations"][index]
    if "path" in validation:
        steps = [step.replace("~1", "/").replace("~0", "~") for step in validation["path"].split("/")[1:]]
    else:
        named_paths = [
            path for path in _iter_fields(body, validation["expression"]) if path not in _IDENTITY_PATHS
        ]
        steps = _find_common_prefix(
            [path for path in named_paths if len(_find_existing_path(target_value, path)) == len(path)]
            or named_paths
        )
    path = _find_existing_path(target_value, steps)
    value = value_at(target_value, path)
    if "path" not in validation and isinstance(value, list) and len(value) == 1:
        return (*path, 0)  # an expression over all entries is about the only entry
    return path


def _find_existing_path(target_value: Any, steps: Iterable[str]) -> Path:
    """Return the longest prefix of a path that exists."""
    path: list[str | int] = []
    for step in steps:
        if isinstance(target_value, list) and step.isdigit() and int(step) < len(target_value):
            path.append(int(step))
        elif isinstance(target_value, dict) and step in target_value:
            path.append(step)
        else:
            break
        target_value = target_value[path[-1]]
    return tuple(path)


def _iter_fields(body: Mapping[str, Any], expression: str) -> Iterator[tuple[str, ...]]:
    """Yield the fields that an expression reads, also through variables."""
    variables = {one["name"]: one["expression"] for one in body.get("variables", ())}
    pending, visited = [expression], set()
    while pending:
        text = pending.pop()
        yield from iter_object_paths(text)
        for name, _ in iter_variables(text):
            if name in variables and name not in visited:
                visited.add(name)
                pending.append(variables[name])


def _find_common_prefix(paths: list[tuple[str, ...]]) -> list[str]:
    """Return the longest prefix that all paths share."""
    if not paths:
        return []
    shortest = min(paths, key=len)
    return [
        step
        for at, step in enumerate(shortest)
        if all(path[: at + 1] == shortest[: at + 1] for path in paths)
    ]
