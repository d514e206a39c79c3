"""check_cr, check_against and show: what is told, what can still be lowered, what editors get."""

from __future__ import annotations

import json
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from podplan.core import package_data
from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.core.findings import Diagnostic, to_json_pointer
from podplan.kinds import registry
from podplan.schema import validate_against, validate_cr
from podplan.schema.catalog import build_schema, list_schema_names
from podplan.schema.identity import is_known_but_not_lowered
from podplan.schema.old_spellings import find_old_spelling

FIXTURES = Path(__file__).parent.parent / "fixtures" / "schemas"
MESSAGES = yaml.load((FIXTURES / "messages.yaml").read_text(), yaml.CSafeLoader)
FULL = sorted(path.stem for path in (FIXTURES / "full").glob("*.yaml"))
VERSION = "1.34"


@cache
def full(name: str) -> Any:
    return yaml.load((FIXTURES / "full" / f"{name}.yaml").read_text(), yaml.CSafeLoader)


def small(**changes: Any) -> dict[str, Any]:
    """A GenericJob of one worker, with ``changes`` at the top."""
    template = {"spec": {"containers": [{"name": "worker", "image": "train:1"}]}}
    job = {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "GenericJob",
        "metadata": {"name": "small"},
        "spec": {"replicaSpecs": [{"type": "worker", "template": template}]},
    }
    return {**job, **changes}


def told(problems: list[Diagnostic]) -> list[str]:
    return [f"{problem.rule} {to_json_pointer(problem.path)}: {problem.message}" for problem in problems]


# The Job of a BeamJob has fields that exclude each other.
@pytest.mark.parametrize("name", sorted(set(FULL) - {"BeamJob"}))
def test_a_cr_with_every_field_is_clean(name: str) -> None:
    kind, _, dialect = name.partition(".")
    assert validate_cr(full(name), VERSION) == ([], True, kind, dialect)


@pytest.mark.parametrize("case", MESSAGES, ids=lambda case: case["name"])
def test_messages(case: dict[str, Any]) -> None:
    checked = validate_cr(small(kind=case["kind"], spec=case["spec"]), VERSION)
    assert told(checked.diagnostics) == case["problems"]
    assert checked.is_lowerable is case["lowerable"]
    assert {problem.rule for problem in checked.diagnostics} <= set(BUILTIN_RULES)


def test_every_old_spelling_is_in_the_messages() -> None:
    table = json.loads(package_data.read_bundled_file("schemas", "old-spellings.json"))
    said = [line for case in MESSAGES for line in case["problems"]]
    for entry in table["fields"]:
        if not entry["path"].startswith("status."):
            pattern = "/" + entry["path"].replace(".", "/").replace("*", "0") + ":"
            assert any(pattern in line and entry["effect"] in line for line in said), entry["path"]


def test_an_old_spelling_says_what_becomes_of_it() -> None:
    data = small()
    data["spec"]["runMode"] = {"debug": {"enable": True}}
    [problem] = validate_cr(data, VERSION).diagnostics
    assert problem.on_key
    assert "drops" in problem.help
    assert "kubectl" in problem.help


