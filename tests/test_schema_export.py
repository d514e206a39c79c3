"""podplan schema export: layout, drafts, and the same verdicts as podplan in another implementation."""

from __future__ import annotations

import copy
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from podplan import kubernetes
from podplan.core.findings import Diagnostic
from podplan.kinds.registry import PACKAGES, GroupVersionKind, find_kind
from podplan.schema import validate_cr
from podplan.schema.catalog import build_schema, find_schema_name, list_schema_names
from podplan.schema.fields import collect_fields, find_description, find_schemas_at
from podplan.schema.folders import build_catalog, build_editor_files
from podplan.yaml import parse_yaml
from tests.command import podplan
from tests.golden_cases import FIXTURES

VERSION = kubernetes.DEFAULT_VERSION
ODD: tuple[Any, ...] = ("", "auto", 0, -1, 1.5, True, [], {}, ["a"], {"a": 1})
MUTANTS_PER_CR = 12
CRS_PER_KIND = 5
# What the structure of a document decides. Other rules are about relations, names, amounts and operators.
STRUCTURAL_RULES = {"SCHEMA001", "SCHEMA002"}


@cache
def catalog() -> dict[str, Any]:
    return build_catalog(VERSION, {})


@cache
def editor_files() -> dict[str, Any]:
    return build_editor_files(VERSION, {})


@cache
def validator(file: str) -> Draft202012Validator:
    return Draft202012Validator(catalog()[file])


def file_of(kind: GroupVersionKind) -> str:
    return f"{kind.group}/{kind.kind.lower()}_{kind.version}.json"


def test_the_catalogue_has_every_kind_where_kubeconform_looks_for_it() -> None:
    own = {f"podplan/{kind}_v1.json" for kind in ("jobprofile", "jobprofilebase")}
    own |= {"podplan/clusterinventory_v1.json", "podplan/workloadmapping_v1.json"}
    assert set(catalog()) == {file_of(kind) for kind in PACKAGES} | own
    assert len(catalog()) == 24


def test_the_files_for_editors_are_those_of_schema_show() -> None:
    names = {file.removesuffix(".json") for file in editor_files()} - {"all"}
    results = {"Findings", "Diff", "Plan"}
    assert names == {name for name in list_schema_names() if not name.endswith("List")} - results


@pytest.mark.parametrize("files", [catalog, editor_files])
def test_every_schema_is_one_of_its_draft_and_needs_no_other_host(files: Any) -> None:
    for name, schema in files().items():
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        jsonschema_rs.meta.validate(schema)
        assert schema["description"]
        if name != "all.json":
            # Also: patterns without look-around, which the regular expressions of Go do not have.
            jsonschema_rs.Draft202012Validator(schema, pattern_options=jsonschema_rs.RegexOptions())
        for reference in re.findall(r'"\$ref": "([^"]*)"', json.dumps(schema)):
            assert reference.startswith("#/$defs/") or (name == "all.json" and reference in files())


def test_fields_have_descriptions() -> None:
    for schema in catalog().values():
        fields = collect_fields(find_schemas_at(schema, ["spec"]), schema)
        assert len(fields) > 1
        for name, field in fields.items():
            assert find_description([field], schema), (schema["title"], name)


def test_a_kind_has_its_schema_by_its_full_name_too() -> None:
    assert find_schema_name("kubeflow.org/v1/PyTorchJob") == "PyTorchJob"
    assert find_schema_name("kubeflow.org/v1/MPIJob") == "kubeflow.org/v1/MPIJob"
    assert find_schema_name("MPIJob") is None
    assert find_schema_name("kubeflow.org/v2/PyTorchJob") is None
    shown = podplan("schema", "show", "batch/v1/Job")
    assert json.loads(shown.out) == build_schema("Job", VERSION)


