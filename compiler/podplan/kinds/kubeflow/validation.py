"""Refusals of a job by the API server, the webhook and the operator that a schema cannot state.

Source: docs/evidence/training-operator.md#refusals. A message names who refuses: the webhook
when the job is applied, or the operator afterwards, which reports it in an Event and tries again without end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Diagnostic, Path
from podplan.core.suggestions import suggest_name
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.common.structural_template import validate_template
from podplan.kinds.kubeflow.training_kind import MANAGERS, TrainingKind
from podplan.kubernetes import names

_WEBHOOK = "the webhook of the training operator refuses the job"
_OPERATOR = "the training operator refuses the job when it takes it up, and tries again without end"
_LOOP = "the training operator would create and delete the Pod without end"
_CRASH = "the training operator panics"
_BOUNDS = ("minReplicas", "maxReplicas")


class _ReplicaTypeEntry(NamedTuple):
    """A replica type of a CR: the type in the operator's spelling, its path and its spec."""

    type: str
    path: Path
    data: Mapping[str, Any]


def validate_job(kind: TrainingKind, cr: Mapping[str, Any]) -> list[Diagnostic]:
    """Return the diagnostics of a CR."""
    spec = cr.get("spec")
    if not isinstance(spec, dict):
        return []
    specs = spec.get(kind.specs_field)
    entries = [
        _ReplicaTypeEntry(
            kind.normalize_type(key) if kind.has_open_types else key, ("spec", kind.specs_field, key), one
        )
        for key, one in (specs.items() if isinstance(specs, dict) else ())
        if isinstance(key, str) and isinstance(one, dict)
    ]
    diagnostics = [*_validate_name(kind, cr.get("metadata")), *_validate_types(kind, spec, entries)]
    leading_type = kind.find_leading_type([entry.type for entry in entries])
    for entry in entries:
        diagnostics += _validate_entry(kind, entry, entry.type == leading_type)
        diagnostics += validate_template(entry.data.get("template"), (*entry.path, "template"))
    diagnostics += _validate_manager(kind, spec)
    diagnostics += _validate_elastic_policy(kind, spec, entries)
    return diagnostics


def _refusal(kind: TrainingKind) -> str:
    return _WEBHOOK if kind.has_webhook else _OPERATOR


def _with_article(name: str) -> str:
    """Return the name of a kind with its article: an MPIJob, a TFJob."""
    return f"{'an' if name[0] in 'MX' else 'a'} {name}"


def _validate_name(kind: TrainingKind, metadata: Any) -> Iterator[Diagnostic]:
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not kind.has_webhook or not isinstance(name, str) or names.matches_form("dns-1035-label", name):
        return
    if not names.matches_form("dns-subdomain", name):
        return  # the API server refuses it already
    reason = names.explain_mismatch("dns-1035-label", name)
    yield Diagnostic("SCHEMA006", f"name {reason}; {_WEBHOOK}", ("metadata", "name"))


def _validate_types(
    kind: TrainingKind, spec: Mapping[str, Any], entries: list[_ReplicaTypeEntry]
) -> Iterator[Diagnostic]:
    present = {entry.type: entry for entry in entries}
    specs_path = ("spec", kind.specs_field)
    for entry in entries:
        if entry.type not in kind.types and not kind.has_open_types:
            written = entry.path[-1]
            near = suggest_name(str(written), list(kind.types)) or kind.normalize_type(str(written))
            hint = f"; write {near}" if near in kind.types else ""
            known = " or ".join(kind.types)
            subject = _with_article(kind.name)
            message = f'{subject} has no replica type "{written}", only {known}{hint}; {_refusal(kind)}'
            yield Diagnostic("SCHEMA004", message, entry.path, on_key=True)
    if isinstance(spec.get(kind.specs_field), dict):
        for name in kind.required_types:
            if name not in present:
                message = f"{_with_article(kind.name)} needs the replica type {name}; {_refusal(kind)}"
                yield Diagnostic("SCHEMA003", message, specs_path, on_key=True)
    exclusive = [present[name] for name in kind.exclusive_types if name in present]
    for entry in exclusive[1:]:
        message = f"{exclusive[0].type} and {entry.type} may not stand together; {_WEBHOOK}"
        related = ((exclusive[0].path, f"{exclusive[0].type} is here"),)
        yield Diagnostic("SCHEMA009", message, entry.path, on_key=True, related=related)


