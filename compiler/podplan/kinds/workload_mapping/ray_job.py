"""RayJobs: what KubeRay refuses, and how Kueue queues them. Source: docs/evidence/kueue.md#ray."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Diagnostic, Path
from podplan.core.provenance import Cursor
from podplan.core.replica_groups import LoweringOptions
from podplan.core.typing import Any
from podplan.kinds.spec import PodSet, QueueIntegration, References
from podplan.kinds.workload_mapping.known_controllers import KnownController
from podplan.kinds.workload_mapping.ray import (
    HEAD,
    OPERATOR,
    TRAITS,
    add_container,
    iter_cluster_refusals,
    iter_name_problems,
    list_cluster_pod_sets,
    list_cluster_volumes,
)
from podplan.kubernetes.accessors import get_mapping, get_text

_MAX_NAME = 47  # the RayCluster gets six more characters
_SUBMITTER_MODE, _SIDECAR_MODE = "K8sJobMode", "SidecarMode"
_SUBMITTER = {
    "name": "ray-job-submitter",
    "resources": {
        "requests": {"cpu": "500m", "memory": "200Mi"},
        "limits": {"cpu": "1", "memory": "1Gi"},
    },
}


def validate_cr(cr: Mapping[str, Any]) -> list[Diagnostic]:
    """Return what KubeRay refuses in a RayJob."""
    diagnostics = list(iter_name_problems(cr, _MAX_NAME))
    spec = get_mapping(cr, "spec")
    shuts_down, selector = spec.get("shutdownAfterJobFinishes") is True, get_mapping(spec, "clusterSelector")
    seconds = spec.get("ttlSecondsAfterFinished")
    help_text = "write shutdownAfterJobFinishes: true"
    if isinstance(seconds, int) and seconds > 0 and not shuts_down:
        message = f"ttlSecondsAfterFinished without shutdownAfterJobFinishes: true; {OPERATOR}"
        path: Path = ("spec", "ttlSecondsAfterFinished")
        diagnostics.append(Diagnostic("SCHEMA009", message, path, help=help_text))
    if spec.get("suspend") is True and selector:
        message = f"a job with a clusterSelector cannot be suspended; {OPERATOR}"
        diagnostics.append(Diagnostic("SCHEMA009", message, ("spec", "suspend")))
    elif spec.get("suspend") is True and not shuts_down:
        message = f"suspend without shutdownAfterJobFinishes: true; {OPERATOR}"
        diagnostics.append(Diagnostic("SCHEMA009", message, ("spec", "suspend"), help=help_text))
    if not selector and not get_mapping(spec, "rayClusterSpec"):
        message = f"the job needs rayClusterSpec or clusterSelector; {OPERATOR}"
        diagnostics.append(Diagnostic("SCHEMA003", message, ("spec",)))
    if get_text(spec, "submissionMode") == _SIDECAR_MODE and "submitterPodTemplate" in spec:
        message = f"submissionMode: {_SIDECAR_MODE} has no submitterPodTemplate; {OPERATOR}"
        diagnostics.append(Diagnostic("SCHEMA009", message, ("spec", "submitterPodTemplate")))
    return diagnostics


def list_pod_sets(job: Cursor, _references: References, _options: LoweringOptions) -> list[PodSet]:
    """The pod sets of a RayJob: those of its cluster, and the Pod that submits the job."""
    spec = job.get("spec")
    pod_sets = list_cluster_pod_sets(job, spec.get("rayClusterSpec"))
    mode = spec.get("submissionMode").value_or(_SUBMITTER_MODE)
    if mode == _SIDECAR_MODE:
        return [
            one._replace(template=add_container(one.template, _SUBMITTER)) if one.name == HEAD else one
            for one in pod_sets
        ]
    if mode != _SUBMITTER_MODE:
        return pod_sets
    template = spec.get("submitterPodTemplate")
    if not template.exists:
        template = Cursor(job.doc, spec.path, {"spec": {"containers": [_SUBMITTER]}})
    return [*pod_sets, PodSet("submitter", 1, template, spec)]


def validate_for_kueue(job: Cursor) -> Iterator[tuple[Path, str]]:
    """Yield what the webhook of Kueue refuses in a RayJob."""
    spec = job.get("spec")
    cluster, selector = spec.get("rayClusterSpec"), spec.get("clusterSelector")
    if selector.value:
        if cluster.exists:
            yield selector.path, "a kueue managed job should not use an existing cluster"
        return
    if not cluster.exists:
        message = "rayClusterSpec is required for Kueue-managed jobs that don't use clusterSelector"
        yield spec.path, message
        return
    shuts_down = spec.get("shutdownAfterJobFinishes")
    if shuts_down.value is not True:
        message = "a kueue managed job should delete the cluster after finishing"
        yield shuts_down.path, f"shutdownAfterJobFinishes: Invalid value: false: {message}"
    yield from iter_cluster_refusals(job, cluster)


def uses_existing_cluster(job: Cursor) -> bool:
    """Whether a RayJob runs in a cluster that exists, which Kueue leaves alone."""
    spec = job.get("spec")
    return bool(spec.get("clusterSelector").value) and not spec.get("rayClusterSpec").exists


CONTROLLER = KnownController(
    validate_cr,
    TRAITS,
    QueueIntegration(list_pod_sets, validate=validate_for_kueue, is_left_alone=uses_existing_cluster),
    list_added_volumes=lambda cr: list_cluster_volumes(
        get_mapping(get_mapping(cr, "spec"), "rayClusterSpec")
    ),
)
