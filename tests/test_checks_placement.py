"""Node selectors, affinity and spread that place Pods nowhere, not apart, or all on one node."""

from __future__ import annotations

from typing import Any

import pytest

from tests.policy_examples import findings

Data = dict[str, Any]
HOST = "kubernetes.io/hostname"
PRODUCT = "nvidia.com/gpu.product"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def template(labels: dict[str, str] | None = None, gpus: int = 0, **pod: Any) -> Data:
    limits = {"nvidia.com/gpu": gpus} if gpus else {}
    main = {"name": "train", "image": "train:1", "command": ["./train"], "resources": {"limits": limits}}
    return {"metadata": {"labels": labels or {}}, "spec": {"containers": [main], **pod}}


def job(*types: tuple[str, int, Data], **metadata: Any) -> Data:
    specs = [{"type": name, "replicas": number, "template": pod} for name, number, pod in types]
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "GenericJob",
        "metadata": {"name": "aquila", "namespace": "nlp", **metadata},
        "spec": {"replicaSpecs": specs},
    }


def said(given: Data, code: str) -> list[str]:
    return [found.message for found in findings({"object": given}, code) if found.rule == code]


def affinity(*terms: list[Data]) -> Data:
    listed = [{"matchExpressions": term} for term in terms]
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": listed}}}


def asks(operator: str, *values: str, key: str = PRODUCT) -> Data:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


@pytest.mark.parametrize(
    "terms",
    [
        [[asks("In", "H100")]],
        [[asks("In", "H100")], [asks("NotIn", "A100")]],
        [[asks("DoesNotExist")]],
        [[asks("Exists", key="zone"), asks("NotIn", "A100", "V100")]],
        [[asks("In", "A100"), asks("In", "H100")]],
        [[asks("Gt", "4", key="gpus"), asks("Lt", "5", key="gpus")]],
        [[asks("In", "2", "4", key="gpus"), asks("Gt", "4", key="gpus")]],
        [[asks("Exists", key="zone"), asks("DoesNotExist", key="zone")]],
    ],
)
def test_nodes_that_cannot_exist(terms: list[list[Data]]) -> None:
    pod = template(nodeSelector={PRODUCT: "A100"}, affinity=affinity(*terms))
    assert len(said(job(("worker", 2, pod)), "SCHED015")) == 1


@pytest.mark.parametrize(
    "terms",
    [
        [],
        [[asks("In", "A100", "H100")]],
        [[asks("In", "H100")], [asks("In", "A100")]],
        [[asks("Exists")]],
        [[asks("NotIn", "H100"), asks("In", "H100", key="other")]],
        [[asks("Gt", "4", key="gpus"), asks("Lt", "6", key="gpus")]],
        [[asks("NotIn", "a", key="zone"), asks("DoesNotExist", key="zone")]],
        [[asks("In", "many", key="gpus"), asks("Gt", "many", key="gpus")]],
    ],
)
def test_nodes_that_may_exist(terms: list[list[Data]]) -> None:
    pod = template(nodeSelector={PRODUCT: "A100"}, affinity=affinity(*terms))
    assert said(job(("worker", 2, pod)), "SCHED015") == []


@pytest.mark.parametrize("odd", [None, [], "x", {"nodeAffinity": []}, {"nodeAffinity": {REQUIRED: [1]}}])
def test_affinity_of_another_type(odd: Any) -> None:
    pod = template(nodeSelector=odd, affinity=odd, topologySpreadConstraints=odd)
    for code in ("SCHED015", "SCHED016", "SCHED017"):
        assert said(job(("worker", 2, pod)), code) == []


