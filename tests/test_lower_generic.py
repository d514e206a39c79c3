from __future__ import annotations

from typing import Any

import pytest

from tests.lowered_objects import (
    Object,
    end,
    environment,
    fact_at,
    group_of,
    job,
    lost,
    lower,
    names,
    objects,
)

TWO_TYPES = """
service: {ports: [{name: http, port: 2222}]}
replicaSpecs:
- type: ps
  template:
    spec:
      restartPolicy: Always
      initContainers: [{name: wait, image: busybox}]
      containers:
      - name: main
        image: a
        command: [run, "$(type)-$(rank)"]
        args: ["--of=$(replicas[worker])", "--ps=$(service.ps[0].host):$(service.port[http])"]
        env:
        - {name: PEER, value: "$(service.worker[2].host)"}
        - {name: FIELD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
      - {name: side, image: b, args: ["$(type)"]}
- type: worker
  replicas: 3
  template: {spec: {containers: [{name: main, image: a}]}}
"""


def generic(spec: str = TWO_TYPES, **metadata: str) -> Object:
    return job("GenericJob", spec, **metadata)


def one(container: str, more: str = "") -> Object:
    """A job of two workers with one container of which the rest is given."""
    return generic(f"""
{more}
replicaSpecs:
- type: worker
  replicas: 2
  template: {{spec: {{containers: [{{name: main, image: a, {container}}}]}}}}
""")


def test_children_are_called_after_the_job_the_type_and_the_index() -> None:
    assert names(generic()) == [
        "Service/bert-ps-0",
        "Service/bert-worker-0",
        "Service/bert-worker-1",
        "Service/bert-worker-2",
        "Pod/bert-ps-0",
        "Pod/bert-worker-0",
        "Pod/bert-worker-1",
        "Pod/bert-worker-2",
    ]


@pytest.mark.parametrize(
    ("name", "uid", "base"),
    [
        ("mnist", "422e8cc7-163f-4d49-9fb8-d059e490a09b", "mnist-12e8d"),
        ("mnist", "cffea855-5ce2-496a-8956-f6e76fe2f565", "mnist-40c14"),
        ("gpt-125m", "e2a69076-1c19-46ce-9c70-2cdf20176e01", "gpt-125m-d02e2"),
        ("torch-mnist-trainingjob", "9dcea839-3a99-4b6f-b594-620d79f8377d", "torch-mnist-trainingjob-7a8f5"),
        ("tutorial", "bbc4817d-ba41-4b29-81c2-cefa3a3d376f", "tutorial-af483"),
    ],
)
def test_a_uid_gives_the_names_that_were_seen_on_clusters(name: str, uid: str, base: str) -> None:
    assert "Pod/" + base + "-ps-0" in names(generic(name=name, uid=uid))
    assert "Pod/" + base + "-ps-0" in names(generic(name=name), uid=uid)
    assert "Pod/" + base + "-ps-0" in names(generic(name=name, uid=uid), uid="another, which loses")


def test_the_uid_makes_the_job_the_owner() -> None:
    pod = objects(generic(uid="u-1")).of("Pod").popitem()[1]
    (owner,) = pod["metadata"]["ownerReferences"]
    assert owner == {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "GenericJob",
        "name": "bert",
        "uid": "u-1",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert "ownerReferences" not in objects(generic()).pod("bert-ps-0")["metadata"]


def test_a_generated_name_has_a_stand_in_for_its_five_characters() -> None:
    cr = generic()
    cr["metadata"] = {"generateName": "bert-"}
    assert "Pod/bert-xxxxx-worker-2" in names(cr)


def test_variables_are_replaced_in_command_args_and_env_of_every_container() -> None:
    lowered = objects(generic())
    main = lowered.container("bert-ps-0")
    assert main["command"] == ["run", "ps-0"]
    assert main["args"] == ["--of=3", "--ps=bert-ps-0:2222"]
    assert environment(main) == {"PEER": "bert-worker-2", "FIELD": None}
    assert main["env"][1]["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.name"}}
    assert lowered.container("bert-ps-0", 1)["args"] == ["ps"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(rank)", "1"),
        ("a$(rank)b$(rank)", "a1b1"),
        ("$$(rank)", "$$(rank)"),
        ("$$$(rank)", "$$1"),
        ("$$$$(rank)", "$$$$(rank)"),
        ("$(HOME)", "$(HOME)"),
        ("$(replicas[worker])", "2"),
        ("$(replicas[nobody])", "$(replicas[nobody])"),
        ("$(service.worker[1].host)", "bert-worker-1"),
        ("$(service.worker[01].host)", "bert-worker-1"),
        ("$(service.worker[2].host)", "$(service.worker[2].host)"),
        ("$(service.nobody[0].host)", "$(service.nobody[0].host)"),
        ("$(service.port[http])", "80"),
        ("$(service.port[https])", "$(service.port[https])"),
        ("$(service.port[])", "$(service.port[])"),
        ("$(service.port[None])", "$(service.port[None])"),
        ("$( rank )", "$( rank )"),
        ("$(rank", "$(rank"),
        ("$rank ${rank}", "$rank ${rank}"),
        ("$($(rank))", "$(1)"),
    ],
)
def test_what_a_variable_becomes(text: str, expected: str) -> None:
    cr = one(f"args: ['{text}']", "service: {ports: [{name: http, port: 80}, {port: 90}]}")
    assert objects(cr).container("bert-worker-1")["args"] == [expected]


