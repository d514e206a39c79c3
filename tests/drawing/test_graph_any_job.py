"""Any job can be drawn, of any size, and no text in it gets out of its place."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podplan.core.limits import LimitExceeded
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.kinds.registry import lower_cr
from podplan.kubernetes import DEFAULT_VERSION
from podplan.schema import validate_cr
from podplan.schema.pruning import prune_unknown_fields
from podplan.tools.graph.mermaid import render_mermaid
from podplan.tools.graph.model import Call, Card, Gang, Graph, Link, Row, SideBox
from podplan.tools.graph.picture import build_graph
from podplan.tools.graph.pods import format_object_names as folded_name
from podplan.tools.graph.svg import render_svg
from podplan.tools.graph.text_width import fit_text, measure_text, wrap_text
from tests.drawing.jobs import drawn
from tests.drawing.sound import assert_grammar, assert_tidy, assert_totals, parsed, texts
from tests.golden_cases import Case, cases, copy, produced
from tests.lowered_objects import Object, document, job
from tests.strategies import crs, odd_crs
from tests.thoroughness import examples

ALL = list(cases())


def names(groups: tuple[ReplicaGroup, ...]) -> list[str]:
    """What has to be in the picture: each object by name; Pods of several templates by role and indexes."""
    found = []
    of_role = Counter(group.replica_type for group in groups if group.doc.data["kind"] == "Pod")
    for group in groups:
        if group.doc.data["kind"] == "Pod" and of_role[group.replica_type] > 1:
            found.append(f"{group.replica_type} {group.indexes}")
        else:
            found.append(folded_name(group))
    return found


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.id)
def test_every_case_has_its_groups_and_its_gpus(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy(case.inputs, case.folder, tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    for plan in produced(case)[0]:
        assert plan.cr is not None
        made = build_graph(plan.cr, plan.replica_groups, plan.variant_id or "")
        root = parsed(render_svg([made]))
        shown = texts(root)
        missing = [name for name in names(plan.replica_groups) if name not in shown]
        assert not missing
        assert_totals(made, plan.replica_groups)
        assert_tidy(made)
        assert_grammar(render_mermaid([made]))


@settings(max_examples=examples(60))
@given(st.one_of(crs(), odd_crs()))
@pytest.mark.long
def test_any_job_can_be_drawn(cr: Object) -> None:
    doc = document(cr)
    checked = validate_cr(doc.data, DEFAULT_VERSION)
    if not checked.is_lowerable:
        return
    groups = lower_cr(prune_unknown_fields(doc, checked.diagnostics), {}, LoweringOptions())
    made = build_graph(doc, groups)
    text = render_svg([made])
    parsed(text)
    assert_tidy(made)
    assert_grammar(render_mermaid([made]))
    assert_totals(made, groups)
    assert text == render_svg([build_graph(doc, groups)])


HOSTILE = [
    "</text><script>alert(1)</script>",
    "&lt;&amp;&#x0;]]>",
    "\x00\x1b[31m\x07\ud800\ufffe",
    "\u202egnp.exe\u2066",
    '"]; click A href "javascript:alert(1)"',
    "end",
    "a`b`**c**<br/>#quot;|x|",
    "訓練" * 40,
    "x" * 500,
    "%%{init: {}}%%",
    "",
]
anything = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=30))


@st.composite
def pictures(draw: st.DrawFn) -> Graph:
    """Any picture whose ids are ours, and whose texts are anybody's."""
    count, beside = draw(st.integers(0, 4)), draw(st.integers(0, 5))
    rows = st.lists(st.builds(Row, anything, anything), max_size=3).map(tuple)
    fields = st.lists(st.tuples(st.sampled_from(["image", "each"]), anything), max_size=3).map(tuple)
    card = st.builds(
        Card, st.just(""), anything, anything, anything, anything, fields, rows, st.booleans(), st.booleans()
    )
    side = st.builds(
        SideBox,
        st.just(""),
        st.one_of(st.sampled_from(["Secret", "Headless Service"]), anything),
        anything,
        st.lists(anything, max_size=9).map(tuple),
        st.booleans(),
        st.booleans(),
    )
    cards = [draw(card)._replace(id=f"p{i}") for i in range(count)]
    sides = [draw(side)._replace(id=f"s{i}") for i in range(beside)]
    linked = st.tuples(st.integers(0, max(0, count - 1)), st.integers(0, max(0, beside - 1)))
    links = [Link(f"p{i}", f"s{j}") for i, j in sorted(draw(st.sets(linked)))] if cards and sides else []
    pairs = [(i, j) for i in range(count) for j in range(count) if i != j]
    called = draw(st.sets(st.sampled_from(pairs))) if pairs else set()
    labels = st.lists(anything, min_size=1, max_size=3).map(tuple)
    calls = [Call(f"p{i}", f"p{j}", draw(labels), draw(st.booleans())) for i, j in sorted(called)]
    for card_ in cards:
        if len(card_.rows) > 1 and draw(st.booleans()):
            calls.append(Call(card_.id, card_.id, draw(labels), False, 1, 0))
    return Graph(
        draw(anything),
        draw(anything),
        tuple(draw(st.lists(anything, max_size=3))),
        draw(anything),
        draw(anything),
        draw(st.none() | st.builds(Gang, anything, anything)),
        tuple(cards),
        tuple(sides),
        tuple(links),
        tuple(calls),
    )


@settings(max_examples=examples(40))
@given(st.lists(pictures(), min_size=1, max_size=2))
def test_no_text_gets_out_of_its_place(made: list[Graph]) -> None:
    text = render_svg(made)
    parsed(text)
    for one in made:
        assert_tidy(
            one
            if one.gang is not None
            else one._replace(cards=tuple(c._replace(in_gang=False) for c in one.cards))
        )
    assert not set(text) & set("\x00\x1b\u202e\u2066\ud800")
    text.encode()
    assert_grammar(render_mermaid(made))
    assert all(line.isprintable() for line in render_mermaid(made).split("\n"))


@given(anything, st.integers(10, 400))
def test_what_is_made_to_fit_fits(text: str, room: int) -> None:
    cut = fit_text(text, room, 12)
    assert measure_text(cut, 12) <= room or cut == "…"
    assert cut == text or "…" in cut
    lines = wrap_text(text, room, 12)
    assert len(lines) <= 2
    assert all(measure_text(line, 12) <= room or line == "…" for line in lines)


def test_a_picture_is_as_large_for_ten_thousand_replicas_as_for_two() -> None:
    template = "{{spec: {{containers: [{{name: a, image: i}}]}}}}"
    spec = f"replicaSpecs: [{{{{type: worker, replicas: {{}}, template: {template}}}}}]"
    few, many = (render_svg([drawn(job("PyTorchTrainingJob", spec.format(n)))]) for n in (3, 10_000))
    assert 0 <= len(many) - len(few) < 100


def test_a_job_of_too_many_parts_is_refused() -> None:
    role = "{{type: w{}, template: {{spec: {{containers: [{{name: a, image: i}}]}}}}}}"
    roles = ", ".join(role.format(i) for i in range(700))
    spec = f"replicaSpecs: [{roles}]\nservice: {{ports: [{{name: a, port: 1}}]}}"
    with pytest.raises(LimitExceeded, match=r"at most 2,000 are drawn"):
        drawn(job("GenericJob", spec))
