"""The schemas, the walk that explains them, and data of any shape."""

from __future__ import annotations

import copy
import gzip
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path as File
from typing import Any

import pytest
import yaml

from podplan import kubernetes
from podplan.core import package_data
from podplan.core.findings import Diagnostic, DocumentFix
from podplan.kubernetes import names, nulls, schemas, structure
from tests.work_counts import work

ROOT = File(__file__).parents[1]
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "image": "busybox"}]},
}
JUNK: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    "",
    "x",
    "\ud800",
    "a/b",
    [],
    {},
    [None],
    {"x": None},
    {1: 2},
]


def objects() -> list[dict[str, Any]]:
    with gzip.open(ROOT / "fixtures" / "kubernetes" / "verdicts.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line)["object"] for line in lines]


def lines() -> Iterator[tuple[str, str, dict[str, Any]]]:
    text = package_data.read_bundled_file("schemas", "kubernetes", "definitions.tsv")
    for line in text.splitlines():
        name, spans, schema = line.split("\t")
        yield name, spans, json.loads(schema)


def nested(value: Any) -> Iterator[Any]:
    yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from nested(inner)


@pytest.mark.parametrize("version", kubernetes.supported_versions())
def test_every_reference_of_a_version_leads_somewhere(version: str) -> None:
    for name in ("Pod", "Service", "ConfigMap", "Secret", "PodTemplateSpec", "EnvVar", "ListMeta"):
        schemas.build_validator(name, version)
        for part in nested(schemas.load_definition(name, version)):
            if isinstance(part, dict) and isinstance(part.get("$ref"), str):
                assert schemas.resolve_reference(part, version)


def test_the_file_is_sorted_and_has_each_version_once() -> None:
    rows = [(name, spans) for name, spans, _ in lines()]
    assert [name for name, _ in rows] == sorted(name for name, _ in rows)
    assert {f"1.{minor}" for _, spans in rows for span in spans.split(",") for minor in span.split("-")} <= {
        *kubernetes.supported_versions()
    }
    assert all(schemas.load_definition("Pod", version) for version in kubernetes.supported_versions())


def test_the_schemas_hold_the_forms_as_they_are_now() -> None:
    for name, _, schema in lines():
        for part in nested(schema):
            if isinstance(part, dict) and "x-form" in part:
                form = names.NAME_FORMS[part["x-form"]]
                spelt = [part["pattern"], *(inner["pattern"] for inner in part.get("allOf", ()))]
                assert [text.removeprefix("^$|") for text in spelt] == list(form.patterns), name


@pytest.mark.parametrize(
    ("version", "every"),
    [
        pytest.param("1.24", 3, marks=pytest.mark.long),
        ("1.36", 1),
        pytest.param("1.37", 3, marks=pytest.mark.long),
    ],
)
def test_the_walk_finds_fault_exactly_where_the_validator_does(version: str, every: int) -> None:
    """Of all objects in the version that answered about them, and of each third one in the others."""
    for obj in objects()[::every]:
        kind = obj["kind"]
        data = nulls.remove_nulls(schemas.load_definition(kind, version), obj, version)
        explained = list(structure.validate_structure(schemas.load_definition(kind, version), data, version))
        assert schemas.is_valid(kind, data, version) == (not explained), explained


def broken_objects(junk: list[Any], keys: list[Any]) -> Iterator[Any]:
    dice = random.Random(7)
    for obj in dice.sample(objects(), 600):
        broken = copy.deepcopy(obj)
        for _ in range(dice.randint(1, 4)):
            holders = [part for part in nested(broken) if isinstance(part, dict | list) and part]
            holder = dice.choice(holders)
            key = dice.choice(list(holder)) if isinstance(holder, dict) else dice.randrange(len(holder))
            holder[key] = copy.deepcopy(dice.choice(junk))
            if isinstance(holder, dict) and dice.random() < 0.2:
                holder[dice.choice(keys)] = dice.choice(junk)
        yield broken


def test_the_walk_and_the_validator_agree_on_broken_objects() -> None:
    plain = [junk for junk in JUNK if junk != "\ud800" and junk != {1: 2}]
    for broken in broken_objects(plain, ["", "x", "metadata", "spec"]):
        walked = next(
            structure.validate_structure(schemas.load_definition("Pod", "1.36"), broken, "1.36"), None
        )
        assert schemas.is_valid("Pod", broken, "1.36") == (walked is None), walked


def test_no_shape_of_data_raises() -> None:
    for broken in broken_objects(JUNK, ["", "x", "\ud800", 3]):
        assert isinstance(kubernetes.validate_object(broken), list)
        assert isinstance(kubernetes.validate_pod_template(broken.get("spec")), list)
        assert isinstance(kubernetes.validate_definition("ObjectMeta", broken.get("metadata")), list)


def test_an_unknown_field_names_the_near_one() -> None:
    pod = copy.deepcopy(POD)
    pod["spec"]["containers"][0]["imagePullPolcy"] = "Always"
    (problem,) = kubernetes.validate_object(pod)
    path = ("spec", "containers", 0, "imagePullPolcy")
    assert problem == Diagnostic(
        "SCHEMA001",
        'unknown field "imagePullPolcy"; did you mean "imagePullPolicy"?',
        path,
        on_key=True,
        fix=DocumentFix('rename it to "imagePullPolicy"', "rename", path, "imagePullPolicy"),
    )


def test_a_field_under_another_name_is_not_told_as_missing_too() -> None:
    (problem,) = kubernetes.validate_definition("EnvVar", {"nam": "A"})
    assert problem.message == 'unknown field "nam"; did you mean "name"?'


@pytest.mark.parametrize("odd", [{1: 2}, {"\ud800": "a"}])
def test_what_the_validator_cannot_read_is_not_valid(odd: dict[Any, Any]) -> None:
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": odd}
    assert not schemas.is_valid("ConfigMap", config_map, "1.36")


def test_a_whole_number_with_a_point_is_an_integer() -> None:
    schema = schemas.load_definition("ContainerPort", "1.36")
    assert list(structure.validate_structure(schema, {"containerPort": 80.0}, "1.36")) == []


def test_an_unknown_field_far_from_all_lists_the_known_ones() -> None:
    (problem,) = kubernetes.validate_definition("EnvVar", {"name": "A", "zzzz": 1})
    assert problem.message == 'unknown field "zzzz"'
    assert problem.help == "the fields of this place are: name, value, valueFrom"


def test_a_wrong_type_says_how_to_mend_it_and_does_not_show_the_value() -> None:
    (problem,) = kubernetes.validate_definition("EnvVar", {"name": "PIN", "value": 4711})
    assert problem == Diagnostic(
        "SCHEMA002",
        "value must be a string, not an integer",
        ("value",),
        help="add quotes around the value",
        fix=DocumentFix("add quotes", "quote", ("value",), safe=True),
    )


def test_nulls_count_as_not_written() -> None:
    pod = copy.deepcopy(POD)
    pod["metadata"]["creationTimestamp"] = None
    pod["metadata"]["labels"] = {"a": None}
    pod["spec"]["containers"][0]["args"] = [None]
    pod["spec"]["nodeSelector"] = None
    assert kubernetes.validate_object(pod) == []
    pod["spec"]["containers"][0]["image"] = None
    (problem,) = kubernetes.validate_object(pod)
    assert problem.message == 'required field "image" is missing in container "c"'


@pytest.mark.parametrize(
    ("field", "entries", "message"),
    [
        ("containers", [{"name": "c", "image": "i"}, {}], 'required field "name" is missing in container 2'),
        ("containers", [{"name": "c", "image": "i"}, 7], "container 2 must be a mapping, not an integer"),
        ("initContainers", [{"image": "i"}], 'required field "name" is missing in init container 1'),
        ("initContainers", [{"name": ["c"]}], 'required field "image" is missing in init container 1'),
        ("volumes", [{"emptyDir": {}}], 'required field "name" is missing in volume 1'),
        ("containers", [{"name": "c", "image": "i", "x-y": 1}], 'unknown field "x-y"'),
    ],
)
def test_containers_are_called_by_name_or_number(field: str, entries: list[Any], message: str) -> None:
    pod = copy.deepcopy(POD)
    pod["spec"][field] = entries
    found = {problem.message: problem.help for problem in kubernetes.validate_object(pod)}
    assert message in found
    assert "[" not in "".join((*found, *found.values()))
    assert not message.startswith("unknown") or "the fields of each container are: args, " in found[message]


@pytest.mark.parametrize(
    ("version", "field", "value"),
    [
        ("1.27", "restartPolicy", "Always"),
        ("1.34", "restartPolicy", "OnFailure"),
        ("1.34", "restartPolicy", "Always"),
        ("1.26", "resizePolicy", [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]),
        ("1.31", "env", [{"name": "1ST", "value": "x"}]),
    ],
)
def test_what_a_later_version_brought(version: str, field: str, value: Any) -> None:
    pod = copy.deepcopy(POD)
    pod["spec"]["containers"][0][field] = value
    assert kubernetes.validate_object(pod, version)
    assert kubernetes.validate_object(pod, "1.37") == []


def test_what_kubectl_get_shows_is_accepted() -> None:
    for document in yaml.safe_load_all(
        (ROOT / "fixtures" / "kubernetes" / "running.yaml").read_text("utf-8")
    ):
        for version in ("1.32", "1.36", "1.37"):
            assert kubernetes.validate_object(document, version) == []


def test_a_service_name_may_begin_with_a_digit_from_1_36_on() -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "0day"},
        "spec": {"ports": [{"port": 80}]},
    }
    assert kubernetes.validate_object(service, "1.36") == []
    (problem,) = kubernetes.validate_object(service, "1.35")
    assert problem.path == ("metadata", "name")


