"""Policies that are CEL expressions, ours and those of a ValidatingAdmissionPolicy.

The body of a policy is the value of ``cel:`` (schemas/Policy.json). ``podplan.lint.vap_import`` adds to it:
``at``, where the expressions stand in the document of the policy; ``paramObject``; ``resources``, selectors
and ``failurePolicy``. Variables of the expressions:
https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from podplan.core.findings import Path, Problem, value_at
from podplan.core.limits import BoundExceeded
from podplan.core.replica_groups import at_index
from podplan.core.truncation import shortened
from podplan.core.typing import Any
from podplan.kubernetes.accessors import mapping
from podplan.lint.analysis.inventory import entry
from podplan.lint.cel.rules import Fault, Named, Rules, Validation, Verdict
from podplan.lint.cel.text import paths_in, variables_in
from podplan.lint.label_selectors import is_selected
from podplan.lint.policy import Policy, PolicyError
from podplan.lint.target import Hit, Job, Subject

_LONGEST_EXPRESSION_SHOWN = 100
_WHICH_ONE = (
    ("apiVersion",),
    ("kind",),
    ("metadata", "name"),
    ("metadata", "namespace"),
)  # say little of why


def by_cel(policy: Policy, subject: Subject) -> Iterator[Hit]:
    """One hit for each validation that is false; ``message`` is what the validation says.

    Where an expression does not compile or fails, raises PolicyError after the hits. Raises RequestError
    without the extra, and BoundExceeded.
    """
    rules = rules_of(policy.body, is_secret=subject.doc.data.get("kind") == "Secret")
    faults: dict[Fault, None] = {}
    seen: set[tuple[Path, str]] = set()
    for whole, part in _examples(subject):
        if not is_selected(policy.body, whole):
            continue
        try:
            verdict = _verdict(policy, rules, subject, whole, part)
        except BoundExceeded as bound:
            raise BoundExceeded(f"{policy.rule.code}: {bound}").in_file(policy.file) from None
        faults |= dict.fromkeys(verdict.faults)
        for failure in verdict.failures:
            validation = policy.body["validations"][failure.validation]
            message = (
                _without_secrets(failure.message, whole)
                or validation.get("message")
                or _failed(validation["expression"])
            )
            path = _place(policy.body, failure.validation, part)
            if (path, message) not in seen:
                seen.add((path, message))
                yield Hit(path, {"message": message})
    if faults:
        raise PolicyError(policy, tuple(_problem(policy, fault, subject) for fault in faults))


def rules_of(body: Mapping[str, Any], is_secret: bool = False) -> Rules:
    """The expressions of a policy; about a Secret without messageExpressions, which could show its values."""
    return Rules(
        tuple(
            Validation(one["expression"], "" if is_secret else one.get("messageExpression", ""))
            for one in body["validations"]
        ),
        tuple(Named(one["name"], one["expression"]) for one in body.get("variables", ())),
        tuple(Named(one["name"], one["expression"]) for one in body.get("matchConditions", ())),
    )


def fault_problem(body: Mapping[str, Any], fault: Fault, what: str = "", ignored: bool = False) -> Problem:
    """What to say of an expression that cannot be evaluated, at its path in the document of the policy."""
    where = f" (line {fault.line}, column {fault.column} of the expression)" if fault.line else ""
    end = ", which the API server lets pass: failurePolicy is Ignore" if ignored else ""
    subject = f" on a {what}" if what else ""
    path = (*body.get("at", ("cel",)), *fault.path)
    rule = "POLICY004" if ignored else "POLICY001"
    return Problem(rule, f"the expression cannot be evaluated{subject}: {fault.message}{where}{end}", path)


def _examples(subject: Subject) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """The objects to look at, each with the part that the policy is about: of replicas the first and last."""
    yield subject.doc.data, subject.data
    group = subject.group
    if group is None or group.replicas == 1 or not group.doc.varies:
        return
    last = at_index(group.doc, group.start + group.replicas - 1)
    yield last, value_at(last, subject.base)


def _verdict(policy: Policy, rules: Rules, subject: Subject, whole: Mapping[str, Any], part: Any) -> Verdict:
    from podplan.lint.cel.sandbox import judge

    metadata = whole.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    namespace = metadata.get("namespace")
    return judge(
        rules,
        {
            "object": part,
            "request": _request(policy, whole, metadata),
            "params": policy.body.get("paramObject", dict(policy.params) or None),
            "namespaceObject": _namespace(namespace, subject.job) if isinstance(namespace, str) else None,
        },
    )


def _request(policy: Policy, whole: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What the API server would say of creating the object, as far as it can be known."""
    group, _, version = str(whole.get("apiVersion", "")).rpartition("/")
    kind = {"group": group, "version": version, "kind": str(whole.get("kind", ""))}
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


