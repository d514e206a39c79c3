"""CRs imported as profiles: golden pairs, what is left out, and what becomes an override."""

from __future__ import annotations

from pathlib import Path as File
from typing import Any

import pytest

from podplan.core.structural_diff import is_same_data
from podplan.kinds.compilation import compile_profile
from podplan.schema import validate_against
from podplan.tools.importer import find_shortest_profile, import_cr, strip_server_fields
from podplan.tools.importer.layout import render_profile
from podplan.yaml.writer import emit_document
from tests.imported_profiles import GOLDEN, compiled, cr_of, document, imported, pod
from tests.profile_texts import one


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case.name)
def test_a_cr_becomes_the_profile_of_the_fixture(case: File) -> None:
    text, problems = imported((case / "cr.yaml").read_text())
    assert problems == []
    assert text == (case / "profile.yaml").read_text()


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case.name)
def test_the_profile_compiles_to_the_cr_again(case: File) -> None:
    text = (case / "cr.yaml").read_text()
    profile = imported(text).text
    assert is_same_data(compiled(profile), strip_server_fields(document(text).data))
    assert validate_against("JobProfile", document(profile).data) == []


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case.name)
def test_the_profile_renders_to_the_cr_again(case: File) -> None:
    text = (case / "cr.yaml").read_text()
    cr, problems = compile_profile(one(imported(text).text), None)
    assert cr is not None
    assert problems == []
    assert is_same_data(cr.data, strip_server_fields(document(text).data))


def test_what_looks_like_an_expression_is_none() -> None:
    template = {
        "spec": {
            "containers": [{"name": "worker", "image": "i:1", "args": ["${{ a }}", "$${{", "$(A) ${B}"]}]
        }
    }
    cr = cr_of("GenericJob", {"replicaSpecs": [{"type": "worker", "template": template}]})
    rendered, _ = compile_profile(one(import_cr(cr).text), None)
    assert rendered is not None
    assert is_same_data(rendered.data, cr)


def test_status_and_what_the_server_sets_are_left_out() -> None:
    cr = cr_of(
        "GenericJob",
        {"replicaSpecs": [{"type": "worker", "replicas": 2, "template": None}]},
        uid="1",
        resourceVersion="2",
        generation=3,
        creationTimestamp="2024-01-01T00:00:00Z",
        managedFields=[{}],
        selfLink="/x",
        annotations={"kubectl.kubernetes.io/last-applied-configuration": "{}"},
        labels={"a": "b"},
    )
    text, problems = import_cr({**cr, "status": {"phase": "Running"}})
    assert problems == []
    assert document(text).data == {
        "apiVersion": "podplan/v1",
        "kind": "JobProfile",
        "metadata": {"name": "job", "labels": {"a": "b"}},
        "spec": {"job": "GenericJob", "replicas": 2},
    }


@pytest.mark.parametrize("kind", ["TrainJob", "JobSet", "Job"])
@pytest.mark.parametrize("labels", [{}, {"team": "a"}])
def test_the_label_of_kueue_is_the_queue_of_the_profile(kind: str, labels: dict[str, str]) -> None:
    cr = cr_of(kind, {}, labels={"kueue.x-k8s.io/queue-name": "research", **labels})
    profile = find_shortest_profile(cr)
    assert profile["spec"]["schedule"] == {"queue": "research"}
    assert profile["metadata"] == {"name": "job", **({"labels": labels} if labels else {})}
    assert is_same_data(compiled(render_profile(profile)), cr)


def test_the_labels_of_kueue_are_the_schedule_of_a_kind_with_a_gang_too() -> None:
    labels = {"kueue.x-k8s.io/queue-name": "research", "kueue.x-k8s.io/priority-class": "urgent"}
    cr = cr_of("PyTorchJob", {"pytorchReplicaSpecs": {"Worker": {"replicas": 2}}}, labels=labels)
    profile = find_shortest_profile(cr)
    assert profile["spec"]["schedule"] == {"by": "kueue", "queue": "research", "priority": "urgent"}
    assert "labels" not in profile["metadata"]


def test_fields_of_an_earlier_version_of_the_operator_are_kept() -> None:
    overrides = [{"targetJobs": [{"name": "node"}], "spec": {"serviceAccountName": "a"}}]
    text, problems = import_cr(
        cr_of("TrainJob", {"runtimeRef": {"name": "torch"}, "podTemplateOverrides": overrides})
    )
    assert problems == []
    assert compiled(text)["spec"]["podTemplateOverrides"] == overrides


