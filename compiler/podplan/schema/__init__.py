"""Whether a document is what its schema says: custom resources, and podplan's own kinds of files.

There is one schema per kind and dialect in schemas/. Source of the fields: the T9k API reference and
t9k-semantics §1, §3.1, §4.1, §5.1, §5.4, §6.1.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache

from podplan import bundled, kubernetes
from podplan.findings import Path, Problem, moved
from podplan.kubernetes import schemas
from podplan.nearest import did_you_mean, nearest
from podplan.schema.files import KUBERNETES_OBJECT, any_dialect, file, list_of, self_contained
from podplan.typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

    from podplan.schema.wording import Fault

API_VERSION = "batch.tensorstack.dev/v1beta1"

# Each kind with its dialects, and the fields of spec that tell in which dialect a CR is written.
_KINDS: dict[str, dict[str, tuple[str, ...]]] = {
    "GenericJob": {},
    "PyTorchTrainingJob": {},
    "DeepSpeedJob": {},
    "ColossalAIJob": {"replicaSpecs": ("torchConfig", "replicaSpecs"), "launcher": ("launcher", "worker")},
}
_NOT_LOWERED = ("MPIJob", "TensorFlowTrainingJob", "XGBoostTrainingJob", "BeamJob")
_OWN_FILES = ("JobProfile", "ClusterInventory", "Config", "Policy", "PolicyTest", "Findings", "Diff")
_PARTIAL_TEMPLATE = "PodTemplateSpec?partial"
_NAMES = [kind + suffix for kind in (*_KINDS, *_NOT_LOWERED) for suffix in ("", "List")]
_LISTS = {f"{kind}List": kind for kind in _KINDS}
_WALKED_FIRST = 12
_walks: dict[str, int] = {}


class Checked(NamedTuple):
    """The problems of a CR, those that say what it is first, and what they leave of it.

    ``lowerable``: it can still be lowered, since what a lowering reads has legal values; there may be
    fields too many. ``kind`` and ``dialect`` are what it was read as, "" where nothing tells.
    """

    problems: list[Problem]
    lowerable: bool
    kind: str = ""
    dialect: str = ""


def known_but_not_lowered(kind: str) -> bool:
    """Whether ``kind``, or the kind in its List, is one of the group that podplan cannot lower yet."""
    return kind.removesuffix("List") in _NOT_LOWERED


def check_cr(data: Any, k8s_version: str) -> Checked:
    """Check a CR of one of the kinds: its own fields, its status, its metadata and templates.

    ``data`` is plain data as read from the file. Of a List only the envelope is checked; its items are
    CRs of their own. Of a kind that is known but not lowered only apiVersion and kind are checked.
    """
    if not isinstance(data, dict):
        return Checked([Problem("SCHEMA002", "a custom resource must be a mapping")], False)
    kind, misnamed = _kind(data)
    misnamed = _api_version(data) + misnamed
    if not kind or known_but_not_lowered(kind):
        return Checked(misnamed, False, kind)
    dialect, undecided = _dialect(kind, data.get("spec"))
    if undecided:
        unnamed, _ = _check_part("ObjectMeta", data.get("metadata"), ("metadata",), k8s_version)
        return Checked([*misnamed, *undecided, *unnamed], False, kind)
    name = f"{kind}.{dialect}" if dialect else kind
    own, faults = _judged(name, kind, {**data, "apiVersion": API_VERSION, "kind": kind}, drop_nulls=True)
    parts, whole = _check_parts(name, kind, data, k8s_version)
    if dialect == "launcher":
        from podplan.schema.launcher import image_problems

        own += image_problems(data["spec"])
    lowerable = whole and not misnamed and kind in _KINDS and not any(map(_blocks_lowering, faults))
    if own or parts:
        from podplan.schema.placeholders import with_placeholders

        own, parts = with_placeholders(own, data), with_placeholders(parts, data)
    return Checked([*misnamed, *own, *parts], lowerable, kind, dialect)


def check_against(
    name: str, data: Any, codes: Mapping[str, str] | None = None, drop_nulls: bool = False
) -> list[Problem]:
    """Check ``data`` against schemas/``name``.json.

    ``codes`` maps SCHEMA codes to the codes that the caller reports instead. With ``drop_nulls`` a null
    counts as not written, as it does for the API server. Raises FileNotFoundError for an unknown name.
    """
    problems, _ = _judged(name, name, data, drop_nulls)
    return [problem._replace(rule=(codes or {}).get(problem.rule, problem.rule)) for problem in problems]


def names() -> list[str]:
    """What ``show`` can show, sorted."""
    folder = bundled.folder("schemas")
    files = (name for name in _OWN_FILES if os.path.isfile(os.path.join(folder, f"{name}.json")))
    return sorted([*_KINDS, *_LISTS, *files])


def show(name: str, k8s_version: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a kind, of its List or of a kind of podplan's own files.

    It is self-contained. Raises LookupError for a name that is not among ``names()`` and ValueError for
    a version of Kubernetes that podplan has no schemas for.
    """
    if name not in names():
        raise LookupError(f"there is no schema {name}; there are {', '.join(names())}")
    kind = _LISTS.get(name, name)
    dialects = _KINDS.get(kind)
    schema = any_dialect(kind, dialects) if dialects else file(kind)
    if name in _LISTS:
        schema = list_of(kind, schema)
    return self_contained(schema, lambda definition: _definition(definition, k8s_version))