def test_old_spellings_are_those_of_their_kind() -> None:
    assert find_old_spelling("GenericJob", ("spec", "worker", "procPerNode")) is None
    assert find_old_spelling("ColossalAIJob", ("spec", "worker", "procPerNode", 0)) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"apiVersion": "batch.tensorstack.dev/v1"}, "SCHEMA010 /apiVersion: the job kinds are in"),
        ({"apiVersion": None}, 'SCHEMA003 : required field "apiVersion" is missing'),
        ({"kind": "genericjob"}, 'SCHEMA011 /kind: kind "genericjob" is called "GenericJob"'),
        ({"kind": "GenericJobs"}, "SCHEMA010 /kind: batch.tensorstack.dev/v1beta1 has no kind"),
        ({"kind": None}, 'SCHEMA003 : required field "kind" is missing'),
        ({"kind": ["GenericJob"]}, 'SCHEMA003 : required field "kind" is missing'),
        ({"metadata": None}, 'SCHEMA003 : required field "metadata" is missing'),
        ({"metadata": {}}, 'SCHEMA003 /metadata: required field "name" is missing'),
        ({"metadata": {"name": None}}, 'SCHEMA003 /metadata: required field "name" is missing'),
        ({"metadata": {"name": "No_Name"}}, "SCHEMA006 /metadata/name:"),
        ({"metadata": {"name": "a", "label": {}}}, "SCHEMA001 /metadata/label:"),
        ({"metadata": {"name": 5}}, "SCHEMA002 /metadata/name:"),
        ({"metadata": "small"}, "SCHEMA002 /metadata: metadata must be a mapping, not a string"),
        ({"spec": None}, 'SCHEMA003 : required field "spec" is missing'),
        ({"spec": []}, "SCHEMA002 /spec: spec must be a mapping, not a list"),
        ({"extra": 1}, 'SCHEMA001 /extra: unknown field "extra"'),
        ({"extra": None}, 'SCHEMA001 /extra: unknown field "extra"'),
    ],
)
def test_what_surrounds_the_spec(changes: dict[str, Any], said: str) -> None:
    [line] = told(validate_cr(small(**changes), VERSION).diagnostics)
    assert line.startswith(said)


def test_all_that_is_wrong_with_metadata_is_told_once() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "u", "controller": True}
    metadata = {
        "name": "No_Name",
        "namespace": None,
        "labels": {"team": 5},
        "annotations": {"long": "x" * 300_000},
        "ownerReferences": [owner, {**owner, "uid": "v"}],
    }
    found = validate_cr(small(metadata=metadata), VERSION).diagnostics
    assert sorted((problem.rule, to_json_pointer(problem.path)) for problem in found) == [
        ("SCHEMA002", "/metadata/labels/team"),
        ("SCHEMA005", "/metadata/annotations"),
        ("SCHEMA006", "/metadata/name"),
        ("SCHEMA009", "/metadata/ownerReferences"),
    ]


def test_two_forms_of_a_kind_are_both_named() -> None:
    data = deepcopy(full("ColossalAIJob.launcher"))
    data["spec"]["replicaSpecs"] = []
    [problem] = [one for one in validate_cr(data, VERSION).diagnostics if one.rule == "SCHEMA009"]
    assert problem.help == 'write "torchConfig" and "replicaSpecs", or "launcher" and "worker"'


IMAGE = "REGISTRY/NAME:TAG"


@pytest.mark.parametrize(
    ("path", "help"),
    [
        ("apiVersion", "write apiVersion: batch.tensorstack.dev/v1beta1"),
        ("metadata", "write metadata: {name: NAME}, the name, namespace, labels and annotations of the job"),
        ("metadata.name", "write name: NAME"),
        ("spec.replicaSpecs", "write replicaSpecs: […], the replica types of the job, at least one"),
        (
            "spec.replicaSpecs.0.template",
            f"write template: {{spec: {{containers: [{{name: NAME, image: {IMAGE}}}]}}}},"
            " the Pod that each replica of this type runs as",
        ),
        (
            "spec.replicaSpecs.0.template.spec.containers",
            f"write containers: [{{name: NAME, image: {IMAGE}}}]",
        ),
        ("spec.replicaSpecs.0.template.spec.containers.0.image", f"write image: {IMAGE}"),
        ("spec.replicaSpecs.0.template.spec.volumes.0.hostPath.path", "write path: PATH"),
        (
            "spec.replicaSpecs.0.template.spec.volumes.1.persistentVolumeClaim.claimName",
            "write claimName: NAME",
        ),
        ("spec.replicaSpecs.0.template.spec.volumes.2.rbd.image", "write image: IMAGE"),
        (
            "spec.replicaSpecs.0.template.spec.topologySpreadConstraints.0.whenUnsatisfiable",
            "write whenUnsatisfiable: DoNotSchedule or ScheduleAnyway",
        ),
    ],
)
def test_what_is_missing_says_what_to_write(path: str, help: str) -> None:
    data = small()
    pod = data["spec"]["replicaSpecs"][0]["template"]["spec"]
    pod["volumes"] = [
        {"name": "node", "hostPath": {"path": "/data"}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "old", "rbd": {"image": "data", "monitors": ["10.0.0.1"]}},
    ]
    apart = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    pod["topologySpreadConstraints"] = [apart]
    assert validate_cr(data, VERSION).diagnostics == []
    *steps, last = (int(step) if step.isdigit() else step for step in path.split("."))
    holder: Any = data
    for step in steps:
        holder = holder[step]
    del holder[last]
    assert [problem.help for problem in validate_cr(data, VERSION).diagnostics] == [help]


