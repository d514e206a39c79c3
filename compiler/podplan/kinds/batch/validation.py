"""What the API server refuses of a Job, beside what a schema can state.

Source: docs/evidence/jobset.md#refusals-of-a-job. ``stage`` says who refuses where it is not the
API server when the document is applied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from podplan.core.findings import Diagnostic, Path
from podplan.core.typing import Any
from podplan.kubernetes import names

Spec = Mapping[str, Any]

_API_SERVER = "the API server refuses the Job"
_MAX_RULES = 20
_MODES = ("NonIndexed", "Indexed")
_ACTIONS = ("FailJob", "FailIndex", "Ignore", "Count")
_REPLACEMENTS = ("TerminatingOrFailed", "Failed")
_COUNTS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
    "ttlSecondsAfterFinished",
)
_MAX_EXIT_CODES = 255
_MANAGER_PATTERN = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+", re.ASCII)
_MAX_MANAGER_LENGTH = 63


def validate_job(_dialect: str, cr: Mapping[str, Any]) -> list[Diagnostic]:
    """The problems of a Job."""
    spec, metadata = cr.get("spec"), cr.get("metadata")
    if not isinstance(spec, dict):
        return []
    diagnostics = list(validate_job_spec(spec, ("spec",), _API_SERVER))
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if isinstance(name, str) and names.matches_form("dns-subdomain", name):
        diagnostics += _validate_host_name(name, spec)
    if spec.get("selector") is not None and not spec.get("manualSelector"):
        message = f"the API server sets the selector itself; {_API_SERVER} with a selector of its own"
        diagnostics.append(Diagnostic("SCHEMA009", message, ("spec", "selector"), help="remove selector"))
    return diagnostics


def validate_job_spec(spec: Spec, path: Path, stage: str) -> Iterator[Diagnostic]:
    """The problems of the spec of a Job at ``path``."""
    yield from _validate_counts(spec, path, stage)
    yield from _require_choice(spec, "completionMode", _MODES, path, stage)
    yield from _require_choice(spec, "podReplacementPolicy", _REPLACEMENTS, path, stage)
    is_indexed = spec.get("completionMode") == "Indexed"
    if is_indexed and spec.get("completions") is None and spec.get("parallelism") is not None:
        message = f"an Indexed Job with parallelism must state completions, too; {stage}"
        yield Diagnostic("SCHEMA003", message, (*path, "parallelism"), help="write completions")
    yield from _validate_restart_policy(spec, path, stage)
    for field, needed in (
        ("backoffLimitPerIndex", is_indexed),
        ("successPolicy", is_indexed),
    ):
        if spec.get(field) is not None and not needed:
            yield Diagnostic("SCHEMA009", f"{field} needs completionMode: Indexed; {stage}", (*path, field))
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        message = f"maxFailedIndexes needs backoffLimitPerIndex; {stage}"
        yield Diagnostic("SCHEMA009", message, (*path, "maxFailedIndexes"))
    if spec.get("podReplacementPolicy") == "TerminatingOrFailed" and spec.get("podFailurePolicy") is not None:
        message = f"with podFailurePolicy, podReplacementPolicy must be Failed; {stage}"
        yield Diagnostic("SCHEMA005", message, (*path, "podReplacementPolicy"), help="write Failed")
    yield from _validate_failure_policy(spec, path, stage)
    yield from _validate_success_policy(spec, path, stage)
    manager = spec.get("managedBy")
    if isinstance(manager, str) and not is_manager(manager):
        message = f'managedBy "{manager}" must be a domain, a slash and a path, of 63 characters; {stage}'
        yield Diagnostic("SCHEMA006", message, (*path, "managedBy"))


def is_manager(value: str) -> bool:
    """Whether a value is the name of a manager: a domain, a slash and a path."""
    return len(value) <= _MAX_MANAGER_LENGTH and bool(_MANAGER_PATTERN.fullmatch(value))


def _validate_counts(spec: Spec, path: Path, stage: str) -> Iterator[Diagnostic]:
    for field in _COUNTS:
        value = spec.get(field)
        if isinstance(value, int) and not isinstance(value, bool) and value < 0:
            yield Diagnostic("SCHEMA005", f"{field} must not be negative; {stage}", (*path, field))


def _require_choice(
    spec: Spec, field: str, choices: tuple[str, ...], path: Path, stage: str
) -> Iterator[Diagnostic]:
    value = spec.get(field)
    if isinstance(value, str) and value not in choices:
        message = f'{field} "{value}" must be {" or ".join(choices)}; {stage}'
        yield Diagnostic("SCHEMA004", message, (*path, field))


def _find_restart_policy(spec: Spec) -> tuple[Any, Spec | None]:
    template = spec.get("template")
    pod = template.get("spec") if isinstance(template, dict) else None
    return (pod.get("restartPolicy"), pod) if isinstance(pod, dict) else (None, None)


def _validate_restart_policy(spec: Spec, path: Path, stage: str) -> Iterator[Diagnostic]:
    policy, pod = _find_restart_policy(spec)
    pod_path: Path = (*path, "template", "spec")
    help = "write restartPolicy: Never, or OnFailure"
    if pod is not None and policy is None:
        message = f"the Pods of a Job need restartPolicy: Never or OnFailure; {stage}"
        yield Diagnostic("SCHEMA003", message, pod_path, on_key=True, help=help)
    elif policy == "Always":
        message = f"the Pods of a Job cannot have restartPolicy: Always; {stage}"
        yield Diagnostic("SCHEMA004", message, (*pod_path, "restartPolicy"), help=help)


def _validate_failure_policy(spec: Spec, path: Path, stage: str) -> Iterator[Diagnostic]:
    policy = spec.get("podFailurePolicy")
    if not isinstance(policy, dict):
        return
    policy_path: Path = (*path, "podFailurePolicy")
    restart = _find_restart_policy(spec)[0]
    if restart not in ("Never", None):
        message = f"podFailurePolicy needs restartPolicy: Never in the Pod template, not {restart}; {stage}"
        yield Diagnostic("SCHEMA009", message, policy_path, on_key=True)
    rules = policy.get("rules")
    if isinstance(rules, list) and len(rules) > _MAX_RULES:
        yield Diagnostic(
            "SCHEMA005", f"at most {_MAX_RULES} rules are allowed; {stage}", (*policy_path, "rules")
        )
    for index, rule in enumerate(rules if isinstance(rules, list) else ()):
        if isinstance(rule, dict):
            yield from _validate_rule(rule, spec, (*policy_path, "rules", index), stage)


def _validate_rule(rule: Spec, spec: Spec, path: Path, stage: str) -> Iterator[Diagnostic]:
    yield from _require_choice(rule, "action", _ACTIONS, path, stage)
    if rule.get("action") == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        yield Diagnostic("SCHEMA009", f"FailIndex needs backoffLimitPerIndex; {stage}", (*path, "action"))
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions")
    if (codes is None) == (not conditions):
        message = f"a rule needs either onExitCodes or onPodConditions; {stage}"
        yield Diagnostic("SCHEMA009", message, path)
    if isinstance(codes, dict):
        values = codes.get("values")
        values = values if isinstance(values, list) else []
        if not values or len(values) > _MAX_EXIT_CODES:
            message = f"onExitCodes needs 1 to {_MAX_EXIT_CODES} values; {stage}"
            yield Diagnostic("SCHEMA005", message, (*path, "onExitCodes"))
        if codes.get("operator") == "In" and 0 in values:
            message = f"exit code 0 is no failure, and not allowed with In; {stage}"
            yield Diagnostic("SCHEMA005", message, (*path, "onExitCodes", "values", values.index(0)))
        yield from _require_choice(codes, "operator", ("In", "NotIn"), (*path, "onExitCodes"), stage)


def _validate_success_policy(spec: Spec, path: Path, stage: str) -> Iterator[Diagnostic]:
    policy = spec.get("successPolicy")
    rules = policy.get("rules") if isinstance(policy, dict) else None
    if isinstance(rules, list) and not 1 <= len(rules) <= _MAX_RULES:
        message = f"successPolicy needs 1 to {_MAX_RULES} rules; {stage}"
        yield Diagnostic("SCHEMA005", message, (*path, "successPolicy", "rules"))


def _validate_host_name(name: str, spec: Spec) -> Iterator[Diagnostic]:
    """The last Pod of an Indexed Job has the longest host name, which must be a label."""
    completions = spec.get("completions")
    if spec.get("completionMode") != "Indexed" or not isinstance(completions, int) or completions < 1:
        return
    host = f"{name}-{completions - 1}"
    if not names.matches_form("dns-label", host):
        mismatch = names.explain_mismatch("dns-label", host)
        message = f"its last Pod would have the host name {host}, which {mismatch}; {_API_SERVER}"
        yield Diagnostic("SCHEMA006", message, ("metadata", "name"))
