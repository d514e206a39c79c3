"""The words for what a validator finds, on schemas that use keywords in all ways."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from podplan.core.findings import Diagnostic, to_json_pointer
from podplan.kubernetes import DEFAULT_VERSION, validate_pod_template
from podplan.report.field_page import explain_topic
from podplan.schema import validate_against, validate_cr
from podplan.schema.errors import collect_errors
from podplan.schema.messages import MAX_REPORTED, build_diagnostics
from podplan.schema.profile_words import PROFILE_FIELDS_BY_WORD

SHAPE: dict[str, Any] = {
    "anyOf": [
        {
            "type": "object",
            "required": ["kind", "pvc"],
            "properties": {"kind": {"const": "pvc"}, "pvc": {"type": "string"}},
        },
        {
            "type": "object",
            "required": ["kind", "path"],
            "properties": {"kind": {"const": "host"}, "path": {"$ref": "#/$defs/path"}},
        },
        {"type": "string"},
    ]
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "one": {
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
            "errorMessage": "wants a or b, not both",
        },
        "shape": SHAPE,
        "keys": {"propertyNames": {"pattern": "^[a-z]+$", "patternErrorMessage": "a lower-case word"}},
        "bare": {"type": "string", "pattern": "^a+$"},
        "never": {"properties": {"x": False}},
        "unique": {"type": "array", "uniqueItems": True},
        "few": {"type": "array", "minItems": 2, "maxItems": 3},
        "short": {"type": "string", "minLength": 1, "maxLength": 3},
        "sized": {"type": "object", "minProperties": 1, "maxProperties": 1},
        "flag": {"type": "boolean"},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "even": {"multipleOf": 2},
        "twice": {"allOf": [{"type": "string"}, {"type": "string"}]},
        "fixed": {"const": "v1"},
        "both": {"not": {"type": "string"}, "errorMessage": "has to be worked out by hand"},
    },
    "$defs": {"path": {"type": "string", "pattern": "^/", "patternErrorMessage": "an absolute path"}},
}
VALIDATOR = jsonschema_rs.Draft202012Validator(SCHEMA)


def told(data: Any) -> list[str]:
    found = collect_errors(VALIDATOR, SCHEMA, data)
    return [
        f"{p.rule} {to_json_pointer(p.path)}: {p.message}" for p in build_diagnostics(found, SCHEMA, "Any")
    ]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"either": []}, ["SCHEMA002 /either: either must be a string or an integer, not a list"]),
        ({"one": {}}, ['SCHEMA003 /one: one needs "a" or "b"']),
        ({"one": {"a": 1, "b": 1}}, ["SCHEMA009 /one: one wants a or b, not both"]),
        (
            {"shape": {"kind": "host", "path": "data"}},
            ['SCHEMA006 /shape/path: path must be an absolute path, not "data"'],
        ),
        ({"shape": {"kind": "pvc"}}, ['SCHEMA003 /shape: required field "pvc" is missing in shape']),
        ({"shape": 5}, ["SCHEMA002 /shape: shape must be a mapping or a string, not an integer"]),
        ({"keys": {"A": 1}}, ['SCHEMA006 /keys/A: the key "A" must be a lower-case word']),
        ({"bare": "b"}, ['SCHEMA006 /bare: bare must be of the form ^a+$, not "b"']),
        ({"never": {"x": 1}}, ["SCHEMA009 /never/x: x is not allowed here"]),
        ({"unique": [1, 1]}, ["SCHEMA007 /unique: unique has the same entry twice"]),
        ({"few": [1]}, ["SCHEMA005 /few: few must have at least 2 entries, not 1"]),
        ({"few": [1, 2, 3, 4]}, ["SCHEMA005 /few: few must have at most 3 entries, not 4"]),
        ({"short": ""}, ["SCHEMA005 /short: short must have at least 1 character, not 0"]),
        ({"short": "long one"}, ["SCHEMA005 /short: short must have at most 3 characters, not 8"]),
        ({"sized": {}}, ["SCHEMA005 /sized: sized must have at least 1 field, not 0"]),
        (
            {"flag": "true"},
            ["SCHEMA002 /flag: flag must be true or false, not a string; write true, without quotes"],
        ),
        (
            {"count": "7"},
            ["SCHEMA002 /count: count must be an integer, not a string; write 7, without quotes"],
        ),
        ({"count": 12}, ["SCHEMA005 /count: count must be between 1 and 9, not 12"]),
        ({"even": 3}, ["SCHEMA009 /even: even does not satisfy multipleOf of its schema"]),
        ({"twice": 1}, ['SCHEMA002 /twice: twice must be a string, not an integer; write "1", in quotes']),
        ({"fixed": "v2"}, ['SCHEMA004 /fixed: fixed must be v1, not "v2"']),
        ({"both": "x"}, ["SCHEMA009 /both: both has to be worked out by hand"]),
        (
            {"sized": {"a": 1, "b": 2, "c": 3}},
            ['SCHEMA005 /sized: sized must have at most 1 field, not 3; keep "a", "b" or "c"'],
        ),
        ({"cuont": 1}, ['SCHEMA001 /cuont: unknown field "cuont"; did you mean "count"?']),
        ([], ["SCHEMA002 : the document must be a mapping, not a list"]),
    ],
)
def test_one_fault_is_one_sentence(data: Any, said: list[str]) -> None:
    assert told(data) == said


def test_shallow_faults_come_first() -> None:
    lines = told({"shape": {"kind": "host", "path": "data"}, "flag": 5, "extra": 1})
    assert [line.split()[1] for line in lines] == ["/extra:", "/flag:", "/shape/path:"]


def test_an_unknown_field_brings_the_legal_ones() -> None:
    data = {"zzzzzz": 1}
    [problem] = build_diagnostics(collect_errors(VALIDATOR, SCHEMA, data), SCHEMA, "Any")
    assert problem.on_key
    assert "either, even, few, fixed" in problem.help


def test_the_text_of_a_string_of_the_wrong_type_is_not_shown() -> None:
    assert all(
        "hunter2" not in line for line in told({"count": "hunter2", "flag": "hunter2", "few": "hunter2"})
    )


def test_a_flood_of_faults_is_cut() -> None:
    assert len(told({f"field{number}": 1 for number in range(10 * MAX_REPORTED)})) == MAX_REPORTED


TELLING: dict[str, Any] = {
    "description": "The whole.",
    "properties": {
        "direct": {"description": "What it trains on.", "type": "object"},
        "beside": {"description": "Beside the reference.", "$ref": "#/$defs/text"},
        "through": {"$ref": "#/$defs/text"},
        "later": {"description": "Now or later.", "if": {"const": "later"}, "else": {"$ref": "#/$defs/text"}},
        "each": {"description": "All.", "items": {"type": "string"}},
        "bare": {"properties": {"below": {"type": "object"}}, "description": "Not of what is below."},
        "nullable": {"type": ["integer", "null"]},
        "nothing": {"type": "null"},
    },
    "$defs": {"text": {"description": "A text.", "type": ["string", "null"]}},
}


@pytest.mark.parametrize(
    ("data", "message", "help"),
    [
        ({"direct": 1}, "direct must be a mapping, not an integer", "direct: what it trains on"),
        ({"beside": []}, "beside must be a string, not a list", "beside: beside the reference"),
        ({"through": []}, "through must be a string, not a list", "through: a text"),
        ({"later": []}, "later must be a string, not a list", "later: now or later"),
        ({"each": [{}]}, "each[0] must be a string, not a mapping", ""),
        ({"bare": {"below": 1}}, "below must be a mapping, not an integer", ""),
        ({"beside": 1}, 'beside must be a string, not an integer; write "1", in quotes', ""),
        ({"nullable": "4"}, "nullable must be an integer, not a string; write 4, without quotes", ""),
        ({"nothing": 1}, "nothing must be null, not an integer", ""),
    ],
)
def test_a_wrong_type_says_what_the_field_is_for(data: Any, message: str, help: str) -> None:
    validator = jsonschema_rs.Draft202012Validator(TELLING)
    [problem] = build_diagnostics(collect_errors(validator, TELLING, data), TELLING, "Any")
    assert (problem.message, problem.help) == (message, help)


def diagnose_profile(spec: dict[str, Any]) -> dict[str, Diagnostic]:
    data = {"apiVersion": "podplan/v1", "kind": "JobProfile", "metadata": {"name": "a"}, "spec": spec}
    return {str(one.path[-1]): one for one in validate_against("JobProfile", data)}


@pytest.mark.parametrize("kind", ["spec", "roles"])
def test_fields_that_a_profile_does_not_have(kind: str) -> None:
    """Words of Kubernetes and of launchers, for which a typo of another field is the wrong suggestion."""
    words = {
        "command": "run",
        "gpus": "hardware or resources.limits",
        "nodes": "replicas",
        "volumes": "data",
        "backoffLimit": "retries",
        "nodeSelector": "pod.spec.nodeSelector",
        "serviceAccount": "pod.spec.serviceAccountName",
    }
    of_spec = {"queue": "schedule.queue", "timeout": "deadline", "nproc": "processes"}
    of_spec["namespace"] = "metadata.namespace"
    words |= of_spec if kind == "spec" else {}
    written = dict.fromkeys(words, 1)
    found = diagnose_profile({"roles": [{"name": "a", **written}]} if kind == "roles" else written)
    for word, field in words.items():
        assert found[word].message == f'unknown field "{word}"; write {field} instead'
        assert found[word].fix is None
    if kind == "roles":
        queue = diagnose_profile({"roles": [{"name": "a", "queue": 1}]})["queue"]
        assert queue.message == 'unknown field "queue"', "a role has no schedule"


def test_each_word_leads_to_a_field_of_a_profile() -> None:
    for word in PROFILE_FIELDS_BY_WORD:
        command = diagnose_profile({word: 1})[word].help.partition(" says")[0]
        topic = command.removeprefix("podplan explain ")
        assert explain_topic(topic)["description"], word
    # Kubernetes' own fields are known below pod.spec, under the name that is suggested.
    pod = {
        name.removeprefix("pod.spec.")
        for name in PROFILE_FIELDS_BY_WORD.values()
        if name.startswith("pod.spec.")
    }
    reported = validate_pod_template({"spec": {"containers": [], **dict.fromkeys(pod, 1)}}, "1.36")
    assert not [one for one in reported if one.rule == "SCHEMA001"]


@pytest.mark.parametrize(
    ("kind", "field", "section"),
    [
        ("TFJob", "cleanPodPolicy", "runPolicy"),
        ("TFJob", "nproc", ""),
        ("PyTorchTrainingJob", "procPerNode", "torchrunConfig"),
        ("PyTorchTrainingJob", "priority", "scheduler.t9kScheduler"),
    ],
)
def test_a_field_in_the_wrong_section(kind: str, field: str, section: str) -> None:
    api_version = "kubeflow.org/v1" if kind == "TFJob" else "batch.tensorstack.dev/v1beta1"
    data = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "spec": {field: "2"}}
    diagnostics = validate_cr(data, DEFAULT_VERSION).diagnostics
    [found] = [one for one in diagnostics if one.path == ("spec", field)]
    belongs = f"; it belongs in {section}" if section else ""
    assert found.message == f'unknown field "{field}"{belongs}'
    assert found.help.startswith(f"write it as {section}.{field}") or not section


def test_a_field_of_several_sections_belongs_in_none() -> None:
    section = {"type": "object", "properties": {"size": {"type": "integer"}}}
    spec = {"type": "object", "additionalProperties": False, "properties": {"a": section, "b": section}}
    schema: dict[str, Any] = {"type": "object", "properties": {"spec": spec}}
    errors = collect_errors(jsonschema_rs.Draft202012Validator(schema), schema, {"spec": {"size": 1}})
    assert [one.message for one in build_diagnostics(errors, schema, "")] == ['unknown field "size"']
