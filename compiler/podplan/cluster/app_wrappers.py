"""AppWrappers as Kueue queues them: the Pods of the objects that they wrap.

Source: docs/evidence/kueue.md#appwrapper.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import Cursor
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.spec import PodSet
from podplan.kubernetes.accessors import get_entries, get_mapping
from podplan.kubernetes.names import matches_form

FRAMEWORK = "workload.codeflare.dev/appwrapper"
_GROUP = "workload.codeflare.dev"
_ELASTIC_ANNOTATION = "kueue.x-k8s.io/elastic-job"
_PATH = compile_lazily(r"template(?:\.[^.\[]+|\[[0-9]+\])*")
_STEP = compile_lazily(r"\.([^.\[]+)|\[([0-9]+)\]")
_MAX_POD_SETS = 8
_GENERATED_SUFFIX = "xxxxx"
# Fields of a Pod that its pod set does not have.
_LEFT_OUT = ("runtimeClassName", "resources", "resourceClaims", "priority")
_POD, _JOB = ("v1", "Pod"), ("batch/v1", "Job")
_CONTROLLERS = (("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"))
_JOB_SET, _PYTORCH_JOB = ("jobset.x-k8s.io/v1alpha2", "JobSet"), ("kubeflow.org/v1", "PyTorchJob")
_RAY = {
    ("ray.io/v1", "RayCluster"): "template.spec.",
    ("ray.io/v1", "RayJob"): "template.spec.rayClusterSpec.",
}


class _Counted(NamedTuple):
    """A Pod template of a component by its path, and the numbers whose product is that of its Pods."""

    path: str
    counts: tuple[Cursor, ...] = ()
    most: Cursor | None = None

    def multiply(self) -> int:
        """Return the number of Pods: at most ``most`` of the last number."""
        numbers = [int(one.value_or(1)) for one in self.counts]
        if self.most is not None and self.most.exists:
            numbers[-1] = min(numbers[-1], int(self.most.value))
        product = 1
        for number in numbers:
            product *= number
        return product

    def is_known(self) -> bool:
        """Whether all numbers are numbers."""
        places = (*self.counts, *((self.most,) if self.most is not None else ()))
        return all(one.value is None or _is_count(one.value) for one in places)


class WrappedPods(NamedTuple):
    """The pod sets of an AppWrapper, or why it has none: its controller ``refused`` it with a path and a
    message, or Kueue can make no Workload (``no_workload``), or the numbers are ``unknown``."""

    pod_sets: list[PodSet]
    refused: tuple[Path, str] | None = None
    no_workload: str = ""
    unknown: str = ""


def find_wrapped_pods(wrapper: Cursor) -> WrappedPods:
    """Return the Pods of an AppWrapper."""
    pod_sets: list[PodSet] = []
    name = _find_name(wrapper)
    count = 0
    for component in wrapper.get("spec", "components").entries():
        template = component.get("template")
        inferred = list(_infer(template))
        declared = [
            _Counted(str(one.get("path").value_or("")), (one.get("replicas"),))
            for one in component.get("podSets").entries()
        ]
        if not all(one.is_known() for one in (*inferred, *declared)):
            return WrappedPods([], unknown="the number of replicas is not known")
        count += max(len(declared), len(inferred))
        refused = next(_iter_refusals(wrapper, component, inferred, declared), None)
        if refused is not None:
            return WrappedPods([], refused)
        for one in declared or inferred:
            place = one.counts[-1] if one.counts else template
            pod_template = _find(template, one.path)
            pod_sets.append(PodSet(f"{name}-{len(pod_sets)}", one.multiply(), _reduce(pod_template), place))
    components = wrapper.get("spec", "components").path
    if not 1 <= count <= _MAX_POD_SETS:
        number = f"{count} podspecs; at most {_MAX_POD_SETS} are allowed" if count else "no podspecs"
        return WrappedPods([], (components, f"components contains {number}"))
    longest = pod_sets[-1].name
    if not matches_form("dns-label", longest):
        message = (
            f'there is no Workload: its pod set "{longest}" must be a DNS label of at most 63 characters'
        )
        return WrappedPods(pod_sets, no_workload=message)
    return WrappedPods(pod_sets)


def _find_name(wrapper: Cursor) -> str:
    """Return the name of an AppWrapper, with a stand-in for what the API server generates of it."""
    name, prefix = (wrapper.get("metadata", field).value_or("") for field in ("name", "generateName"))
    return str(name or f"{prefix}{_GENERATED_SUFFIX}").lower()


def iter_refusals(wrapper: Cursor) -> Iterator[tuple[Path, str]]:
    """Yield what the webhook of Kueue refuses in an AppWrapper."""
    elastic = wrapper.get("metadata", "annotations", _ELASTIC_ANNOTATION)
    if elastic.value == "true":
        yield elastic.path, "Forbidden: elastic job is not supported for an AppWrapper"


def _infer(template: Cursor) -> Iterator[_Counted]:
    """Yield the Pod templates of a component whose kind the controller knows."""
    kind = str(template.get("apiVersion").value), str(template.get("kind").value)
    spec = template.get("spec")
    if kind == _POD:
        yield _Counted("template")
    elif kind in _CONTROLLERS and spec.get("template").exists:
        yield _Counted("template.spec.template", (spec.get("replicas"),))
    elif kind == _JOB:
        yield _Counted("template.spec.template", (spec.get("parallelism"),), spec.get("completions"))
    elif kind == _JOB_SET:
        for number, job in enumerate(spec.get("replicatedJobs").entries()):
            inner = job.get("template", "spec")
            if job.get("template").exists:
                path = f"template.spec.replicatedJobs[{number}].template.spec.template"
                counts = job.get("replicas"), inner.get("parallelism")
                yield _Counted(path, counts, inner.get("completions"))
    elif kind == _PYTORCH_JOB:
        for name in ("Master", "Worker"):
            replica = spec.get("pytorchReplicaSpecs", name)
            if replica.get("template").exists:
                yield _Counted(
                    f"template.spec.pytorchReplicaSpecs.{name}.template", (replica.get("replicas"),)
                )
    elif kind in _RAY:
        prefix = _RAY[kind]
        cluster = _find(template, prefix.removesuffix("."))
        yield _Counted(f"{prefix}headGroupSpec.template")
        for number, group in enumerate(cluster.get("workerGroupSpecs").entries()):
            if group.get("template").exists:
                yield _Counted(f"{prefix}workerGroupSpecs[{number}].template", (group.get("replicas"),))


def _iter_refusals(
    wrapper: Cursor, component: Cursor, inferred: list[_Counted], declared: list[_Counted]
) -> Iterator[tuple[Path, str]]:
    """Yield what the webhook of the AppWrapper controller refuses in a component."""
    template = component.get("template")
    api_version, kind = (str(template.get(field).value_or("")) for field in ("apiVersion", "kind"))
    if api_version.startswith(f"{_GROUP}/") and kind == "AppWrapper":
        yield template.path, "Forbidden: Nested AppWrappers are forbidden"
    own, other = (one.get("metadata", "namespace") for one in (wrapper, template))
    if own.exists and other.exists and own.value != other.value:
        yield other.path, "Forbidden: AppWrappers cannot create objects in other namespaces"
    for one in (*declared, *inferred):
        if not isinstance(_find(template, one.path).get("spec").value, dict):
            message = f'Invalid value: "{one.path}": path does not refer to a v1.PodSpecTemplate'
            yield (component.get("podSets").path if declared else template.path), message
    paths = [one.path for one in declared]
    if len(paths) != len(set(paths)):
        yield component.get("podSets").path, "multiple DeclaredPodSets with the same path"
    if not declared or not inferred:
        return
    place = component.get("podSets").path
    if len(declared) != len(inferred):
        yield place, f"DeclaredPodSet count {len(declared)} differs from inferred count {len(inferred)}"
    for one in inferred:
        same = next((other for other in declared if other.path == one.path), None)
        if same is None:
            yield place, f"PodSet with path '{one.path}' is missing"
        elif same.multiply() != one.multiply():
            message = f"replica count {same.multiply()} differs from inferred count {one.multiply()}"
            yield place, f"{message} for PodSet at path position '{one.path}'"


def _find(template: Cursor, path: str) -> Cursor:
    """Return the place at a path such as ``template.spec.tasks[0].template``; one without a value if there
    is nothing."""
    place = template
    if not _PATH.fullmatch(path):
        return Cursor(template.doc, template.path, None)
    for step in _STEP.finditer(path, len("template")):
        place = place.get(step[1] if step[1] is not None else int(step[2]))
    return place


def _reduce(template: Cursor) -> Cursor:
    """Return what the pod set has of a Pod template: sidecars are init containers in it."""
    spec: dict[str, Any] = {
        key: value for key, value in get_mapping(template.value, "spec").items() if key not in _LEFT_OUT
    }
    if isinstance(spec.get("initContainers"), list):
        spec["initContainers"] = [
            {key: value for key, value in one.items() if key != "restartPolicy"}
            for _, one in get_entries(spec, "initContainers")
        ]
    return Cursor(template.doc, template.path, {**template.value, "spec": spec})


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
