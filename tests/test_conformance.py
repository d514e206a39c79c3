"""The harness of the conformance runs: its parts that need no namespaces, and the form of all its cases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podplan.lint.registry import load_policy_documents
from tests.conformance import cases, cluster, controller, judging, network, status, table, volumes
from tests.conformance.cluster import Outcome
from tests.conformance.expansion import expanded
from tests.conformance.kubelet import environment
from tests.rows import each_row

ALL = list(cases.cases())
ENDS = (".lab", ".lab.svc", ".lab.svc.cluster.local")
POLICIES = {data["id"]: data for data in load_policy_documents()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)", "1"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$(B) $A $(", "$(B) $A $("),
        ("$(A)$(A)", "11"),
        ("$()", "$()"),
    ],
)
def test_references_are_replaced_where_they_are_known(text: str, expected: str) -> None:
    assert expanded(text, {"A": "1"}) == expected


def test_a_variable_sees_those_before_it_only() -> None:
    container = {
        "env": [
            {"name": "EARLY", "value": "$(LATE)"},
            {"name": "LATE", "value": "x"},
            {"name": "SUM", "value": "$(LATE)!"},
            {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['pod']"}}},
            {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "token", "key": "k"}}},
        ]
    }
    secret = {"kind": "Secret", "metadata": {"name": "token"}, "data": {"k": "dg=="}}
    assert environment(_pod("a"), container, [secret], "10.244.0.3") == {
        "EARLY": "$(LATE)",
        "LATE": "x",
        "SUM": "x!",
        "NAME": "a",
        "POD": "a",
        "KEY": "v",
    }


def test_names_are_those_of_services_whose_pods_are_ready() -> None:
    pods = [_pod("a"), _pod("b")]
    services = [
        {"metadata": {"name": f"{one}-svc", "namespace": "lab"}, "spec": {"selector": {"pod": one}}}
        for one in "ab"
    ]
    assert network.hosts(pods[1], "10.244.0.4", services, {"a": "10.244.0.3"}, pods) == (
        "127.0.0.1 localhost\n"
        "10.244.0.4 b\n"
        "10.244.0.3 a-svc a-svc.lab a-svc.lab.svc a-svc.lab.svc.cluster.local\n"
    )


def test_a_pod_has_a_name_below_its_service_and_in_the_search_domains_of_others() -> None:
    worker, launcher = _pod("job-worker-0"), _pod("job-launcher")
    worker["spec"] |= {"hostname": "job-worker-0", "subdomain": "job"}
    launcher["spec"]["dnsConfig"] = {"searches": ["job.lab.svc.cluster.local"]}
    service = {
        "metadata": {"name": "job", "namespace": "lab"},
        "spec": {"selector": {"replica-type": "worker"}},
    }
    ready = {"job-worker-0": "10.244.0.3"}
    name = "job-worker-0.job.lab.svc.cluster.local"
    of_launcher, of_worker = (
        network.hosts(pod, "10.244.0.4", [service], ready, [worker, launcher]).splitlines()
        for pod in (launcher, worker)
    )
    short = "job-worker-0.job job-worker-0.job.lab job-worker-0.job.lab.svc"
    assert f"10.244.0.3 {short} job-worker-0 {name}" in of_launcher
    assert f"10.244.0.3 {short} {name}" in of_worker
    assert of_worker[1] == f"10.244.0.4 {name} job-worker-0"


def test_a_launcher_waits_for_its_workers_where_the_cr_says_so() -> None:
    spec = {"launcherCreationPolicy": "WaitForWorkersReady"}
    assert controller.waits({"kind": "MPIJob", "spec": spec}, "launcher")
    assert not controller.waits({"kind": "MPIJob", "spec": spec}, "worker")
    assert not controller.waits({"kind": "MPIJob", "spec": {}}, "launcher")


def test_a_pod_with_a_prefix_has_a_name() -> None:
    pods = [{"metadata": {"generateName": "job-launcher-"}}, {"metadata": {"name": "job-worker-0"}}]
    assert [cluster.named(pod)["metadata"]["name"] for pod in pods] == ["job-launcher-x7k2p", "job-worker-0"]


def test_a_pod_with_a_subdomain_has_a_name_of_its_own_before_it_is_ready() -> None:
    pods = [_pod("a"), _pod("b")]
    for pod in pods:
        pod["spec"] |= {"hostname": f"train-{pod['metadata']['name']}", "subdomain": "train"}
    service: dict[str, Any] = {
        "metadata": {"name": "train", "namespace": "lab"},
        "spec": {"selector": {"pod": "a"}, "publishNotReadyAddresses": True},
    }
    of_service, of_pod = (
        " ".join(f"{name}{end}" for end in ("", *ENDS)) for name in ("train", "train-a.train")
    )
    assert network.hosts(pods[1], "10.244.0.4", [service], {}, pods, {"a": "10.244.0.3"}) == (
        "127.0.0.1 localhost\n"
        "10.244.0.4 train-b.train.lab.svc.cluster.local train-b\n"
        f"10.244.0.3 {of_service}\n10.244.0.3 {of_pod}\n"
    )
    service["spec"]["publishNotReadyAddresses"] = False
    assert "10.244.0.3" not in network.hosts(pods[1], "10.244.0.4", [service], {}, pods, {"a": "10.244.0.3"})


@pytest.mark.parametrize(
    ("limit", "before", "again"), [({}, 5, True), ({}, 6, False), ({"backoffLimit": 0}, 0, False)]
)
def test_pods_of_a_job_run_again_up_to_its_limit(limit: Any, before: int, again: bool) -> None:
    assert controller.restarts_of_job({"spec": limit}, 1, before) == again
    assert not controller.restarts_of_job({"spec": limit}, 0, before)


def test_addresses_are_different_and_none_ends_with_0_or_255() -> None:
    found = [network.address(number) for number in range(1000)]
    assert len(set(found)) == 1000
    assert {one.rpartition(".")[2] for one in found}.isdisjoint({"0", "255"})
    assert network.GATEWAY not in found


@pytest.mark.parametrize(("text", "size"), [("64Mi", 67108864), ("1.5k", 1500), ("7", 7), (8, 8)])
def test_quantities(text: str | int, size: int) -> None:
    assert volumes.quantity(text) == size


@pytest.mark.parametrize(
    ("policy", "code", "used", "again"),
    [
        ("OnFailure", 1, 0, True),
        ("OnFailure", 1, 3, False),
        ("OnFailure", 0, 0, False),
        ("Never", 1, 0, False),
        ("ExitCode", 137, 2, True),
        ("ExitCode", 1, 0, False),
        ({"policy": "OnFailure", "limit": 1}, 1, 0, True),
        ({"policy": "OnFailure", "limit": 1}, 1, 1, False),
        ({"policy": "OnFailure"}, 1, 0, False),
    ],
)
def test_pods_are_made_anew(policy: Any, code: int, used: int, again: bool) -> None:
    spec = {"replicaSpecs": [{"type": "worker", "restartPolicy": policy}]}
    assert (
        controller.restarts({"kind": "GenericJob", "spec": spec}, "worker", code, {"worker": used}) == again
    )


def test_a_world_is_each_rank_once() -> None:
    expect = cases.Expectation(exit=0, world=2)
    right = _outcome("trained rank=0 world=2\ntrained rank=1 world=2\n", {"a": 0})
    twice = _outcome("trained rank=0 world=2\ntrained rank=0 world=2\n", {"a": 0})
    assert list(judging.failures(expect, right)) == []
    assert list(judging.failures(expect, twice)) == ["expected each rank of 2 once, saw rank 0 of 2 2 times"]
    assert list(judging.failures(expect._replace(world=0), right)) != []


@pytest.mark.parametrize(
    ("expect", "failure"),
    [
        ({"exit": 0}, "a ended with 1, expected 0"),
        ({"exit": {"b": 0}}, "there is no Pod b"),
        ({"exit": "running"}, "a ended with 1, expected running"),
        ({"log": {"a": ["no such text"]}}, "the log of a lacks: no such text"),
        ({"lines": {"said": 2}}, "expected 2 times, and seen 1 times: said"),
        ({"restarts": {"a": 1}}, "a was made anew 0 times, not 1"),
        ({"phase": "Succeeded"}, "podplan status says Failed, expected Succeeded"),
    ],
)
def test_what_is_not_as_expected_is_said(expect: dict[str, Any], failure: str) -> None:
    outcome = _outcome("said", {"a": 1})._replace(phase="Failed")
    assert list(judging.failures(cases.Expectation(**expect), outcome)) == [failure]
    assert list(judging.failures(cases.Expectation(exit="failed"), outcome)) == []


def test_states_are_as_kubectl_prints_them() -> None:
    outcome = {"a": {"phase": "Failed", "exits": {"train": 3}, "restarts": 1}}
    first, second = status.listed([_pod("a"), _pod("b")], outcome)["items"]
    assert first["status"] == {
        "phase": "Failed",
        "containerStatuses": [{"name": "train", "state": {"terminated": {"exitCode": 3}}}],
    }
    assert second["status"] == {"phase": "Pending"}
    assert status.before([_pod("a")], outcome)["tasks"][0]["restartCount"] == 1


@each_row("case", [pytest.param(case, id=case.name) for case in ALL])
def test_cases_say_what_they_prove(case: cases.Case) -> None:
    assert case.proves
    assert not case.proves.endswith(".")
    assert bool(case.policy) == bool(case.claim)
    if case.policy:
        assert [run.name for run in case.runs] == ["bad", "mended"]
        assert "proof" in POLICIES[case.policy], f"{case.policy} does not name {case.name}"


@each_row("code", [code for code, data in POLICIES.items() if "proof" in data])
def test_proofs_are_cases_of_their_policy(code: str) -> None:
    found = {case.name: case.policy for case in ALL}
    assert found[POLICIES[code]["proof"]["case"]] == code


def test_a_page_keeps_what_did_not_run_this_time() -> None:
    first, second = (next(cases.cases(name)) for name in ("pytorch/plain-two", "pytorch/same-node-rank"))
    outcome = _outcome("", {"a": 0})._replace(programs={"a": "python"}, seconds=3.4)
    rows = [table.Row(second, run, outcome, ()) for run in second.runs]
    one = table.page(rows, ALL, "", {"torch": "1"})
    both = table.page([table.Row(first, first.runs[0], None, ("needs root",))], ALL, one, {"torch": "1"})
    assert [line for line in one.splitlines() if line not in both.splitlines()] == []
    assert "- pytorch/plain-two: needs root" in both
    assert "exit 0, nothing trained" in both
    assert table.page([], [first], both, {"torch": "1"}).count("pytorch/") == 1


def test_the_page_has_all_cases_and_says_what_they_say() -> None:
    page = (Path(__file__).parents[1] / "docs" / "conformance.md").read_text()
    unheard = {case.name for case in ALL if f"- {case.name}: " in page}
    rows = [line.split(" | ") for line in page.splitlines() if "/" in line and line.startswith("| ")]
    said = {cells[0].removeprefix("| "): cells[-2] for cells in rows}
    assert said == {
        table.title(case, run): table.proves(case, run)
        for case in ALL
        for run in case.runs
        if case.name not in unheard
    }


def _pod(name: str) -> dict[str, Any]:
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "lab", "labels": {"pod": name, "replica-type": "worker"}},
        "spec": {"containers": [{"name": "train"}]},
    }


def _outcome(log: str, exits: dict[str, int]) -> Outcome:
    pods = {
        name: {"phase": "Failed" if code else "Succeeded", "exits": {"train": code}, "restarts": 0}
        for name, code in exits.items()
    }
    return Outcome(pods=pods, logs={"a.train.0": log})