def test_service_variables_need_a_service() -> None:
    cr = one("args: ['$(service.worker[0].host)', '$(service.port[http])', '$(rank)']")
    kept = ["$(service.worker[0].host)", "$(service.port[http])", "0"]
    assert objects(cr).container("bert-worker-0")["args"] == kept


def test_a_replaced_variable_still_leads_to_the_line_in_the_file() -> None:
    group = group_of(lower(generic()), "Pod", "ps")
    path = ("spec", "containers", 0, "args", 1)
    assert fact_at(group, path) is not None
    place = end(group, path)
    assert place.path == ("spec", "replicaSpecs", 0, "template", *path)
    assert place.doc.source is not None
    assert place.doc.source.span(place.path).line > 1


def test_the_service_is_headless_with_the_ports_as_written() -> None:
    service = objects(generic())["Service", "bert-worker-1"]
    assert service["spec"] == {
        "clusterIP": "None",
        "selector": {"genericjob": "bert", "genericjob-replica": "bert-worker-1"},
        "ports": [{"name": "http", "port": 2222}],
    }


def test_labels_of_a_pod_in_a_gang() -> None:
    cr = generic()
    cr["spec"]["scheduler"] = {"t9kScheduler": {"queue": "q", "priority": 7}}
    cr["spec"]["replicaSpecs"][0]["template"]["metadata"] = {
        "labels": {"team": "vision", "genericjob": "mine"},
        "annotations": {"note": "x"},
    }
    lowered = objects(cr)
    pod = lowered.pod("bert-ps-0")
    assert pod["metadata"]["labels"] == {
        "team": "vision",
        "genericjob": "bert",
        "tensorstack.dev/owner-name": "bert",
        "tensorstack.dev/owner-kind": "GenericJob",
        "tensorstack.dev/component": "genericjob",
        "tensorstack.dev/component-type": "user",
        "genericjob-replica": "bert-ps-0",
        "scheduler.tensorstack.dev/group-name": "bert",
        "scheduler.tensorstack.dev/queue": "q",
    }
    assert pod["metadata"]["annotations"] == {"note": "x"}
    assert pod["spec"]["schedulerName"] == "t9k-scheduler"
    assert lowered["PodGroup", "bert"]["spec"] == {"minMember": 4, "priority": 7, "queue": "q"}
    label = ("spec", "replicaSpecs", 0, "template", "metadata", "labels", "genericjob")
    assert lost(group_of(lower(cr), "Pod", "ps"), ("metadata", "labels", "genericjob")) == [label]


def test_an_empty_scheduler_section_asks_for_the_default_queue() -> None:
    cr = generic()
    cr["spec"]["scheduler"] = {"t9kScheduler": {}}
    assert objects(cr)["PodGroup", "bert"]["spec"] == {"minMember": 4, "priority": 0, "queue": "default"}
    cr["spec"]["scheduler"] = {}
    assert objects(cr).of("PodGroup") == {}


def test_the_restart_policy_of_a_pod_is_never() -> None:
    assert objects(generic()).pod("bert-ps-0")["spec"]["restartPolicy"] == "Never"
    written = ("spec", "replicaSpecs", 0, "template", "spec", "restartPolicy")
    assert lost(group_of(lower(generic()), "Pod", "ps"), ("spec", "restartPolicy")) == [written]


def test_debug_mode_stops_every_container_and_drops_its_args() -> None:
    cr = generic()
    cr["spec"]["runMode"] = {"debug": {"enabled": True}}
    lowered = objects(cr)
    for index in (0, 1):
        container = lowered.container("bert-ps-0", index)
        assert container["command"] == ["sleep", "inf"]
        assert "args" not in container
    assert "initContainers" in lowered.pod("bert-ps-0")["spec"]
    assert environment(lowered.container("bert-ps-0"))["PEER"] == "bert-worker-2"
    of_main = ("spec", "replicaSpecs", 0, "template", "spec", "containers", 0)
    replaced = lost(group_of(lower(cr), "Pod", "ps"), ("spec", "containers", 0, "command"))
    assert replaced == [(*of_main, "command"), (*of_main, "args")]


def test_debug_mode_by_type() -> None:
    cr = generic()
    sets = [{"type": "ps", "skipInitContainer": True, "command": ["bash", "$(type)"]}, {"type": "nobody"}]
    cr["spec"]["runMode"] = {"debug": {"enabled": True, "replicaSpecs": sets}}
    lowered = objects(cr)
    assert lowered.container("bert-ps-0")["command"] == ["bash", "ps"]
    assert "initContainers" not in lowered.pod("bert-ps-0")["spec"]
    assert lowered.container("bert-worker-0")["command"] == ["sleep", "inf"]


