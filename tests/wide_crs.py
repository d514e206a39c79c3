"""Hypothesis strategies for CRs with any fields of their schemas, and typical mistakes."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from hypothesis import strategies as st

from podplan.kubernetes import DEFAULT_VERSION
from podplan.schema import catalog, fields
from tests.lowered_objects import Object
from tests.strategies import crs

# Replacements for any value; most of them are wrong in most places.
ANY: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, [], {}, "", 0, 1, 2, 3600, True, False, "0", "1", "yes", "1Gi", "500m", "a", "All", "Never"),
        *("None", "gpu", "auto", "c10d", "python", [""], ["a"], ["--a", "1"], [{}], {"a": "b"}, {"a": None}),
        *("two\nlines", "${{ a }}", "$(A)", "a: b", "#a", 1.5),
    ]
)
MORE_METADATA: dict[str, st.SearchStrategy[Any]] = {
    "labels": st.just({"team": "a", "number": "1", "empty": ""}),
    "annotations": st.sampled_from([{}, {"a/b": "yes"}, {"note": "two\nlines"}, {"x": "${{ a }}"}]),
    "finalizers": st.just(["a.example.com/b"]),
    "generateName": st.just("a-"),
    "resourceVersion": st.just("1"),
    "creationTimestamp": st.none(),
    "clusterName": st.just("a"),
}


@cache
def schema(kind: str) -> dict[str, Any]:
    return catalog.build_schema(kind, DEFAULT_VERSION)


@st.composite
def wide_crs(draw: st.DrawFn) -> Object:
    """Draw a CR with further fields of its schema, unknown ones, and other values in some places."""
    cr = copy.deepcopy(draw(crs()))
    for key in draw(st.lists(st.sampled_from(list(MORE_METADATA)), max_size=3, unique=True)):
        cr["metadata"][key] = draw(MORE_METADATA[key])
    if draw(st.integers(0, 9)) == 0:
        cr["metadata"] = {"generateName": "a-"}
    for _ in range(draw(st.integers(0, 4))):
        path = draw(st.sampled_from(maps(cr["spec"], ("spec",))))
        holder = at(cr, path)
        known = list(
            fields.collect_fields(fields.find_schemas_at(schema(cr["kind"]), path), schema(cr["kind"]))
        )
        here = [*holder, *known, "unknown"]
        key = draw(st.sampled_from(here))
        if key in holder and draw(st.integers(0, 3)) == 0:
            del holder[key]
        else:
            holder[key] = copy.deepcopy(draw(ANY))
    if draw(st.integers(0, 9)) == 0:
        cr["status"] = {"phase": "Running"}
    return cr


def maps(data: Any, path: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Return the paths of all mappings."""
    steps = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    below = [found for key, value in steps for found in maps(value, (*path, key))]
    return [path, *below] if isinstance(data, dict) else below


def at(data: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        data = data[step]
    return data
