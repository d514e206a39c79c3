"""The states that podplan status is told, in all their forms; and what it says of those that mean nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from podplan.yaml import parse_yaml
from tests.command import Run
from tests.golden_cases import podplan

CR = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata: {name: bert}
spec:
  replicaSpecs:
  - type: master
    restartPolicy: Never
    template:
      spec:
        containers:
        - {name: side, image: "registry.example.com/side:1"}
        - {name: python, image: "registry.example.com/train:1"}
  - type: worker
    replicas: 4
    restartPolicy: Never
    template: {spec: {containers: [{name: pytorch, image: "registry.example.com/train:1"}]}}
"""


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text(CR)


def status(pods: str = "", *arguments: str) -> Run:
    Path("pods.yaml").write_text(pods)
    return podplan("status", "job.yaml", *(("--pods", "pods.yaml") if pods else ()), *arguments)


def found(pods: str = "", *arguments: str) -> dict[str, Any]:
    """The JSON of a status."""
    said = status(pods, *arguments, "--format", "json")
    assert said.code == 0, said.err
    report: dict[str, Any] = json.loads(said.out)
    return report


def states(pods: str = "", *arguments: str) -> list[tuple[str, int | None]]:
    """Phase and exit code of each replica as it was seen: master-0, then the workers."""
    return [(one["seen"], one["exitCode"]) for one in found(pods, *arguments)["replicas"]]


RUNS = ("Running", None)
DIES = ("Failed", 137)


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ("worker-3: 137", [RUNS, RUNS, RUNS, RUNS, DIES]),
        ("worker-3: {exitCode: 137}", [RUNS, RUNS, RUNS, RUNS, DIES]),
        ("bert-worker-3: 137", [RUNS, RUNS, RUNS, RUNS, DIES]),
        ("bert-0a1b2-worker-3: 137", [RUNS, RUNS, RUNS, RUNS, DIES]),
        ("'worker-{1..2}': 137", [RUNS, RUNS, DIES, DIES, RUNS]),
        ("worker: 137", [RUNS, DIES, DIES, DIES, DIES]),
        ("worker: 137\nworker-1: Running", [RUNS, DIES, RUNS, DIES, DIES]),
        ("worker-1: Running\nworker: 137", [RUNS, DIES, RUNS, DIES, DIES]),
        ("worker-0: 0", [RUNS, ("Succeeded", None), RUNS, RUNS, RUNS]),
        ("worker-0: {phase: Failed}", [RUNS, ("Failed", None), RUNS, RUNS, RUNS]),
        ("worker-0: Evicted", [RUNS, ("Failed", None), RUNS, RUNS, RUNS]),
        ("worker-0: OOMKilled", [RUNS, ("Failed", 137), RUNS, RUNS, RUNS]),
        ("worker-0: {reason: Evicted}", [RUNS, ("Failed", None), RUNS, RUNS, RUNS]),
        ("worker-0: {restarts: 2}", [RUNS, RUNS, RUNS, RUNS, RUNS]),
        ("worker-0: Deleted\n---\nworker-1: 137", [RUNS, ("Deleted", None), DIES, RUNS, RUNS]),
        ("{}", [RUNS, RUNS, RUNS, RUNS, RUNS]),
        ("{apiVersion: v1, kind: List, items: []}", [RUNS, RUNS, RUNS, RUNS, RUNS]),
    ],
)
def test_forms(pods: str, expected: list[tuple[str, int | None]]) -> None:
    assert states(pods) == expected


def test_flags_win_over_the_file_and_others_fill_in() -> None:
    told = states("worker: 137", "--pod", "worker-2=Pending", "--others", "succeeded")
    assert told == [("Succeeded", None), DIES, DIES, ("Pending", None), DIES]


def pod(name: str, status: str, more: str = "") -> str:
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}{more}}}\nstatus: {status}\n"