def test_a_paused_job_keeps_only_its_services() -> None:
    cr = generic()
    cr["spec"] |= {"scheduler": {"t9kScheduler": {}}, "runMode": {"pause": {"enabled": True}}}
    assert {name.partition("/")[0] for name in names(cr)} == {"Service"}
    cr["spec"]["runMode"]["debug"] = {"enabled": True}
    assert {name.partition("/")[0] for name in names(cr)} == {"Service"}


def test_a_resumed_job_runs_what_its_resume_specs_say() -> None:
    cr = generic()
    specs = [{"type": "ps", "args": ["again", "$(rank)"], "skipInitContainer": True}]
    cr["spec"]["runMode"] = {"pause": {"enabled": True, "resumeSpecs": specs}}
    lowered = objects(cr, resumed=True)
    main = lowered.container("bert-ps-0")
    assert main["command"] == ["run", "ps-0"]
    assert main["args"] == ["again", "0"]
    assert lowered.container("bert-ps-0", 1)["args"] == ["ps"]
    assert "initContainers" not in lowered.pod("bert-ps-0")["spec"]
    assert "command" not in lowered.container("bert-worker-0")


def test_resume_specs_win_over_debug_mode_where_they_say_something() -> None:
    cr = generic()
    resumed = [
        {"type": "ps", "command": ["go"], "args": ["on"]},
        {"type": "worker", "skipInitContainer": True},
    ]
    cr["spec"]["runMode"] = {
        "debug": {"enabled": True, "replicaSpecs": [{"type": "ps", "command": ["bash"]}]},
        "pause": {"enabled": True, "resumeSpecs": resumed},
    }
    lowered = objects(cr, resumed=True)
    assert lowered.container("bert-ps-0")["command"] == ["go"]
    assert lowered.container("bert-ps-0")["args"] == ["on"]
    assert lowered.container("bert-worker-0")["command"] == ["sleep", "inf"]
    assert "args" not in lowered.container("bert-worker-0")
    assert "initContainers" not in lowered.pod("bert-worker-0")["spec"]


def test_resume_specs_wait_until_the_job_was_paused() -> None:
    cr = generic()
    cr["spec"]["runMode"] = {"pause": {"enabled": False, "resumeSpecs": [{"type": "ps", "args": ["again"]}]}}
    assert objects(cr, resumed=True).container("bert-ps-0")["args"][0] == "--of=3"


def test_no_replicas_no_pods() -> None:
    cr = one("args: []")
    cr["spec"]["replicaSpecs"][0]["replicas"] = 0
    assert names(cr) == []


def test_ten_thousand_replicas_are_as_much_work_as_two() -> None:
    few, many = one("args: ['$(rank)']"), one("args: ['$(rank)']")
    many["spec"]["replicaSpecs"][0]["replicas"] = 10_000
    sizes = [[len(group.doc.origins) for group in lower(cr)] for cr in (few, many)]
    assert sizes[0] == sizes[1]
    assert sum(group.replicas for group in lower(many)) == 10_000


INIT = """
service: {ports: [{name: http, port: 2222}]}
replicaSpecs:
- type: worker
  replicas: 2
  template:
    spec:
      initContainers: [{name: wait, image: a, command: [wait, "$(service.worker[0].host)", "$(rank)"]}]
      containers: [{name: main, image: a, command: [run, "$(rank)"]}]
"""


def init_commands(**options: Any) -> list[list[str]]:
    pods = objects(generic(INIT), **options).of("Pod").values()
    return [pod["spec"]["initContainers"][0]["command"] for pod in pods]


def test_variables_in_init_containers_stay_unless_the_configuration_says_otherwise() -> None:
    stays = ["wait", "$(service.worker[0].host)", "$(rank)"]
    assert init_commands() == [stays, stays]
    assert objects(generic(INIT)).container("bert-worker-1")["command"] == ["run", "1"]
    replaced = init_commands(behavior_values={"generic.init-substitution": True})
    assert replaced == [["wait", "bert-worker-0", "0"], ["wait", "bert-worker-0", "1"]]


@pytest.mark.parametrize("kind", ["Pod", "Service"])
def test_a_replica_type_that_no_name_may_contain_is_the_origin_of_the_name(kind: str) -> None:
    cr = generic(TWO_TYPES.replace("type: worker", "type: Worker"))
    group = next(one for one in lower(cr) if one.doc.name == f"{kind}/bert-Worker-0")
    assert end(group, ("metadata", "name")).path == ("spec", "replicaSpecs", 1, "type")
    other = next(one for one in lower(cr) if one.doc.name == f"{kind}/bert-ps-0")
    assert end(other, ("metadata", "name")).path == ("metadata", "name")
