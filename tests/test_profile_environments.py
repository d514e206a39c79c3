from __future__ import annotations

from podplan.core.provenance import trace_to_source
from tests.profile_texts import came_from, faults, messages, one, profile, run

TEXT = profile("""
image: a
replicas: 4
env: {A: "1", B: "2"}
roles: [{name: worker, hardware: big}]
environments:
  dev: {replicas: 1, env: {B: null}, namespace: dev, labels: {stage: dev},
    roles: [{name: worker, hardware: small}]}
  prod: {image: b, schedule: {queue: prod}}
""")


def test_an_overlay_changes_the_spec_and_the_metadata() -> None:
    document = one(TEXT, environments=("dev",))
    assert document.data == {
        "apiVersion": "podplan/v1",
        "kind": "JobProfile",
        "metadata": {"name": "resnet", "namespace": "dev", "labels": {"stage": "dev"}},
        "spec": {
            "image": "a",
            "replicas": 1,
            "env": {"A": "1"},
            "roles": [{"name": "worker", "hardware": "small"}],
        },
    }
    assert came_from(document, ("spec", "replicas")) == "profile.yaml:10"
    assert came_from(document, ("metadata", "labels", "stage")) == "profile.yaml:10"
    assert came_from(document, ("spec", "roles", 0, "name")) == "profile.yaml:11"
    assert came_from(document, ("spec", "image")) == "profile.yaml:5"


def test_the_value_that_lost_is_noted() -> None:
    document = one(TEXT, environments=("prod",))
    lost = [
        place.path
        for step in trace_to_source(document, ("spec", "image"))
        if step.origin
        for place in step.origin.overridden
    ]
    assert lost == [("spec", "image")]


def test_which_variants_there_are() -> None:
    assert [variant.id for variant in run(TEXT).variants] == [""]
    assert [variant.id for variant in run(TEXT, environments="all").variants] == ["", "dev", "prod"]
    assert [variant.id for variant in run(TEXT, environments=("prod", "dev", "prod")).variants] == [
        "prod",
        "dev",
    ]
    assert [variant.environment for variant in run(TEXT, environments="all").variants] == ["", "dev", "prod"]
    assert run(TEXT).variants[0].doc.data["spec"]["replicas"] == 4
    assert "environments" not in run(TEXT).variants[0].doc.data["spec"]


def test_an_unknown_environment() -> None:
    assert faults(TEXT, environments=("prd",)) == [("PROF014", 9)]
    assert messages(TEXT, environments=("prd",)) == 'there is no environment "prd"; did you mean "prod"?'
    assert [v.id for v in run(profile("image: a"), environments=("prd",)).variants] == [""], "it has none"


def test_a_fault_in_one_environment_leaves_the_others() -> None:
    text = profile("image: a\nenvironments:\n  dev: {roles: [{name: x}]}\n  prod: {image: b}")
    result = run(text, environments="all")
    assert [variant.id for variant in result.variants] == ["", "prod"]
    assert faults(text, environments="all") == [("PROF004", 7)]


def test_faults_in_the_overlay_itself() -> None:
    assert faults(profile("environments:\n  dev: [1]"), environments="all") == [("PROF001", 6)]
    assert faults(profile("environments:\n  dev:\n    extends: [a]"), environments="all") == [("PROF001", 7)]
    assert faults(profile("environments:\n  dev:\n    values: 3"), environments="all") == [("PROF001", 7)]
    assert faults(profile("environments:\n  dev:\n    labels: {a: null}"), environments="all") == [
        ("PROF004", 7)
    ]


def test_the_order_is_base_self_environment_flag() -> None:
    bases = {"b.yaml": "kind: JobProfileBase\nspec: {replicas: 1, environments: {e: {replicas: 3}}}\n"}
    text = profile("extends: [b.yaml]\nreplicas: 2")
    assert one(text, bases=bases).data["spec"]["replicas"] == 2
    assert one(text, bases=bases, environments=("e",)).data["spec"]["replicas"] == 3
    flagged = one(text, bases=bases, environments=("e",), sets={"replicas": "4"})
    assert flagged.data["spec"]["replicas"] == 4
    lost = [
        (place.doc.data, place.path)
        for step in trace_to_source(flagged, ("spec", "replicas"))
        if step.origin
        for place in step.origin.overridden
    ]
    assert len(lost) == 1
    assert came_from(flagged, ("spec", "replicas")) == "--set replicas=4"


def test_a_map_belongs_to_the_spec_and_not_to_the_overlay() -> None:
    text = profile("schedule: {queue: a}\nenvironments:\n  e:\n    schedule: {priority: 1}")
    document = one(text, environments=("e",))
    assert came_from(document, ("spec",)) == "profile.yaml:5"
    assert came_from(document, ("spec", "schedule")) == "profile.yaml:5"
    assert came_from(document, ("spec", "schedule", "priority")) == "profile.yaml:8"
