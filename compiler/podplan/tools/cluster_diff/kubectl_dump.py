"""Reads the output of ``kubectl get … -o yaml``, and selects the objects of one job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.errors import UsageError
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.registry import find_kind, load_spec
from podplan.yaml import parse_yaml

KubernetesObject = dict[str, Any]

COMPARED_KINDS = ("PodGroup", "ConfigMap", "Service", "Pod", "TensorBoard")
KUBECTL_COMMAND = "kubectl get pods,services,configmaps,podgroups -o yaml"
KUBECTL_WITH_JOBS = KUBECTL_COMMAND.replace("get ", "get JOBS,")


class Dump(NamedTuple):
    """The objects of a job, the number of other objects by kind, and the uid of the job."""

    objects: list[KubernetesObject]
    other_counts: dict[str, int]
    uid: str = ""


class ClusterObjects(NamedTuple):
    """The objects of a dump that are compared, and the owners of each object, by kind, namespace and name."""

    compared: list[KubernetesObject]
    owners: Mapping[tuple[str, str, str], list[Any]]


def read_dump(content: bytes, file: str) -> ClusterObjects:
    """Read the objects of a dump, from a List or several documents; Secrets are dropped.

    Raises UsageError: if it is no dump. Raises LimitExceeded: if it is too big.
    """
    source = parse_yaml(content, file)
    if source.diagnostics:
        fault = source.diagnostics[0]
        raise UsageError(f"{file}:{fault.span.line}: {fault.message}")
    all_objects = [one for document in source.documents for one in _iter_objects(document.data)]
    compared_objects = [
        _require_complete_object(one, file) for one in all_objects if one["kind"] in COMPARED_KINDS
    ]
    if not compared_objects:
        raise UsageError(
            f"{file} holds no Pod, Service, ConfigMap or PodGroup; it is to be what {KUBECTL_COMMAND} prints"
        )
    owners = {
        _identify(one["kind"], one["metadata"], one["metadata"]["name"]): _as_list(
            one["metadata"].get("ownerReferences")
        )
        for one in all_objects
    }
    return ClusterObjects(compared_objects, owners)


def holds_job(content: bytes, file: str) -> bool:
    """Whether a dump has the CR of a job that no other object controls."""
    objects = (
        one for document in parse_yaml(content, file).documents for one in _iter_objects(document.data)
    )
    return any(
        find_kind(one.get("apiVersion"), one["kind"]) is not None
        and not one["metadata"].get("ownerReferences")
        for one in objects
    )


def select_job_objects(objects: ClusterObjects, cr: TracedDocument, file: str) -> Dump:
    """Select the objects that belong to a job, and its uid from their owner references.

    Raises UsageError: if they belong to two jobs with the same name.
    """
    name, namespace = _get_name(cr.data), cr.data["metadata"].get("namespace")
    kind = find_kind(cr.data["apiVersion"], cr.data["kind"])
    owner_label = load_spec(kind).owner_label if kind is not None else ""
    job_objects = [
        one
        for one in objects.compared
        if _belongs_to_job(one, objects.owners, cr.data["kind"], name, namespace, owner_label)
    ]
    uids = {uid for one in job_objects for uid in _iter_owner_uids(one, cr.data["kind"], name)}
    if len(uids) > 1:
        raise UsageError(
            f"{file} holds objects of {len(uids)} jobs called {name}: {', '.join(sorted(uids))};"
            " keep those of one"
        )
    other_counts: dict[str, int] = {}
    for kubernetes_object in objects.compared:
        if kubernetes_object not in job_objects:
            other_counts[kubernetes_object["kind"]] = other_counts.get(kubernetes_object["kind"], 0) + 1
    return Dump(job_objects, other_counts, next(iter(uids), ""))


# Fields that are lists of mappings, lists of strings, or mappings, anywhere in an object.
_MAPPING_LISTS, _TEXT_LISTS = (
    ("containers", "initContainers", "volumes", "env", "volumeMounts", "ports"),
    ("command", "args"),
)
_MAPPING_FIELDS = (
    "spec",
    "metadata",
    "labels",
    "annotations",
    "selector",
    "data",
    "resources",
    "secret",
    "configMap",
)


def _require_complete_object(kubernetes_object: KubernetesObject, file: str) -> KubernetesObject:
    """Require the form of objects from an API server, for the parts that are compared."""
    name = f"{kubernetes_object['kind']}/{kubernetes_object['metadata']['name']}"
    if kubernetes_object["kind"] == "Pod" and not (
        isinstance(kubernetes_object.get("spec"), dict) and kubernetes_object["spec"].get("containers")
    ):
        raise UsageError(f"{file}: {name} has no containers; it is to be what {KUBECTL_COMMAND} prints")
    _require_object_shape(kubernetes_object, f"{file}: {name}")
    return kubernetes_object


def _require_object_shape(value: KubernetesObject, location: str) -> None:
    for key, field_value in value.items():
        entries = field_value if isinstance(field_value, list) else []
        if key in _MAPPING_LISTS:
            is_wrong = not isinstance(field_value, list) or not all(
                isinstance(entry, dict) for entry in entries
            )
        elif key in _TEXT_LISTS:
            is_wrong = not isinstance(field_value, list) or not all(
                isinstance(entry, str) for entry in entries
            )
        else:
            is_wrong = key in _MAPPING_FIELDS and not isinstance(field_value, dict)
        if is_wrong and field_value is not None:
            raise UsageError(
                f"{location} has a {key} that no API server gives; it is to be what {KUBECTL_COMMAND} prints"
            )
        for entry in (field_value, *entries):
            if isinstance(entry, dict) and key not in ("status", "managedFields"):
                _require_object_shape(entry, location)


def _iter_objects(data: Any) -> Iterator[KubernetesObject]:
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
        return
    if data["kind"].endswith("List") and isinstance(data.get("items"), list):
        kind = data["kind"].removesuffix("List")
        for item in data["items"]:
            yield from _iter_objects({"kind": kind, **item} if isinstance(item, dict) else item)
    elif isinstance(data.get("metadata"), dict) and isinstance(data["metadata"].get("name"), str):
        yield data


def _get_name(cr: KubernetesObject) -> str:
    return str(cr["metadata"].get("name") or "")


def _belongs_to_job(
    kubernetes_object: KubernetesObject,
    owners_by_object: Mapping[tuple[str, str, str], list[Any]],
    kind: str,
    name: str,
    namespace: str | None,
    owner_label: str,
) -> bool:
    """Whether an object is a child of a job: by its owners and theirs, else by its labels, else by its
    name."""
    metadata = kubernetes_object["metadata"]
    if namespace and metadata.get("namespace", namespace) != namespace:
        return False
    owners = list(_iter_owners(metadata, owners_by_object))
    if owners:
        return any(_is_owning_job(owner, kind, name) for owner in owners)
    labels = metadata.get("labels") or {}
    owner_name = labels.get(owner_label) if isinstance(labels, dict) else None
    object_name = str(metadata["name"])
    return (
        bool(owner_name == name) if owner_name else object_name == name or object_name.startswith(f"{name}-")
    )


def _iter_owners(
    metadata: Mapping[str, Any], owners_by_object: Mapping[tuple[str, str, str], list[Any]]
) -> Iterator[Mapping[str, Any]]:
    """Yield the owners of an object and, as far as they are in the dump, the owners of these."""
    waiting = _as_list(metadata.get("ownerReferences"))
    seen: set[tuple[str, str, str]] = set()
    while waiting:
        owner, *waiting = waiting
        if not isinstance(owner, dict):
            continue
        yield owner
        key = _identify(owner.get("kind"), metadata, owner.get("name"))
        if key not in seen:
            seen.add(key)
            waiting = [*waiting, *owners_by_object.get(key, ())]


def _identify(kind: object, metadata: Mapping[str, Any], name: object) -> tuple[str, str, str]:
    return str(kind), str(metadata.get("namespace") or ""), str(name)


def _iter_owner_uids(kubernetes_object: KubernetesObject, kind: str, name: str) -> Iterator[str]:
    for owner in _as_list(kubernetes_object["metadata"].get("ownerReferences")):
        if _is_owning_job(owner, kind, name) and isinstance(owner.get("uid"), str):
            yield owner["uid"]


def _is_owning_job(owner: Any, kind: str, name: str) -> bool:
    return isinstance(owner, dict) and owner.get("kind") == kind and owner.get("name") == name


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
