"""Which documents count as jobs: by group and kind, also where one of them is missing or misspelt."""

from __future__ import annotations

from pathlib import Path

import pytest

from podplan.kinds.lowering_options import list_lowering_options
from podplan.kinds.registry import (
    BATCH,
    COMPILED_KINDS,
    JOBSET,
    PACKAGES,
    T9K,
    TRAINER,
    GroupVersionKind,
    family_of,
    find_kind,
    iter_kinds_named,
    load_spec,
    name_of,
)
from podplan.kinds.spec import KindSpec, ReplicaTypesField, iter_replica_types
from podplan.kinds.status_rules import StatusRules
from podplan.kubernetes import DEFAULT_VERSION
from podplan.schema.catalog import build_schema
from podplan.schema.fields import find_schemas_at
from podplan.workspace.documents import classify_documents
from podplan.yaml import parse_yaml
from tests.command import podplan

JOB = """\
{version}kind: PyTorchTrainingJob
metadata: {{name: a}}
spec:
  replicaSpecs:
  - type: worker
    template: {{spec: {{containers: [{{name: pytorch, image: 'example.com/a:1', command: [python]}}]}}}}
"""


def write_job(folder: Path, version: str) -> None:
    (folder / "job.yaml").write_text(JOB.format(version=version))


@pytest.mark.parametrize("named", [["job.yaml"], ["."]], ids=str)
def test_a_job_without_api_version_is_reported(tmp_path: Path, named: list[str]) -> None:
    write_job(tmp_path, "")
    ended = podplan("check", "--isolated", "--format", "concise", *named, cwd=tmp_path)
    assert 'error SCHEMA003 required field "apiVersion" is missing' in ended.out.replace(":", "")
    assert ended.code == 1


@pytest.mark.parametrize("version", ["batch.tensorstak.dev/v1beta1", "tensorstack.dev/v1beta1"])
def test_a_group_that_is_probably_misspelt_is_reported(tmp_path: Path, version: str) -> None:
    write_job(tmp_path, f"apiVersion: {version}\n")
    ended = podplan("check", "--isolated", ".", cwd=tmp_path)
    assert f'the job kinds are in {T9K.api_version}, not in "{version}"' in ended.out
    assert "job.yaml:1:13" in ended.out
    assert ended.code == 1


def test_a_version_that_nobody_serves_is_reported_with_all_that_are(tmp_path: Path) -> None:
    job = "apiVersion: kubeflow.org/v1alpha2\nkind: MPIJob\nmetadata: {name: pi}\nspec: {}\n"
    (tmp_path / "job.yaml").write_text(job)
    ended = podplan("check", "--isolated", ".", cwd=tmp_path)
    assert (
        'MPIJob is in kubeflow.org/v1 and kubeflow.org/v2beta1, not in "kubeflow.org/v1alpha2"' in ended.out
    )
    assert "help: write apiVersion: kubeflow.org/v1 or kubeflow.org/v2beta1" in ended.out


@pytest.mark.parametrize("version", ["example.com/v1", "v1", "batch/v1"])
def test_a_kind_of_another_group_is_no_job_of_ours(version: str) -> None:
    source = parse_yaml(JOB.format(version=f"apiVersion: {version}\n").encode(), "job.yaml")
    assert [item.category for item in classify_documents(source)] == ["other"]


def test_kinds_are_found_by_group_and_name() -> None:
    kind = GroupVersionKind("batch.tensorstack.dev", "v1beta1", "GenericJob")
    assert find_kind("batch.tensorstack.dev/v1beta1", "GenericJob") == kind
    assert list(iter_kinds_named("GenericJob")) == [kind]
    assert find_kind("example.com/v1", "GenericJob") is None
    assert find_kind(None, ["GenericJob"]) is None


@pytest.mark.parametrize("kind", PACKAGES, ids=lambda kind: kind.kind)
def test_every_kind_answers(kind: GroupVersionKind) -> None:
    spec = load_spec(kind)
    assert spec.plural == f"{kind.kind.lower()}s"
    assert all(fields for fields in spec.dialects.values())


@pytest.mark.parametrize("kind", PACKAGES, ids=lambda kind: kind.kind)
def test_the_paths_of_a_kind_are_fields_of_it(kind: GroupVersionKind) -> None:
    spec, schema = load_spec(kind), build_schema(name_of(kind), DEFAULT_VERSION)
    paths = [field.path for field in spec.replica_types]
    paths += [
        spec.queue_path,
        spec.priority_path,
        spec.run_policy_path,
        spec.run_mode_path,
        spec.elastic_path,
    ]
    # These have one Pod template, Jobs or, as BeamJob with its FlinkCluster, roles of another controller.
    has_no_types = kind.group in (BATCH.group, JOBSET.group, TRAINER.group) or kind.kind == "BeamJob"
    assert spec.replica_types or has_no_types or kind not in COMPILED_KINDS.values()
    assert [path for path in paths if path and not find_schemas_at(schema, path)] == []
    rules = spec.load_status_rules() if spec.load_status_rules is not None else None
    assert not isinstance(rules, StatusRules) or find_schemas_at(schema, rules.clean_up_path)


@pytest.mark.parametrize("kind", PACKAGES, ids=lambda kind: kind.kind)
def test_the_options_of_a_kind_exist(kind: GroupVersionKind) -> None:
    proposed = load_spec(kind).proposed_options
    ids = {*proposed.training_containers, proposed.launch_arguments, proposed.hostfile_line}
    ids |= {id_ for _, id_ in proposed.env}
    assert ids - {""} <= set(list_lowering_options())


def test_replica_types_are_a_list_a_map_or_one_entry() -> None:
    fields = (
        ReplicaTypesField(("spec", "list")),
        ReplicaTypesField(("spec", "map"), "map"),
        ReplicaTypesField(("spec", "worker"), "entry"),
    )
    spec = KindSpec(plural="", option_prefix="", replica_types=fields)
    entry = {"replicas": 1}
    cr = {"spec": {"list": [{"type": "a"}, None, {"type": 1}], "map": {"b": entry, "c": 1}, "worker": entry}}
    assert [(one.type, one.path) for one in iter_replica_types(spec, cr)] == [
        ("a", ("spec", "list", 0)),
        ("", ("spec", "list", 2)),
        ("b", ("spec", "map", "b")),
        ("worker", ("spec", "worker")),
    ]
    assert list(iter_replica_types(spec, {"spec": {"list": {}, "map": [], "worker": None}})) == []
    assert list(iter_replica_types(spec, {"spec": 1})) == []


@pytest.mark.parametrize("kind", [[], {}, 1, None], ids=repr)
def test_a_kind_that_is_no_text_belongs_to_the_first_family(kind: object) -> None:
    assert family_of({"kind": kind}) == T9K


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("apiVersion: podplan.dev/v1", 'apiVersion must be podplan/v1, not "podplan.dev/v1"'),
        ("apiVersion: v1", 'apiVersion must be podplan/v1, not "v1"'),
        ("labels: {}", 'required field "apiVersion" is missing'),
        ("apiVersion: example.com/v1", ""),
    ],
)
@pytest.mark.parametrize("kind", ["JobProfile", "JobProfileBase", "ClusterInventory", "WorkloadMapping"])
def test_own_kinds_with_another_api_version(tmp_path: Path, kind: str, version: str, message: str) -> None:
    (tmp_path / "job.yaml").write_text(f"{version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {{}}\n")
    out = podplan("check", "--isolated", "job.yaml", cwd=tmp_path).out
    assert message in out
    assert ("error[" in out) == bool(message)
