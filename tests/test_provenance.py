from __future__ import annotations

from typing import Any

import pytest

from podplan.core.indexed_text import Indexed, Listing, RepeatedLine
from podplan.core.provenance import (
    Behavior,
    Cursor,
    DocumentPath,
    Flag,
    Origin,
    TracedDocument,
    apply_default,
    attribute_to,
    build_traced_document,
    compute_traced,
    copy_traced,
    find_origin,
    root_cursor,
    trace_to_source,
)
from podplan.yaml import parse_yaml

PORT = Behavior("port", "the port is 23456", "anchored", "somewhere", 23456)
TEXT = b"name: bert\nimage: a:1\nreplicas: 4\nenv:\n- {name: A, value: x}\nempty:\n"


@pytest.fixture
def doc() -> TracedDocument:
    source = parse_yaml(TEXT, "jobs/bert.yaml")
    return TracedDocument("jobs/bert.yaml", source.documents[0].data, source=source.documents[0])


def test_a_cursor_is_copied_with_all_below(doc: TracedDocument) -> None:
    job = root_cursor(doc)
    made = build_traced_document(attribute_to(job, {"env": job["env"]}), "CR")
    assert made.data == {"env": [{"name": "A", "value": "x"}]}
    end = trace_to_source(made, ("env", 0, "value"))[-1]
    assert (end.doc, end.path) == (doc, ("env", 0, "value"))


def test_what_is_not_written_drops_its_key(doc: TracedDocument) -> None:
    job = root_cursor(doc)
    made = build_traced_document(
        attribute_to(job, {"a": job.get("missing"), "b": job.get("empty"), "c": [job.get("x"), job["name"]]}),
        "CR",
    )
    assert made.data == {"c": ["bert"]}
    assert trace_to_source(made, ("c", 0))[-1].path == ("name",)


def test_origins_are_those_that_their_class_makes(doc: TracedDocument) -> None:
    name, env = root_cursor(doc)["name"], root_cursor(doc)["env"]
    made = build_traced_document(
        attribute_to((name, PORT), {"env": env, "port": attribute_to(PORT, 23456, overridden=(name,))}), "CR"
    )
    assert made.origins == {
        (): Origin("because", (name.document_path,), PORT),
        ("env",): Origin("copied", (DocumentPath(doc, ("env",)),)),
        ("port",): Origin("because", behavior=PORT, overridden=(name.document_path,)),
    }


def test_of_marks_on_one_value_the_innermost_tells_its_origin(doc: TracedDocument) -> None:
    name = root_cursor(doc)["name"]
    made = build_traced_document(
        attribute_to(
            PORT,
            {"a": attribute_to(PORT, name), "b": attribute_to(name, attribute_to(PORT, Indexed(("x", 0))))},
        ),
        "CR",
        3,
    )
    assert made.data == {"a": "bert", "b": "x3"}
    assert made.origins["a",] == Origin("copied", (name.document_path,))
    assert made.origins["b",] == Origin("because", behavior=PORT)
    assert made.replica_texts == {("b",): Indexed(("x", 0))}


def test_a_value_without_a_mark_is_a_type_error(doc: TracedDocument) -> None:
    with pytest.raises(TypeError, match="nothing says where the value at"):
        build_traced_document({"name": root_cursor(doc)["name"]}, "CR")


@pytest.mark.parametrize(
    "use",
    [
        lambda c: f"{c}",
        lambda c: c == "bert",
        lambda c: c + "-0",
        lambda c: bool(c),
        lambda c: [*c],
        lambda c: {c: 1},
        lambda c: len(c),
        lambda c: "b" in c,
    ],
)
def test_a_place_is_not_a_value(doc: TracedDocument, use: Any) -> None:
    with pytest.raises(TypeError):
        use(root_cursor(doc)["name"])


def test_computed_names_every_place(doc: TracedDocument) -> None:
    job = root_cursor(doc)
    made = build_traced_document(
        attribute_to(job, {"line": compute_traced(lambda n, r: f"{n} x{r}", job["name"], job["replicas"])}),
        "CR",
    )
    origin, rest = find_origin(made, ("line",))
    assert made.data == {"line": "bert x4"}
    assert [place.path for place in origin.sources] == [("name",), ("replicas",)]
    assert rest == ()


def test_default_is_written_or_the_fact(doc: TracedDocument) -> None:
    job = root_cursor(doc)
    made = build_traced_document(
        attribute_to(
            job, {"a": apply_default(job.get("port"), PORT), "b": apply_default(job["replicas"], PORT)}
        ),
        "CR",
    )
    assert made.data == {"a": 23456, "b": 4}
    origin, _ = find_origin(made, ("a",))
    assert origin.behavior is PORT
    assert trace_to_source(made, ("a",))[-1].path == ("port",), "where a person would write it"


def test_a_fact_or_a_flag_alone_ends_the_trace(doc: TracedDocument) -> None:
    made = build_traced_document(
        attribute_to(
            root_cursor(doc), {"uid": attribute_to(Flag("--uid"), "1"), "port": attribute_to(PORT, 1)}
        ),
        "CR",
    )
    assert trace_to_source(made, ("uid",))[-1].doc is made
    assert trace_to_source(made, ("port",))[-1].origin is not None


def test_what_a_value_replaced_is_kept(doc: TracedDocument) -> None:
    job = root_cursor(doc)
    made = build_traced_document(
        attribute_to(job, {"x": copy_traced(job["name"], overridden=(job["image"], job.get("no")))}), "CR"
    )
    assert [place.path for place in find_origin(made, ("x",))[0].overridden] == [("image",)]


def test_index_dependent_text(doc: TracedDocument) -> None:
    job = root_cursor(doc)
    made = build_traced_document(
        attribute_to(job, {"rank": Indexed((3,)), "name": Indexed(("w-", 0))}), "Pod", index=1
    )
    assert made.data == {"rank": "4", "name": "w-1"}
    assert set(made.replica_texts) == {("rank",), ("name",)}


def test_a_listing_stays_folded(doc: TracedDocument) -> None:
    hosts = Listing(("# hosts\n", RepeatedLine(Indexed(("w-", 0, " slots=8\n")), 0, 3)))
    made = build_traced_document(attribute_to(root_cursor(doc), {"hostfile": hosts}), "ConfigMap")
    assert made.data == {"hostfile": "# hosts\nw-{0..2} slots=8\n"}
    assert hosts.full_text() == "# hosts\nw-0 slots=8\nw-1 slots=8\nw-2 slots=8\n"
    assert Listing((RepeatedLine(Indexed((0,)), 0, 0),)).folded_text() == ""
    assert Listing((RepeatedLine(Indexed(("w", 1)), 0, 1),)).folded_text() == "w1"


def test_cursors_below_anything(doc: TracedDocument) -> None:
    job = root_cursor(doc)
    assert job.get("name", "deeper", 0).exists is False
    assert job.get("env", 7).exists is False
    assert job["name"].fields() == {}
    assert job["name"].entries() == []
    assert job.get("nothing").value_or(1) == 1
    with pytest.raises(KeyError, match="nothing at"):
        job["nothing"]
    assert isinstance(job.get("env").entries()[0], Cursor)
