"""Node selectors and required node affinity that no node can satisfy together.

nodeSelector and required node affinity must both hold; the terms of the affinity are alternatives, and the
expressions of a term must all hold
(https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#node-affinity).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes import names
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

_SELECTOR: Path = ("spec", "nodeSelector")
_REQUIRED: Path = ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
_NUMBER = compile_lazily(r"[+-]?\d{1,18}\Z")
_PRESENT = ("In", "Exists", "Gt", "Lt")


class Requirement(NamedTuple):
    """A requirement on a node label or field, and its path in the Pod."""

    key: str
    operator: str
    values: tuple[str, ...]
    path: Path

    @property
    def description(self) -> str:
        if self.path[:2] == _SELECTOR:
            return f"nodeSelector requires {names.format_value(self.values[0])}"
        listed = ", ".join(names.format_value(value) for value in self.values[:3])
        more = f" and {len(self.values) - 3} more" if len(self.values) > 3 else ""
        return f"the required node affinity requires {self.operator} {listed}{more}".rstrip()


class RequirementConflict(NamedTuple):
    """Two requirements that exclude each other."""

    first: Requirement
    second: Requirement


@check(requires=("affinity",))
def contradictory_node_selection(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Requirements on nodes that exclude each other. Values: ``key``, ``first``, ``second``."""
    spec = get_mapping(subject.data, "spec")
    conflicts = []
    for term in _terms(spec):
        conflict = _conflict([*_list_selector_requirements(spec), *term])
        if conflict is None:
            return
        conflicts.append(conflict)
    for first, second in conflicts[:1]:
        values = {"key": second.key, "first": first.description, "second": second.description}
        yield Violation(second.path, values, related=[(subject.doc, first.path, first.description)])


def _list_selector_requirements(spec: Mapping[str, Any]) -> list[Requirement]:
    selector = get_mapping(spec, "nodeSelector")
    return [
        Requirement(key, "In", (value,), (*_SELECTOR, key))
        for key, value in selector.items()
        if isinstance(key, str) and isinstance(value, str)
    ]


def _terms(spec: Mapping[str, Any]) -> Iterator[list[Requirement]]:
    """Yield the requirements of each term; an empty term selects no node and is skipped."""
    affinity = get_mapping(get_mapping(spec, "affinity"), "nodeAffinity")
    required = get_mapping(affinity, "requiredDuringSchedulingIgnoredDuringExecution")
    for number, term in get_entries(required, "nodeSelectorTerms"):
        base: Path = (*_REQUIRED, "nodeSelectorTerms", number, "matchExpressions")
        expressions = [
            Requirement(
                get_text(one, "key"),
                get_text(one, "operator"),
                tuple(value for _, value in get_texts(one, "values")),
                (*base, at, "values" if "values" in one else "operator"),
            )
            for at, one in get_entries(term, "matchExpressions")
        ]
        if expressions or get_entries(term, "matchFields"):
            yield expressions


def _conflict(requirements: Sequence[Requirement]) -> RequirementConflict | None:
    """Return the first two requirements on one label that no value satisfies."""
    by_key: dict[str, list[Requirement]] = {}
    for requirement in requirements:
        earlier = by_key.setdefault(requirement.key, [])
        for one in earlier:
            if _exclude(one, requirement):
                return RequirementConflict(one, requirement)
        earlier.append(requirement)
    return None


def _exclude(one: Requirement, other: Requirement) -> bool:
    """Whether no node satisfies both requirements on a label."""
    if "DoesNotExist" in (one.operator, other.operator):
        return one.operator in _PRESENT or other.operator in _PRESENT
    for first, second in ((one, other), (other, one)):
        if first.operator == "In" and first.values:
            return not any(_admits(second, value) for value in first.values)
    bounds = {requirement.operator: requirement for requirement in (one, other)}
    if set(bounds) == {"Gt", "Lt"}:
        above, below = _number(bounds["Gt"]), _number(bounds["Lt"])
        return above is not None and below is not None and below - above < 2
    return False


def _admits(requirement: Requirement, value: str) -> bool:
    if requirement.operator == "In":
        return value in requirement.values
    if requirement.operator == "NotIn":
        return value not in requirement.values
    if requirement.operator in ("Gt", "Lt"):
        bound = _number(requirement)
        if bound is None or not _NUMBER.match(value):
            return bound is None
        return int(value) > bound if requirement.operator == "Gt" else int(value) < bound
    return True


def _number(requirement: Requirement) -> int | None:
    found = requirement.values[0] if len(requirement.values) == 1 else ""
    return int(found) if _NUMBER.match(found) else None