def test_a_launcher_without_an_image_says_where_to_write_it() -> None:
    data = deepcopy(full("ColossalAIJob.launcher"))
    del data["spec"]["launcher"]["image"]
    del data["spec"]["worker"]["template"]["spec"]["containers"][0]["image"]
    [problem] = [one for one in validate_cr(data, VERSION).diagnostics if "launcher" in one.message]
    assert (
        problem.help == f"write launcher: {{image: {IMAGE}}}, or give the container of the workers an image"
    )


@pytest.mark.parametrize("value", ["$(params.cpu)", "${CPU}", "{{ .Values.cpu }}"])
def test_a_placeholder_is_told_as_one(value: str) -> None:
    data = small(metadata={"name": value})
    container = data["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]
    container["resources"] = {"limits": {"cpu": value}}
    container["ports"] = [{"containerPort": value}]
    data["spec"]["replicaSpecs"][0]["replicas"] = value
    found = validate_cr(data, VERSION).diagnostics
    assert len(found) == 4
    assert all(problem.help.startswith("this looks like a placeholder; ") for problem in found)


@pytest.mark.parametrize("data", [None, 3, "text", [], {}, {"kind": "GenericJob"}, {"spec": {}}])
def test_what_is_no_cr_is_told_and_not_lowered(data: Any) -> None:
    checked = validate_cr(data, VERSION)
    assert checked.diagnostics
    assert not checked.is_lowerable


@pytest.mark.parametrize("bad", ["\ud800", {5: "a key"}])
def test_what_is_no_json_is_told(bad: Any) -> None:
    data = small(kind="PyTorchTrainingJob")
    data["spec"]["torchrunConfig"] = {"procPerNode": bad}
    checked = validate_cr(data, VERSION)
    assert [problem.rule for problem in checked.diagnostics] == ["SCHEMA006"]
    assert not checked.is_lowerable


def test_a_misnamed_kind_is_checked_as_the_one_that_was_meant() -> None:
    checked = validate_cr({**full("DeepSpeedJob"), "kind": "DeepspeedJob"}, VERSION)
    assert checked.kind == "DeepSpeedJob"
    assert not checked.is_lowerable
    assert len(checked.diagnostics) == 1


@pytest.mark.parametrize("kind", ["SparkJob", "SparkJobList"])
def test_kinds_without_a_lowering_are_known(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "FAMILIES", (registry.T9K._replace(not_lowered=("SparkJob",)),))
    assert is_known_but_not_lowered(small(kind=kind))
    assert validate_cr(small(kind=kind), VERSION) == ([], False, kind, "")


def test_kinds_with_a_lowering_are_not_among_them() -> None:
    assert not is_known_but_not_lowered(small(kind="GenericJobList"))
    assert not is_known_but_not_lowered({"apiVersion": "v1", "kind": "Pod"})


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (
            "WorkflowTemplat",
            'SCHEMA010 /kind: {api} has no kind "WorkflowTemplat"; did you mean "WorkflowTemplate"?',
        ),
        ("workflowrun", 'SCHEMA011 /kind: kind "workflowrun" is called "WorkflowRun"; '),
        (
            "PyTorchTrainngJob",
            'SCHEMA010 /kind: {api} has no kind "PyTorchTrainngJob"; did you mean "PyTorch',
        ),
        (
            "XGBoostTrainngJob",
            'SCHEMA010 /kind: {api} has no kind "XGBoostTrainngJob"; did you mean "XGBoost',
        ),
        ("GenericJobb", 'SCHEMA010 /kind: {api} has no kind "GenericJobb"; did you mean "GenericJob"?'),
    ],
)
def test_a_mistyped_kind_of_the_group_is_an_error_with_the_kind_that_was_meant(
    written: str, said: str
) -> None:
    [line] = told(validate_cr(small(kind=written), VERSION).diagnostics)
    assert line.startswith(said.format(api="batch.tensorstack.dev/v1beta1"))