@pytest.mark.parametrize(
    ("status_", "expected"),
    [
        ("{phase: Pending}", ("Pending", None)),
        ("{}", ("Creating", None)),
        ("{phase: Failed, reason: Evicted}", ("Failed", None)),
        (
            "{phase: Failed, containerStatuses: [{name: side, state: {terminated: {exitCode: 3}}}]}",
            ("Failed", 3),
        ),
        (
            "{phase: Failed, containerStatuses: [{name: side, state: {terminated: {exitCode: 3}}},"
            " {name: python, state: {terminated: {exitCode: 137}}}]}",
            DIES,
        ),
        (
            "{phase: Failed, initContainerStatuses: [{name: i, state: {terminated: {exitCode: 7}}}]}",
            ("Failed", 7),
        ),
        ("{phase: Running, containerStatuses: [{name: side, state: {terminated: {exitCode: 3}}}]}", RUNS),
    ],
)
def test_the_exit_code_of_a_pod_is_that_of_the_container_that_trains(
    status_: str, expected: tuple[str, int | None]
) -> None:
    assert states(pod("bert-master-0", status_))[0] == expected


def test_a_pod_that_is_being_deleted_is_gone_unless_it_has_ended() -> None:
    when = ", deletionTimestamp: '2026-01-01T00:00:00Z'"
    assert states(pod("bert-master-0", "{phase: Running}", when))[0] == ("Deleted", None)
    assert states(pod("bert-master-0", "{phase: Succeeded}", when))[0] == ("Succeeded", None)


def test_pods_of_others_and_other_objects_are_passed_over() -> None:
    others = [
        pod("gpt-worker-9", "{phase: Failed}", ", labels: {tensorstack.dev/owner-name: gpt}"),
        pod("web-1", "{phase: Failed}", ", ownerReferences: [{kind: ReplicaSet, name: web}]"),
        "apiVersion: v1\nkind: Service\nmetadata: {name: bert-master-0}\n",
    ]
    assert states("---\n".join(others)) == [RUNS] * 5


def test_pods_without_a_state_are_called_like_the_others() -> None:
    names = [one["pod"] for one in found(pod("bert-0a1b2-worker-1", "{phase: Running}"))["replicas"]]
    assert names == [
        f"bert-0a1b2-{short}" for short in ("master-0", "worker-0", "worker-1", "worker-2", "worker-3")
    ]


def test_restarts_are_counted_from_the_status_and_the_states() -> None:
    Path("job.yaml").write_text(CR + "status: {backoffCount: 1, tasks: [{type: worker, restartCount: 1}]}\n")
    report = found("worker-0: {restarts: 2}")
    assert report["restarts"] == {"master": 0, "worker": 3}
    assert report["status"]["backoffCount"] == 3


