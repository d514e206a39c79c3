"""Claims, Secrets and ConfigMaps of the repository against the jobs that use them."""

from __future__ import annotations

from typing import Any

import pytest

from podplan.checker.check import check_sources
from podplan.lint.registry import load_builtin_policies
from podplan.lint.rule_selection import RuleSelection, select_policies
from podplan.pipeline import PipelineSettings
from podplan.workspace.loader import Loader
from podplan.yaml import parse_yaml
from podplan.yaml.writer import emit_documents
from tests.policy_examples import findings

Data = dict[str, Any]


def job(replicas: int = 2, spec: Data | None = None, namespace: str = "nlp", **container: Any) -> Data:
    main = {"name": "train", "image": "train:1", "command": ["./train"], **container}
    template = {"spec": {"containers": [main], **(spec or {})}}
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "GenericJob",
        "metadata": {"name": "a", "namespace": namespace},
        "spec": {"replicaSpecs": [{"type": "worker", "replicas": replicas, "template": template}]},
    }


def with_object(kind: str, name: str, namespace: str = "nlp", /, **fields: Any) -> Data:
    metadata = {"name": name, "namespace": namespace, **fields.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **fields}


def said(code: str, *objects: Data) -> list[str]:
    return [found.message for found in findings({"objects": list(objects)}, code) if found.rule == code]


def claim(*modes: str, namespace: str = "nlp") -> Data:
    return with_object("PersistentVolumeClaim", "data", namespace, spec={"accessModes": list(modes)})


def mounting(replicas: int = 2, *, read_only: bool = False, **spec: Any) -> Data:
    volumes = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    mounts = [{"name": "d", "mountPath": "/d", "readOnly": read_only}]
    return job(replicas, {"volumes": volumes, **spec}, volumeMounts=mounts)


def test_claims_for_one_node_or_pod() -> None:
    assert said("VOL013", mounting(), claim("ReadWriteOnce"))
    assert "permits one Pod" in said("VOL013", mounting(), claim("ReadWriteOncePod"))[0]
    assert said("VOL013", claim("ReadWriteOnce"), mounting()), "the order does not count"
    assert said("VOL013", mounting(), claim("ReadWriteOnce", "ReadOnlyMany"))


@pytest.mark.parametrize(
    ("given", "objects"),
    [
        (mounting(1), [claim("ReadWriteOnce")]),
        (mounting(), [claim("ReadWriteMany")]),
        (mounting(), [claim("ReadWriteOnce", "ReadWriteMany")]),
        (mounting(read_only=True), [claim("ReadWriteOnce", "ReadOnlyMany")]),
        (mounting(), [claim("ReadWriteOnce", namespace="other")]),
        (mounting(), [claim("ReadWriteOnce"), claim("ReadWriteMany")]),
        (mounting(), [claim()]),
        (mounting(nodeSelector={"kubernetes.io/hostname": "n1"}), [claim("ReadWriteOnce")]),
    ],
)
def test_claims_that_all_can_mount(given: Data, objects: list[Data]) -> None:
    assert said("VOL013", given, *objects) == []


def of_key(key: str, kind: str = "secretKeyRef", name: str = "s", **more: Any) -> Data:
    return job(1, env=[{"name": "A", "valueFrom": {kind: {"name": name, "key": key, **more}}}])


def test_keys_that_are_missing() -> None:
    secret = with_object("Secret", "s", stringData={"api-key": "x"}, data={"url": "eA=="})
    config = with_object("ConfigMap", "s", data={"a.yaml": "x"}, binaryData={"b": "eA=="})
    assert said("VOL014", of_key("token"), secret)
    assert said("VOL014", of_key("c", "configMapKeyRef"), config)
    volume = {"name": "v", "configMap": {"name": "s", "items": [{"key": "a.yml", "path": "a"}]}}
    assert said("VOL014", job(1, {"volumes": [volume]}), config)
    volume = {
        "name": "v",
        "projected": {"sources": [{"secret": {"name": "s", "items": [{"key": "k", "path": "a"}]}}]},
    }
    assert said("VOL014", job(1, {"volumes": [volume]}), secret)
    mounts = [{"name": "v", "mountPath": "/app/a.yml", "subPath": "a.yml"}]
    volumes = [{"name": "v", "configMap": {"name": "s"}}]
    assert said("VOL014", job(1, {"volumes": volumes}, volumeMounts=mounts), config)
    assert not any("eA==" in message for message in said("VOL014", of_key("token"), secret))