# --- what the document is


def _api_version(data: dict[str, Any]) -> list[Problem]:
    written = data.get("apiVersion")
    if written == API_VERSION:
        return []
    help = f"write apiVersion: {API_VERSION}"
    if not isinstance(written, str):
        return [Problem("SCHEMA003", 'required field "apiVersion" is missing', help=help)]
    message = f'the job kinds are in {API_VERSION}, not in "{written}"'
    return [Problem("SCHEMA010", message, ("apiVersion",), help=help)]


def _kind(data: dict[str, Any]) -> tuple[str, list[Problem]]:
    """The kind that is meant, "" when none is, and what is wrong with the way it is written."""
    written = data.get("kind")
    if written in _NAMES:
        return str(written), []
    known = f"the kinds are: {', '.join((*_KINDS, *_NOT_LOWERED))}"
    if not isinstance(written, str):
        return "", [Problem("SCHEMA003", 'required field "kind" is missing', help=known)]

    from podplan.schema.spelling import old_kind

    meant = old_kind(written) or {kind.lower(): kind for kind in _NAMES}.get(written.lower(), "")
    if meant:
        message = f'kind "{written}" is called "{meant}"; as written, the API server refuses it'
        help = f"write kind: {meant}, or let podplan migrate do it"
        return meant, [Problem("SCHEMA011", message, ("kind",), help=help)]
    message = f'{API_VERSION} has no kind "{written}"{did_you_mean(written, _NAMES)}'
    return "", [Problem("SCHEMA010", message, ("kind",), help=known)]


def _dialect(kind: str, spec: Any) -> tuple[str, list[Problem]]:
    """The dialect that the fields of ``spec`` tell, or the problem that they tell none or two."""
    dialects = _KINDS.get(kind, {})
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


# --- the verdict on its own fields


def _judged(name: str, kind: str, data: Any, drop_nulls: bool) -> tuple[list[Problem], list[Fault]]:
    """The problems under a schema, with the faults that they tell; ``kind`` is whose old spellings count."""
    if _is_valid(name, data):
        return [], []

    from podplan.schema.wording import faults, is_unknown_field, problems

    schema, validator = _schema(name), _validator(name)
    found = faults(validator, schema, data)
    if drop_nulls:
        others = faults(validator, schema, _without_nulls(data))
        unknown = [fault for fault in found if is_unknown_field(fault)]
        found = unknown + [fault for fault in others if not is_unknown_field(fault)]
    return problems(found, schema, kind), found


def _blocks_lowering(fault: Fault) -> bool:
    """Whether a fault keeps a CR from being lowered: a field too many does not, nor does its status."""
    from podplan.schema.wording import is_unknown_field

    return not is_unknown_field(fault) and fault.path[:1] != ("status",)


def _is_valid(name: str, data: Any) -> bool:
    """Whether ``data`` satisfies a schema. The first are walked, which saves loading a validator."""
    walks = _walks[name] = _walks.get(name, 0) + 1
    if walks <= _WALKED_FIRST:
        from podplan.schema.walk import verdict

        if verdict(_schema(name), data):
            return True
    try:
        return _validator(name).is_valid(data)
    except ValueError:
        return False  # it is no JSON, which faults() tells


@cache
def _schema(name: str) -> dict[str, Any]:
    return self_contained(list_of(_LISTS[name]) if name in _LISTS else file(name))


@cache
def _validator(name: str) -> Draft202012Validator:
    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator(_schema(name))


