from __future__ import annotations

from typing import Any

import pytest

from tests.profile_texts import came_from, faults, messages, one, profile, run

TEXT = profile("""
image: a
replicas: 2
processes: auto
env: {A: "1"}
run: [train.py]
resources: {limits: {cpu: 4}}
schedule: {queue: research}
roles: [{name: chief}, {name: worker, replicas: 2}]
params: {epochs: {type: integer, default: 3}, tag: {type: string, default: x}}
workingDir: ${{ params.epochs }}/${{ params.tag }}
""")


@pytest.mark.parametrize(
    ("flag", "path", "expected"),
    [
        ("replicas=4", ("spec", "replicas"), 4),
        ("image=b:1.10", ("spec", "image"), "b:1.10"),
        ("image=123", ("spec", "image"), "123"),
        ("hardware=8", ("spec", "hardware"), "8"),
        ("processes=4", ("spec", "processes"), 4),
        ("env.A=1.10", ("spec", "env", "A"), "1.10"),
        ("env.NEW=yes", ("spec", "env", "NEW"), "yes"),
        ("schedule.queue=debug", ("spec", "schedule", "queue"), "debug"),
        ("schedule.priority=50", ("spec", "schedule", "priority"), 50),
        ("roles.worker.replicas=8", ("spec", "roles", 1, "replicas"), 8),
        ("roles.worker.env.X=1", ("spec", "roles", 1, "env", "X"), "1"),
        ("resources.limits.nvidia\\.com/gpu=8", ("spec", "resources", "limits", "nvidia.com/gpu"), 8),
        ("params.epochs=9", ("spec", "workingDir"), "9/x"),
        ("params.tag=1.10", ("spec", "workingDir"), "3/1.10"),
        ("namespace=dev", ("metadata", "namespace"), "dev"),
        ("labels.example\\.com/team=a", ("metadata", "labels", "example.com/team"), "a"),
        ("deepspeed.localRank=true", ("spec", "deepspeed", "localRank"), True),
    ],
)
def test_a_flag_sets_a_typed_value(flag: str, path: tuple[Any, ...], expected: Any) -> None:
    key, _, text = flag.partition("=")
    document = one(TEXT, sets={key: text})
    value: Any = document.data
    for step in path:
        value = value[step]
    assert (value, type(value)) == (expected, type(expected))
    if not key.startswith("params"):
        assert came_from(document, path) == f"--set {flag}"


def test_null_deletes() -> None:
    assert "image" not in one(TEXT, sets={"image": "null"}).data["spec"]
    assert one(TEXT, sets={"env.A": "null"}).data["spec"]["env"] == {}


@pytest.mark.parametrize(
    ("flag", "rule", "said"),
    [
        ("replicas=two", "PROF003", "was a number and becomes text"),
        ("replica=2", "PROF015", 'did you mean "replicas"?'),
        ("schedule.que=a", "PROF015", 'did you mean "queue"?'),
        ("roles.wrker.replicas=2", "PROF004", 'did you mean "worker"?'),
        ("roles=2", "PROF015", "more than one value"),
        ("run.0=x.py", "PROF015", "only replaced whole"),
        ("job=GenericJob", "PROF015", 'no field "job"'),
        ("extends=a", "PROF015", "cannot be set"),
        ("environments.dev.replicas=1", "PROF015", "cannot be set"),
        ("hardware=null", "PROF004", "nothing to delete"),
        ("params.epoch=1", "PROF006", 'did you mean "epochs"?'),
        ("params.epochs=many", "PROF006", "must be of type integer"),
        ("replicas=.inf", "PROF015", "finite"),
        ("=1", "PROF015", "cannot be set"),
        ("pod=x", "PROF001", "pod must be a mapping, not a string"),
        ("pod.spec=x", "PROF001", "spec must be a mapping"),
        ("elastic=x", "PROF001", "elastic must be a mapping"),
        ("override=x", "PROF001", "override must be a list"),
        ("mode=x", "PROF001", "mode must be immediate, debug or pause"),
        ("annotations=x", "PROF001", "annotations must be a mapping"),
        ("deadline=soon", "PROF001", "deadline must be a duration"),
    ],
)
def test_what_cannot_be_set(flag: str, rule: str, said: str) -> None:
    key, _, text = flag.partition("=")
    assert faults(TEXT, sets={key: text}) == [(rule, 5)]
    assert said in messages(TEXT, sets={key: text})
    assert messages(TEXT, sets={key: text}).startswith("--set")
    assert run(TEXT, sets={key: text}).variants == ()


LISTED = profile(
    "params: {l: {type: array, items: {type: integer}}, m: {type: object}}\n"
    "env: {L: '${{ params.l | tojson }}'}"
)


@pytest.mark.parametrize(("text", "value"), [("[1, 2]", "[1, 2]"), (" []", "[]")])
def test_lists_and_maps_are_given_as_json(text: str, value: str) -> None:
    resolved = one(LISTED, sets={"params.l": text, "params.m": '{"a": [true]}'})
    assert resolved.data["spec"]["env"]["L"] == value


@pytest.mark.parametrize(
    ("text", "rule", "said"),
    [
        ("1,2", "PROF015", "this is no JSON; write one such as [1, 2]"),
        ("[1", "PROF015", "this is no JSON"),
        ("[NaN]", "PROF015", "this is no JSON"),
        ("[" * 50_000, "PROF015", "this is no JSON"),
        ("[" * 200 + "]" * 200, "PROF015", "more than 100 levels of nesting"),
        ('["a"]', "PROF006", 'the param "l" at 0 is not allowed'),
        ("{}", "PROF006", "must be of type array"),
        ('["${{ metadata.name }}"]', "PROF010", "may not hold an expression"),
    ],
)
def test_what_is_no_list(text: str, rule: str, said: str) -> None:
    sets = {"params.l": text, "params.m": "{}"}
    assert [found for found, _ in faults(LISTED, sets=sets)] == [rule]
    assert said in messages(LISTED, sets=sets)


def test_flags_that_contradict_each_other() -> None:
    assert faults(TEXT, sets={"schedule": "null", "schedule.queue": "a"}) == [("PROF015", 5)]
    assert faults(TEXT, sets={"schedule.queue": "a", "schedule": "null"}) == [("PROF015", 5)]


def test_a_flag_that_the_matrix_overrules() -> None:
    text = profile("params: {k: {type: integer}}\nmatrix: {axes: {k: [1, 2]}}\nreplicas: ${{ params.k }}")
    assert "no effect" in messages(text, sets={"params.k": "3"})


@pytest.mark.parametrize("flag", ["schedule.{}=1", "extends={}", "{}=1"])
def test_a_message_repeats_no_more_than_the_beginning(flag: str) -> None:
    key, _, value = flag.replace("{}", "x" * 100_000).partition("=")
    said = messages(TEXT, sets={key: value})
    assert "xxx…" in said
    assert len(said) < 1_000
