"""What the API server refuses of a Job, beside what a schema can state.

Source: docs/evidence/jobset.md#refusals-of-a-job. ``stage`` says who refuses where it is not the
API server when the document is applied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from podplan.core.findings import Diagnostic, Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.suggestions import suggest_phrase
from podplan.core.typing import Any
from podplan.kubernetes import names
from podplan.kubernetes.accessors import get_entries, get_text

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
_MANAGER_PATTERN = compile_lazily(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+", re.ASCII)
_MAX_MANAGER_LENGTH = 63
_INDEXES_PATTERN = compile_lazily(r"[0-9]{1,9}(?:-[0-9]{1,9})?(?:,[0-9]{1,9}(?:-[0-9]{1,9})?)*")


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
    failed, completions = spec.get("maxFailedIndexes"), spec.get("completions")
    if isinstance(failed, int) and isinstance(completions, int) and failed > completions:
        message = f"maxFailedIndexes {failed} must be at most completions, {completions}; {stage}"
        related = (((*path, "completions"), f"{completions} indexes"),)
        yield Diagnostic("SCHEMA005", message, (*path, "maxFailedIndexes"), related=related)
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
        related = (((*path, "template", "spec", "restartPolicy"), "of the Pods"),)
        yield Diagnostic("SCHEMA009", message, policy_path, on_key=True, related=related)
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
        if _are_numbers(values) and values != sorted(set(values)):
            message = f"the exit codes must be in ascending order, each once; {stage}"
            help = f"write values: {sorted(set(values))}"
            yield Diagnostic("SCHEMA005", message, (*path, "onExitCodes", "values"), help=help)
        yield from _validate_container_name(codes, spec, (*path, "onExitCodes", "containerName"), stage)


def _are_numbers(values: list[Any]) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) for value in values)


def _validate_container_name(codes: Spec, spec: Spec, path: Path, stage: str) -> Iterator[Diagnostic]:
    """A rule for the exit codes of a container that the Pods do not have."""
    name, pod = codes.get("containerName"), _find_restart_policy(spec)[1]
    if not isinstance(name, str) or pod is None:
        return
    names = [
        get_text(container, "name")
        for field in ("containers", "initContainers")
        for _, container in get_entries(pod, field)
    ]
    if names and name not in names:
        message = f'the Pods have no container "{name}"{suggest_phrase(name, names)}; {stage}'
        related = (((*path[: path.index("podFailurePolicy")], "template", "spec", "containers"), "theirs"),)
        yield Diagnostic("SCHEMA004", message, path, help=f"write {' or '.join(names)}", related=related)


def _validate_success_policy(spec: Spec, path: Path, stage: str) -> Iterator[Diagnostic]:
    policy = spec.get("successPolicy")
    rules = policy.get("rules") if isinstance(policy, dict) else None
    if isinstance(rules, list) and not 1 <= len(rules) <= _MAX_RULES:
        message = f"successPolicy needs 1 to {_MAX_RULES} rules; {stage}"
        yield Diagnostic("SCHEMA005", message, (*path, "successPolicy", "rules"))
    for index, rule in enumerate(rules if isinstance(rules, list) else ()):
        if isinstance(rule, dict):
            yield from _validate_success_rule(rule, spec, (*path, "successPolicy", "rules", index), stage)


def _validate_success_rule(rule: Spec, spec: Spec, path: Path, stage: str) -> Iterator[Diagnostic]:
    """Indexes and counts of a rule of success, compared with the completions."""
    count, text, completions = (
        rule.get("succeededCount"),
        rule.get("succeededIndexes"),
        spec.get("completions"),
    )
    if count is None and text is None:
        yield Diagnostic("SCHEMA003", f"a rule needs succeededIndexes or succeededCount; {stage}", path)
    if not isinstance(completions, int):
        return
    related = (((*path[: path.index("successPolicy")], "completions"), f"{completions} indexes"),)
    indexes = _INDEXES_PATTERN.fullmatch(text) if isinstance(text, str) else None
    if isinstance(text, str) and indexes is None:
        message = f'succeededIndexes "{text}" must be numbers and ranges, such as 0,2-4; {stage}'
        yield Diagnostic("SCHEMA006", message, (*path, "succeededIndexes"))
    elif isinstance(text, str):
        last = max(int(number) for number in re.findall(r"[0-9]+", text))
        if last >= completions:
            message = f"there is no index {last}: the last is {completions - 1}; {stage}"
            yield Diagnostic("SCHEMA005", message, (*path, "succeededIndexes"), related=related)
    number = _count_indexes(text) if indexes is not None and isinstance(text, str) else completions
    if isinstance(count, int) and count > number:
        message = f"succeededCount {count} is above the number of indexes, {number}; {stage}"
        yield Diagnostic("SCHEMA005", message, (*path, "succeededCount"), related=related)


def _count_indexes(text: str) -> int:
    """Count the indexes of a list of numbers and ranges."""
    count = 0
    for part in text.split(","):
        first, _, last = part.partition("-")
        count += int(last or first) - int(first) + 1
    return count


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