def test_metadata_that_a_profile_does_not_have_is_told() -> None:
    problems = import_cr(cr_of("GenericJob", {}, clusterName="x")).diagnostics
    assert [(p.rule, p.path) for p in problems] == [("PROF026", ("metadata", "clusterName"))]


def test_a_kind_in_its_old_spelling_is_imported_in_the_right_one() -> None:
    text, problems = import_cr(cr_of("DeepspeedJob", {"worker": {"replicas": 1}}))
    assert [p.rule for p in problems] == ["PROF026"]
    assert document(text).data["spec"] == {"job": "DeepSpeedJob", "replicas": 1}


@pytest.mark.parametrize(
    ("cr", "message"),
    [
        ([], "this is not a job: its spec is not a mapping"),
        (cr_of("GenericJob", []), "this is not a job: its spec is not a mapping"),
        (
            {**cr_of("GenericJob", {}), "apiVersion": "v1"},
            "only jobs of batch.tensorstack.dev/v1beta1, kubeflow.org/v1, kubeflow.org/v2beta1, trainer.",
        ),
        (
            {**cr_of("TrainingRuntime", {}), "apiVersion": "trainer.kubeflow.org/v1alpha1"},
            "a TrainingRuntime cannot be imported; there is PyTorchTrainingJob, DeepSpeedJob, ",
        ),
        (cr_of("GenericJobList", {}), "a GenericJobList cannot be imported; "),
    ],
)
def test_what_is_no_job_is_refused(cr: Any, message: str) -> None:
    text, problems = import_cr(cr)
    assert text == ""
    assert problems[0].rule == "PROF025"
    assert problems[0].message.startswith(message)


def test_what_no_field_says_becomes_an_override_with_a_reason() -> None:
    spec = {"config": {"slotPerWorkers": 1, "run": {"python": [7]}}, "worker": {"replicas": 2}}
    profile = find_shortest_profile(cr_of("DeepSpeedJob", spec))
    assert profile["spec"] == {
        "job": "DeepSpeedJob",
        "replicas": 2,
        "override": [
            {
                "reason": "without this, config would differ from the imported CR",
                "spec": {"config": spec["config"]},
            }
        ],
    }


@pytest.mark.parametrize("kind", ["GenericJob", "PyTorchTrainingJob"])
@pytest.mark.parametrize(
    ("container", "run"),
    [
        ({"command": ["python", "x.py", "-v"]}, ["x.py", "-v"]),
        ({"command": ["python", "-m", "pkg.x", "-v"]}, {"module": ["pkg.x", "-v"]}),
        ({"command": ["./x", "-v"]}, {"exec": ["./x", "-v"]}),
        ({"command": ["python"]}, {"exec": ["python"]}),
        ({"command": ["python"], "args": ["x.py"]}, {"command": ["python"], "args": ["x.py"]}),
        ({"args": ["x.py"]}, {"args": ["x.py"]}),
    ],
)
def test_a_script_under_python_is_run_as_a_list(kind: str, container: Any, run: Any) -> None:
    cr = cr_of(kind, {"replicaSpecs": [{"type": "worker", "template": pod({"image": "i:1", **container})}]})
    profile = find_shortest_profile(cr)
    assert profile["spec"]["run"] == run
    assert "override" not in profile["spec"]


CODE, DATA_VOLUME = {"name": "code", "emptyDir": {}}, {"name": "data", "nfs": {"server": "s", "path": "/"}}
MOUNTS = [{"name": "data", "mountPath": "/d"}, {"name": "code", "mountPath": "/c"}]