def _validate_entry(kind: TrainingKind, entry: _ReplicaTypeEntry, is_leading: bool) -> Iterator[Diagnostic]:
    yield from _validate_replicas(kind, entry, is_leading)
    yield from _validate_restart_policy(kind, entry)
    template = entry.data.get("template")
    spec = template.get("spec") if isinstance(template, dict) else None
    containers = spec.get("containers") if isinstance(spec, dict) else None
    if not isinstance(containers, list) or not containers:
        return
    path = (*entry.path, "template", "spec", "containers")
    written = [one.get("name") for one in containers if isinstance(one, dict)]
    if kind.container and kind.container not in written:
        message = f'no container of {entry.type} is called "{kind.container}", as one must be; {_WEBHOOK}'
        help = f"write name: {kind.container}"
        single_path = (*path, 0, "name") if len(written) == 1 and written[0] else path
        yield Diagnostic("SCHEMA004", message, single_path, on_key=single_path == path, help=help)


def _validate_restart_policy(kind: TrainingKind, entry: _ReplicaTypeEntry) -> Iterator[Diagnostic]:
    """Report a policy of the operator in another case; the API server reports other values in the Pod."""
    policy = entry.data.get("restartPolicy")
    if not isinstance(policy, str) or policy in kind.restart_policies or policy.lower() != "exitcode":
        return
    message = f'restartPolicy "{policy}" is passed on to the Pods, and the API server refuses them'
    yield Diagnostic(
        "SCHEMA004", message, (*entry.path, "restartPolicy"), help="write ExitCode, which the operator knows"
    )


def _validate_replicas(
    kind: TrainingKind, entry: _ReplicaTypeEntry, is_leading: bool
) -> Iterator[Diagnostic]:
    replicas, path = entry.data.get("replicas"), (*entry.path, "replicas")
    if replicas is None:
        if entry.type in kind.written_single_types:
            message = f"{entry.type} must state replicas: 1, in spite of the default; {_WEBHOOK}"
            yield Diagnostic("SCHEMA003", message, entry.path, on_key=True, help="write replicas: 1")
        return
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        return
    if entry.type in kind.single_types and replicas != 1:
        message = f"{entry.type} must have 1 replica, not {replicas}; {_refusal(kind)}"
        yield Diagnostic("SCHEMA005", message, path, help="write replicas: 1")
    elif replicas < 1 and entry.type in kind.counted_types:
        message = f"{entry.type} must have at least 1 replica, not {replicas}; {_WEBHOOK}"
        yield Diagnostic("SCHEMA005", message, path)
    elif replicas < 0 and kind.panics_below_zero:
        yield Diagnostic("SCHEMA005", f"replicas may not be negative: {_CRASH} each time", path)
    elif kind.container and (replicas < 0 or (replicas == 0 and not is_leading)):
        message = f"{entry.type} must have at least 1 replica, not {replicas}: {_LOOP}"
        help = f"remove {entry.type}, or write replicas: 1 or more"
        yield Diagnostic("SCHEMA005", message, path, help=help)


def _validate_manager(kind: TrainingKind, spec: Mapping[str, Any]) -> Iterator[Diagnostic]:
    policy = spec.get("runPolicy")
    manager = policy.get("managedBy") if isinstance(policy, dict) else None
    if kind.has_webhook and kind.has_manager and isinstance(manager, str) and manager not in MANAGERS:
        message = f'managedBy may be {" or ".join(MANAGERS)}, not "{manager}"; {_WEBHOOK}'
        yield Diagnostic("SCHEMA004", message, ("spec", "runPolicy", "managedBy"))


def _validate_elastic_policy(
    kind: TrainingKind, spec: Mapping[str, Any], entries: list[_ReplicaTypeEntry]
) -> Iterator[Diagnostic]:
    policy, path = spec.get("elasticPolicy"), ("spec", "elasticPolicy")
    if not kind.has_elastic_policy or not isinstance(policy, dict):
        return
    # With its own minimum the operator does not read the number of workers.
    needs_worker = not kind.panics_without_worker or all(policy.get(name) is None for name in _BOUNDS)
    if needs_worker and not any(entry.type == "Worker" for entry in entries):
        effect = (
            _CRASH + ", and with it every job of the cluster stops"
            if kind.panics_without_worker
            else _WEBHOOK
        )
        yield Diagnostic(
            "SCHEMA009", f"elasticPolicy needs the replica type Worker: {effect}", path, on_key=True
        )
    if policy.get("nProcPerNode") is not None and spec.get("nprocPerNode") is not None:
        message = f"nProcPerNode and spec.nprocPerNode may not stand together; {_WEBHOOK}"
        yield Diagnostic(
            "SCHEMA009",
            message,
            (*path, "nProcPerNode"),
            on_key=True,
            help="remove elasticPolicy.nProcPerNode, which is deprecated",
            related=((("spec", "nprocPerNode"), "nprocPerNode is here"),),
        )
    if policy.get("rdzvConf") == []:
        message = f"rdzvConf may not be empty: {_CRASH} each time; remove it"
        yield Diagnostic("SCHEMA005", message, (*path, "rdzvConf"))
