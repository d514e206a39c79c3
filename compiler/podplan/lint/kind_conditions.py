"""Conditions in CEL on the kind of a job, from the traits that podplan's expressions name.

``kindHas('ssh')`` in an admission section is replaced by ``object.kind in [...]`` with the kinds that have
the trait; the API server does not know traits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from podplan.core.lazy_regex import compile_lazily
from podplan.kinds.registry import PACKAGES, GroupVersionKind, load_spec

_CONDITION = compile_lazily(r"(!?)kindHas\('([a-z0-9-]+)'\)")


def fill_kind_conditions(expression: str) -> str:
    """An expression with each ``kindHas('TRAIT')`` replaced by a comparison of the kind."""
    return _CONDITION.sub(_build_condition, expression)


def _build_condition(match: re.Match[str]) -> str:
    kinds = [kind for kind in PACKAGES if match[2] in load_spec(kind).traits]
    return compare_kind(kinds, is_negated=bool(match[1]))


def compare_kind(kinds: Iterable[GroupVersionKind], is_negated: bool = False) -> str:
    """A condition that holds for objects of some kinds, with the apiVersion where a name is not unique."""
    kinds = list(kinds)
    shared_names = {kind.kind for kind in PACKAGES if kind not in kinds}
    if any(kind.kind in shared_names for kind in kinds):
        field = "object.apiVersion + '/' + object.kind"
        values = [f"{kind.api_version}/{kind.kind}" for kind in kinds]
    else:
        field = "object.kind"
        values = list(dict.fromkeys(kind.kind for kind in kinds))
    if len(values) == 1:
        return f"{field} {'!=' if is_negated else '=='} '{values[0]}'"
    condition = f"{field} in {quote_list(values)}"
    return f"!({condition})" if is_negated else condition


def quote_list(values: Iterable[str]) -> str:
    """A list of texts in CEL."""
    return "[" + ", ".join(f"'{value}'" for value in values) + "]"
