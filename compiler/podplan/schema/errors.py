"""What a JSON Schema validator refuses in a document, without cascades; runs only for what failed."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Path
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple
from podplan.schema.schema_paths import Schema, about_field, node_at

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, ValidationError

NO_JSON = "no JSON"
UNKNOWN = ("additionalProperties", "unevaluatedProperties")


class Fault(NamedTuple):
    """One error of a validator: ``keyword`` refuses ``instance`` at ``path``.

    ``value`` is what the keyword demands, ``around`` the schema that it stands in; ``about`` is what
    the field is for.
    """

    keyword: str
    value: Any
    instance: Any
    path: Path
    around: Schema
    about: str = ""


def faults(validator: Draft202012Validator, schema: Schema, data: Any) -> list[Fault]:
    """What ``validator``, made from ``schema``, refuses in ``data``: without cascades, shallow faults first.

    Of alternatives the one that was meant is kept; a value of the wrong type has no further faults, and
    fields that may not stand together are one fault.
    """
    try:
        found = [fault for error in validator.iter_errors(data) for fault in _meant(error, schema)]
    except ValueError:
        return [Fault(NO_JSON, None, None, (), {})]
    mistyped = {fault.path for fault in found if fault.keyword == "type"}
    kept: list[Fault] = []
    together: dict[Path, list[str]] = {}
    for fault in sorted(found, key=lambda fault: len(fault.path)):
        if fault.keyword == "not" and fault.path in together:
            together[fault.path] += (name for name in _excluded(fault) if name not in together[fault.path])
        elif fault.keyword == "type" or fault.path not in mistyped:
            if fault.keyword == "not":
                together[fault.path] = _excluded(fault)
                fault = fault._replace(value=together[fault.path])
            kept.append(fault)
    return kept


def is_unknown_field(fault: Fault) -> bool:
    """Whether the fault is only that a field is there that the schema does not have."""
    return fault.keyword in UNKNOWN


def _meant(error: ValidationError, schema: Schema) -> Iterator[Fault]:
    """The faults of an error; of alternatives, those of the one that comes closest."""
    path = tuple(error.instance_path)
    branches = [list(branch) for branch in getattr(error.kind, "context", ())]
    if not branches or not all(branches):
        yield _fault(error, getattr(error.kind, "value", None), schema)
        return
    fitting = [branch for branch in branches if not _refusing("type", branch, path)] or branches
    for shared in ("type", "required"):
        refusals = [_refusing(shared, branch, path) for branch in fitting]
        alone = shared == "type" or all(len(branch) == 1 for branch in fitting)
        if alone and all(refusals):
            wanted = [value for refusal in refusals for value in as_list(refusal[0].kind.value)]
            yield _fault(refusals[0][0], wanted, schema)
            return
    best = min(fitting, key=lambda branch: (sum(leaf.kind.name == "const" for leaf in branch), len(branch)))
    for leaf in best:
        yield from _meant(leaf, schema)


def _fault(error: ValidationError, value: Any, schema: Schema) -> Fault:
    around = node_at(schema, tuple(error.schema_path)[:-1])
    about = about_field(schema, tuple(error.evaluation_path))
    return Fault(error.kind.name, value, error.instance, tuple(error.instance_path), around, about)


def _refusing(keyword: str, branch: list[ValidationError], path: Path) -> list[ValidationError]:
    """The errors of a branch in which ``keyword`` refuses the value at ``path`` itself."""
    return [leaf for leaf in branch if leaf.kind.name == keyword and tuple(leaf.instance_path) == path]


def _excluded(fault: Fault) -> list[str]:
    """The fields that ``not: {required: […]}`` does not want together."""
    return list(fault.value.get("required", ()))


def as_list(value: Any) -> list[Any]:
    """What a keyword demands as a list: some take one name as well as several."""
    return value if isinstance(value, list) else [value]
