"""Kubernetes' ValidatingAdmissionPolicy and its binding, as policies of podplan.

What the API server would do when an object is created, podplan says before: a binding that denies makes an
error, one that warns a warning, one that audits an info. Source:
https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from podplan.core.builtin_rules import Rule
from podplan.core.findings import Diagnostic, Path, Severity
from podplan.core.limits import LimitExceeded
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any, NamedTuple
from podplan.lint.api_resources import ApiResource, match_resources
from podplan.lint.checks.by_cel import build_expression_diagnostic, build_rules
from podplan.lint.label_selectors import iter_unknown_label_keys
from podplan.lint.policy import Policy
from podplan.lint.policy_scope import PolicyScope
from podplan.lint.vap_validation import validate_form

POLICY_KIND, BINDING_KIND = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
API_VERSIONS = ("admissionregistration.k8s.io/v1", "admissionregistration.k8s.io/v1beta1")
_SEVERITIES = {"Deny": Severity.ERROR, "Warn": Severity.WARNING, "Audit": Severity.INFO}


class ImportedPolicies(NamedTuple):
    """The admission policies of a folder, ready for the engine.

    ``origin_docs`` has the document of each by its code, to locate a PolicyError. ``diagnostics`` are about
    documents that are invalid, or that have no meaning offline.
    """

    policies: tuple[Policy, ...]
    origin_docs: Mapping[str, TracedDocument]
    diagnostics: tuple[Diagnostic, ...]


def is_admission_document(data: object) -> bool:
    """Whether a document means to be an admission policy or a binding, of whatever apiVersion."""
    return isinstance(data, dict) and data.get("kind") in (POLICY_KIND, BINDING_KIND)


def import_vap(docs: Iterable[TracedDocument]) -> ImportedPolicies:
    """The policies of the documents of one folder: policies, bindings, and the objects that are their params.

    Raises UsageError without the extra, and LimitExceeded.
    """
    docs = tuple(docs)
    diagnostics: list[Diagnostic] = []
    valid_docs: list[TracedDocument] = []
    for doc in docs:
        if is_admission_document(doc.data):
            form_diagnostics = list(validate_form(doc.data, API_VERSIONS))
            diagnostics += (problem._replace(doc=doc) for problem in form_diagnostics)
            if not form_diagnostics:
                valid_docs.append(doc)
    bindings = [doc for doc in valid_docs if doc.data["kind"] == BINDING_KIND]
    policy_docs = [doc for doc in valid_docs if doc.data["kind"] == POLICY_KIND]
    policy_names = {
        get_document_name(doc)
        for doc in docs
        if is_admission_document(doc.data) and doc.data["kind"] == POLICY_KIND
    }
    for binding in bindings:
        if binding.data["spec"]["policyName"] not in policy_names:
            name = binding.data["spec"]["policyName"]
            message = f'the binding is for the policy "{name}", which is not in this folder'
            diagnostics.append(Diagnostic("POLICY001", message, ("spec", "policyName"), doc=binding))
    policies: list[Policy] = []
    for doc in policy_docs:
        policy_bindings = [
            binding for binding in bindings if binding.data["spec"]["policyName"] == get_document_name(doc)
        ]
        for result in _import_policy(doc, policy_bindings, docs):
            if isinstance(result, Policy):
                policies.append(result)
            else:
                diagnostics.append(result)
    return ImportedPolicies(
        tuple(policies),
        {build_rule_code(get_document_name(doc)): doc for doc in policy_docs},
        tuple(diagnostics),
    )


def build_rule_code(name: str) -> str:
    """The rule code of an admission policy."""
    return f"VAP:{name}"


def get_document_name(doc: TracedDocument) -> str:
    """The name of a policy or binding, "" where it has none."""
    metadata = doc.data.get("metadata")
    return str(metadata.get("name", "")) if isinstance(metadata, dict) else ""


def _import_policy(
    doc: TracedDocument, bindings: list[TracedDocument], docs: tuple[TracedDocument, ...]
) -> Iterator[Policy | Diagnostic]:
    """The policies that a document and its bindings make, and what is to be said of them."""
    from podplan.lint.cel.sandbox import find_compile_errors

    spec = doc.data["spec"]
    body = _build_body(spec)
    try:
        expression_diagnostics = [
            build_expression_diagnostic(body, fault) for fault in find_compile_errors(build_rules(body))
        ]
    except LimitExceeded as error:
        raise error.with_file(doc.name) from None
    yield from (one._replace(doc=doc) for one in expression_diagnostics)
    yield from (one._replace(doc=doc) for one in _iter_ignored_parts(spec, ("spec",)))
    resources = match_resources(spec.get("matchConstraints", {}).get("resourceRules") or ())
    if not resources:
        message = "the policy is about creating neither training jobs nor anything that they become"
        yield Diagnostic("POLICY002", message, ("spec", "matchConstraints"), doc=doc)
    elif not bindings:
        message = (
            f'no {BINDING_KIND} in this folder names the policy "{get_document_name(doc)}", so nothing'
            " enforces it"
        )
        yield Diagnostic("POLICY002", message, ("metadata", "name"), doc=doc)
    elif not expression_diagnostics:
        for binding in sorted(bindings, key=_find_severity, reverse=True):
            yield from _import_binding(doc, binding, body, resources, docs)


def _import_binding(
    doc: TracedDocument,
    binding: TracedDocument,
    body: dict[str, Any],
    resources: dict[ApiResource, tuple[str, ...]],
    docs: tuple[TracedDocument, ...],
) -> Iterator[Policy | Diagnostic]:
    """The policies of one binding: one for each level of document and each object of params."""
    spec, binding_spec = doc.data["spec"], binding.data["spec"]
    constraints = [spec.get("matchConstraints") or {}, binding_spec.get("matchResources") or {}]
    yield from (
        one._replace(doc=binding)
        for one in _iter_ignored_selectors(
            binding_spec.get("matchResources") or {}, ("spec", "matchResources")
        )
    )
    if constraints[1].get("resourceRules"):
        narrower = match_resources(constraints[1]["resourceRules"])
        resources = {one: (*resources[one], *narrower[one]) for one in resources if one in narrower}
    for excluded in (match_resources(one.get("excludeResourceRules") or ()) for one in constraints):
        resources = {one: names for one, names in resources.items() if excluded.get(one) != ()}
    body = {
        **body,
        "resources": {one.kind: one.plural for one in resources},
        "resourceNames": {one.kind: names for one, names in resources.items() if names},
        "objectSelectors": [one["objectSelector"] for one in constraints if one.get("objectSelector")],
        "namespaceSelectors": [
            one["namespaceSelector"] for one in constraints if one.get("namespaceSelector")
        ],
    }
    bodies = [body]
    if "paramKind" in spec:
        param_objects = _find_param_objects(spec["paramKind"], binding_spec.get("paramRef"), docs)
        if isinstance(param_objects, Diagnostic):
            yield param_objects._replace(doc=binding)
            return
        bodies = [{**body, "paramObject": param} for param in param_objects]
    severity = _find_severity(binding)
    name = get_document_name(doc)
    summary = f"The {POLICY_KIND} {name} of this repository."
    for policy_body in bodies:
        for level in dict.fromkeys(resource.level for resource in resources):
            kinds = tuple(resource.qualified_kind for resource in resources if resource.level == level)
            rule = Rule(build_rule_code(name), name, severity, summary)
            scope = PolicyScope(level, kinds)
            yield Policy(rule, scope, "cel", policy_body, {}, "{message}", "", "default", False, (), doc.name)


def _find_severity(binding: TracedDocument) -> Severity:
    return max(_SEVERITIES[action] for action in binding.data["spec"]["validationActions"])


def _build_body(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What ``by_cel`` needs of the spec of a policy."""
    body = {key: spec[key] for key in ("variables", "matchConditions", "validations") if spec.get(key)}
    return {"validations": [], **body, "at": ("spec",), "failurePolicy": spec.get("failurePolicy", "Fail")}


