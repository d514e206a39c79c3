"""One picture for the variants of a profile that differ only in their names."""

from __future__ import annotations

from podplan.core.typing import NamedTuple
from podplan.tools.graph.model import Graph

_JOB_NAME = "\0"  # stands for the name of the job where pictures are compared


class _EqualGraphs(NamedTuple):
    graph: Graph
    variants: list[str]


class GraphFold:
    """Collects graphs in their order; of equal ones only the first is kept."""

    def __init__(self) -> None:
        self._equal_graphs: dict[object, _EqualGraphs] = {}

    @property
    def is_empty(self) -> bool:
        return not self._equal_graphs

    def add(self, graph: Graph, file: str, variant: str) -> None:
        """Add the graph of a job in a file; ``variant`` is "" for a job that is not one of several."""
        neutral = graph._replace(tags=tuple(tag for tag in graph.tags if tag != variant))
        key = (file, repr(neutral).replace(graph.name, _JOB_NAME)) if variant else len(self._equal_graphs)
        self._equal_graphs.setdefault(key, _EqualGraphs(graph, [])).variants.append(variant)

    def list_graphs(self) -> list[Graph]:
        """Return the graphs; one that stands for several has a tag with their number."""
        return [_tag_with_count(graph, variants) for graph, variants in self._equal_graphs.values()]


def _tag_with_count(graph: Graph, variants: list[str]) -> Graph:
    if len(variants) == 1:
        return graph
    count_tag = f"× {len(variants)}: {variants[0]} … {variants[-1]}"
    return graph._replace(tags=tuple(count_tag if tag == variants[0] else tag for tag in graph.tags))
