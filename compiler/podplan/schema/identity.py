"""What a custom resource says that it is: its kind, and the dialect of a kind that has several.

Source of kinds and dialects: the T9k API reference and docs/evidence/t9k-common.md#kinds-and-short-names,
docs/evidence/t9k-colossalaijob.md#dialects.
"""

from __future__ import annotations

from podplan.findings import Problem
from podplan.nearest import did_you_mean, nearest
from podplan.reading.documents import UNCHECKED_KINDS
from podplan.typing import Any

API_VERSION = "batch.tensorstack.dev/v1beta1"

# Each kind with its dialects, and the fields of spec that tell in which dialect a CR is written.
KINDS: dict[str, dict[str, tuple[str, ...]]] = {
    "GenericJob": {},
    "PyTorchTrainingJob": {},
    "DeepSpeedJob": {},
    "ColossalAIJob": {"replicaSpecs": ("torchConfig", "replicaSpecs"), "launcher": ("launcher", "worker")},
}
NOT_LOWERED = ("MPIJob", "TensorFlowTrainingJob", "XGBoostTrainingJob", "BeamJob")
_OF_GROUP = (*KINDS, *NOT_LOWERED, *UNCHECKED_KINDS)
_NAMES = [kind + suffix for kind in _OF_GROUP for suffix in ("", "List")]
LISTS = {f"{kind}List": kind for kind in KINDS}


def has_schema(kind: str) -> bool:
    """Whether podplan has a schema of ``kind``, or of the kind in its List."""
    return kind.removesuffix("List") in KINDS


def known_but_not_lowered(kind: str) -> bool:
    """Whether ``kind``, or the kind in its List, is one of the group that podplan cannot lower yet."""
    return kind.removesuffix("List") in NOT_LOWERED


def api_version(data: dict[str, Any]) -> list[Problem]:
    """What is wrong with the apiVersion of a CR."""
    written = data.get("apiVersion")
    if written == API_VERSION:
        return []
    help = f"write apiVersion: {API_VERSION}"
    if not isinstance(written, str):
        return [Problem("SCHEMA003", 'required field "apiVersion" is missing', help=help)]
    message = f'the job kinds are in {API_VERSION}, not in "{written}"'
    return [Problem("SCHEMA010", message, ("apiVersion",), help=help)]


def kind_of(data: dict[str, Any]) -> tuple[str, list[Problem]]:
    """The kind that is meant, "" when none is, and what is wrong with the way it is written."""
    written = data.get("kind")
    if written in _NAMES:
        return str(written), []
    known = f"the kinds are: {', '.join(_OF_GROUP)}"
    if not isinstance(written, str):
        return "", [Problem("SCHEMA003", 'required field "kind" is missing', help=known)]

    from podplan.schema.spelling import old_kind

    old = old_kind(written)
    meant = old or {kind.lower(): kind for kind in _NAMES}.get(written.lower(), "")
    if meant:
        message = f'kind "{written}" is called "{meant}"; as written, the API server refuses it'
        help = f"write kind: {meant}" + (", or let podplan migrate do it" if old else "")
        return meant, [Problem("SCHEMA011", message, ("kind",), help=help)]
    message = f'{API_VERSION} has no kind "{written}"{did_you_mean(written, _NAMES)}'
    return "", [Problem("SCHEMA010", message, ("kind",), help=known)]


def dialect_of(kind: str, spec: Any) -> tuple[str, list[Problem]]:
    """The dialect that the fields of ``spec`` tell, or the problem that they tell none or two."""
    dialects = KINDS.get(kind, {})
    if not dialects or not isinstance(spec, dict):
        return next(iter(dialects), ""), []
    told = {name: written for name, fields in dialects.items() if (written := _written(spec, fields))}
    if len(told) == 1:
        return next(iter(told)), []
    forms = ", or ".join(" and ".join(f'"{field}"' for field in fields) for fields in dialects.values())
    if told:
        order = list(spec)
        first, second = sorted(told.values(), key=lambda fields: order.index(fields[0]))
        message = f'"{second[0]}" and "{first[0]}" belong to two forms of {kind} that exclude each other'
        related = tuple((("spec", field), f'"{field}" is of the other form') for field in first)
        return "", [Problem("SCHEMA009", message, ("spec", second[0]), True, f"write {forms}", related)]
    misspelt = _misspelt_dialect(kind, dialects, spec)
    if misspelt:
        return misspelt, []
    return "", [Problem("SCHEMA003", f"spec of a {kind} needs {forms}", ("spec",))]


def _written(spec: dict[str, Any], fields: tuple[str, ...]) -> list[str]:
    return [field for field in spec if field in fields and spec[field] is not None]


def _misspelt_dialect(kind: str, dialects: dict[str, tuple[str, ...]], spec: dict[str, Any]) -> str:
    """The dialect that has a field of which some field of ``spec`` is an old spelling or a slip."""
    from podplan.schema.spelling import old_field

    for name, fields in dialects.items():
        for key in spec:
            old = old_field(kind, ("spec", key))
            if (old.now if old else nearest(key, list(fields))) in fields:
                return name
    return ""
