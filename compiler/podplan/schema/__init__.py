"""Whether a document is what its schema says: custom resources, and podplan's own kinds of files.

There is one schema per kind and dialect in schemas/. Source of the fields: the T9k API reference and
docs/evidence/t9k-common.md, docs/evidence/t9k-genericjob.md#fields,
docs/evidence/t9k-pytorchtrainingjob.md#fields, docs/evidence/t9k-deepspeedjob.md#fields,
docs/evidence/t9k-colossalaijob.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from podplan import kubernetes
from podplan.core.findings import Path, Problem, moved
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple
from podplan.kinds.registry import family_of
from podplan.schema.bundling import KUBERNETES_OBJECT, PARTIAL_TEMPLATE, file, list_of, self_contained
from podplan.schema.identity import (
    LISTS,
    api_version,
    dialect_of,
    has_schema,
    kind_of,
)

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

    from podplan.schema.errors import Fault

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


def check_cr(data: Any, k8s_version: str) -> Checked:
    """Check a CR of one of the kinds: its own fields, its status, its metadata and templates.

    ``data`` is plain data as read from the file. Of a List only the envelope is checked; its items are
    CRs of their own. Of a kind without a schema here only apiVersion and kind are checked.
    """
    if not isinstance(data, dict):
        return Checked([Problem("SCHEMA002", "a custom resource must be a mapping")], False)
    kind, misnamed = kind_of(data)
    misnamed = api_version(data) + misnamed
    if not has_schema(kind):
        return Checked(misnamed, False, kind)
    dialect, undecided = dialect_of(kind, data.get("spec"))
    if undecided:
        unnamed, _ = _check_part("ObjectMeta", data.get("metadata"), ("metadata",), k8s_version)
        return Checked([*misnamed, *undecided, *unnamed], False, kind)
    name = f"{kind}.{dialect}" if dialect else kind
    named = {**data, "apiVersion": family_of(data).api_version, "kind": kind}
    own, faults = _judged(name, kind, named, drop_nulls=True)
    parts, whole = _check_parts(name, kind, data, k8s_version)
    if dialect == "launcher":
        from podplan.schema.colossalai_launcher import image_problems

        own += image_problems(data["spec"])
    lowerable = whole and not misnamed and kind not in LISTS and not any(map(_blocks_lowering, faults))
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


# --- the verdict on its own fields


def _judged(name: str, kind: str, data: Any, drop_nulls: bool) -> tuple[list[Problem], list[Fault]]:
    """The problems under a schema, with the faults that they tell; ``kind`` is whose old spellings count."""
    if _is_valid(name, data):
        return [], []

    from podplan.kubernetes.nulls import without_null_fields
    from podplan.schema.errors import faults, is_unknown_field
    from podplan.schema.messages import problems

    schema, validator = _schema(name), _validator(name)
    found = faults(validator, schema, data)
    if drop_nulls:
        others = faults(validator, schema, without_null_fields(data))
        unknown = [fault for fault in found if is_unknown_field(fault)]
        found = unknown + [fault for fault in others if not is_unknown_field(fault)]
    return problems(found, schema, kind), found


def _blocks_lowering(fault: Fault) -> bool:
    """Whether a fault keeps a CR from being lowered: a field too many does not, nor does its status."""
    from podplan.schema.errors import is_unknown_field

    return not is_unknown_field(fault) and fault.path[:1] != ("status",)


def _is_valid(name: str, data: Any) -> bool:
    """Whether ``data`` satisfies a schema. The first are walked, which saves loading a validator."""
    walks = _walks[name] = _walks.get(name, 0) + 1
    if walks <= _WALKED_FIRST:
        from podplan.schema.walker import verdict

        if verdict(_schema(name), data):
            return True
    try:
        return _validator(name).is_valid(data)
    except ValueError:
        return False  # it is no JSON, which faults() tells


@cache
def _schema(name: str) -> dict[str, Any]:
    return self_contained(list_of(LISTS[name]) if name in LISTS else file(name))


@cache
def _validator(name: str) -> Draft202012Validator:
    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator(_schema(name))


# --- the objects of Kubernetes in it


def _check_parts(name: str, kind: str, data: dict[str, Any], k8s_version: str) -> tuple[list[Problem], bool]:
    """The problems of metadata, templates and the like, and whether these still tell what Pods there are."""
    problems: list[Problem] = []
    whole = True
    for steps, definition in _places(name):
        for path, value, holder in _at(data, steps):
            partial = definition == PARTIAL_TEMPLATE and holder.get("type") != "worker"
            found, sound = _check_part(definition, value, path, k8s_version, partial)
            problems += found
            whole = whole and sound
    if any(problem.rule == "SCHEMA001" for problem in problems):
        from podplan.schema.messages import with_old_spellings

        problems = with_old_spellings(problems, kind)
    return problems, whole


def _check_part(
    definition: str, value: Any, path: Path, k8s_version: str, partial: bool = False
) -> tuple[list[Problem], bool]:
    """The problems of one object of Kubernetes at ``path``; one that is no mapping was told before."""
    if not isinstance(value, dict):
        return [], True
    if definition in ("PodTemplateSpec", PARTIAL_TEMPLATE):
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
    if definition == "PodTemplateSpec" or (definition == PARTIAL_TEMPLATE and not partial):
        sound = sound and _written_containers(value)
    return [_below(path, problem) for problem in found], sound


def _written_containers(template: dict[str, Any]) -> bool:
    spec = template.get("spec")
    return isinstance(spec, dict) and spec.get("containers") is not None


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
