"""Kubernetes' ValidatingAdmissionPolicy and its binding, as policies of podplan.

What the API server would do when an object is created, podplan says before: a binding that denies makes an
error, one that warns a warning, one that audits an info. Source:
https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from podplan.core.builtin_rules import Rule
from podplan.core.findings import Path, Problem, Severity
from podplan.core.limits import BoundExceeded
from podplan.core.provenance import Doc
from podplan.core.typing import Any, NamedTuple
from podplan.lint.api_resources import Resource, meant
from podplan.lint.checks.by_cel import fault_problem, rules_of
from podplan.lint.label_selectors import unknown_keys
from podplan.lint.policy import Policy, Scope
from podplan.lint.vap_validation import form_problems

POLICY_KIND, BINDING_KIND = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
API_VERSIONS = ("admissionregistration.k8s.io/v1", "admissionregistration.k8s.io/v1beta1")
_SEVERITIES = {"Deny": Severity.ERROR, "Warn": Severity.WARNING, "Audit": Severity.INFO}


class Admission(NamedTuple):
    """What the admission policies of a folder come to.

    ``policies`` are ready for the engine; ``origins`` leads from the code of each to its document, for the
    place of a PolicyError. ``problems`` are what is wrong with the documents themselves, or means nothing
    offline.
    """

    policies: tuple[Policy, ...]
    origins: Mapping[str, Doc]
    problems: tuple[tuple[Doc, Problem], ...]


def is_admission(data: object) -> bool:
    """Whether a document means to be an admission policy or a binding, of whatever apiVersion."""
    return isinstance(data, dict) and data.get("kind") in (POLICY_KIND, BINDING_KIND)


def read_vap(docs: Iterable[Doc]) -> Admission:
    """The policies of the documents of one folder: policies, bindings, and the objects that are their params.

    Raises RequestError without the extra, and BoundExceeded.
    """
    docs = tuple(docs)
    problems: list[tuple[Doc, Problem]] = []
    sound: list[Doc] = []
    for doc in docs:
        if is_admission(doc.data):
            found = list(form_problems(doc.data, API_VERSIONS))
            problems += ((doc, problem) for problem in found)
            if not found:
                sound.append(doc)
    bindings = [doc for doc in sound if doc.data["kind"] == BINDING_KIND]
    declared = [doc for doc in sound if doc.data["kind"] == POLICY_KIND]
    everything = {named(doc) for doc in docs if is_admission(doc.data) and doc.data["kind"] == POLICY_KIND}
    for binding in bindings:
        if binding.data["spec"]["policyName"] not in everything:
            name = binding.data["spec"]["policyName"]
            message = f'the binding is for the policy "{name}", which is not in this folder'
            problems.append((binding, Problem("POLICY001", message, ("spec", "policyName"))))
    policies: list[Policy] = []
    for doc in declared:
        own = [binding for binding in bindings if binding.data["spec"]["policyName"] == named(doc)]
        for where, result in _policies(doc, own, docs):
            if isinstance(result, Policy):
                policies.append(result)
            else:
                problems.append((where, result))
    return Admission(tuple(policies), {code(named(doc)): doc for doc in declared}, tuple(problems))


def code(name: str) -> str:
    """The rule code of an admission policy."""
    return f"VAP:{name}"


def named(doc: Doc) -> str:
    """The name of a policy or binding, "" where it has none."""
    metadata = doc.data.get("metadata")
    return str(metadata.get("name", "")) if isinstance(metadata, dict) else ""


def _policies(doc: Doc, bindings: list[Doc], docs: tuple[Doc, ...]) -> Iterator[tuple[Doc, Policy | Problem]]:
    """The policies that a document and its bindings make, and what is to be said of them."""
    from podplan.lint.cel.sandbox import faults

    spec = doc.data["spec"]
    body = _body(spec)
    try:
        found = [fault_problem(body, fault) for fault in faults(rules_of(body))]
    except BoundExceeded as error:
        raise error.in_file(doc.name) from None
    yield from ((doc, problem) for problem in found)
    yield from ((doc, problem) for problem in _ignored(spec, ("spec",)))
    resources = meant(spec.get("matchConstraints", {}).get("resourceRules") or ())
    if not resources:
        message = "the policy is about creating neither training jobs nor anything that they become"
        yield doc, Problem("POLICY002", message, ("spec", "matchConstraints"))
    elif not bindings:
        message = f'no {BINDING_KIND} in this folder names the policy "{named(doc)}", so nothing enforces it'
        yield doc, Problem("POLICY002", message, ("metadata", "name"))
    elif not found:
        for binding in sorted(bindings, key=_severity, reverse=True):
            yield from _bound(doc, binding, body, resources, docs)


def _bound(
    doc: Doc,
    binding: Doc,
    body: dict[str, Any],
    resources: dict[Resource, tuple[str, ...]],
    docs: tuple[Doc, ...],
) -> Iterator[tuple[Doc, Policy | Problem]]:
    """The policies of one binding: one for each level of document and each object of params."""
    spec, own = doc.data["spec"], binding.data["spec"]
    constraints = [spec.get("matchConstraints") or {}, own.get("matchResources") or {}]
    yield from (
        (binding, problem)
        for problem in _ignored_selectors(own.get("matchResources") or {}, ("spec", "matchResources"))
    )
    if constraints[1].get("resourceRules"):
        narrower = meant(constraints[1]["resourceRules"])
        resources = {one: (*resources[one], *narrower[one]) for one in resources if one in narrower}
    for excluded in (meant(one.get("excludeResourceRules") or ()) for one in constraints):
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
        given = _params(spec["paramKind"], own.get("paramRef"), docs)
        if isinstance(given, Problem):
            yield binding, given
            return
        bodies = [{**body, "paramObject": param} for param in given]
    severity = _severity(binding)
    name = named(doc)
    summary = f"The {POLICY_KIND} {name} of this repository."
    for one in bodies:
        for level in dict.fromkeys(resource.level for resource in resources):
            kinds = frozenset(resource.kind for resource in resources if resource.level == level)
            rule = Rule(code(name), name, severity, summary)
            scope = Scope(level, kinds, "")
            yield (
                doc,
                Policy(rule, scope, "cel", one, {}, "{message}", "", "default", False, (), doc.name),
            )


def _severity(binding: Doc) -> Severity:
    return max(_SEVERITIES[action] for action in binding.data["spec"]["validationActions"])


def _body(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What ``by_cel`` needs of the spec of a policy."""
    body = {key: spec[key] for key in ("variables", "matchConditions", "validations") if spec.get(key)}
    return {"validations": [], **body, "at": ("spec",), "failurePolicy": spec.get("failurePolicy", "Fail")}


