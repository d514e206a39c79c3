"""What settings could be, going by the real objects: each way to look at them yields ids with values.

A proposal costs little, and is taken only when lowering with it leaves less to differ (``adopting``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from podplan.core.findings import Path
from podplan.core.provenance import Fact, origin_of, root
from podplan.core.typing import Any
from podplan.kinds.lowering_options import of_status, settings
from podplan.kinds.t9k.job import job as job_of
from podplan.tools.cluster_diff import options_from_commands, options_from_files
from podplan.tools.cluster_diff.differences import ABSENT, Difference
from podplan.tools.cluster_diff.name_patterns import for_all
from podplan.tools.cluster_diff.observed_job import Compared, words_of

Proposals = Iterator[tuple[str, Any]]
_TRAINING = {
    "PyTorchTrainingJob": ("pytorch.training-container",),
    "DeepSpeedJob": ("deepspeed.training-container",),
    "ColossalAIJob": ("colossalai.training-container", "colossalai.launcher-container"),
}
_CHILDREN = {
    "Pod": "pod",
    "Service": "service",
    "ConfigMap": "config-map",
    "PodGroup": "podgroup",
    "TensorBoard": "tensorboard",
}


def names(found: Compared) -> Proposals:
    """How children are called: their digits, and the form of their names."""
    job = job_of(root(found.cr), found.options)
    for pair in found.pairs("Pod"):
        digits = re.match(rf"{re.escape(job.name)}-([0-9a-f]+)-", pair.real["metadata"]["name"])
        if job.uid.value:
            yield "name.base-suffix", len(digits[1]) if digits else 0
    called: dict[str, list[tuple[str, dict[str, str]]]] = {}
    for difference in found.differences:
        if difference.path == ("metadata", "name") and difference.predicted_in and difference.real_in:
            id_ = _naming(difference)
            known = words_of(found, difference.predicted_in, difference.real_in)
            called.setdefault(id_, []).append((difference.real, {**known, "name": "", "pod": ""}))
    for id_, seen in called.items():
        if id_ and (form := for_all(seen, settings()[id_].words)) is not None:
            yield id_, form
    for extra in found.matched.extra:
        if extra["kind"] == "Service":
            form = for_all(
                [(extra["metadata"]["name"], {"base": job.base, "job": job.name})], ("base", "job")
            )
            yield "service.job-name", form


def _naming(difference: Difference) -> str:
    predicted = difference.predicted_in
    assert predicted is not None
    if difference.kind == "Pod" and predicted.group.doc.varies.get(("metadata", "name")) is None:
        return "colossalai.launcher"
    if difference.kind == "Service" and not predicted.group.role:
        return "service.job-name"
    return {
        "Pod": "pod.name",
        "Service": "service.name",
        "ConfigMap": "ssh.config-map",
        "PodGroup": "podgroup.name",
    }.get(difference.kind, "")


def by_origin(found: Compared) -> Proposals:
    """Of a value that stands there because of a setting: what really stands there."""
    seen: dict[str, list[tuple[Any, dict[str, str]]]] = {}
    for difference in found.differences:
        predicted, real = difference.predicted_in, difference.real_in
        if predicted is None or real is None or difference.real is ABSENT:
            continue
        origin, rest = origin_of(predicted.group.doc, difference.path)
        if origin.fact is None or origin.fact.id not in settings():
            continue
        fact = found.fact(origin.fact.id)
        value = difference.real
        if rest and not isinstance(fact.value, str | int):
            above = difference.path[: -len(rest)], difference.real_path[: -len(rest)]
            value = _at(real, above[1])
        seen.setdefault(fact.id, []).append((value, words_of(found, predicted, real)))
    for id_, values in seen.items():
        yield from _as_setting(found.fact(id_), values)


def _as_setting(fact: Fact, seen: list[tuple[Any, dict[str, str]]]) -> Proposals:
    """Values seen at several replicas, in the form of a setting."""
    first = seen[0][0]
    if fact.words and isinstance(fact.value, str):
        form = for_all(seen, fact.words)
        if form is not None:
            yield fact.id, form
    elif fact.words and isinstance(fact.value, dict) and isinstance(first, dict):
        forms = {
            key: for_all([(value[key], known) for value, known in seen if key in value], fact.words)
            for key in first
        }
        if None not in forms.values():
            yield fact.id, forms
    elif isinstance(fact.value, bool) or (fact.words and isinstance(fact.value, list)):
        return
    elif isinstance(fact.value, int):
        if re.fullmatch(r"-?[0-9]{1,10}", str(first)):
            yield fact.id, int(first)
    elif type(first) is type(fact.value):
        yield fact.id, first


def choices(found: Compared) -> Proposals:
    """Of what has few values, each other one."""
    for fact in settings().values():
        if fact.id in of_status():
            continue
        now = found.fact(fact.id).value
        if isinstance(fact.value, bool):
            yield fact.id, not now
        for choice in fact.choices:
            if choice != now:
                yield fact.id, choice


def containers(found: Compared) -> Proposals:
    """Another container as the one that trains."""
    called = {
        entry["name"]: None
        for pair in found.pairs("Pod")
        for entry in pair.real["spec"].get("containers", [])
        if isinstance(entry, dict) and isinstance(entry.get("name"), str)
    }
    for id_ in _TRAINING.get(found.kind, ()):
        yield from ((id_, name) for name in called)


def metadata(found: Compared) -> Proposals:
    """Labels and annotations: each key by itself, with what it is now told for the others."""
    for kind, child in _CHILDREN.items():
        for part in ("labels", "annotations"):
            if f"{child}.{part}" not in settings():
                continue
            keys = {
                str(difference.path[2]): None
                for difference in found.differences
                if difference.kind == kind
                and difference.path[:2] == ("metadata", part)
                and len(difference.path) == 3
            }
            whole = [d for d in found.differences if d.kind == kind and d.path == ("metadata", part)]
            keys |= {
                key: None
                for d in whole
                for side in (d.predicted, d.real)
                if side is not ABSENT
                for key in side
            }
            for key in keys:
                yield from _key(found, kind, part, key, f"{child}.{part}")


def _key(found: Compared, kind: str, part: str, key: str, id_: str) -> Proposals:
    fact = found.fact(id_)
    seen = [
        (value, _of_label(words_of(found, pair.predicted, pair.real)))
        for pair in found.pairs(kind)
        if (value := (pair.real["metadata"].get(part) or {}).get(key)) is not None
    ]
    if not seen:
        yield id_, {**fact.value, key: False}
    elif (form := for_all(seen, fact.words)) is not None:
        yield id_, {**fact.value, key: form}


def _of_label(known: dict[str, str]) -> dict[str, str]:
    """The words for a label, which is after the job rather than after the names of children."""
    return known if known["base"] != known["job"] else {**known, "base": ""}


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


# In this order: what names things comes first, and again after what changes which things there are, because
# other parts repeat the names.
PROPOSERS: tuple[Callable[[Compared], Proposals], ...] = (
    names,
    by_origin,
    choices,
    names,
    by_origin,
    options_from_files.hosts,
    containers,
    options_from_files.files,
    options_from_commands.commands,
    options_from_commands.variables,
    metadata,
)
