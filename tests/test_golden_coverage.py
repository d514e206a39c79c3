"""The goldens use every field and every listed value of the schemas, and every run mode of every kind."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.golden_cases import FIXTURES, Case, cases

# folder of a kind -> the schema of its CRs
SCHEMAS = {
    "generic_job": "GenericJob.json",
    "pytorch_training_job": "PyTorchTrainingJob.json",
    "deepspeed_job": "DeepSpeedJob.json",
    "colossalai_job_launcher": "ColossalAIJob.launcher.json",
    "colossalai_job_replicas": "ColossalAIJob.replicaSpecs.json",
    "tensorflow_training_job": "TensorFlowTrainingJob.json",
    "xgboost_training_job": "XGBoostTrainingJob.json",
    "mpi_job_replicas": "MPIJob.replicaSpecs.json",
    "mpi_job_worker": "MPIJob.worker.json",
    "mpi_job_processes": "MPIJob.processes.json",
}
FOLDER = Path(__file__).parents[1] / "schemas"
ENTRY, ANY = "[]", "*"  # steps of a pattern: an entry of a list, any key of a map
ALL = list(cases())

Pattern = tuple[str, ...]
Schema = dict[str, Any]


def load(name: str) -> Schema:
    schema = json.loads((FOLDER / name).read_text())
    assert isinstance(schema, dict)
    return schema


def resolved(schema: Schema, file: str) -> tuple[Schema, str] | None:
    """A schema with its reference followed, and the file it is in; None for a type of Kubernetes."""
    reference = schema.get("$ref", "")
    if not reference:
        return schema, file
    if reference.startswith("kubernetes:"):
        return None
    name, _, fragment = reference.partition("#")
    node = load(name or file)
    for step in fragment.strip("/").split("/"):
        node = node[step]
    return resolved(node, name or file)


def fields(schema: Schema, file: str, path: Pattern = ()) -> Iterator[tuple[Pattern, Any]]:
    """Every field below a schema with None, and every value that an enum lists with the value."""
    found = resolved(schema, file)
    if found is None:
        return
    schema, file = found
    for value in schema.get("enum", []):
        if value is not None:
            yield path, value
    for name, below in schema.get("properties", {}).items():
        yield (*path, name), None
        yield from fields(below, file, (*path, name))
    if isinstance(schema.get("items"), dict):
        yield from fields(schema["items"], file, (*path, ENTRY))
    if isinstance(schema.get("additionalProperties"), dict):
        yield from fields(schema["additionalProperties"], file, (*path, ANY))
    for applied in [schema.get("if"), schema.get("then"), schema.get("else"), *schema.get("allOf", [])]:
        if isinstance(applied, dict):
            yield from fields(applied, file, path)


def used(data: Any, path: Pattern = ()) -> Iterator[tuple[Pattern, Any]]:
    """Every field of a document with None, and every scalar with its value; each key also as ``*``."""
    if isinstance(data, dict):
        for key, below in data.items():
            for step in (key, ANY):
                yield (*path, step), None
                yield from used(below, (*path, step))
    elif isinstance(data, list):
        for below in data:
            yield from used(below, (*path, ENTRY))
    else:
        yield path, data


def missing(wanted: Iterable[tuple[Pattern, Any]], found: Iterable[tuple[Pattern, Any]]) -> list[str]:
    """What is wanted and not found, as text."""
    seen = set(found)
    lost = [(path, value) for path, value in dict.fromkeys(wanted) if (path, value) not in seen]
    return [".".join(path) + ("" if value is None else f" = {value}") for path, value in lost]


def documents(files: Iterable[Path]) -> Iterator[Any]:
    """The documents of the files, lists taken apart."""
    for file in files:
        for data in yaml.load_all(file.read_text(), yaml.CSafeLoader):
            yield from data.get("items", [data])


def crs(folder: str) -> Iterator[Any]:
    """The CRs of the cases of a kind, compiled and written by hand."""
    return documents((FIXTURES / folder).glob("*/cr.yaml"))


def profiles() -> list[Any]:
    """The profiles and bases of all cases."""
    return list(documents([*FIXTURES.glob("*_job*/*/profile.yaml"), *FIXTURES.glob("*_job*/*/bases/*.yaml")]))


@pytest.mark.parametrize("folder", SCHEMAS)
def test_every_field_and_value_of_a_spec_is_in_a_golden(folder: str) -> None:
    file = SCHEMAS[folder]
    wanted = fields(load(file)["properties"]["spec"], file)
    assert missing(wanted, (found for cr in crs(folder) for found in used(cr["spec"]))) == []


def test_every_field_and_value_of_a_profile_is_in_a_golden() -> None:
    schema = load("JobProfile.json")
    own = [
        (path, value)
        for path, value in fields(schema["$defs"]["spec"], "JobProfile.json")
        if path[0] not in ("roles", "environments")
    ]
    in_role = [(("roles", ENTRY, name), None) for name in schema["$defs"]["roles"]["items"]["properties"]]
    spec_fields = schema["$defs"]["spec"]["properties"].keys()
    in_environment = [
        (("environments", ANY, name), None)
        for name in schema["$defs"]["overlay"]["properties"]
        if name not in spec_fields
    ]
    seen = {found for profile in profiles() for found in used(profile["spec"])}
    # What a role or an environment says is as good as what the spec says: it is the same field.
    for prefix in (("environments", ANY), ("roles", ENTRY)):
        seen |= {(path[2:], value) for path, value in seen if path[:2] == prefix}
    assert missing([*own, *in_role, *in_environment], seen) == []


def test_every_field_of_the_metadata_of_a_profile_is_in_a_golden() -> None:
    wanted = fields(load("JobProfile.json")["$defs"]["metadata"], "JobProfile.json")
    found = (found for profile in profiles() for found in used(profile.get("metadata", {})))
    assert missing(wanted, found) == []


def test_every_field_of_a_hardware_class_is_in_a_golden() -> None:
    schema = load("ClusterInventory.json")["$defs"]["hardwareClass"]
    classes = [
        hardware
        for inventory in documents(FIXTURES.glob("*_job*/*/inventory.yaml"))
        for hardware in inventory["spec"]["hardware"].values()
    ]
    found = (found for hardware in classes for found in used(hardware))
    assert missing(fields(schema, "ClusterInventory.json"), found) == []


def modes(case: Case) -> Iterator[str]:
    """The run modes that a case shows, and how much it says of them."""
    for cr in documents([case.folder / "cr.yaml"]):
        run_mode = cr["spec"].get("runMode", {})
        debug, pause = run_mode.get("debug", {}), run_mode.get("pause", {})
        if debug.get("enabled"):
            yield "debug with commands" if debug.get("replicaSpecs") else "debug by default"
        elif pause.get("enabled") and "--resumed" in case.arguments:
            yield "resumed"
            yield from (f"resumed: {key}" for entry in pause.get("resumeSpecs", []) for key in entry)
        elif pause.get("enabled"):
            yield "paused"
        else:
            yield "immediate"
        if cr["spec"].get("elastic", {}).get("enabled"):
            torchrun = cr["spec"].get("torchrunConfig", {}).get("enabled")
            yield "elastic" if torchrun or cr["kind"] == "DeepSpeedJob" else "elastic without torchrun"


@pytest.mark.parametrize("folder", SCHEMAS)
def test_every_kind_is_shown_in_every_run_mode(folder: str) -> None:
    seen = {mode for case in ALL if case.folder.parent.name == folder for mode in modes(case)}
    assert {"immediate", "debug with commands", "paused", "resumed"} <= seen


def test_everything_that_a_run_mode_may_say_is_in_a_golden() -> None:
    seen = {mode for case in ALL for mode in modes(case)}
    assert {
        "debug by default",
        "resumed: command",
        "resumed: args",
        "resumed: skipInitContainer",
        "elastic",
        "elastic without torchrun",
    } <= seen


def test_children_are_shown_with_and_without_a_uid() -> None:
    given = {
        bool("--uid" in case.arguments or cr["metadata"].get("uid"))
        for case in ALL
        for cr in documents([case.folder / "cr.yaml"])
    }
    assert given == {True, False}


def test_what_is_not_there_is_told() -> None:
    schema: Schema = {"properties": {"a": {"enum": ["x", "y"]}, "b": {"items": {"properties": {"c": {}}}}}}
    assert missing(fields(schema, ""), used({"a": "x", "b": []})) == ["a = y", "b.[].c"]