def _iter_ignored_parts(spec: Mapping[str, Any], base_path: Path) -> Iterator[Diagnostic]:
    """The parts of a policy that mean nothing offline."""
    if spec.get("auditAnnotations"):
        message = "auditAnnotations are for the audit log of an API server; podplan leaves them out"
        yield Diagnostic("POLICY003", message, (*base_path, "auditAnnotations"), on_key=True)
    yield from _iter_ignored_selectors(spec.get("matchConstraints") or {}, (*base_path, "matchConstraints"))


def _iter_ignored_selectors(constraints: Mapping[str, Any], base_path: Path) -> Iterator[Diagnostic]:
    keys = list(iter_unknown_label_keys(constraints.get("namespaceSelector") or {}))
    if keys:
        message = f'the label "{keys[0]}" of a namespace is not known offline; the policy is applied in all'
        yield Diagnostic("POLICY003", message, (*base_path, "namespaceSelector"), on_key=True)
    named_exclusions = [
        one for one in constraints.get("excludeResourceRules") or () if one.get("resourceNames")
    ]
    if named_exclusions:
        message = (
            "excludeResourceRules with resourceNames are left out; the policy is applied to these names too"
        )
        yield Diagnostic("POLICY003", message, (*base_path, "excludeResourceRules"), on_key=True)


def _find_param_objects(
    kind: Mapping[str, Any], reference: Mapping[str, Any] | None, docs: tuple[TracedDocument, ...]
) -> list[Any] | Diagnostic:
    """The objects of params that a binding names; a problem where there are none and that is not allowed."""
    from podplan.kubernetes.label_selectors import matches_selector

    if reference is None:
        return [None]
    path: Path = ("spec", "paramRef")
    objects = []
    for doc in docs:
        data = doc.data
        if not isinstance(data, dict) or not isinstance(data.get("metadata"), dict):
            continue
        if (data.get("apiVersion"), data.get("kind")) != (kind.get("apiVersion"), kind.get("kind")):
            continue
        metadata = data["metadata"]
        is_selected = (
            metadata.get("name") == reference["name"]
            if "name" in reference
            else (matches_selector(reference.get("selector") or {}, metadata.get("labels") or {}))
        )
        is_in_namespace = "namespace" not in reference or metadata.get("namespace") in (
            None,
            reference["namespace"],
        )
        if is_selected and is_in_namespace:
            objects.append(data)
    if objects or reference.get("parameterNotFoundAction") == "Allow":
        return objects
    description = f'"{reference["name"]}"' if "name" in reference else "that its selector selects"
    return Diagnostic(
        "POLICY001",
        f"no {kind.get('kind')} {description} in this folder; put the params beside the policy",
        path,
    )
