"""What the API server, the webhook of JobSet and its controller refuse, beside what a schema can state.

Source: docs/evidence/jobset.md#refusals-of-a-jobset.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Diagnostic, Path, value_at
from podplan.core.typing import Any
from podplan.kinds.batch.validation import is_manager
from podplan.kinds.common.structural_template import validate_template
from podplan.kinds.jobset.exclusive_placement import NODE_SELECTOR_ANNOTATION, TOPOLOGY_ANNOTATION
from podplan.kubernetes import names
from podplan.kubernetes.accessors import get_entries, get_text, get_texts

Spec = Mapping[str, Any]

WEBHOOK = "the webhook of JobSet refuses it"
_API_SERVER = "the API server refuses it"
_RANDOM_SUFFIX = "-abcde"  # as long as what the API server adds to the name of a Pod
_GATED_ACTIONS = {"RestartJob": "RestartJob", "RestartJobAndIgnoreMaxRestarts": "RestartJob"}
_GATED_STRATEGY = "InPlaceRestart"
_REASONS = frozenset(
    (
        "PodFailurePolicy",
        "BackoffLimitExceeded",
        "DeadlineExceeded",
        "MaxFailedIndexesExceeded",
        "FailedIndexes",
    )
)
_MAX_PODS = 2**31 - 1


def validate_job_set(_dialect: str, cr: Mapping[str, Any]) -> list[Diagnostic]:
    """The problems of a JobSet."""
    metadata, spec = cr.get("metadata"), cr.get("spec")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(spec, dict):
        return []
    diagnostics = list(validate_job_set_spec(spec, ("spec",)))
    diagnostics += _validate_placement(metadata, spec)
    if isinstance(name, str):
        diagnostics += validate_names(name, spec, ("spec",), ("metadata", "name"))
    return diagnostics


def validate_job_set_spec(spec: Spec, path: Path) -> Iterator[Diagnostic]:
    """The problems of the spec of a JobSet at ``path``, but for names that are too long."""
    jobs = list(_iter_jobs(spec, path))
    yield from _validate_order(spec, jobs, path)
    seen: dict[str, Path] = {}
    for job, job_path in jobs:
        name = job.get("name")
        if isinstance(name, str) and name in seen:
            message = f'replicatedJobs has "{name}" twice; {_API_SERVER}'
            related = ((seen[name], "the first"),)
            yield Diagnostic("SCHEMA007", message, (*job_path, "name"), related=related)
        elif isinstance(name, str):
            seen[name] = (*job_path, "name")
        yield from _validate_label(job, "groupName", job_path)
        yield from _validate_size(job, job_path)
        template_path = ("template", "spec", "template")
        yield from validate_template(value_at(job, template_path), (*job_path, *template_path))
    network = spec.get("network")
    if isinstance(network, dict):
        yield from _validate_label(network, "subdomain", (*path, "network"))
    yield from _validate_policies(spec, list(seen), path)
    yield from _validate_coordinator(spec, jobs, path)
    manager = spec.get("managedBy")
    if isinstance(manager, str) and not is_manager(manager):
        message = f'managedBy "{manager}" must be a domain, a slash and a path; {WEBHOOK}'
        yield Diagnostic("SCHEMA006", message, (*path, "managedBy"))
    yield from _validate_claims(spec, jobs, path)


def validate_names(
    name: str, spec: Spec, path: Path, name_path: Path, stage: str = WEBHOOK
) -> Iterator[Diagnostic]:
    """The names of Jobs and Pods that are too long or have the wrong form, at the name of the JobSet."""
    for job, job_path in _iter_jobs(spec, path):
        job_name, replicas = job.get("name"), job.get("replicas")
        replicas = replicas if isinstance(replicas, int) else 1
        if not isinstance(job_name, str):
            continue
        last = f"{name}-{job_name}-{replicas - 1}"
        related = (((*job_path, "name"), "the replicated job"),) if job_path[:1] == name_path[:0] else ()
        if not names.matches_form("dns-1035-label", last):
            mismatch = names.explain_mismatch("dns-1035-label", last)
            message = f"its Job would be called {last}, which {mismatch}; {stage}"
            yield Diagnostic("SCHEMA006", message, name_path, related=related)
            return
        spec_of_job = value_at(job, ("template", "spec"))
        completions = value_at(spec_of_job, ("completions",))
        mode = value_at(spec_of_job, ("completionMode",)) or "Indexed"
        if mode == "Indexed" and isinstance(completions, int):
            pod = f"{last}-{completions - 1}{_RANDOM_SUFFIX}"
            if not names.matches_form("dns-1035-label", pod):
                mismatch = names.explain_mismatch("dns-1035-label", pod)
                message = f"its Pod would be called {pod}, which {mismatch}; {stage}"
                yield Diagnostic("SCHEMA006", message, name_path, related=related)
                return


def _iter_jobs(spec: Spec, path: Path) -> Iterator[tuple[Spec, Path]]:
    for index, job in get_entries(spec, "replicatedJobs"):
        yield job, (*path, "replicatedJobs", index)


def _validate_label(owner: Spec, field: str, path: Path) -> Iterator[Diagnostic]:
    value = owner.get(field)
    if isinstance(value, str) and value and not names.matches_form("dns-1035-label", value):
        mismatch = names.explain_mismatch("dns-1035-label", value)
        yield Diagnostic(
            "SCHEMA006", f"{field} {names.format_value(value)} {mismatch}; {WEBHOOK}", (*path, field)
        )


def _validate_size(job: Spec, path: Path) -> Iterator[Diagnostic]:
    replicas, parallelism = job.get("replicas", 1), value_at(job, ("template", "spec", "parallelism"))
    if isinstance(replicas, int) and isinstance(parallelism, int) and replicas * parallelism > _MAX_PODS:
        message = f"replicas times parallelism must be at most {_MAX_PODS}; {WEBHOOK}"
        yield Diagnostic("SCHEMA005", message, (*path, "replicas"))


def _validate_order(spec: Spec, jobs: list[tuple[Spec, Path]], path: Path) -> Iterator[Diagnostic]:
    in_order = value_at(spec, ("startupPolicy", "startupPolicyOrder")) == "InOrder"
    earlier: list[Any] = []
    for job, job_path in jobs:
        waits = job.get("dependsOn")
        for index, one in enumerate(waits if isinstance(waits, list) else ()):
            wait_path: Path = (*job_path, "dependsOn", index, "name")
            if not earlier:
                message = f"the first replicated job cannot depend on another; {WEBHOOK}"
                yield Diagnostic("SCHEMA009", message, (*job_path, "dependsOn"), on_key=True)
                break
            if value_at(one, ("name",)) not in earlier:
                message = f'"{value_at(one, ("name",))}" is no replicated job before this one; {WEBHOOK}'
                yield Diagnostic("SCHEMA004", message, wait_path)
        if waits is not None and in_order:
            message = f"dependsOn and startupPolicyOrder: InOrder exclude each other; {_API_SERVER}"
            related = (((*path, "startupPolicy"), "the other"),)
            yield Diagnostic("SCHEMA009", message, (*job_path, "dependsOn"), on_key=True, related=related)
        earlier.append(job.get("name"))


def _validate_policies(spec: Spec, job_names: list[str], path: Path) -> Iterator[Diagnostic]:
    yield from _validate_targets(spec.get("successPolicy"), job_names, (*path, "successPolicy"))
    policy, policy_path = spec.get("failurePolicy"), (*path, "failurePolicy")
    if not isinstance(policy, dict):
        return
    if policy.get("restartStrategy") == _GATED_STRATEGY:
        message = f"{_GATED_STRATEGY} needs a feature gate that is off by default; {WEBHOOK} without it"
        yield Diagnostic("SCHEMA004", message, (*policy_path, "restartStrategy"))
    first_paths: dict[str, Path] = {}
    for index, rule in get_entries(policy, "rules"):
        rule_path: Path = (*policy_path, "rules", index)
        name = get_text(rule, "name")
        if name in first_paths:
            message = f'two rules are called "{name}"; {WEBHOOK}'
            related = ((first_paths[name], "the first"),)
            yield Diagnostic("SCHEMA007", message, (*rule_path, "name"), related=related)
        elif name:
            first_paths[name] = (*rule_path, "name")
        yield from _validate_targets(rule, job_names, rule_path)
        if str(rule.get("action")) in _GATED_ACTIONS:
            message = f"{rule['action']} needs a feature gate that is off by default; {WEBHOOK} without it"
            yield Diagnostic("SCHEMA004", message, (*rule_path, "action"))
        for number, reason in get_texts(rule, "onJobFailureReasons"):
            if reason not in _REASONS:
                message = f'"{reason}" is no reason for which a Job fails; {WEBHOOK}'
                help = f"the reasons are {', '.join(sorted(_REASONS))}"
                yield Diagnostic("SCHEMA004", message, (*rule_path, "onJobFailureReasons", number), help=help)


def _validate_targets(owner: Any, job_names: list[str], path: Path) -> Iterator[Diagnostic]:
    for index, name in get_texts(owner, "targetReplicatedJobs"):
        if name not in job_names:
            message = f'there is no replicated job "{name}"; {WEBHOOK}'
            yield Diagnostic("SCHEMA004", message, (*path, "targetReplicatedJobs", index))


def _validate_coordinator(spec: Spec, jobs: list[tuple[Spec, Path]], path: Path) -> Iterator[Diagnostic]:
    coordinator = spec.get("coordinator")
    if not isinstance(coordinator, dict):
        return
    place: Path = (*path, "coordinator")
    job = next((one for one, _ in jobs if one.get("name") == coordinator.get("replicatedJob")), None)
    if job is None:
        message = f'there is no replicated job "{coordinator.get("replicatedJob")}"; {WEBHOOK}'
        yield Diagnostic("SCHEMA004", message, (*place, "replicatedJob"))
        return
    spec_of_job = value_at(job, ("template", "spec"))
    if (value_at(spec_of_job, ("completionMode",)) or "Indexed") != "Indexed":
        message = f"the coordinator must be in a replicated job that is Indexed; {WEBHOOK}"
        number = next(at[-1] for one, at in jobs if one is job)
        mode: Path = (*path, "replicatedJobs", number, "template", "spec", "completionMode")
        related = ((mode, "its mode"),)
        yield Diagnostic("SCHEMA009", message, (*place, "replicatedJob"), related=related)
    for field, count in (
        ("jobIndex", job.get("replicas", 1)),
        ("podIndex", value_at(spec_of_job, ("completions",))),
    ):
        index = coordinator.get(field, 0)
        if isinstance(index, int) and isinstance(count, int) and not 0 <= index < count:
            message = f"{field} must be between 0 and {count - 1}; {WEBHOOK}"
            yield Diagnostic("SCHEMA005", message, (*place, field) if field in coordinator else place)


def _validate_claims(spec: Spec, jobs: list[tuple[Spec, Path]], path: Path) -> Iterator[Diagnostic]:
    mounts = {
        get_text(mount, "name")
        for job, _ in jobs
        for field in ("initContainers", "containers")
        for _, container in get_entries(value_at(job, ("template", "spec", "template", "spec")), field)
        for _, mount in get_entries(container, "volumeMounts")
    }
    for index, policy in get_entries(spec, "volumeClaimPolicies"):
        for number, template in get_entries(policy, "templates"):
            place: Path = (*path, "volumeClaimPolicies", index, "templates", number)
            name = value_at(template, ("metadata", "name"))
            if value_at(template, ("metadata", "namespace")):
                message = f"the template of a claim has no namespace of its own; {_API_SERVER}"
                yield Diagnostic("SCHEMA009", message, (*place, "metadata", "namespace"))
            if isinstance(name, str) and name not in mounts:
                message = f'no container mounts the volume "{name}"; {WEBHOOK}'
                yield Diagnostic("SCHEMA009", message, (*place, "metadata", "name"))


def _validate_placement(metadata: Any, spec: Spec) -> Iterator[Diagnostic]:
    """Pods for which the controller misses the node selector that the webhook does not set."""
    annotations = value_at(metadata, ("annotations",))
    topology = value_at(annotations, (TOPOLOGY_ANNOTATION,))
    if not isinstance(topology, str) or value_at(annotations, (NODE_SELECTOR_ANNOTATION,)) is None:
        return
    for job, _ in _iter_jobs(spec, ("spec",)):
        job_spec = value_at(job, ("template", "spec"))
        count = value_at(job_spec, ("parallelism",))
        selector = value_at(job_spec, ("template", "spec", "nodeSelector", topology))
        if isinstance(count, int) and count > 1 and selector is None:
            path: Path = ("metadata", "annotations", NODE_SELECTOR_ANNOTATION)
            message = (
                f"with this annotation nothing adds {topology} to the nodeSelector of the Pods, and the Pod "
                "controller of JobSet fails without end because it is missing"
            )
            yield Diagnostic("SCHEMA009", message, path, help=f"add {topology} to the nodeSelector")
            return
