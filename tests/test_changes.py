"""What a change of a CR does under the same name: the strongest of its effects, each with its source."""

from __future__ import annotations

from typing import Any

import pytest

from podplan.core.provenance import Behavior
from podplan.kinds.change_effects import compute_change_effect, iter_changed_paths
from podplan.kinds.t9k.behaviors import change_effects
from tests.rows import each_row


def cr(**spec: Any) -> dict[str, Any]:
    head = {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob"}
    return {**head, "metadata": {"name": "a", "labels": {"team": "x"}}, "spec": spec}


CASES: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    ({}, {}, "none", ""),
    ({"runMode": {"pause": {"enabled": True}}}, {}, "in-place", "change.pause"),
    ({}, {"runMode": {"pause": {"enabled": True}}}, "in-place", "change.pause"),
    (
        {"elastic": {"expectedReplicas": 2}},
        {"elastic": {"expectedReplicas": 4}},
        "in-place",
        "change.expected-replicas",
    ),
    ({"elastic": {"maxReplicas": 2}}, {"elastic": {"maxReplicas": 4}}, "re-run", "change.elastic-bounds"),
    ({"runPolicy": {"backoffLimit": 2}}, {"runPolicy": {"backoffLimit": 3}}, "in-place", "change.policy"),
    (
        {"scheduler": {"t9kScheduler": {"queue": "a"}}},
        {"scheduler": {"t9kScheduler": {"queue": "b"}}},
        "re-run",
        "change.queue",
    ),
    (
        {"scheduler": {"t9kScheduler": {"priority": 1}}},
        {"scheduler": {"t9kScheduler": {"priority": 2}}},
        "re-run",
        "change.priority",
    ),
    ({"replicaSpecs": [{"replicas": 1}]}, {"replicaSpecs": [{"replicas": 2}]}, "re-run", "change.pods"),
    # The Pods of a job that is paused are made when it goes on.
    (
        {"runMode": {"pause": {"enabled": True}}, "replicaSpecs": [{"replicas": 1}]},
        {"runMode": {"pause": {"enabled": True}}, "replicaSpecs": [{"replicas": 2}]},
        "in-place",
        "change.paused",
    ),
    ({"launcher": {"env": []}}, {"launcher": {"env": [{"name": "A"}]}}, "re-run", "change.launcher"),
    ({"launcher": {"image": "a"}}, {"launcher": {"image": "b"}}, "re-run", "change.pods"),
    (
        {"runMode": {"pause": {"enabled": True, "resumeSpecs": [{"type": "w"}]}}},
        {"runMode": {"pause": {"enabled": False, "resumeSpecs": [{"type": "v"}]}}},
        "re-run",
        "change.resume-specs",
    ),
]


@pytest.mark.parametrize(("old", "new", "how", "fact"), CASES)
def test_what_a_change_of_the_spec_does(
    old: dict[str, Any], new: dict[str, Any], how: str, fact: str
) -> None:
    change = compute_change_effect(cr(**old), cr(**new))
    assert change.level == how
    assert [effect.behavior.id for effect in change.decisive_effects] == ([fact] if fact else [])


@pytest.mark.parametrize(("before", "after"), [(True, False), (False, True)])
def test_pausing_or_resuming_makes_the_pods_anew(before: bool, after: bool) -> None:
    old, new = (
        cr(runMode={"pause": {"enabled": paused}}, replicaSpecs=[{"type": image}])
        for paused, image in ((before, "a"), (after, "b"))
    )
    change = compute_change_effect(old, new)
    assert change.level == "in-place"
    assert [effect.behavior.id for effect in change.decisive_effects] == ["change.pause", "change.paused"]


def test_a_job_that_the_server_names_is_another_each_time() -> None:
    old, new = (
        {**cr(runPolicy={"backoffLimit": limit}), "metadata": {"generateName": "a-"}} for limit in (1, 2)
    )
    change = compute_change_effect(old, new)
    assert [(effect.level, effect.behavior.id) for effect in change.field_effects] == [
        ("re-run", "change.generated-name")
    ]


def test_labels_and_status_change_nothing_that_runs() -> None:
    other = {**cr(), "metadata": {"name": "a"}, "status": {"phase": "Running"}}
    change = compute_change_effect(cr(), other)
    assert change.level == "none"
    assert [effect.path for effect in change.field_effects] == [
        ("metadata", "labels", "team"),
        ("status", "phase"),
    ]


def test_paths_that_are_known_are_not_looked_for() -> None:
    assert compute_change_effect(cr(), cr(), [("spec", "runPolicy")]).level == "in-place"


