from __future__ import annotations

import pytest

from podplan.core.limits import MAX_BASES, MAX_EXTENDS_DEPTH
from tests.profile_texts import BASE, came_from, faults, messages, one, profile, run, spec


def base(text: str) -> str:
    return profile(text, BASE)


def test_bases_go_from_left_to_right_and_self_last() -> None:
    bases = {"a.yaml": base("image: a\nlauncher: a\nmode: a"), "b.yaml": base("image: b\nlauncher: b")}
    text = profile("extends: [a.yaml, b.yaml]\nimage: self")
    assert spec(text, bases=bases) == {"image": "self", "launcher": "b", "mode": "a"}
    assert spec(profile("extends: [b.yaml, a.yaml]"), bases=bases) == {
        "image": "a",
        "launcher": "a",
        "mode": "a",
    }


def test_each_value_traces_to_the_file_that_wrote_it() -> None:
    bases = {"a.yaml": base("image: a\nreplicas: 2"), "b.yaml": base("extends: [a.yaml]\nimage: b")}
    document = one(profile("extends: [b.yaml]\nenv: {A: x}"), bases=bases)
    assert came_from(document, ("spec", "image")) == "b.yaml:5"
    assert came_from(document, ("spec", "replicas")) == "a.yaml:5"
    assert came_from(document, ("spec", "env", "A")) == "profile.yaml:6"
    assert came_from(document, ("spec",)) == "profile.yaml:5"


def test_of_the_metadata_all_but_the_name_is_inherited() -> None:
    head = "kind: JobProfileBase\nmetadata: {name: base, namespace: ml, labels: {a: x}}\nspec:\n"
    mine = "apiVersion: podplan/v1\nkind: JobProfile\nmetadata: {name: own, labels: {b: z}}\nspec:\n"
    document = one(profile("extends: [a.yaml]", mine), bases={"a.yaml": profile("image: a", head)})
    assert document.data["metadata"] == {"name": "own", "namespace": "ml", "labels": {"a": "x", "b": "z"}}
    assert document.data["kind"] == "JobProfile"


def test_a_base_reached_on_two_ways_is_merged_once() -> None:
    bases = {f"{i}.yaml": base(f"extends: [{i + 1}.yaml, {i + 1}.yaml]\nimage: i{i}") for i in range(30)}
    bases["30.yaml"] = base("replicas: 3")
    assert spec(profile("extends: [0.yaml]"), bases=bases) == {"replicas": 3, "image": "i0"}


def test_a_cycle_prints_its_chain() -> None:
    bases = {"a.yaml": base("extends: [b.yaml]"), "b.yaml": base("extends: [a.yaml]")}
    text = profile("extends: [a.yaml]")
    assert "a.yaml → b.yaml → a.yaml" in messages(text, bases=bases)
    assert faults(text, bases=bases) == [("PROF002", 4)]


def test_a_profile_that_extends_itself_is_a_cycle() -> None:
    text = profile("extends: [profile.yaml]")
    assert "profile.yaml → profile.yaml" in messages(text, bases={"profile.yaml": text})


@pytest.mark.parametrize("depth", [MAX_EXTENDS_DEPTH, MAX_EXTENDS_DEPTH + 1])
def test_the_depth_is_bounded(depth: int) -> None:
    bases = {f"{i}.yaml": base(f"extends: [{i + 1}.yaml]") for i in range(1, depth)}
    bases[f"{depth}.yaml"] = base("image: a")
    found = faults(profile("extends: [1.yaml]"), bases=bases)
    assert found == ([] if depth == MAX_EXTENDS_DEPTH else [("PROF017", 4)])


def test_the_number_of_bases_is_bounded() -> None:
    text = profile(f"extends: [{', '.join(['a.yaml'] * (MAX_BASES + 1))}]")
    assert faults(text, bases={"a.yaml": base("image: a")}) == [("PROF017", 5)]


@pytest.mark.parametrize(
    ("extends", "rule", "said"),
    [
        ("[none.yaml]", "PROF002", 'no file "none.yaml"'),
        ("[inventory.yaml]", "PROF002", "is a ClusterInventory"),
        ("[list.yaml]", "PROF002", "has no kind"),
        ("base.yaml", "PROF001", "not a list"),
        ("[3]", "PROF001", "not the path of a file"),
        ("['${{ params.base }}']", "PROF010", "expression"),
    ],
)
def test_what_cannot_be_extended(extends: str, rule: str, said: str) -> None:
    bases = {
        "inventory.yaml": "apiVersion: podplan/v1\nkind: ClusterInventory\nspec: {}\n",
        "list.yaml": "[1]\n",
    }
    text = profile(f"image: a\nextends: {extends}")
    assert faults(text, bases=bases) == [(rule, 6)]
    assert said in messages(text, bases=bases)
    assert run(text, bases=bases).variants == ()


def test_a_change_of_type_is_told_at_the_line_of_the_overlay() -> None:
    bases = {"a.yaml": base("replicas: 2")}
    assert faults(profile("extends: [a.yaml]\nreplicas: two"), bases=bases) == [("PROF003", 6)]