@pytest.mark.parametrize(
    ("pods", "message"),
    [
        ("wroker-1: 1", 'pods.yaml:1:1: there is no Pod "wroker-1"; did you mean "worker-1"?'),
        ("worker-4: 1", 'pods.yaml:1:1: there is no Pod "worker-4": worker has 4 replicas, from 0 to 3'),
        ("master-1: 1", 'pods.yaml:1:1: there is no Pod "master-1": master has one replica'),
        (
            "'worker-{2..7}': 1",
            'pods.yaml:1:1: there is no Pod "worker-{2..7}": worker has 4 replicas, from 0 to 3',
        ),
        ("'worker-{0..99999999}': 1", "worker has 4 replicas"),
        ("worker-1: Runing", 'pods.yaml:1:11: there is no phase "Runing"; did you mean "Running"?'),
        ("worker-1: {phase: 3}", "pods.yaml:1:11: there is no phase 3; there is Creating, Deleted, Failed,"),
        (
            "worker-1: {exitcode: 3}",
            'pods.yaml:1:11: worker-1 has an unknown field "exitcode"; did you mean "exitCode"?',
        ),
        ("worker-1: {exitCode: 256}", "pods.yaml:1:11: exitCode wants a number from 0 to 255, not 256"),
        ("worker-1: {exitCode: '1'}", 'pods.yaml:1:11: exitCode wants a number from 0 to 255, not "1"'),
        ("worker-1: -1", "pods.yaml:1:11: exitCode wants a number from 0 to 255, not -1"),
        (
            "worker-1: {restarts: true}",
            "pods.yaml:1:11: restarts wants a number from 0 to 2147483647, not true",
        ),
        ("worker-1: {reason: [1]}", "pods.yaml:1:11: reason wants a word such as OOMKilled, not a list"),
        (
            "worker-1: {phase: Running, exitCode: 1}",
            "pods.yaml:1:11: a Pod with the exit code 1 is Failed, not Running",
        ),
        ("worker-1:", "pods.yaml:1:10: worker-1 wants an exit code (137), a phase (Running), or a mapping"),
        ("worker-1: true", "or a mapping such as {exitCode: 137}, not true"),
        ("worker-1: 1.5", "or a mapping such as {exitCode: 137}, not 1.5"),
        ("worker-1: {}", "or a mapping such as {exitCode: 137}, not nothing"),
        ("worker-1: 1\nbert-worker-1: 2", "pods.yaml:2:1: worker-1 is declared twice, also at pods.yaml:1:1"),
        ("- worker-1", "pods.yaml:1:1: this is no state; write what kubectl get pods -o yaml prints"),
        ("# nothing", "pods.yaml: this is empty; write what kubectl get pods -o yaml prints"),
        ("worker-1: {", "pods.yaml:"),
        (
            pod("bert-worker-8", "{}"),
            'pods.yaml:3:18: there is no Pod "bert-worker-8": worker has 4 replicas',
        ),
        (pod("''", "{}"), "pods.yaml:3:18: this Pod has no name"),
        (
            pod("bert-worker-1", "{phase: Done}"),
            'pods.yaml:4:17: there is no phase "Done"; there is Failed, Pending,',
        ),
        (
            pod("bert-worker-1", "{phase: Failed, containerStatuses: [{name: a, state: {terminated: {}}}]}"),
            "a container that has terminated wants an exitCode, not null",
        ),
    ],
)
def test_what_means_nothing_is_told_at_its_place(pods: str, message: str) -> None:
    said = status(pods)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("podplan: ")
    assert message in said.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--pod", "worker-1"), "--pod worker-1: wants NAME=STATE, such as worker-3=137"),
        (("--pod", "worker-9=1"), '--pod worker-9=1: there is no Pod "worker-9": worker has 4 replicas'),
        (
            ("--pod", "worker-1=1", "--pod", "worker-1=2"),
            "worker-1 is declared twice, also at --pod worker-1=1",
        ),
        (("--pods", "nowhere.yaml"), "nowhere.yaml: no such file or directory"),
        (("--job", "brt"), 'job.yaml: there is no job "brt"; did you mean "bert"?'),
        (("--elapsed", "-1"), "--elapsed"),
        (("--others", "dead"), "--others"),
    ],
)
def test_wrong_flags(arguments: tuple[str, ...], message: str) -> None:
    said = status("", *arguments)
    assert (said.code, said.out) == (2, "")
    assert message in said.err


def test_one_job_of_several_has_to_be_named() -> None:
    Path("job.yaml").write_text(f"{CR}---\n{CR.replace('name: bert', 'name: gpt')}")
    assert "job.yaml: has 2 jobs (bert, gpt); say which one with --job NAME" in status().err
    assert found("", "--job", "gpt")["job"]["name"] == "gpt"