def test_true_is_not_one() -> None:
    assert list(iter_changed_paths({"a": True}, {"a": 1})) == [("a",)]
    assert list(iter_changed_paths({"a": {}}, {})) == []
    assert list(iter_changed_paths([1], [1, 2])) == [()]


def test_every_fact_has_a_source_of_its_kind() -> None:
    known = {name: fact for name, fact in vars(change_effects).items() if isinstance(fact, Behavior)}
    assert len({fact.id for fact in known.values()}) == len(known)
    for fact in known.values():
        assert fact.basis in ("documented", "anchored", "assumed")
        assert fact.source.startswith(("docs/evidence/", "https://")), fact.id


@each_row(
    ["old", "new", "level"],
    [
        ({"completions": 3, "parallelism": 3}, {"completions": 4, "parallelism": 4}, "in-place"),
        ({"completions": 4, "parallelism": 4}, {"completions": 2, "parallelism": 2}, "in-place"),
        ({"completions": 4, "parallelism": 2}, {"completions": 3, "parallelism": 3}, "in-place"),
        ({"completions": 3, "parallelism": 3}, {"completions": 4, "parallelism": 3}, "re-run"),
        ({"completions": 3, "parallelism": 3}, {"completions": 4, "parallelism": 2}, "re-run"),
        ({"completions": 3, "parallelism": 3}, {"parallelism": 4}, "re-run"),
        ({"parallelism": 3}, {"completions": 3, "parallelism": 3}, "re-run"),
    ],
)
def test_an_indexed_job_changes_completions_only_with_parallelism(
    old: dict[str, int], new: dict[str, int], level: str
) -> None:
    def job(mode: str, spec: dict[str, int]) -> dict[str, object]:
        spec_of_job = {"completionMode": mode, **spec}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": spec_of_job}

    assert compute_change_effect(job("Indexed", old), job("Indexed", new)).level == level
    assert compute_change_effect(job("NonIndexed", old), job("NonIndexed", new)).level == "re-run"
    assert compute_change_effect(job("NonIndexed", old), job("Indexed", new)).level == "re-run"


TEMPLATE = {"spec": {"containers": [{"name": "tensorflow", "image": "i"}]}}


@pytest.mark.parametrize(
    ("kind", "path", "old", "new", "how", "fact"),
    [
        ("TFJob", "runPolicy/backoffLimit", 1, 2, "in-place", "policy"),
        ("TFJob", "runPolicy/suspend", True, False, "in-place", "suspend"),
        ("TFJob", "runPolicy/schedulingPolicy/minAvailable", 1, 2, "in-place", "policy"),
        ("TFJob", "runPolicy/schedulingPolicy/queue", "a", "b", "re-run", "queue"),
        ("TFJob", "runPolicy/managedBy", "a", "b", "re-run", "manager"),
        ("XGBoostJob", "runPolicy/managedBy", "a", "b", "re-run", "manager"),
        ("PaddleJob", "runPolicy/managedBy", "a", "b", "re-run", "manager"),
        ("PyTorchJob", "runPolicy/managedBy", "a", "b", "in-place", "policy"),
        ("JAXJob", "runPolicy/managedBy", "a", "b", "in-place", "policy"),
        ("MPIJob", "runPolicy/managedBy", "a", "b", "in-place", "policy"),
        ("MPIJob", "cleanPodPolicy", "All", "None", "in-place", "policy"),
        ("MPIJob", "slotsPerWorker", 1, 2, "re-run", "pods"),
        ("TFJob", "successPolicy", "", "AllWorkers", "in-place", "policy"),
        ("TFJob", "tfReplicaSpecs/PS/replicas", 1, 2, "in-place", "replicas"),
        ("JAXJob", "jaxReplicaSpecs/Worker/replicas", 1, 2, "in-place", "replicas"),
        ("PyTorchJob", "pytorchReplicaSpecs/Master/replicas", 1, 2, "re-run", "pods"),
        ("PyTorchJob", "pytorchReplicaSpecs/Worker/template", TEMPLATE, {}, "re-run", "pods"),
        ("PyTorchJob", "elasticPolicy/maxReplicas", 1, 2, "re-run", "pods"),
        ("PyTorchJob", "elasticPolicy/metrics", [], None, "in-place", "autoscaler"),
    ],
)
def test_what_a_change_does_to_a_job_of_the_training_operator(
    kind: str, path: str, old: Any, new: Any, how: str, fact: str
) -> None:
    def build(value: Any) -> dict[str, Any]:
        for key in reversed(path.split("/")):
            value = {key: value}
        return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": "a"}, "spec": value}

    change = compute_change_effect(build(old), build(new))
    assert change.level == how
    assert {one.behavior.id for one in change.decisive_effects} == {f"change.training-operator.{fact}"}