def test_an_unknown_version_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no schemas for Kubernetes 1\.19; there are 1\.24, .*, 1\.37"):
        kubernetes.validate_object(POD, "1.19")


def test_an_unknown_definition_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        kubernetes.validate_definition("Nonsense", {})


def test_a_partial_template_may_leave_its_containers_to_a_controller() -> None:
    empty: list[dict[str, Any]] = [{}, {"spec": {}}, {"spec": {"containers": []}}]
    for template in empty:
        assert kubernetes.validate_pod_template(template)
        assert kubernetes.validate_pod_template(template, partial=True) == []
    problems = kubernetes.validate_pod_template({"spec": {"restartPolicy": "always"}}, partial=True)
    assert [problem.path for problem in problems] == [("spec", "restartPolicy")]


@pytest.mark.parametrize(
    ("obj", "path", "message"),
    [
        ({"kind": "Pod"}, (), 'required field "apiVersion" is missing'),
        ({"apiVersion": "v1"}, (), 'required field "kind" is missing'),
        ({"apiVersion": "v2", "kind": "Pod"}, ("apiVersion",), 'apiVersion of a Pod is v1, not "v2"'),
        ({"apiVersion": "v1", "kind": "pod"}, ("kind",), 'unknown kind "pod" of "v1"; did you mean "Pod"?'),
        ({"apiVersion": [], "kind": {}}, ("kind",), "unknown kind a mapping of a list"),
        ([], (), "the document must be a mapping, not a list"),
    ],
)
def test_what_is_no_object_that_podplan_knows(obj: Any, path: tuple[Any, ...], message: str) -> None:
    (problem,) = kubernetes.validate_object(obj)
    assert (problem.path, problem.message) == (path, message)


