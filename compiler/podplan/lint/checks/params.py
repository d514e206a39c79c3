"""Params of a profile that nothing reads, and values of them that change nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, value_at
from podplan.core.provenance import Doc
from podplan.core.typing import Any
from podplan.kubernetes.accessors import mapping
from podplan.lint.analysis.profile_files import ALL, documents, own_file, params_read
from podplan.lint.target import Hit, Subject


def unused_param(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A param that the profile declares and no expression reads; value ``name``."""
    own = own_file(subject.doc)
    declared = mapping(mapping(own.data, "spec"), "params")
    if not declared:
        return
    read: set[str] = set()
    for doc in documents(subject.doc):
        read |= params_read(doc) if doc.source is not None and isinstance(doc.data, dict) else set()
    for name in declared:
        if ALL not in read and name not in read:
            where = ("spec", "params", name)
            yield Hit(where, {"name": name}, on_key=True, doc=own, change=("remove", where, None))


def value_equals_default(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A value of an environment that is the default of its param; values ``name``, ``environment``."""
    own = own_file(subject.doc)
    params = mapping(mapping(own.data, "spec"), "params")
    for path, environment, name, value in _values(own):
        declared = mapping(params, name)
        if (
            "default" in declared
            and _same(declared["default"], value)
            and not _uncovers(subject, path, value)
        ):
            default = (own, ("spec", "params", name, "default"), "the default")
            values = {"name": name, "environment": environment}
            yield Hit(path, values, [default], doc=own, change=("remove", path, None), safe=True)


def _uncovers(subject: Subject, path: Path, value: Any) -> bool:
    """Whether a base has another value at the same place, which comes to light without this one."""
    others = (value_at(doc.data, path) for doc in documents(subject.doc) if doc.source is not None)
    return any(other is not None and not _same(other, value) for other in others)


def value_shadowed(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A value of an environment for a param that the matrix sets in every instance; as above."""
    own = own_file(subject.doc)
    spec = mapping(own.data, "spec")
    axes = mapping(mapping(spec, "matrix"), "axes")
    for path, environment, name, _value in _values(own):
        if name in axes and "matrix" not in mapping(mapping(spec, "environments"), environment):
            axis = (own, ("spec", "matrix", "axes", name), "this axis sets it in every instance")
            yield Hit(path, {"name": name, "environment": environment}, [axis], doc=own)


def _values(own: Doc) -> Iterator[tuple[Path, str, str, Any]]:
    """The values that environments give to params: place, environment, param and value."""
    environments = mapping(mapping(own.data, "spec"), "environments")
    for environment, overlay in environments.items():
        for name, value in mapping(overlay, "values").items():
            yield ("spec", "environments", environment, "values", name), environment, name, value


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal and of one type: 1 and true are not."""
    return type(one) is type(other) and bool(one == other)
