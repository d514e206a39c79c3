"""Values of overlays, and entries of ``override``, that change nothing or that a field could say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from podplan.core.findings import Path, value_at
from podplan.core.provenance import Doc, Place, trace
from podplan.core.typing import Any
from podplan.kubernetes.accessors import entries, mapping
from podplan.lint.analysis.profile_files import documents, leaves
from podplan.lint.target import Hit, Subject

# What of the spec of a CR a field of the profile says; the longest beginning of a path counts.
FIELDS: dict[Path, str] = {
    ("scheduler",): "schedule",
    ("runPolicy", "activeDeadlineSeconds"): "deadline",
    ("runPolicy", "backoffLimit"): "retries",
    ("runPolicy", "cleanUpPolicy"): "cleanUp",
    ("runPolicy", "cleanUpWorkers"): "cleanUp",
    ("cleanUpPolicy",): "cleanUp",
    ("runMode",): "mode",
    ("elastic",): "elastic",
    ("tensorboardSpec",): "tensorboard",
    ("torchrunConfig",): "torchrun",
    ("torchrunConfig", "enabled"): "launcher",
    ("torchrunConfig", "procPerNode"): "processes",
    ("config", "slotsPerWorker"): "processes",
    ("config", "run"): "run",
    ("config",): "deepspeed",
    ("disableCustomEnv",): "deepspeed",
    ("torchConfig", "procPerWorker"): "processes",
    ("torchConfig", "script"): "run",
    ("torchConfig", "extraArgs"): "colossalai",
    ("ssh",): "colossalai",
    ("worker", "replicas"): "replicas",
    ("worker", "procPerWorker"): "processes",
    ("worker", "command"): "run",
    ("worker", "torchArgs"): "colossalai",
    ("worker", "restartPolicy"): "restart",
    ("worker", "template"): "pod",
    ("launcher",): "roles",
    ("successRules",): "generic",
    ("failureRules",): "generic",
    ("service",): "generic",
}


def equals_inherited(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A value that is the same as the one that it replaces; value ``field``."""
    for doc in documents(subject.doc):
        for over, base in _equal(doc):
            related = [(base.doc, base.path, "the same stands here already")]
            field = ".".join(str(step) for step in over.path if step != "spec")
            change = ("remove", over.path, None)
            yield Hit(over.path, {"field": field}, related, doc=over.doc, change=change, safe=True)


@lru_cache(maxsize=8)
def _equal(doc: Doc) -> tuple[tuple[Place, Place], ...]:
    """The places of a merged document that replaced an equal value, each with the place that lost."""
    found = []
    for path, origin in doc.origins.items():
        if origin.how != "copied" or not origin.overrides or _is_merge_key(path):
            continue
        over, base = origin.places[0], origin.overrides[0]
        one, other = value_at(over.doc.data, over.path), value_at(base.doc.data, base.path)
        written = trace(over.doc, over.path)[-1].doc.source is not None
        repeats = one is not None and type(one) is type(other) and one == other
        if repeats and written and not _uncovers(over, one):
            found.append((over, base))
    return tuple(found)


def _uncovers(over: Place, value: Any) -> bool:
    """Whether another value comes to light without the one at ``over``, as that of a base's environment."""
    lost = (
        place
        for step in trace(over.doc, over.path)
        if step.origin is not None
        for place in step.origin.overrides
    )
    return any(value_at(place.doc.data, place.path) != value for place in lost)


def _is_merge_key(path: Path) -> bool:
    """Whether a path is that of the name by which an entry of a list is merged."""
    return len(path) > 1 and path[-1] == "name" and isinstance(path[-2], int)


def override_changes_nothing(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """An entry of ``override`` after which the CR is what it was before; value ``what``."""
    cr = subject.job.cr
    if cr is None:
        return
    for number, entry in entries(mapping(subject.doc.data, "spec"), "override"):
        if not mapping(entry, "spec"):
            yield Hit(
                ("spec", "override", number), {"what": "this override has an empty spec, and changes nothing"}
            )
    for path, origin in cr.origins.items():
        place = origin.places[0] if origin.places else None
        if place is None or not origin.overrides or place.path[:2] != ("spec", "override"):
            continue
        before = value_at(origin.overrides[0].doc.data, origin.overrides[0].path)
        value = value_at(cr.data, path)
        if not isinstance(value, dict) and str(before) == str(value):
            what = f"{'.'.join(map(str, path[1:]))} is {value} without this override too"
            loser = origin.overrides[0]
            yield Hit(place.path, {"what": what}, [(loser.doc, loser.path, "it comes from here")])


def override_for_field(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """An override of what a field of the profile says; values ``path`` and ``field``."""
    for number, entry in entries(mapping(subject.doc.data, "spec"), "override"):
        said: set[str] = set()
        for path, _value in leaves(entry.get("spec")):
            field = next((FIELDS[path[:n]] for n in range(len(path), 0, -1) if path[:n] in FIELDS), "")
            if field and field not in said:
                said.add(field)
                where: Path = ("spec", "override", number, "spec", *path)
                yield Hit(where, {"path": ".".join(map(str, path)), "field": field}, on_key=True)