@pytest.mark.parametrize(
    ("given", "objects"),
    [
        (of_key("api-key"), [with_object("Secret", "s", stringData={"api-key": "x"})]),
        (of_key("k", optional=True), [with_object("Secret", "s", stringData={"api-key": "x"})]),
        (of_key("k"), [with_object("Secret", "s", "other", stringData={"api-key": "x"})]),
        (of_key("k"), [with_object("Secret", "s")]),
        (of_key("k"), [with_object("ConfigMap", "s", data={"api-key": "x"})]),
        (
            of_key("k"),
            [with_object("Secret", "s", data={"a": "x"}), with_object("Secret", "s", data={"k": "x"})],
        ),
        (
            of_key("token"),
            [with_object("Secret", "s", type="kubernetes.io/service-account-token", data={"a": "eA=="})],
        ),
        (
            of_key("k"),
            [
                with_object(
                    "Secret", "s", data={"a": "eA=="}, metadata={"annotations": {"vault.example/merge": "y"}}
                )
            ],
        ),
    ],
)
def test_keys_that_are_there_or_not_known(given: Data, objects: list[Data]) -> None:
    assert said("VOL014", given, *objects) == []


def running(command: list[str], path: str, **container: Any) -> Data:
    volumes = [{"name": "v", "configMap": {"name": "s"}}]
    mounts = [{"name": "v", "mountPath": path}]
    return job(1, {"volumes": volumes}, command=command, volumeMounts=mounts, **container)


def test_a_config_map_over_the_program() -> None:
    config = with_object("ConfigMap", "s", data={"hyp.yaml": "x", "run.sh": "x"})
    assert said("VOL014", running(["python", "/w/train.py"], "/w"), config)
    assert said("VOL014", running(["torchrun", "--standalone", "/w/train.py"], "/w/"), config)
    assert said("VOL014", running(["python", "train.py"], "/w", workingDir="/w"), config)
    assert said("VOL014", running(["/w/train", "--a"], "/w"), config)
    assert not said("VOL014", running(["bash", "/w/run.sh"], "/w"), config)
    assert not said("VOL014", running(["python", "/w/train.py"], "/w/config"), config)
    assert not said("VOL014", running(["python", "train.py"], "/w"), config), "nobody knows the folder"
    assert not said("VOL014", running(["bash", "-c", "cp -r /src /w; python /w/train.py"], "/w"), config)


def test_the_object_in_the_file_of_the_job_counts_before_others() -> None:
    def said_of(*files: list[Data]) -> list[str]:
        sources = [
            parse_yaml(emit_documents(docs).encode(), f"{number}.yaml") for number, docs in enumerate(files)
        ]
        policies = tuple(select_policies(load_builtin_policies(), RuleSelection(select=("VOL014",))))
        return [
            one.message
            for one in check_sources(sources, PipelineSettings(policies=policies), Loader()).findings
        ]

    lacks, has = (with_object("Secret", "s", stringData={key: "x"}) for key in ("url", "token"))
    assert len(said_of([of_key("token"), lacks], [has])) == 1
    assert said_of([of_key("token"), has], [lacks]) == []
    assert said_of([of_key("token")], [has], [lacks]) == []
    assert len(said_of([of_key("token")], [lacks])) == 1


def meeting_at(endpoint: str, **spec: Any) -> Data:
    """A GenericJob of two Pods whose torchrun meets at a host."""
    line = ["torchrun", "--nnodes=2", "--rdzv_backend=c10d", f"--rdzv_endpoint={endpoint}", "train.py"]
    return job(2, spec, command=line)


def service(port: int, namespace: str = "nlp", **spec: Any) -> Data:
    fields = {"selector": {"app": "train"}, "ports": [{"port": port}], **spec}
    return with_object("Service", "head", namespace, spec=fields)


@pytest.mark.parametrize(
    ("endpoint", "objects", "found"),
    [
        ("head:29400", [service(8080)], True),
        ("head.nlp:29400", [service(8080)], True),
        ("head.nlp.svc.cluster.local:29400", [service(8080, type="NodePort")], True),
        ("head", [service(8080)], True),
        ("head:29400", [service(29400)], False),
        ("head:29400", [service(8080, clusterIP="None")], False),
        ("head:29400", [service(8080, type="ExternalName")], False),
        ("head:29400", [service(8080, selector=None)], False),
        ("head:29400", [service(8080, ports=[])], False),
        ("head:29400", [service(8080, "other")], False),
        ("head.other:29400", [service(8080, "other")], True),
        ("head.example.com:29400", [service(8080)], False),
        ("head:29400", [service(8080), service(29400)], False),
        ("head-0.head:29400", [service(8080)], False),
        ("a-worker-0:29400", [service(8080)], False),
    ],
)
def test_ports_that_a_service_forwards(endpoint: str, objects: list[Data], found: bool) -> None:
    assert bool(said("NET016", meeting_at(endpoint), *objects)) is found


def test_ports_of_a_service_in_variables() -> None:
    env = [{"name": "MASTER_ADDR", "value": "head"}, {"name": "MASTER_PORT", "value": "29500"}]
    given = job(2, command=["python", "train.py"], env=env)
    assert said("NET016", given, service(8080))
    assert not said("NET016", given, service(29500))