def test_the_objects_of_the_platform() -> None:
    group = {
        "apiVersion": "scheduler.tensorstack.dev/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "labels": {"a": "b"}},
        "spec": {"minMember": 5, "priority": 10, "queue": "default"},
    }
    board = {
        "apiVersion": "tensorstack.dev/v1beta1",
        "kind": "TensorBoard",
        "metadata": {"name": "b"},
        "spec": {
            "logDir": {"pvc": [{"name": "logs", "subPath": ["run"]}]},
            "resources": {"limits": {"cpu": 1}},
        },
    }
    assert kubernetes.validate_object(group) == []
    assert kubernetes.validate_object(board) == []
    group["spec"] = {"minMember": "5", "priority": 101, "que": "x"}
    assert [problem.path[1:] for problem in kubernetes.validate_object(group)] == [
        ("minMember",),
        ("priority",),
        ("que",),
    ]
    board["metadata"] = {"name": "B", "labels": {"a": "-"}}
    assert {problem.path[1:] for problem in kubernetes.validate_object(board)} == {("labels", "a"), ("name",)}


@pytest.mark.parametrize(
    ("spec", "fits"),
    [
        ({"minMember": 1, "queue": "q", "roles": [{"name": "worker", "minMember": 1}]}, True),
        ({"minMember": -1}, False),
        ({"minMember": "1"}, False),
        ({"minMembers": 1}, False),
        ({"queue": None}, False),
        ({"roles": [{"minMember": 1}]}, False),
    ],
)
def test_walk_and_validator_agree_on_the_objects_of_the_platform(spec: Any, fits: bool) -> None:
    api = "scheduler.tensorstack.dev/v1beta1"
    group = {"apiVersion": api, "kind": "PodGroup", "metadata": {"name": "g"}, "spec": spec}
    walked = next(
        structure.validate_structure(schemas.load_definition("PodGroup", "1.36"), group, "1.36"), None
    )
    assert schemas.is_valid("PodGroup", group, "1.36") is (walked is None) is fits


def test_a_valid_pod_loads_no_library() -> None:
    code = (
        "import sys; from podplan import kubernetes; "
        f"assert kubernetes.validate_object({POD!r}) == []; "
        "print({'jsonschema', 'jsonschema_rs', 'difflib', 'ipaddress', 'yaml'} & set(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT / "compiler")},
    )
    assert run.stdout.strip() == "set()"


def test_words_of_a_list_are_looked_at_and_not_explained_one_by_one() -> None:
    schema, version = (
        schemas.load_definition("Container", kubernetes.DEFAULT_VERSION),
        kubernetes.DEFAULT_VERSION,
    )

    def explained(words: list[Any]) -> list[Diagnostic]:
        container = {"name": "a", "image": "b:1", "args": words}
        return list(structure.validate_structure(schema, container, version))

    few, many = (work(partial(explained, ["a"] * number)) for number in (10, 1_000))
    assert many < few + 5 * 1_000
    assert explained(["a"] * 1_000) == []
    assert [one.path for one in explained(["a", "é", "\ud800", 1])] == [("args", 2), ("args", 3)]
    assert [one.path for one in explained(["a", "\ud800"])] == [("args", 1)]
