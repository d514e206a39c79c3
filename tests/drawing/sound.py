"""Invariants of any graph: totals are right, nothing overlaps, and no text is markup."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from podplan.core.replica_groups import ReplicaGroup
from podplan.tools.graph.layout import lay_out_graph, select_columns
from podplan.tools.graph.model import Graph
from podplan.tools.graph.text_width import measure_text
from tests.lowered_objects import Object

SVG = "{http://www.w3.org/2000/svg}"


def parsed(text: str) -> ET.Element:
    """Parse an SVG as XML; require that it loads and runs nothing."""
    root = ET.fromstring(text)
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "style", "g", "rect", "path", "circle", "text"}
    for element in root.iter():
        assert not [key for key in element.attrib if "href" in key or key.startswith("on")]
    assert root.attrib["role"] == "img"
    assert [child.tag.removeprefix(SVG) for child in root][:3] == ["title", "desc", "style"]
    assert "url(" not in text
    assert "@import" not in text
    return root


def texts(root: ET.Element) -> str:
    return "\n".join(filter(None, (element.text for element in root.iter() if element.tag != f"{SVG}desc")))


def assert_totals(made: Graph, groups: tuple[ReplicaGroup, ...] | list[ReplicaGroup]) -> None:
    pods = [group for group in groups if group.doc.data["kind"] == "Pod"]
    replicas = sum(group.replicas for group in pods)
    assert made.totals.split(" · ")[0] == f"{replicas:,} Pod{'' if replicas == 1 else 's'}"
    total = sum(gpus(group.doc.data) * group.replicas for group in pods)
    said_ = re.search(r"([\d,]+) GPUs?", made.totals)
    assert (int(said_[1].replace(",", "")) if said_ else 0) == total
    chips = [re.search(r"([\d,]+) GPUs?", card.chip) for card in made.cards]
    assert sum(int(chip[1].replace(",", "")) for chip in chips if chip) == total


def gpus(pod: Object) -> int:
    """Count the GPUs of a Pod, independently of podplan."""
    found = 0
    for container in pod["spec"]["containers"]:
        for resource, count in container.get("resources", {}).get("limits", {}).items():
            if resource in ("nvidia.com/gpu", "amd.com/gpu"):
                found += int(count)
    return found


def assert_tidy(made: Graph) -> None:
    """Assert that boxes neither overlap nor leave the graph, and that texts stay inside their boxes."""
    plate = lay_out_graph(made, select_columns([made]))
    boxes = [*(at.box for at in plate.cards), *(at.box for at in plate.sides)]
    boxes += [plate.note] if plate.note is not None else []
    for i, box in enumerate(boxes):
        assert box.x >= 0
        assert box.right <= plate.width
        assert box.bottom <= plate.height
        for other in boxes[:i]:
            apart_x = box.right <= other.x or other.right <= box.x
            assert apart_x or box.bottom <= other.y or other.bottom <= box.y
    for at in plate.cards:
        if plate.gang is not None:
            assert (plate.gang.bottom > at.bottom) == at.card.in_gang
        for row in at.rows:
            assert at.box.y < row.y
            assert row.bottom < at.box.bottom
    assert len(plate.arrows) == len(made.calls)
    for arrow in plate.arrows:
        assert arrow.label_position[0] + measure_text(arrow.label, 11, mono=True) <= plate.width


_LABEL = r'"[^"<>`{}\[\]|;#]*(?:(?:<br/>|#\d+;)[^"<>`{}\[\]|;#]*)*"'
_LINES = [
    r"flowchart LR",
    rf" *subgraph \w+\[{_LABEL}\]",
    r" *end",
    rf" *\w+\[{_LABEL}\]",
    r" *\w+ --- \w+",
    rf" *\w+ <?==>\|{_LABEL}\| \w+",
    r" *classDef \w+ [\w:#,-]+",
    r" *class \w+(,\w+)* \w+",
]


def assert_grammar(text: str) -> None:
    """Assert that lines have one of the few forms that mermaid 11 is known to parse and draw."""
    for line in text.splitlines():
        assert any(re.fullmatch(form, line) for form in _LINES), line
    assert text.count("subgraph ") == len(re.findall(r"^ *end$", text, re.MULTILINE))
