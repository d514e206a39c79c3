from __future__ import annotations

from typing import Any

import pytest

from podplan.core.indexed_text import Indexed, Listing, Run
from podplan.core.provenance import (
    Cursor,
    Doc,
    Fact,
    Flag,
    Origin,
    Place,
    at,
    computed,
    copied,
    default,
    origin_of,
    root,
    split,
    trace,
)
from podplan.yaml import read

PORT = Fact("port", "the port is 23456", "anchored", "somewhere", 23456)
TEXT = b"name: bert\nimage: a:1\nreplicas: 4\nenv:\n- {name: A, value: x}\nempty:\n"


@pytest.fixture
def doc() -> Doc:
    source = read(TEXT, "jobs/bert.yaml")
    return Doc("jobs/bert.yaml", source.documents[0].data, source=source.documents[0])


def test_a_cursor_is_copied_with_all_below(doc: Doc) -> None:
    job = root(doc)
    made = split(at(job, {"env": job["env"]}), "CR")
    assert made.data == {"env": [{"name": "A", "value": "x"}]}
    end = trace(made, ("env", 0, "value"))[-1]
    assert (end.doc, end.path) == (doc, ("env", 0, "value"))


def test_what_is_not_written_drops_its_key(doc: Doc) -> None:
    job = root(doc)
    made = split(
        at(job, {"a": job.get("missing"), "b": job.get("empty"), "c": [job.get("x"), job["name"]]}), "CR"
    )
    assert made.data == {"c": ["bert"]}
    assert trace(made, ("c", 0))[-1].path == ("name",)


def test_origins_are_those_that_their_class_makes(doc: Doc) -> None:
    name, env = root(doc)["name"], root(doc)["env"]
    made = split(at((name, PORT), {"env": env, "port": at(PORT, 23456, over=(name,))}), "CR")
    assert made.origins == {
        (): Origin("because", (name.place,), PORT),
        ("env",): Origin("copied", (Place(doc, ("env",)),)),
        ("port",): Origin("because", fact=PORT, overrides=(name.place,)),
    }


def test_of_marks_on_one_value_the_innermost_tells_its_origin(doc: Doc) -> None:
    name = root(doc)["name"]
    made = split(at(PORT, {"a": at(PORT, name), "b": at(name, at(PORT, Indexed(("x", 0))))}), "CR", 3)
    assert made.data == {"a": "bert", "b": "x3"}
    assert made.origins["a",] == Origin("copied", (name.place,))
    assert made.origins["b",] == Origin("because", fact=PORT)
    assert made.varies == {("b",): Indexed(("x", 0))}


def test_a_value_without_a_mark_is_a_type_error(doc: Doc) -> None:
    with pytest.raises(TypeError, match="nothing says where the value at"):
        split({"name": root(doc)["name"]}, "CR")


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
def test_a_place_is_not_a_value(doc: Doc, use: Any) -> None:
    with pytest.raises(TypeError):
        use(root(doc)["name"])


def test_computed_names_every_place(doc: Doc) -> None:
    job = root(doc)
    made = split(at(job, {"line": computed(lambda n, r: f"{n} x{r}", job["name"], job["replicas"])}), "CR")
    origin, rest = origin_of(made, ("line",))
    assert made.data == {"line": "bert x4"}
    assert [place.path for place in origin.places] == [("name",), ("replicas",)]
    assert rest == ()


def test_default_is_written_or_the_fact(doc: Doc) -> None:
    job = root(doc)
    made = split(at(job, {"a": default(job.get("port"), PORT), "b": default(job["replicas"], PORT)}), "CR")
    assert made.data == {"a": 23456, "b": 4}
    origin, _ = origin_of(made, ("a",))
    assert origin.fact is PORT
    assert trace(made, ("a",))[-1].path == ("port",), "where a person would write it"


def test_a_fact_or_a_flag_alone_ends_the_trace(doc: Doc) -> None:
    made = split(at(root(doc), {"uid": at(Flag("--uid"), "1"), "port": at(PORT, 1)}), "CR")
    assert trace(made, ("uid",))[-1].doc is made
    assert trace(made, ("port",))[-1].origin is not None


def test_what_a_value_replaced_is_kept(doc: Doc) -> None:
    job = root(doc)
    made = split(at(job, {"x": copied(job["name"], over=(job["image"], job.get("no")))}), "CR")
    assert [place.path for place in origin_of(made, ("x",))[0].overrides] == [("image",)]


def test_index_dependent_text(doc: Doc) -> None:
    job = root(doc)
    made = split(at(job, {"rank": Indexed((3,)), "name": Indexed(("w-", 0))}), "Pod", index=1)
    assert made.data == {"rank": "4", "name": "w-1"}
    assert set(made.varies) == {("rank",), ("name",)}


def test_a_listing_stays_folded(doc: Doc) -> None:
    hosts = Listing(("# hosts\n", Run(Indexed(("w-", 0, " slots=8\n")), 0, 3)))
    made = split(at(root(doc), {"hostfile": hosts}), "ConfigMap")
    assert made.data == {"hostfile": "# hosts\nw-{0..2} slots=8\n"}
    assert hosts.text() == "# hosts\nw-0 slots=8\nw-1 slots=8\nw-2 slots=8\n"
    assert Listing((Run(Indexed((0,)), 0, 0),)).folded() == ""
    assert Listing((Run(Indexed(("w", 1)), 0, 1),)).folded() == "w1"


def test_cursors_below_anything(doc: Doc) -> None:
    job = root(doc)
    assert job.get("name", "deeper", 0).exists is False
    assert job.get("env", 7).exists is False
    assert job["name"].fields() == {}
    assert job["name"].entries() == []
    assert job.get("nothing").otherwise(1) == 1
    with pytest.raises(KeyError, match="nothing at"):
        job["nothing"]
    assert isinstance(job.get("env").entries()[0], Cursor)