def test_only_a_spelling_that_migrate_replaces_is_left_to_it() -> None:
    helps = {
        kind: validate_cr(small(kind=kind), VERSION).diagnostics[0].help
        for kind in ("DeepspeedJob", "mpijob")
    }
    assert helps == {
        "DeepspeedJob": "write kind: DeepSpeedJob, or run podplan migrate",
        "mpijob": "write kind: MPIJob",
    }


def test_of_a_list_the_envelope_is_checked() -> None:
    envelope = {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "GenericJobList", "metadata": {}}
    assert validate_cr({**envelope, "items": [{"anything": 1}]}, VERSION).diagnostics == []
    assert told(validate_cr({**envelope, "items": [5]}, VERSION).diagnostics) == [
        "SCHEMA002 /items/0: items[0] must be a mapping, not an integer"
    ]
    assert told(validate_cr(envelope, VERSION).diagnostics) == [
        'SCHEMA003 : required field "items" is missing'
    ]


def test_a_null_counts_as_not_written() -> None:
    data = deepcopy(full("GenericJob"))
    data["spec"]["cleanUpPolicy"] = None
    data["spec"]["scheduler"]["t9kScheduler"]["queue"] = None
    data["spec"]["replicaSpecs"][0]["template"]["metadata"] = {"creationTimestamp": None}
    assert validate_cr(data, VERSION).diagnostics == []


def test_a_null_in_a_list_is_a_value() -> None:
    data = small()
    data["spec"]["successRules"] = [None]
    assert [problem.rule for problem in validate_cr(data, VERSION).diagnostics] == ["SCHEMA002"]


def test_status_does_not_keep_a_job_from_being_lowered() -> None:
    checked = validate_cr(small(status={"phase": "Sleeping", "aggregate": {"running": "one"}}), VERSION)
    assert sorted(problem.rule for problem in checked.diagnostics) == ["SCHEMA002", "SCHEMA004"]
    assert checked.is_lowerable


@pytest.mark.parametrize(
    ("template", "lowerable"),
    [
        ({"spec": {"containers": [{"name": "worker"}]}}, True),
        ({"spec": {"containers": [{"name": "worker", "image": "a", "imagePullPolicy": "Soon"}]}}, True),
        ({"spec": {"containers": [{"name": "worker", "image": 5}]}}, False),
        ({"spec": {}}, False),
        ({}, False),
    ],
)
def test_a_template_without_containers_or_with_wrong_types_cannot_be_lowered(
    template: dict[str, Any], lowerable: bool
) -> None:
    data = small()
    data["spec"]["replicaSpecs"][0]["template"] = template
    checked = validate_cr(data, VERSION)
    assert checked.is_lowerable is lowerable
    assert all(problem.path[:4] == ("spec", "replicaSpecs", 0, "template") for problem in checked.diagnostics)
    assert checked.diagnostics


def test_objects_of_kubernetes_are_checked_where_they_stand() -> None:
    launcher = deepcopy(full("ColossalAIJob.launcher"))
    launcher["spec"]["launcher"]["env"][0] = {"name": "MODE", "value": "a", "valueFrom": {}}
    launcher["spec"]["launcher"]["resources"]["limits"]["cpu"] = "lots"
    torch = deepcopy(full("PyTorchTrainingJob"))
    torch["spec"]["tensorboardSpec"]["resources"]["limit"] = {}
    generic = deepcopy(full("GenericJob"))
    generic["spec"]["service"]["ports"].append({"port": 70000})
    paths = [
        to_json_pointer(problem.path)
        for data in (launcher, torch, generic)
        for problem in validate_cr(data, VERSION).diagnostics
    ]
    assert any(path.startswith("/spec/launcher/env/0") for path in paths)
    assert "/spec/launcher/resources/limits/cpu" in paths
    assert "/spec/tensorboardSpec/resources/limit" in paths
    assert "/spec/service/ports/1/port" in paths