def _namespace(name: str, job: Job) -> dict[str, Any]:
    """A namespace with the labels that every namespace has, and those that the inventory gives it."""
    known = entry(job, "namespaces", name)
    labels = {**mapping(known, "labels"), "kubernetes.io/metadata.name": name}
    if isinstance(known.get("podSecurity"), str):
        labels["pod-security.kubernetes.io/enforce"] = known["podSecurity"]
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def _failed(expression: str) -> str:
    text = " ".join(expression.split())
    return f"failed expression: {shortened(text, _LONGEST_EXPRESSION_SHOWN)}"


def _without_secrets(message: str, document: Any) -> str:
    """A message, which may repeat anything of the document that it is about, without the secrets of that."""
    if not message:
        return message
    from podplan.redaction.redactor import build_redactor

    return build_redactor([document]).text(message)


def _problem(policy: Policy, fault: Fault, subject: Subject) -> Problem:
    ignored = policy.body.get("failurePolicy") == "Ignore"
    fault = fault._replace(message=_without_secrets(fault.message, subject.doc.data))
    return fault_problem(policy.body, fault, str(subject.doc.data.get("kind", "document")), ignored)


def _place(body: Mapping[str, Any], index: int, part: Any) -> Path:
    """The path that a validation is about: the one it names, else what all its fields have in common."""
    validation = body["validations"][index]
    if "path" in validation:
        steps = [step.replace("~1", "/").replace("~0", "~") for step in validation["path"].split("/")[1:]]
    else:
        named = [path for path in _fields(body, validation["expression"]) if path not in _WHICH_ONE]
        steps = _common([path for path in named if len(_existing(part, path)) == len(path)] or named)
    found = _existing(part, steps)
    there = value_at(part, found)
    if "path" not in validation and isinstance(there, list) and len(there) == 1:
        return (*found, 0)  # what is said of all is said of the only one
    return found


def _existing(part: Any, steps: Iterable[str]) -> Path:
    """The beginning of a path that exists."""
    path: list[str | int] = []
    for step in steps:
        if isinstance(part, list) and step.isdigit() and int(step) < len(part):
            path.append(int(step))
        elif isinstance(part, dict) and step in part:
            path.append(step)
        else:
            break
        part = part[path[-1]]
    return tuple(path)


def _fields(body: Mapping[str, Any], expression: str) -> Iterator[tuple[str, ...]]:
    """The fields that an expression names, also through variables."""
    variables = {one["name"]: one["expression"] for one in body.get("variables", ())}
    texts, done = [expression], set()
    while texts:
        text = texts.pop()
        yield from paths_in(text)
        for name, _ in variables_in(text):
            if name in variables and name not in done:
                done.add(name)
                texts.append(variables[name])


def _common(paths: list[tuple[str, ...]]) -> list[str]:
    """The beginning that all paths share."""
    if not paths:
        return []
    shortest = min(paths, key=len)
    return [
        step
        for at, step in enumerate(shortest)
        if all(path[: at + 1] == shortest[: at + 1] for path in paths)
    ]