@pytest.mark.parametrize(
    "template",
    [
        {},
        {"metadata": {"labels": {"a": "b"}}},
        {"spec": {}},
        pod(),
        pod({"image": "i:1"}),
        pod({"name": "worker"}),
        pod({"name": "a"}, {"name": "a", "image": "i:1"}),
        pod({"image": "i:1"}, {"name": "b"}),
        pod({"name": "a", "env": [{"name": "X", "value": "1"}, {"name": "X", "value": "2"}]}),
        pod({"name": "a", "env": [{"name": "X"}, {"name": "Y", "value": "2"}]}),
        pod({"name": "a", "ports": [{"name": "http", "containerPort": 80}]}),
        pod({"name": "a", "ports": [{"containerPort": 80}, {"name": "http", "containerPort": 81}]}),
        pod({"name": "a", "volumeMounts": MOUNTS}, volumes=[CODE, DATA_VOLUME]),
        pod({"name": "a", "volumeMounts": MOUNTS}, volumes=[DATA_VOLUME, CODE]),
        pod({"name": "a", "volumeMounts": MOUNTS}),
        pod({"name": "a"}, volumes=[CODE, CODE]),
        pod({"name": "a", "command": "sh", "args": ["x"]}),
        pod({"name": "a", "command": [], "args": []}),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["GenericJob", "PyTorchTrainingJob"])
def test_templates_of_every_shape_need_no_override(kind: str, template: Any) -> None:
    for names in (["worker"], ["node"], ["a", "b"]):
        cr = cr_of(kind, {"replicaSpecs": [{"type": name, "template": template} for name in names]})
        assert "override" not in find_shortest_profile(cr)["spec"]


SIDECAR, TAIL = {"name": "side", "image": "log:1"}, {"name": "tail", "image": "log:2"}


@pytest.mark.parametrize(
    ("kind", "name", "place"),
    [
        ("PyTorchTrainingJob", "python", "replicaSpecs"),
        ("DeepSpeedJob", "worker", "worker"),
        ("ColossalAIJob", "worker", "replicaSpecs"),
        ("ColossalAIJob", "worker", "worker"),
    ],
)
def test_a_container_before_the_one_that_trains_stays_there(kind: str, name: str, place: str) -> None:
    template = pod(SIDECAR, {"name": name, "image": "i:1"}, TAIL, nodeName="n")
    entry = {"replicas": 2, "template": template}
    cr = cr_of(kind, {place: [{"type": "worker", **entry}] if place == "replicaSpecs" else entry})
    profile = find_shortest_profile(cr)
    assert "override" not in profile["spec"]
    role = {**profile["spec"], **profile["spec"].get("roles", [{}])[0]}
    assert role["image"] == "i:1"
    assert role["pod"]["spec"]["containers"] == [SIDECAR, {"name": name}, TAIL]
    assert is_same_data(compiled(render_profile(profile)), strip_server_fields(cr))


def test_two_equal_replica_types_leave_the_rest_to_fields() -> None:
    entry = {"type": "worker", "replicas": 2, "template": pod({"name": "python", "image": "i:1"})}
    rest = {"torchrunConfig": {"enabled": True}, "scheduler": {"t9kScheduler": {"queue": "a"}}}
    profile = find_shortest_profile(cr_of("PyTorchTrainingJob", {**rest, "replicaSpecs": [entry, entry]}))[
        "spec"
    ]
    assert {**profile, "override": None} == {
        "job": "PyTorchTrainingJob",
        "launcher": "torchrun",
        "schedule": {"queue": "a"},
        "override": None,
    }
    [override] = profile["override"]
    assert override["reason"] == "without this, replicaSpecs would differ from the imported CR"
    assert override["spec"] == {"replicaSpecs": [entry, entry]}


LAUNCHER, WORKER = pod({"name": "launcher", "image": "i:1"}), pod({"name": "worker", "image": "i:1"})
OTHER_LAUNCHER = pod({"name": "launcher", "image": "i:2", "workingDir": "/w"}, nodeName="n")


@pytest.mark.parametrize(
    ("roles", "written"),
    [
        ([("launcher", LAUNCHER), ("worker", WORKER)], []),
        ([("worker", WORKER), ("launcher", LAUNCHER)], ["worker", "launcher"]),
        ([("worker", WORKER)], ["worker"]),
        ([("launcher", LAUNCHER)], ["launcher"]),
        ([("launcher", {}), ("worker", WORKER)], ["launcher", "worker"]),
        ([("launcher", OTHER_LAUNCHER), ("worker", WORKER)], ["launcher"]),
    ],
)
def test_roles_of_a_colossalai_job_are_written_where_they_differ(
    roles: list[tuple[str, Any]], written: list[str]
) -> None:
    specs = [{"type": name, "template": template} for name, template in roles]
    spec = find_shortest_profile(cr_of("ColossalAIJob", {"replicaSpecs": specs}))["spec"]
    assert "override" not in spec
    assert [role["name"] for role in spec.get("roles", [])] == written


def test_the_import_is_the_same_for_the_same_text() -> None:
    text = (GOLDEN[0] / "cr.yaml").read_text()
    assert imported(text) == imported(text)
    assert emit_document(document(imported(text).text).data)