def test_what_is_no_job_has_no_status() -> None:
    Path("job.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
    assert status().code == 3
    Path("job.yaml").write_text(CR.replace("replicas: 4", "replicas: four"))
    said = status()
    assert (said.code, said.out) == (1, "")
    assert "replicas" in said.err


def test_too_many_replicas_are_a_bound() -> None:
    Path("job.yaml").write_text(CR.replace("replicas: 4", "replicas: 2147483647"))
    said = status()
    assert said.code == 4
    assert "a status lists at most 100000" in said.err


def test_one_standard_input_is_not_both() -> None:
    said = podplan("status", "-", "--pods", "-")
    assert said.code == 2
    assert "cannot both be standard input" in said.err


@pytest.mark.parametrize(
    ("word", "seen", "reason"),
    [
        ("Completed", ("Succeeded", None), None),
        ("Error", ("Failed", None), None),
        ("Signal:9", DIES, None),
        ("ExitCode:3", ("Failed", 3), None),
        ("StartError", ("Failed", 128), "StartError"),
        ("Terminating", ("Deleted", None), None),
        ("ContainerCreating", ("Pending", None), "ContainerCreating"),
        ("ImagePullBackOff", ("Pending", None), "ImagePullBackOff"),
        ("CrashLoopBackOff", ("Running", None), "CrashLoopBackOff"),
        ("Init:0/2", ("Pending", None), "Init:0/2"),
        ("Init:CrashLoopBackOff", ("Pending", None), "Init:CrashLoopBackOff"),
        ("Init:Error", ("Failed", None), None),
        ("Init:ExitCode:3", ("Failed", 3), None),
    ],
)
def test_words_of_kubectl(word: str, seen: tuple[str, int | None], reason: str | None) -> None:
    replica = found("", "--pod", f"worker-1={word}")["replicas"][2]
    assert (replica["seen"], replica["exitCode"], replica["reason"]) == (*seen, reason)


def _pod(name: str, uid: str = "1", **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "uid": uid, **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": {"phase": "Pending"}}


def _kubectl_list(*items: dict[str, Any]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=4)


OWNED: dict[str, Any] = {"labels": {"tensorstack.dev/owner-name": "bert"}}


def test_pods_of_a_shared_namespace() -> None:
    pods = _kubectl_list(_pod("notebook"), _pod("bert-notebook"), _pod("bert-worker-2", **OWNED))
    assert states(pods) == [RUNS, RUNS, RUNS, ("Pending", None), RUNS]
    said = status(_kubectl_list(_pod("bert-worker-9", **OWNED)))
    assert (said.code, "bert-worker-9" in said.err) == (2, True)


def test_pods_of_which_none_is_of_the_job() -> None:
    said = status(_kubectl_list(_pod("notebook")))
    assert (said.code, said.err) == (
        0,
        "podplan: pods.yaml has no Pod of bert; all are assumed to be Running\n",
    )


def test_why_a_pod_waits() -> None:
    pod = _pod("bert-worker-2", **OWNED)
    pod["status"]["containerStatuses"] = [
        {"name": "pytorch", "state": {"waiting": {"reason": "ImagePullBackOff"}}}
    ]
    assert "\nwaiting: worker-2: ImagePullBackOff\n" in status(_kubectl_list(pod)).out
    pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] = "ContainerCreating"
    assert "waiting" not in status(_kubectl_list(pod)).out


def test_a_dump_with_the_job_and_its_pods() -> None:
    cr = parse_yaml(CR.encode(), "cr.yaml").documents[0].data
    Path("dump.json").write_text(_kubectl_list(cr, _pod("notebook"), _pod("bert-worker-2", **OWNED)))
    said = podplan("status", "--from", "dump.json")
    assert said.code == 0
    assert said.out.startswith("PyTorchTrainingJob/bert is Pending: ")
    assert "bert-worker-2" not in said.err
    assert re.search(r"^worker +4 +3 +1 ", said.out, re.MULTILINE)
    Path("pods.json").write_text(_kubectl_list(_pod("bert-worker-2", **OWNED)))
    said = podplan("status", "--from", "pods.json")
    assert (said.code, said.out) == (3, "")
    assert said.err == "podplan: pods.json has no training job; add its kind to the kinds that kubectl gets\n"
    other = {**cr, "metadata": {"name": "gpt"}}
    Path("dump.json").write_text(_kubectl_list(cr, other, _pod("bert-worker-2", **OWNED)))
    assert podplan("status", "--from", "dump.json").code == 2
    assert podplan("status", "--from", "dump.json", "--job", "bert").code == 0
    other["metadata"]["ownerReferences"] = [{"kind": "PyTorchTrainingJob", "name": "bert", "uid": "u"}]
    Path("dump.json").write_text(_kubectl_list(other, cr, _pod("bert-worker-2", **OWNED)))
    assert podplan("status", "--from", "dump.json").out.startswith("PyTorchTrainingJob/bert is Pending: ")
    Path("dump.json").write_text(_kubectl_list(other, _pod("notebook")))
    assert podplan("status", "--from", "dump.json").out.startswith("PyTorchTrainingJob/gpt is Running: ")


@pytest.mark.parametrize(
    "arguments", [(), ("job.yaml", "--from", "d.json"), ("--from", "d.json", "--pods", "p")]
)
def test_a_dump_replaces_the_source_and_the_states(arguments: tuple[str, ...]) -> None:
    assert podplan("status", *arguments).code == 2
