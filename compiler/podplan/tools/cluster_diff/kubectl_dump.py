"""What ``kubectl get … -o yaml`` printed, as the objects of one job."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.errors import RequestError
from podplan.core.provenance import Doc
from podplan.core.typing import Any, NamedTuple
from podplan.yaml import read

Object = dict[str, Any]

COMPARED = ("PodGroup", "ConfigMap", "Service", "Pod", "TensorBoard")
ASKED = "kubectl get pods,services,configmaps,podgroups -o yaml"


class Dump(NamedTuple):
    """The objects of a job; how many others there were, by kind; and the kinds that there are none of."""

    objects: list[Object]
    others: dict[str, int]
    uid: str = ""


def read_dump(content: bytes, file: str) -> list[Object]:
    """The objects of a dump, of a List or of several documents; Secrets are dropped.

    Raises RequestError for what is no dump, and BoundExceeded for one that is too big.
    """
    source = read(content, file)
    if source.faults:
        fault = source.faults[0]
        raise RequestError(f"{file}:{fault.span.line}: {fault.message}")
    found = [one for document in source.documents for one in _objects(document.data)]
    kept = [_whole(one, file) for one in found if one["kind"] in COMPARED]
    if not kept:
        raise RequestError(
            f"{file} holds no Pod, Service, ConfigMap or PodGroup; it is to be what {ASKED} prints"
        )
    return kept


def of_job(objects: list[Object], cr: Doc, file: str) -> Dump:
    """The objects that belong to a job, and its uid as they give it.

    Raises RequestError where they are of two jobs of one name.
    """
    name, namespace = _name(cr.data), cr.data["metadata"].get("namespace")
    ours = [one for one in objects if _belongs(one, cr.data["kind"], name, namespace)]
    uids = {uid for one in ours for uid in _uids(one, cr.data["kind"], name)}
    if len(uids) > 1:
        raise RequestError(
            f"{file} holds objects of {len(uids)} jobs called {name}: {', '.join(sorted(uids))};"
            " keep those of one"
        )
    others: dict[str, int] = {}
    for one in objects:
        if one not in ours:
            others[one["kind"]] = others.get(one["kind"], 0) + 1
    return Dump(ours, others, next(iter(uids), ""))


# What is a list of mappings, of text, or a mapping, wherever it is written in an object.
_MAPPINGS, _TEXTS = (
    ("containers", "initContainers", "volumes", "env", "volumeMounts", "ports"),
    ("command", "args"),
)
_MAPPING = (
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


def _whole(found: Object, file: str) -> Object:
    """An object in the form in which an API server gives it, as far as its parts are looked into."""
    name = f"{found['kind']}/{found['metadata']['name']}"
    if found["kind"] == "Pod" and not (
        isinstance(found.get("spec"), dict) and found["spec"].get("containers")
    ):
        raise RequestError(f"{file}: {name} has no containers; it is to be what {ASKED} prints")
    _demand_form(found, f"{file}: {name}")
    return found


def _demand_form(value: Object, where: str) -> None:
    for key, below in value.items():
        entries = below if isinstance(below, list) else []
        if key in _MAPPINGS:
            wrong = not isinstance(below, list) or not all(isinstance(entry, dict) for entry in entries)
        elif key in _TEXTS:
            wrong = not isinstance(below, list) or not all(isinstance(entry, str) for entry in entries)
        else:
            wrong = key in _MAPPING and not isinstance(below, dict)
        if wrong and below is not None:
            raise RequestError(
                f"{where} has a {key} that no API server gives; it is to be what {ASKED} prints"
            )
        for entry in (below, *entries):
            if isinstance(entry, dict) and key not in ("status", "managedFields"):
                _demand_form(entry, where)


def _objects(data: Any) -> Iterator[Object]:
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
        return
    if data["kind"].endswith("List") and isinstance(data.get("items"), list):
        kind = data["kind"].removesuffix("List")
        for item in data["items"]:
            yield from _objects({"kind": kind, **item} if isinstance(item, dict) else item)
    elif isinstance(data.get("metadata"), dict) and isinstance(data["metadata"].get("name"), str):
        yield data


def _name(cr: Object) -> str:
    return str(cr["metadata"].get("name") or "")


def _belongs(found: Object, kind: str, name: str, namespace: str | None) -> bool:
    """Whether an object is a child of a job: by its owner, else by its labels, else by its name."""
    metadata = found["metadata"]
    if namespace and metadata.get("namespace", namespace) != namespace:
        return False
    owners = _list(metadata.get("ownerReferences"))
    if owners:
        return any(_is_job(owner, kind, name) for owner in owners)
    labels = metadata.get("labels") or {}
    told = labels.get("tensorstack.dev/owner-name") if isinstance(labels, dict) else None
    called = str(metadata["name"])
    return bool(told == name) if told else called == name or called.startswith(f"{name}-")


def _uids(found: Object, kind: str, name: str) -> Iterator[str]:
    for owner in _list(found["metadata"].get("ownerReferences")):
        if _is_job(owner, kind, name) and isinstance(owner.get("uid"), str):
            yield owner["uid"]


def _is_job(owner: Any, kind: str, name: str) -> bool:
    return isinstance(owner, dict) and owner.get("kind") == kind and owner.get("name") == name


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