def _ignored(spec: Mapping[str, Any], at: Path) -> Iterator[Problem]:
    """The parts of a policy that mean nothing offline."""
    if spec.get("auditAnnotations"):
        message = "auditAnnotations are for the audit log of an API server; podplan leaves them out"
        yield Problem("POLICY003", message, (*at, "auditAnnotations"), on_key=True)
    yield from _ignored_selectors(spec.get("matchConstraints") or {}, (*at, "matchConstraints"))


def _ignored_selectors(constraints: Mapping[str, Any], at: Path) -> Iterator[Problem]:
    keys = list(unknown_keys(constraints.get("namespaceSelector") or {}))
    if keys:
        message = f'the label "{keys[0]}" of a namespace is not known offline; the policy is applied in all'
        yield Problem("POLICY003", message, (*at, "namespaceSelector"), on_key=True)
    named = [one for one in constraints.get("excludeResourceRules") or () if one.get("resourceNames")]
    if named:
        message = (
            "excludeResourceRules with resourceNames are left out; the policy is applied to these names too"
        )
        yield Problem("POLICY003", message, (*at, "excludeResourceRules"), on_key=True)


def _params(
    kind: Mapping[str, Any], reference: Mapping[str, Any] | None, docs: tuple[Doc, ...]
) -> list[Any] | Problem:
    """The objects of params that a binding names; a problem where there are none and that is not allowed."""
    from podplan.lint.label_selectors import matches

    if reference is None:
        return [None]
    path: Path = ("spec", "paramRef")
    found = []
    for doc in docs:
        data = doc.data
        if not isinstance(data, dict) or not isinstance(data.get("metadata"), dict):
            continue
        if (data.get("apiVersion"), data.get("kind")) != (kind.get("apiVersion"), kind.get("kind")):
            continue
        metadata = data["metadata"]
        named = (
            metadata.get("name") == reference["name"]
            if "name" in reference
            else (matches(reference.get("selector") or {}, metadata.get("labels") or {}))
        )
        here = "namespace" not in reference or metadata.get("namespace") in (None, reference["namespace"])
        if named and here:
            found.append(data)
    if found or reference.get("parameterNotFoundAction") == "Allow":
        return found
    what = f'"{reference["name"]}"' if "name" in reference else "that its selector selects"
    return Problem(
        "POLICY001", f"no {kind.get('kind')} {what} in this folder; put the params beside the policy", path
    )
