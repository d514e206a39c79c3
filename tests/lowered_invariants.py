"""Invariants of the lowered objects of every CR.

Source: docs/evidence/anchors.md#invariants-of-a-lowered-job.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from podplan import kubernetes
from podplan.core.provenance import Path, TracedDocument, trace_to_source
from podplan.kinds.t9k.job import compute_name_suffix
from tests.lowered_objects import Lowered, Object, environment, parts

CONTROLLER_VARIABLES = 4  # MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE: they come first


def value_at(data: Any, path: Path) -> Any:
    for step in path:
        data = data[step]
    return data


def is_of_t9k(cr: Object) -> bool:
    return bool(cr["apiVersion"].startswith("batch.tensorstack.dev/"))


def base(cr: Object) -> str:
    """Return the base name of the children."""
    name, uid = cr["metadata"].get("name"), cr["metadata"].get("uid")
    name = name or f"{cr['metadata']['generateName']}xxxxx"
    return f"{name}-{compute_name_suffix(name, uid)}" if uid else str(name)


def selected(lowered: Lowered, service: Object) -> list[str]:
    """Return the Pods that a Service selects."""
    selector = service["spec"]["selector"].items()
    return [name for name, pod in lowered.of("Pod").items() if selector <= pod["metadata"]["labels"].items()]


def said(container: Object) -> list[str]:
    """Return every text of a container that may contain a host name."""
    values = (entry.get("value") for entry in container.get("env", []))
    texts = [*container.get("command", []), *container.get("args", []), *values]
    return [text for text in texts if isinstance(text, str)]


def check_objects(lowered: Lowered) -> None:
    """Assert that the API server accepts every object."""
    for found in lowered.values():
        if kubernetes.has_schema(found["apiVersion"], found["kind"]):
            assert kubernetes.validate_object(found) == []
        else:
            assert kubernetes.validate_metadata(found["metadata"]) == []


def check_origins(docs: Iterable[TracedDocument]) -> None:
    """Assert that every part of every document traces to a line, a flag or a behavior."""
    for doc in docs:
        for path, value in parts(doc.data):
            steps = trace_to_source(doc, path)
            end = steps[-1]
            if end.origin is None:
                assert end.doc.source is not None
                assert end.doc.source.span(end.path).line >= 1
            else:
                assert end.origin.behavior is not None or end.origin.flag is not None
            if all(step.origin is None or step.origin.derivation == "copied" for step in steps):
                assert value == value_at(end.doc.data, end.path)


def check_services(lowered: Lowered) -> None:
    """Assert that a Service selects the Pod with its name, those with names below it, or all of a job."""
    if lowered.of("Pod"):
        for service in lowered.of("Service").values():
            name = service["metadata"]["name"]
            pods = lowered.of("Pod")
            below = [pod for pod, found in pods.items() if found["spec"].get("subdomain") == name]
            assert selected(lowered, service) in (below or [name], list(pods))


def check_hosts(lowered: Lowered, base: str) -> None:
    """Assert that every replica named in a container or a file has a Service, or a name below one."""
    replica = re.compile(rf"\b{re.escape(base)}-[a-z]+-[0-9]+\b")
    containers = [each for pod in lowered.of("Pod").values() for each in pod["spec"]["containers"]]
    texts = [text for container in containers for text in said(container)]
    texts += [text for found in lowered.of("ConfigMap").values() for text in found["data"].values()]
    for host in (host for text in texts for host in replica.findall(text)):
        assert (
            ("Service", host) in lowered
            or ("Service", host.rpartition("-")[0]) in lowered
            or ("Role", f"{base}-launcher") in lowered  # kubectl exec
            or (("Service", base) in lowered and ("Pod", host) in lowered)
            or (("Service", base) in lowered and not lowered.of("Pod"))  # suspended
            or (("Service", base) in lowered and ("Job", host) in lowered)  # the first part of a host
        )


def check_rendezvous(cr: Object, lowered: Lowered) -> None:
    """Assert that the ranks of a PyTorchTrainingJob are 0 to WORLD_SIZE - 1, and one Pod owns the
    rendezvous."""
    pods = lowered.of("Pod")
    if not pods:
        return
    env = [
        environment({"env": pod["spec"]["containers"][0]["env"][:CONTROLLER_VARIABLES]})
        for pod in pods.values()
    ]
    (address,) = {variables["MASTER_ADDR"] for variables in env}
    (port,) = {variables["MASTER_PORT"] for variables in env}
    masters = [name for name, pod in pods.items() if pod["metadata"]["labels"].get("job-role") == "master"]
    assert masters == [address]
    assert port in [str(found["port"]) for found in lowered["Service", address]["spec"]["ports"]]
    if cr["spec"].get("torchrunConfig", {}).get("enabled"):
        assert not any("RANK" in variables or "WORLD_SIZE" in variables for variables in env)
    else:
        assert sorted(int(variables["RANK"]) for variables in env) == list(range(len(pods)))
        assert {variables["WORLD_SIZE"] for variables in env} == {str(len(pods))}
        assert environment(pods[address]["spec"]["containers"][0])["RANK"] == "0"


def check_hostfile(cr: Object, lowered: Lowered) -> None:
    """Assert that the hostfile of a job over ssh has every worker, with all slots."""
    (files,) = lowered.of("ConfigMap").values()
    hosts = [line.split(" ") for line in files["data"]["hostfile"].splitlines()]
    assert [host for host, *_ in hosts] == list(lowered.of("Service"))
    for service in lowered.of("Service").values():
        assert service["spec"]["ports"] == [{"name": "ssh", "port": 22}]
    if cr["kind"] == "DeepSpeedJob":
        slots = cr["spec"].get("config", {}).get("slotsPerWorker", 1)
        total = sum(int(rest.removeprefix("slots=")) for _, rest in hosts)
        assert total == slots * len(lowered.of("Service"))
    else:
        assert all(len(words) == 1 for words in hosts)


def check_gang(cr: Object, lowered: Lowered) -> None:
    """Assert that a gang needs no more Pods than exist, and that scheduling and restarts follow the job."""
    clusters = lowered.of("FlinkCluster")  # its operator makes Pods that count too
    for gang in lowered.of("PodGroup").values():
        assert gang["spec"]["minMember"] >= 0
        assert clusters or gang["spec"]["minMember"] <= len(lowered.of("Pod"))
    scheduled = "t9kScheduler" in cr["spec"].get("scheduler", {})
    if scheduled and lowered.of("Pod"):
        assert list(lowered.of("PodGroup")) == [cr["metadata"]["name"]]
    for pod in lowered.of("Pod").values():
        if scheduled:
            assert pod["spec"]["schedulerName"] == "t9k-scheduler"
        if is_of_t9k(cr) and not clusters:
            assert pod["spec"]["restartPolicy"] == "Never"