@cache
def custom_resources() -> tuple[tuple[str, Any], ...]:
    """Some CRs of each kind in the fixtures, without nulls, each with the file of its schema."""
    counts: Counter[str] = Counter()
    found = []
    for path in sorted(FIXTURES.rglob("*.yaml"), key=lambda path: ("mistakes" in path.parts, path)):
        for document in parse_yaml(path.read_bytes(), str(path)).documents:
            data = document.data
            kind = find_kind(data.get("apiVersion"), data.get("kind")) if isinstance(data, dict) else None
            if kind is not None and counts[file_of(kind)] < CRS_PER_KIND:
                counts[file_of(kind)] += 1
                found.append((file_of(kind), copy.deepcopy(data)))
    assert set(counts) == {file_of(kind) for kind in PACKAGES}
    return tuple(found)


def places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Each field and entry below ``data``, as its mapping or list and its key."""
    for key in list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ():
        yield data, key
        yield from places(data[key])


def mutate(data: Any, chance: random.Random) -> Any:
    """A CR with one field or entry that has another value or name, or is missing."""
    changed = copy.deepcopy(data)
    parent, key = chance.choice([one for one in places(changed) if one[1] not in ("apiVersion", "kind")])
    how = chance.choice(("set", "set", "rename", "remove"))
    if how == "set":
        parent[key] = chance.choice(ODD)
    elif how == "rename" and isinstance(parent, dict):
        parent[f"{key}x"] = parent.pop(key)
    else:
        del parent[key]
    return changed


def has_null(data: Any) -> bool:
    return any(parent[key] is None for parent, key in places(data))


def is_structural(diagnostic: Diagnostic) -> bool:
    # JSON Schema cannot tell a quantity with a fraction from one that is written as text.
    return diagnostic.rule in STRUCTURAL_RULES and "a number with a fraction" not in diagnostic.message


@pytest.mark.long
def test_another_implementation_decides_as_podplan_does() -> None:
    """The schema accepts what podplan accepts, and refuses what podplan refuses for its structure."""
    chance, verdicts = random.Random(23), Counter[tuple[bool, bool]]()
    for file, original in custom_resources():
        for data in (original, *(mutate(original, chance) for _ in range(MUTANTS_PER_CR))):
            if has_null(data):
                continue
            diagnostics = validate_cr(data, VERSION).diagnostics
            is_valid = validator(file).is_valid(data)
            if not is_valid:
                error = next(validator(file).iter_errors(data))
                assert diagnostics, f"{file}: {error.json_path}: {error.message}"
            refusals = [one for one in diagnostics if is_structural(one)]
            assert not (is_valid and refusals), f"{file}: {refusals}"
            verdicts[not diagnostics, is_valid] += 1
    assert verdicts[False, False] > 300
    assert verdicts[True, True] > 300
    assert verdicts[True, False] == 0
    assert 0 < verdicts[False, True] < 200  # relations between fields, and rules of operators


def test_a_template_that_the_controller_completes_needs_no_containers() -> None:
    data: Any = {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "ColossalAIJob"}
    launcher = {"type": "launcher", "template": {"spec": {"containers": []}}}
    data |= {"metadata": {"name": "a"}, "spec": {"torchConfig": {}, "replicaSpecs": [launcher]}}
    file = "batch.tensorstack.dev/colossalaijob_v1beta1.json"
    for replica_type in ("launcher", "worker"):
        launcher["type"] = replica_type
        is_accepted = not validate_cr(data, VERSION).diagnostics
        assert validator(file).is_valid(data) == is_accepted == (replica_type == "launcher")


@pytest.mark.long
def test_null_is_the_exception() -> None:
    """The API server takes null as not set, and so does podplan; a schema of a CRD does not."""
    file, data = next(one for one in custom_resources() if one[0] == "kubeflow.org/pytorchjob_v1.json")
    data = copy.deepcopy(data)
    data["spec"]["nprocPerNode"] = None
    assert not validate_cr(data, VERSION).diagnostics
    assert not validator(file).is_valid(data)


def test_refused_fixtures_of_the_messages() -> None:
    """The documents of messages.yaml that a schema cannot refuse, by name."""
    accepted = set()
    for case in yaml.safe_load((FIXTURES / "schemas" / "messages.yaml").read_text()):
        kind = GroupVersionKind("batch.tensorstack.dev", "v1beta1", case["kind"])
        data = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "a"}} | {
            "spec": case["spec"]
        }
        if case["problems"] and validator(file_of(kind)).is_valid(data):
            accepted.add(case["name"])
    assert accepted == set()


def test_the_schema_of_all_kinds_applies_the_one_of_the_kind() -> None:
    resources = [
        (f"file:///{name}", DRAFT202012.create_resource(schema)) for name, schema in editor_files().items()
    ]
    selection = Draft202012Validator(
        {"$ref": "file:///all.json"}, registry=Registry().with_resources(resources)
    )
    seen = set()
    for file, data in custom_resources():
        if file not in seen and validator(file).is_valid(data):
            seen.add(file)
            assert selection.is_valid(data), file
            wrong = {**data, "spec": {**data["spec"], "replicaz": 1}}
            [error] = list(selection.iter_errors(wrong))[:1]
            assert "replicaz" in error.message
    assert len(seen) == len(PACKAGES)
    profile = {"apiVersion": "podplan/v1", "kind": "JobProfileBase", "spec": {"replica": 1}}
    assert not selection.is_valid(profile)
    for foreign in ({"apiVersion": "v1", "kind": "Service"}, {"kind": "PyTorchJob"}, [1], "text", {}):
        assert selection.is_valid(foreign)


@pytest.mark.long
def test_export_writes_the_same_bytes_each_time_and_leaves_other_files(tmp_path: Path) -> None:
    (tmp_path / "crds" / "kubeflow.org").mkdir(parents=True)
    foreign = tmp_path / "crds" / "kubeflow.org" / "notebook_v1.json"
    foreign.write_text("{}")
    replaced = tmp_path / "crds" / "kubeflow.org" / "pytorchjob_v1.json"
    replaced.write_text("{}")
    command = ("schema", "export", "--crds-catalog", "crds", "--editors", ".podplan/schemas")
    first = podplan(*command, cwd=tmp_path)
    assert (first.code, first.out) == (0, "")
    lines = first.err.splitlines()
    assert "wrote crds/kubeflow.org/pytorchjob_v1.json" in lines
    assert "crds: 24 written, 0 unchanged" in lines
    assert lines[-1] == f".podplan/schemas: {len(editor_files())} written, 0 unchanged"
    written = {line.removeprefix("wrote ") for line in lines if line.startswith("wrote ")}
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.json")}
    assert files - written == {"crds/kubeflow.org/notebook_v1.json"}
    assert json.loads(replaced.read_text()) == catalog()["kubeflow.org/pytorchjob_v1.json"]
    shown = podplan("schema", "show", "JobProfile", "--editors")
    assert (tmp_path / ".podplan/schemas/JobProfile.json").read_text() == shown.out
    second = podplan(*command, cwd=tmp_path)
    assert second.err == (
        f"crds: 0 written, 24 unchanged\n.podplan/schemas: 0 written, {len(editor_files())} unchanged\n"
    )


def test_export_follows_the_version_of_the_operator(tmp_path: Path) -> None:
    (tmp_path / "podplan.toml").write_text('[lowering."trainer.kubeflow.org"]\nversion = "2.1"\n')
    assert podplan("schema", "export", "--crds-catalog", ".", cwd=tmp_path).code == 0
    schema = json.loads((tmp_path / "trainer.kubeflow.org" / "trainjob_v1alpha1.json").read_text())
    assert schema == build_schema("TrainJob", VERSION, {"trainer.kubeflow.org": "2.1"})
    assert schema != catalog()["trainer.kubeflow.org/trainjob_v1alpha1.json"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "podplan: nothing to export; write --crds-catalog DIR, --editors DIR, or both\n"),
        (("--editors", "file"), "podplan: cannot write file/PyTorchTrainingJob.json: file is not a folder\n"),
        (
            ("--editors", "x", "--k8s-version", "1.1"),
            f"podplan: Kubernetes 1.1 is not known; there are {', '.join(kubernetes.supported_versions())}\n",
        ),
    ],
)
def test_refusals(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "file").write_text("")
    run = podplan("schema", "export", *arguments, cwd=tmp_path)
    assert (run.code, run.err) == (2, message)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