def test_a_launcher_may_leave_its_template_unfinished() -> None:
    data = deepcopy(full("ColossalAIJob.replicaSpecs"))
    worker, launcher = data["spec"]["replicaSpecs"]
    assert (worker["type"], launcher["template"]) == ("worker", {})
    del launcher["template"]
    assert validate_cr(data, VERSION).diagnostics == []
    worker["template"] = {}
    assert validate_cr(data, VERSION).diagnostics != []


def test_the_kubernetes_version_counts() -> None:
    data = small()
    data["spec"]["replicaSpecs"][0]["template"]["spec"]["resourceClaims"] = [{"name": "gpu"}]
    assert validate_cr(data, "1.24").diagnostics[0].rule == "SCHEMA001"
    assert not any(problem.rule == "SCHEMA001" for problem in validate_cr(data, "1.36").diagnostics)


def test_callers_get_their_own_codes() -> None:
    problems = validate_against("JobProfile", {"apiVersion": "podplan/v1"}, {"SCHEMA003": "PROF001"})
    assert {problem.rule for problem in problems} == {"PROF001"}


def test_a_schema_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        validate_against("NoSuchKind", {})
    with pytest.raises(LookupError, match="GenericJob"):
        build_schema("common", VERSION)


@pytest.mark.parametrize("name", list_schema_names())
def test_what_is_shown_is_a_self_contained_schema(name: str) -> None:
    schema = build_schema(name, VERSION)
    for part in (*schema["$defs"].values(), {**schema, "$defs": {}}):
        check_is_schema(json.dumps(part))
    references = set(_references(schema))
    assert references <= {f"#/$defs/{key}" for key in schema["$defs"]}
    assert "x-podplan-kubernetes" not in json.dumps(schema)


@cache
def check_is_schema(text: str) -> None:
    """Once for each definition, which many schemas have in common."""
    jsonschema.Draft202012Validator.check_schema(json.loads(text))


def _references(node: Any) -> list[str]:
    if isinstance(node, list):
        return [reference for entry in node for reference in _references(entry)]
    if not isinstance(node, dict):
        return []
    own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
    return own + [reference for below in node.values() for reference in _references(below)]


@pytest.mark.parametrize("name", FULL)
def test_what_is_shown_accepts_a_cr_with_every_field(name: str) -> None:
    item = full(name)
    found = registry.find_kind(item["apiVersion"], item["kind"])
    assert found is not None
    shown = registry.name_of(found)
    jsonschema.Draft202012Validator(build_schema(shown, VERSION)).validate(item)
    envelope = {"apiVersion": item["apiVersion"], "kind": f"{item['kind']}List", "items": [item]}
    jsonschema.Draft202012Validator(build_schema(f"{shown}List", VERSION)).validate(envelope)


def test_what_is_shown_refuses_what_check_cr_refuses() -> None:
    validators = {}
    for case in MESSAGES:
        kind = "DeepSpeedJob" if case["kind"] == "DeepspeedJob" else case["kind"]
        if kind not in validators:
            validators[kind] = jsonschema.Draft202012Validator(build_schema(kind, VERSION))
        assert validators[kind].is_valid(small(kind=case["kind"], spec=case["spec"])) is not bool(
            case["problems"]
        )


def test_an_editor_is_told_of_the_dialect_that_was_begun() -> None:
    validator = jsonschema.Draft202012Validator(build_schema("ColossalAIJob", VERSION))
    begun = small(kind="ColossalAIJob", spec={"worker": {"procPerNode": 2, "template": {}}})
    messages = " ".join(error.message for error in validator.iter_errors(begun))
    assert "procPerNode" in messages
    assert "replicaSpecs" not in messages
