"""What the MPI Operator refuses of a job, beside what a schema can state.

There is no webhook: the API server admits the job, then the operator validates it, writes an Event and leaves
it at that. Source: docs/evidence/mpi-operator.md#refusals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Diagnostic, Path
from podplan.core.suggestions import suggest_name
from podplan.core.typing import Any
from podplan.kinds.common.structural_template import validate_template
from podplan.kinds.mpi_operator.mpi_job.constants import KIND
from podplan.kinds.mpi_operator.names import OWN_MANAGER
from podplan.kubernetes import names

_STAGE = "the MPI Operator refuses the job after it was created: it writes an Event and creates no Pods"
_CLEAN_UPS = ("None", "Running", "All")
_COUNTS = ("ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit")
_SPECS_PATH: Path = ("spec", KIND.specs_field)
_IGNORED_FIELD_RULE = "SCHEMA012"


def validate_job(_dialect: str, cr: Mapping[str, Any]) -> list[Diagnostic]:
    """The problems of a CR."""
    spec = cr.get("spec")
    if not isinstance(spec, dict):
        return []
    specs = spec.get(KIND.specs_field)
    entries: dict[str, Mapping[str, Any]] = {
        key: one for key, one in (specs.items() if isinstance(specs, dict) else ()) if isinstance(one, dict)
    }
    diagnostics: list[Diagnostic] = []
    for key, entry in entries.items():
        diagnostics += validate_template(entry.get("template"), (*_SPECS_PATH, key, "template"))
    policy = spec.get("runPolicy")
    policy = policy if isinstance(policy, dict) else {}
    if policy.get("managedBy") not in (None, OWN_MANAGER):
        return diagnostics  # the operator does not even validate the job
    diagnostics += _validate_name(cr.get("metadata"), entries.get("Worker"))
    if isinstance(specs, dict):
        diagnostics += _validate_types(entries)
    for type_ in KIND.types:
        if type_ in entries:
            diagnostics += _validate_entry(type_, entries[type_])
    diagnostics += _require_count(spec, "slotsPerWorker", ("spec",))
    for field in _COUNTS:
        diagnostics += _require_count(policy, field, ("spec", "runPolicy"))
    diagnostics += _require_choice(policy, "cleanPodPolicy", _CLEAN_UPS, ("spec", "runPolicy"))
    return diagnostics


def _validate_name(metadata: Any, workers: Mapping[str, Any] | None) -> Iterator[Diagnostic]:
    """The name of the last worker, which is its host name."""
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not names.matches_form("dns-subdomain", name):
        return  # the API server refuses it already
    replicas = workers.get("replicas") if workers is not None else None
    last = replicas - 1 if isinstance(replicas, int) and replicas > 0 else 0
    host = f"{name}-worker-{last}"
    if not names.matches_form("dns-1035-label", host):
        mismatch = names.explain_mismatch("dns-1035-label", host)
        message = f"the last worker would be called {host}, which {mismatch}; {_STAGE}"
        yield Diagnostic("SCHEMA006", message, ("metadata", "name"))


def _validate_types(entries: Mapping[str, Any]) -> Iterator[Diagnostic]:
    known = " and ".join(KIND.types)
    for key in entries:
        if key not in KIND.types:
            near = suggest_name(key, list(KIND.types)) or KIND.normalize_type(key)
            message = f'the MPI Operator ignores the replica type "{key}"; it knows {known}'
            help = f"write {near}" if near in KIND.types else ""
            yield Diagnostic(_IGNORED_FIELD_RULE, message, (*_SPECS_PATH, key), on_key=True, help=help)
    for name in KIND.required_types:
        if name not in entries:
            message = f"an MPIJob needs the replica type {name}; {_STAGE}"
            yield Diagnostic("SCHEMA003", message, _SPECS_PATH, on_key=True)


def _validate_entry(type_: str, entry: Mapping[str, Any]) -> Iterator[Diagnostic]:
    path: Path = (*_SPECS_PATH, type_)
    replicas = entry.get("replicas")
    is_number = isinstance(replicas, int) and not isinstance(replicas, bool)
    if type_ in KIND.single_types:
        if is_number and replicas != 1:
            message = f"{type_} must have 1 replica, not {replicas}; {_STAGE}"
            yield Diagnostic("SCHEMA005", message, (*path, "replicas"), help="write replicas: 1")
    elif replicas is None:
        message = f"{type_} must state replicas, which are 0 by default; {_STAGE}"
        yield Diagnostic("SCHEMA003", message, path, on_key=True, help="write replicas: 1 or more")
    elif is_number and replicas < 1:
        message = f"{type_} must have at least 1 replica, not {replicas}; {_STAGE}"
        help = f"write replicas: 1 or more, or remove {type_}"
        yield Diagnostic("SCHEMA005", message, (*path, "replicas"), help=help)
    yield from _require_choice(entry, "restartPolicy", KIND.restart_policies, path)
    template = entry.get("template")
    spec = template.get("spec") if isinstance(template, dict) else None
    if template is None or (isinstance(template, dict) and spec is None):
        yield Diagnostic(
            "SCHEMA003", f"{type_} needs a template with a container; {_STAGE}", path, on_key=True
        )


def _require_count(owner: Mapping[str, Any], field: str, path: Path) -> Iterator[Diagnostic]:
    value = owner.get(field)
    if isinstance(value, int) and not isinstance(value, bool) and value < 0:
        yield Diagnostic("SCHEMA005", f"{field} must not be negative; {_STAGE}", (*path, field))


def _require_choice(
    owner: Mapping[str, Any], field: str, choices: tuple[str, ...], path: Path
) -> Iterator[Diagnostic]:
    value = owner.get(field)
    if isinstance(value, str) and value and value not in choices:
        message = f'{field} must be {" or ".join(choices)}, not "{value}"; {_STAGE}'
        yield Diagnostic("SCHEMA004", message, (*path, field))
