"""Values of overlays, and entries of ``override``, that change nothing or that a field could say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from podplan.core.findings import Path, value_at
from podplan.core.provenance import DocumentPath, TracedDocument, trace_to_source
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping
from podplan.lint.analysis.profile_files import find_contributing_documents, iter_leaves
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

# The field of the profile for each path of a CR's spec; the longest matching prefix counts.
PROFILE_FIELDS: dict[Path, str] = {
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
    ("runtimeRef",): "runtime",
    ("trainer", "image"): "image",
    ("trainer", "numNodes"): "replicas",
    ("activeDeadlineSeconds",): "deadline",
    ("backoffLimit",): "retries",
    ("suspend",): "mode",
}


@check()
def equals_inherited(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A value that equals the one that it replaces; value ``field``."""
    for doc in find_contributing_documents(target.doc):
        for overlay_place, inherited_place in _find_equal_values(doc):
            related = [(inherited_place.doc, inherited_place.path, "the same value is already set here")]
            field = ".".join(str(step) for step in overlay_place.path if step != "spec")
            change = ("remove", overlay_place.path, None)
            yield Violation(
                overlay_place.path, {"field": field}, related, doc=overlay_place.doc, change=change, safe=True
            )


@lru_cache(maxsize=8)
def _find_equal_values(doc: TracedDocument) -> tuple[tuple[DocumentPath, DocumentPath], ...]:
    """Return the paths of a merged document that replaced an equal value, with the replaced path."""
    pairs = []
    for path, origin in doc.origins.items():
        if origin.derivation != "copied" or not origin.overridden or _is_merge_key(path):
            continue
        overlay_place, inherited_place = origin.sources[0], origin.overridden[0]
        value, inherited_value = (
            value_at(overlay_place.doc.data, overlay_place.path),
            value_at(inherited_place.doc.data, inherited_place.path),
        )
        is_written = trace_to_source(overlay_place.doc, overlay_place.path)[-1].doc.source is not None
        is_equal = value is not None and type(value) is type(inherited_value) and value == inherited_value
        if is_equal and is_written and not _uncovers_other_value(overlay_place, value):
            pairs.append((overlay_place, inherited_place))
    return tuple(pairs)


def _uncovers_other_value(overlay_place: DocumentPath, value: Any) -> bool:
    """Whether without the value at ``overlay_place`` another value takes effect, such as a base's."""
    losing_places = (
        place
        for step in trace_to_source(overlay_place.doc, overlay_place.path)
        if step.origin is not None
        for place in step.origin.overridden
    )
    return any(value_at(place.doc.data, place.path) != value for place in losing_places)


def _is_merge_key(path: Path) -> bool:
    """Whether a path is the merge key of a list entry."""
    return len(path) > 1 and path[-1] == "name" and isinstance(path[-2], int)


@check(aliases=("override-changes-nothing",))
def override_without_effect(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """An entry of ``override`` that does not change the CR; value ``what``."""
    cr = target.job.cr
    if cr is None:
        return
    for number, entry in get_entries(get_mapping(target.doc.data, "spec"), "override"):
        if not get_mapping(entry, "spec"):
            yield Violation(
                ("spec", "override", number), {"what": "the override has an empty spec and has no effect"}
            )
    for path, origin in cr.origins.items():
        override_place = origin.sources[0] if origin.sources else None
        if override_place is None or not origin.overridden or override_place.path[:2] != ("spec", "override"):
            continue
        previous = value_at(origin.overridden[0].doc.data, origin.overridden[0].path)
        value = value_at(cr.data, path)
        if not isinstance(value, dict) and str(previous) == str(value):
            message = f"{'.'.join(map(str, path[1:]))} is already {value} without this override"
            losing_place = origin.overridden[0]
            yield Violation(
                override_place.path,
                {"what": message},
                [(losing_place.doc, losing_place.path, "the value comes from here")],
            )


@check()
def override_for_field(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """An override for which the profile has a field; values ``path`` and ``field``."""
    for number, entry in get_entries(get_mapping(target.doc.data, "spec"), "override"):
        reported: set[str] = set()
        for path, _value in iter_leaves(entry.get("spec")):
            field = next(
                (PROFILE_FIELDS[path[:n]] for n in range(len(path), 0, -1) if path[:n] in PROFILE_FIELDS), ""
            )
            if field and field not in reported:
                reported.add(field)
                override_path: Path = ("spec", "override", number, "spec", *path)
                yield Violation(
                    override_path, {"path": ".".join(map(str, path)), "field": field}, at_key=True
                )