def _without_nulls(value: Any) -> Any:
    """``value`` as the API server sees it: a null in a mapping counts as not written."""
    if isinstance(value, dict):
        return {key: _without_nulls(below) for key, below in value.items() if below is not None}
    return [_without_nulls(entry) for entry in value] if isinstance(value, list) else value


# --- the objects of Kubernetes in it


def _check_parts(name: str, kind: str, data: dict[str, Any], k8s_version: str) -> tuple[list[Problem], bool]:
    """The problems of metadata, templates and the like, and whether these still tell what Pods there are."""
    problems: list[Problem] = []
    whole = True
    for steps, definition in _places(name):
        for path, value, holder in _at(data, steps):
            partial = definition == _PARTIAL_TEMPLATE and holder.get("type") != "worker"
            found, sound = _check_part(definition, value, path, k8s_version, partial)
            problems += found
            whole = whole and sound
    if any(problem.rule == "SCHEMA001" for problem in problems):
        from podplan.schema.wording import with_old_spellings

        problems = with_old_spellings(problems, kind)
    return problems, whole


def _check_part(
    definition: str, value: Any, path: Path, k8s_version: str, partial: bool = False
) -> tuple[list[Problem], bool]:
    """The problems of one object of Kubernetes at ``path``; one that is no mapping was told before."""
    if not isinstance(value, dict):
        return [], True
    if definition in ("PodTemplateSpec", _PARTIAL_TEMPLATE):
        found = kubernetes.check_pod_template(value, k8s_version, partial=partial)
    elif definition == "ObjectMeta":
        found = kubernetes.check_metadata(value, k8s_version)
    else:
        found = kubernetes.check_definition(definition, value, k8s_version)
    # Without these there is no Pod, or no name for it; what is missing further down the Pod can do without.
    sound = not any(
        problem.rule == "SCHEMA002" or (problem.rule == "SCHEMA003" and problem.path in ((), ("spec",)))
        for problem in found
    )
    if definition == "PodTemplateSpec" or (definition == _PARTIAL_TEMPLATE and not partial):
        sound = sound and _written_containers(value)
    return [_below(path, problem) for problem in found], sound


def _written_containers(template: dict[str, Any]) -> bool:
    spec = template.get("spec")
    return isinstance(spec, dict) and spec.get("containers") is not None


def _definition(name: str, k8s_version: str) -> dict[str, Any]:
    """A definition of Kubernetes; of a template that a controller completes, without what must be there."""
    if name != _PARTIAL_TEMPLATE:
        return schemas.definition(name, k8s_version)
    template, spec = (dict(schemas.definition(part, k8s_version)) for part in ("PodTemplateSpec", "PodSpec"))
    spec.pop("required", None)
    template.pop("required", None)
    return {**template, "properties": {**template["properties"], "spec": spec}}


def _below(path: Path, problem: Problem) -> Problem:
    return moved(problem, lambda at: (*path, *at))


@cache
def _places(name: str) -> tuple[tuple[tuple[str, ...], str], ...]:
    """Where objects of Kubernetes are in a document (the steps, "*" for any), and what each is."""
    schema = _schema(name)

    def walk(node: Any, steps: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
        if not isinstance(node, dict):
            return
        if KUBERNETES_OBJECT in node:
            yield steps, node[KUBERNETES_OBJECT]
        if "$ref" in node:
            yield from walk(schema["$defs"][node["$ref"].rpartition("/")[2]], steps)
        for field, below in node.get("properties", {}).items():
            yield from walk(below, (*steps, field))
        for keyword in ("items", "additionalProperties"):
            yield from walk(node.get(keyword), (*steps, "*"))

    return tuple(walk(schema, ()))


def _at(
    value: Any, steps: tuple[str, ...], path: Path = (), holder: Any = None
) -> Iterator[tuple[Path, Any, dict[str, Any]]]:
    """The values at ``steps``, each with its path and the mapping that it is a field of."""
    if not steps:
        yield path, value, holder if isinstance(holder, dict) else {}
        return
    step, *rest = steps
    below: Iterator[tuple[str | int, Any]] = iter(())
    if isinstance(value, list) and step == "*":
        below = iter(enumerate(value))
    elif isinstance(value, dict):
        below = iter(value.items()) if step == "*" else iter([(step, value.get(step))])
    for key, entry in below:
        yield from _at(entry, tuple(rest), (*path, key), value)
