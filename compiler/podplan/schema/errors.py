"""The errors of a JSON Schema validator in a document, without consequential ones; used only for invalid
documents."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Path
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple
from podplan.schema.schema_paths import Schema, describe_field, find_node

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, ValidationError

NOT_JSON = "no JSON"
UNKNOWN_FIELD_KEYWORDS = ("additionalProperties", "unevaluatedProperties")


class SchemaError(NamedTuple):
    """One error of a validator: ``keyword`` rejects ``instance`` at ``path``.

    ``expected`` is the value of the keyword, ``parent_schema`` the schema that contains it; ``description``
    is that of the field.
    """

    keyword: str
    expected: Any
    instance: Any
    path: Path
    parent_schema: Schema
    description: str = ""


def collect_errors(validator: Draft202012Validator, schema: Schema, data: Any) -> list[SchemaError]:
    """Return the errors of ``validator``, built from ``schema``, in ``data``: shallow ones first.

    Of alternatives the intended one is selected; a value of the wrong type has no further errors, and fields
    that exclude each other are one error.
    """
    try:
        raw_errors = [
            fault for error in validator.iter_errors(data) for fault in _iter_relevant_errors(error, schema)
        ]
    except ValueError:
        return [SchemaError(NOT_JSON, None, None, (), {})]
    mistyped_paths = {fault.path for fault in raw_errors if fault.keyword == "type"}
    schema_errors: list[SchemaError] = []
    exclusive_fields: dict[Path, list[str]] = {}
    for schema_error in sorted(raw_errors, key=lambda fault: len(fault.path)):
        if schema_error.keyword == "not" and schema_error.path in exclusive_fields:
            exclusive_fields[schema_error.path] += (
                name
                for name in _find_exclusive_fields(schema_error)
                if name not in exclusive_fields[schema_error.path]
            )
        elif schema_error.keyword == "type" or schema_error.path not in mistyped_paths:
            if schema_error.keyword == "not":
                exclusive_fields[schema_error.path] = _find_exclusive_fields(schema_error)
                schema_error = schema_error._replace(expected=exclusive_fields[schema_error.path])
            schema_errors.append(schema_error)
    return schema_errors


def is_unknown_field(schema_error: SchemaError) -> bool:
    """Whether the error is only an unknown field."""
    return schema_error.keyword in UNKNOWN_FIELD_KEYWORDS


def _iter_relevant_errors(error: ValidationError, schema: Schema) -> Iterator[SchemaError]:
    """Yield the errors of a validation error; of alternatives, those of the closest one."""
    path = tuple(error.instance_path)
    branches = [list(branch) for branch in getattr(error.kind, "context", ())]
    if not branches or not all(branches):
        yield _build_error(error, getattr(error.kind, "value", None), schema)
        return
    fitting_branches = [branch for branch in branches if not _select_errors("type", branch, path)] or branches
    for shared in ("type", "required"):
        refusals = [_select_errors(shared, branch, path) for branch in fitting_branches]
        is_only_error = shared == "type" or all(len(branch) == 1 for branch in fitting_branches)
        if is_only_error and all(refusals):
            expected = [value for refusal in refusals for value in to_list(refusal[0].kind.value)]
            yield _build_error(refusals[0][0], expected, schema)
            return
    best_branch = min(
        fitting_branches, key=lambda branch: (sum(leaf.kind.name == "const" for leaf in branch), len(branch))
    )
    for leaf in best_branch:
        yield from _iter_relevant_errors(leaf, schema)


def _build_error(error: ValidationError, expected: Any, schema: Schema) -> SchemaError:
    parent_schema = find_node(schema, tuple(error.schema_path)[:-1])
    description = describe_field(schema, tuple(error.evaluation_path))
    return SchemaError(
        error.kind.name, expected, error.instance, tuple(error.instance_path), parent_schema, description
    )


def _select_errors(keyword: str, branch: list[ValidationError], path: Path) -> list[ValidationError]:
    """Return the errors of a branch in which ``keyword`` rejects the value at ``path`` itself."""
    return [leaf for leaf in branch if leaf.kind.name == keyword and tuple(leaf.instance_path) == path]


def _find_exclusive_fields(schema_error: SchemaError) -> list[str]:
    """Return the fields that ``not: {required: […]}`` makes exclusive."""
    return list(schema_error.expected.get("required", ()))


def to_list(value: Any) -> list[Any]:
    """Return the value of a keyword as a list: some take one name or several."""
    return value if isinstance(value, list) else [value]
