"""Params of a profile that nothing reads, and values of params without effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, value_at
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_mapping
from podplan.lint.analysis.profile_files import (
    ALL_PARAMS,
    find_contributing_documents,
    find_own_document,
    find_read_params,
)
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation


@check()
def unused_param(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A declared param that no expression reads; value ``name``."""
    own_document = find_own_document(target.doc)
    declared_params = get_mapping(get_mapping(own_document.data, "spec"), "params")
    if not declared_params:
        return
    read_names: set[str] = set()
    for doc in find_contributing_documents(target.doc):
        read_names |= (
            find_read_params(doc) if doc.source is not None and isinstance(doc.data, dict) else set()
        )
    for name in declared_params:
        if ALL_PARAMS not in read_names and name not in read_names:
            path = ("spec", "params", name)
            yield Violation(
                path, {"name": name}, at_key=True, doc=own_document, change=("remove", path, None)
            )


@check()
def value_equals_default(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A value of an environment that equals the default of its param; values ``name``, ``environment``."""
    own_document = find_own_document(target.doc)
    params = get_mapping(get_mapping(own_document.data, "spec"), "params")
    for path, environment, name, value in _iter_environment_values(own_document):
        declared_param = get_mapping(params, name)
        if (
            "default" in declared_param
            and _is_equal(declared_param["default"], value)
            and not _uncovers_base_value(target, path, value)
        ):
            default = (own_document, ("spec", "params", name, "default"), "the default")
            values = {"name": name, "environment": environment}
            yield Violation(
                path, values, [default], doc=own_document, change=("remove", path, None), safe=True
            )


def _uncovers_base_value(target: Target, path: Path, value: Any) -> bool:
    """Whether a base has another value at the same path, which takes effect without this one."""
    other_values = (
        value_at(doc.data, path) for doc in find_contributing_documents(target.doc) if doc.source is not None
    )
    return any(other is not None and not _is_equal(other, value) for other in other_values)


@check()
def value_shadowed(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A value of an environment for a param that the matrix sets in every instance; as above."""
    own_document = find_own_document(target.doc)
    spec = get_mapping(own_document.data, "spec")
    axes = get_mapping(get_mapping(spec, "matrix"), "axes")
    for path, environment, name, _value in _iter_environment_values(own_document):
        if name in axes and "matrix" not in get_mapping(get_mapping(spec, "environments"), environment):
            axis = (own_document, ("spec", "matrix", "axes", name), "this axis sets it in every instance")
            yield Violation(path, {"name": name, "environment": environment}, [axis], doc=own_document)


def _iter_environment_values(own_document: TracedDocument) -> Iterator[tuple[Path, str, str, Any]]:
    """Yield the params that environments set: path, environment, param and value."""
    environments = get_mapping(get_mapping(own_document.data, "spec"), "environments")
    for environment, overlay in environments.items():
        for name, value in get_mapping(overlay, "values").items():
            yield ("spec", "environments", environment, "values", name), environment, name, value


def _is_equal(left: Any, right: Any) -> bool:
    """Whether two values are equal and of one type: 1 and true are not."""
    return type(left) is type(right) and bool(left == right)