def spread(selector: Data | None, **more: Any) -> Data:
    given = {} if selector is None else {"labelSelector": selector}
    one = {"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "DoNotSchedule", **given, **more}
    return {"topologySpreadConstraints": [one]}


def near(kind: str, selector: Data, field: str = REQUIRED, **more: Any) -> Data:
    term = {"labelSelector": selector, "topologyKey": HOST, **more}
    listed = [term if field == REQUIRED else {"weight": 1, "podAffinityTerm": term}]
    return {"affinity": {kind: {field: listed}}}


def labels(**given: str) -> Data:
    return {"matchLabels": given}


@pytest.mark.parametrize(
    "pod",
    [
        spread(labels(app="other")),
        spread(labels(app="aquila-7b", part="x")),
        spread(None),
        spread({"matchExpressions": [{"key": "app", "operator": "In", "values": ["aquila", "b"]}]}),
        near("podAntiAffinity", labels(app="aquila")),
        near("podAntiAffinity", labels(app="aquila-7B"), PREFERRED),
        near("podAntiAffinity", labels(apps="aquila-7b")),
        near("podAntiAffinity", labels(team="llm")),
        near("podAntiAffinity", {"matchLabels": {"job-name": "aquila"}}),
        near("podAffinity", labels(app="aquila-7"), namespaces=["nlp"]),
    ],
)
def test_selectors_that_are_meant_for_the_pods_of_the_job(pod: Data) -> None:
    given = job(("worker", 4, template({"app": "aquila-7b"}, **pod)), labels={"team": "llm"})
    assert len(said(given, "SCHED016")) == 1


@pytest.mark.parametrize(
    "pod",
    [
        spread(labels(app="aquila-7b")),
        spread({}),
        spread({"matchLabels": {"tensorstack.dev/owner-name": "aquila"}}),
        spread({"matchLabels": {"batch.tensorstack.dev/some-label": "aquila"}}),
        near("podAntiAffinity", labels(app="inference")),
        near("podAffinity", labels(app="redis")),
        near("podAffinity", labels(cache="fluid")),
        near("podAntiAffinity", labels(app="aquila"), namespaces=["other"]),
        near("podAntiAffinity", labels(app="aquila"), namespaceSelector={}),
        near("podAntiAffinity", {"matchExpressions": [{"key": "app", "operator": "Exists"}]}),
        near("podAntiAffinity", {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["b"]}]}),
    ],
)
def test_selectors_that_select_them_or_are_for_others(pod: Data) -> None:
    assert said(job(("worker", 4, template({"app": "aquila-7b"}, **pod))), "SCHED016") == []


def test_another_type_of_the_job_is_selected() -> None:
    apart = template({"app": "a-worker"}, **spread(labels(app="a-ps")))
    assert said(job(("worker", 4, apart), ("ps", 2, template({"app": "a-ps"}))), "SCHED016") == []
    assert said(job(("worker", 4, apart)), "SCHED016") != []
    pod = template({"app": "a", "role": "worker"}, **near("podAffinity", labels(app="a", role="ps")))
    assert said(job(("worker", 4, pod), ("ps", 1, template({"app": "a", "role": "ps"}))), "SCHED016") == []


TOGETHER = near("podAffinity", labels(app="a"))


@pytest.mark.parametrize(
    "given",
    [
        job(("worker", 4, template({"app": "a"}, 8, **TOGETHER))),
        job(("worker", 2, template({"app": "a"}, 8, **TOGETHER)), ("launcher", 1, template())),
        job(("worker", 4, template({"app": "b"}, 4, **TOGETHER)), ("master", 1, template({"app": "a"}))),
        job(("worker", 2, template({}, 8, nodeSelector={HOST: "gpu-01"}))),
        job(
            ("a", 1, template({"app": "a"}, 8, **TOGETHER)),
            ("b", 1, template({"app": "a"}, 8, **TOGETHER)),
        ),
    ],
)
def test_too_many_gpus_for_one_node(given: Data) -> None:
    assert said(given, "SCHED017") != []


@pytest.mark.parametrize(
    "given",
    [
        job(("worker", 8, template({"app": "a"}, 1, **TOGETHER))),
        job(("worker", 1, template({"app": "a"}, 8, **TOGETHER))),
        job(("worker", 2, template({"app": "a"}, 8, **near("podAffinity", labels(app="a"), PREFERRED)))),
        job(("worker", 4, template({"app": "b"}, 8, **TOGETHER)), ("ps", 4, template({"app": "a"}))),
        job(("worker", 2, template({"app": "a"}, 8, **TOGETHER)), ("ps", 1, template({"app": "a"}))),
        job(("worker", 4, template({"app": "a"}, 8, **near("podAntiAffinity", labels(app="a"))))),
        job(
            (
                "worker",
                4,
                template({"app": "a"}, 8, **near("podAffinity", labels(app="a"), topologyKey="zone")),
            )
        ),
    ],
)
def test_gpus_that_may_fit(given: Data) -> None:
    assert said(given, "SCHED017") == []


@pytest.mark.parametrize("odd", [{"app": 1}, {"app": None}, [], "x"])
def test_labels_of_another_type(odd: Any) -> None:
    pod = template({"app": "a"}, **spread({"matchLabels": odd}), **near("podAffinity", {"matchLabels": odd}))
    said(job(("worker", 4, pod)), "SCHED016")
    pod = template(odd, **spread(labels(app="a")), **near("podAntiAffinity", labels(app="a")))
    said(job(("worker", 4, pod)), "SCHED016")
