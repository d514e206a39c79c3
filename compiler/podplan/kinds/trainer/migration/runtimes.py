"""Which runtime of the repository fits a job, by what the job needs and a TrainJob cannot state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from podplan.core.provenance import TracedDocument
from podplan.core.structural_diff import is_same_data
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.trainer.job_set_template import ANCESTOR_LABEL, NODE, TRAINER_STEP

CLUSTER_KIND, NAMESPACED_KIND = RUNTIME_KINDS = ("ClusterTrainingRuntime", "TrainingRuntime")
SUPPORT_LABEL = "trainer.kubeflow.org/support"
MAX_REASONS = 3  # runtimes whose reasons are listed

# What a TrainJob states itself, so that the runtime need not have it.
CONTAINER_PATCHES = ("env", "volumeMounts", "securityContext")
POD_PATCHES = (
    "serviceAccountName",
    "nodeSelector",
    "affinity",
    "tolerations",
    "volumes",
    "schedulingGates",
    "imagePullSecrets",
    "terminationGracePeriodSeconds",
    "securityContext",
)
TRAINER_FIELDS = ("name", "image", "command", "args", "resources", "ports")


class Needs(NamedTuple):
    """What a runtime must state for a job: fields of the Job, of the Pod, and of the container node.

    ``containers`` and ``init_containers`` are those beside it. ``trainer`` is what the TrainJob states of the
    container: command, args and resources. ``pod_group`` is the podGroupPolicy, ``annotations`` are those of
    the JobSet.
    """

    job: Mapping[str, Any]
    pod: Mapping[str, Any]
    container: Mapping[str, Any]
    containers: Sequence[Any]
    init_containers: Sequence[Any]
    trainer: Mapping[str, Any]
    pod_group: Mapping[str, Any]


class FittingRuntime(NamedTuple):
    """A runtime that fits; or none, and why others do not, by name."""

    doc: TracedDocument | None
    reasons: Mapping[str, str]


def find_runtime(needs: Needs, namespace: str, documents: Sequence[TracedDocument]) -> FittingRuntime:
    """Return the runtime that fits and adds least; of equal ones the first by kind and name."""
    reasons: dict[str, str] = {}
    fitting: list[tuple[int, bool, str, TracedDocument]] = []
    for doc in documents:
        metadata = doc.data.get("metadata") or {}
        own_namespace = str(metadata.get("namespace") or "")
        kind, name = doc.data["kind"], str(metadata.get("name") or "")
        if kind == NAMESPACED_KIND and own_namespace and namespace and own_namespace != namespace:
            continue
        reason = next(_iter_obstacles(needs, doc.data), "")
        if reason:
            reasons.setdefault(name, reason)
        else:
            fitting.append((_count_extras(doc.data), kind != CLUSTER_KIND, name, doc))
    best = min(fitting, key=lambda one: one[:3], default=None)
    return FittingRuntime(best[-1] if best is not None else None, reasons)


def find_node_pod(runtime: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]] | None:
    """Return the Job spec, the Pod spec and the container node of a runtime with one job that trains."""
    template = _get(runtime, "spec", "template", "spec")
    jobs = template.get("replicatedJobs")
    if not isinstance(jobs, list) or len(jobs) != 1:
        return None
    if _get(jobs[0], "template", "metadata", "labels").get(ANCESTOR_LABEL) != TRAINER_STEP:
        return None
    pod = _get(jobs[0], "template", "spec", "template", "spec")
    for container in pod.get("containers") or ():
        if isinstance(container, dict) and container.get("name") == NODE:
            return _get(jobs[0], "template", "spec"), pod, container
    return None


def _iter_obstacles(needs: Needs, runtime: Mapping[str, Any]) -> Iterator[str]:
    """Yield why a runtime does not fit, the most telling reason first."""
    if "torch" not in _get(runtime, "spec", "mlPolicy"):
        yield "is not for torch"
        return
    if _get(runtime, "metadata", "labels").get(SUPPORT_LABEL) == "deprecated":
        yield "is deprecated"
    found = find_node_pod(runtime)
    if found is None:
        yield f"has not one job with the container {NODE}"
        return
    if _get(runtime, "spec", "template", "spec", "network").get("subdomain"):
        yield "has a subdomain, which PET_MASTER_ADDR does not name"
    job, pod, container = found
    yield from _compare(
        "", {"restartPolicy": "OnFailure", **needs.pod}, {"restartPolicy": "OnFailure", **pod}
    )
    yield from _compare("", needs.job, job, only_needed=True)
    yield from _compare(f"the container {NODE} with ", needs.container, container)
    for what, wanted, listed in (
        ("the container", needs.containers, [one for one in pod["containers"] if one is not container]),
        ("the init container", needs.init_containers, pod.get("initContainers") or []),
    ):
        present = {one.get("name"): one for one in listed if isinstance(one, dict)}
        for one in wanted:
            if not is_same_data(present.pop(one.get("name"), None), one):
                yield f"lacks {what} {one.get('name')}"
        for name in present:
            yield f"adds {what} {name}"
    for field in ("command", "args"):
        if container.get(field) and not needs.trainer.get(field):
            yield f"has {field} of its own"
    for section in ("limits", "requests"):
        own = _get(container, "resources", section)
        for name in own:
            if name not in _get(needs.trainer, "resources", section):
                yield f"adds {name} to the resources"
    if not is_same_data(dict(needs.pod_group), _get(runtime, "spec", "podGroupPolicy")):
        yield "lacks the podGroupPolicy" if needs.pod_group else "has a podGroupPolicy"


def _compare(
    what: str, needed: Mapping[str, Any], present: Mapping[str, Any], *, only_needed: bool = False
) -> Iterator[str]:
    """Yield the fields that the job needs otherwise, and those that only the runtime has."""
    for field, value in needed.items():
        if not is_same_data(present.get(field), value):
            yield f"lacks {what}{field}" + (f": {value}" if isinstance(value, str | int | bool) else "")
    if only_needed:
        return
    patched = CONTAINER_PATCHES if what else POD_PATCHES
    others = TRAINER_FIELDS if what else ("containers", "initContainers")
    for field in present:
        if field not in needed and field not in patched and field not in others:
            yield f"adds {what}{field}"


def _count_extras(runtime: Mapping[str, Any]) -> int:
    """How much a runtime states that can be patched and that the job does not ask for."""
    found = find_node_pod(runtime)
    assert found is not None, "a runtime that fits has the container"
    _, pod, container = found
    return sum(field in pod for field in POD_PATCHES) + sum(
        len(container.get(field) or ()) for field in CONTAINER_PATCHES
    )


def describe_reasons(reasons: Mapping[str, str]) -> str:
    """Return why no runtime fits, of a few."""
    listed = [f"{name} {reason}" for name, reason in list(reasons.items())[:MAX_REASONS]]
    more = len(reasons) - len(listed)
    return "; ".join(listed) + (f"; and {more} more" if more > 0 else "")


def _get(value: Any, *keys: str) -> dict[str, Any]:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}
