"""How Pods of a job reach each other: host network, service meshes, RDMA, and what NCCL is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import pattern
from podplan.core.typing import Any
from podplan.kubernetes import accessors
from podplan.kubernetes.accessors import entries, mapping, text, texts
from podplan.lint.analysis.inventory import entry, section
from podplan.lint.analysis.jobs import SSH_KINDS, kind_of, namespace, pods, shown_list, spec_of, strangers
from podplan.lint.analysis.resources import place as place_of
from podplan.lint.analysis.resources import resources
from podplan.lint.analysis.words import options, options_in
from podplan.lint.target import Hit, Job, Subject

RDMA = pattern(r"rdma/.+|[^/]+/(?:.*(?:hca|roce|rdma|mlnx|infiniband|ib_).*)|vpc\.amazonaws\.com/efa")
# Its nodes come without a limit on locked memory (https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html).
EFA = "vpc.amazonaws.com/efa"
EPHEMERAL = range(32768, 61000)
INJECT = "sidecar.istio.io/inject"
NETWORKS = "k8s.v1.cni.cncf.io/networks"
OF_NODE = pattern(r"(?:en[ospx]|ib|bond|mlx|hsn|roce|em|p\d+p)\w*")
_PORT = r"--(?:(?:master|main[-_]process)[-_]port|rdzv[-_]endpoint)"
PORT = pattern(rf"{_PORT}(?:=(.*))?")
PORT_IN_SHELL = pattern(rf"\s{_PORT}[= ](?:\S*:)?([0-9]+)(?=\s|$)")
HOSTNAME = "kubernetes.io/hostname"
APART = f"keep the Pods apart with a required podAntiAffinity by {HOSTNAME}, and have a node for each"
SECOND_NETWORK = f"give the Pods a second network ({NETWORKS})"


def host_network_ports(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """Pods in the network of the node whose ports exclude each other there. Values: ``why``, ``instead``.

    The scheduler keeps Pods apart that declare the same port, and knows nothing of other ports.
    """
    group, job = subject.group, subject.job
    spec = mapping(subject.data, "spec")
    if group is None or spec.get("hostNetwork") is not True or job.cr is None:
        return
    declared = _declared_ports(spec)
    if kind_of(job) in SSH_KINDS:
        why = "the sshd of each Pod wants port 22, which the sshd of the node has"
    elif pods(job) < 2 or _apart(spec) or (strangers(job) and not declared):
        return
    elif declared:
        ports, are = ("ports", "are some") if len(declared) > 1 else ("port", "is one")
        why = (
            f"{ports} {shown_list(declared, 3)}, which the Pod declares, {are} of its node, and of the "
            f"{pods(job)} Pods of the job those that find no node with the {ports} free stay Pending"
        )
    else:
        why = (
            f"the containers declare no port, so that two of the {pods(job)} Pods may share a node and open "
            "the same port, such as that of the rendezvous"
        )
    instead = SECOND_NETWORK if kind_of(job) in SSH_KINDS else APART
    yield Hit(("spec", "hostNetwork"), {"why": why, "instead": instead})


def _declared_ports(spec: Mapping[str, Any]) -> list[str]:
    """The ports that the containers of a Pod declare, each once."""
    ports = (
        port.get("containerPort")
        for _, container in entries(spec, "containers")
        for _, port in entries(container, "ports")
    )
    return list(dict.fromkeys(str(port) for port in ports if port is not None))


def _apart(spec: Mapping[str, Any]) -> bool:
    """Whether Pods may not share a node: required anti-affinity by host name."""
    against = mapping(mapping(spec, "affinity"), "podAntiAffinity")
    required = entries(against, "requiredDuringSchedulingIgnoredDuringExecution")
    return any(text(term, "topologyKey") == HOSTNAME for _, term in required)


def host_network_dns(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A Pod in the network of the node that cannot resolve the names of Services.

    Values: ``policy``, ``service``, one of the names that are not found.
    """
    group, job = subject.group, subject.job
    spec = mapping(subject.data, "spec")
    if group is None or spec.get("hostNetwork") is not True or pods(job) < 2:
        return
    services = [one for one in job.groups if one.doc.data["kind"] == "Service"]
    policy = text(spec, "dnsPolicy") or "ClusterFirst"
    if services and policy in ("ClusterFirst", "Default"):
        at: Path = ("spec", "dnsPolicy" if "dnsPolicy" in spec else "hostNetwork")
        yield Hit(at, {"policy": policy, "service": services[0].doc.data["metadata"]["name"]})


def target_port_of_headless_service(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A port of a headless Service with another port behind it. Values: ``port``, ``target``."""
    group, spec = subject.group, mapping(subject.data, "spec")
    if group is None or subject.job.cr is None or spec.get("clusterIP") != "None":
        return
    for number, port in entries(spec, "ports"):
        target = port.get("targetPort", port.get("port"))
        if isinstance(target, str):
            target = _port_called(subject.job, group.role, target)
        if isinstance(target, int) and target not in (0, port.get("port")):
            values = {"port": port.get("port"), "target": target}
            yield Hit(("spec", "ports", number, "targetPort"), values)


def _port_called(job: Job, role: str, name: str) -> int | None:
    """The number of the port that a container of a replica type declares under a name."""
    for group in job.pods:
        for _, container in entries(mapping(group.doc.data, "spec"), "containers"):
            for _, port in entries(container, "ports"):
                if group.role == role and text(port, "name") == name:
                    return accessors.number(port, "containerPort")
    return None


def ephemeral_port(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A rendezvous port among those that the kernel gives to outgoing connections. Values: ``port``."""
    for number, variable in entries(subject.data, "env"):
        if text(variable, "name") == "MASTER_PORT":
            yield from _ephemeral(text(variable, "value"), ("env", number, "value"))
    for value, path in options(subject.data, PORT):
        yield from _ephemeral(value.rpartition(":")[2], path)
    for key in ("command", "args"):
        for number, line in texts(subject.data, key):
            for found in PORT_IN_SHELL.finditer(line):
                yield from _ephemeral(found[1], (key, number), _other_args(subject, found[1]))


def _other_args(subject: Subject, port: str) -> Hit | None:
    """A port where otherArgs of a DeepSpeedJob say it; the command of the Pod has it from there."""
    cr = subject.job.cr
    words = list(texts(mapping(spec_of(subject.job), "config"), "otherArgs"))
    for value, number in options_in(words, PORT):
        if value == port:
            return Hit(("spec", "config", "otherArgs", number), {"port": port}, doc=cr)
    return None


def _ephemeral(value: str, path: Path, instead: Hit | None = None) -> Iterator[Hit]:
    if value.isascii() and value.isdecimal() and len(value) < 6 and int(value) in EPHEMERAL:
        yield instead or Hit(path, {"port": value})


def mesh_sidecar(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """Pods of a job that a service mesh puts a proxy into. Values: ``why``, ``pods``."""
    group, job = subject.group, subject.job
    if group is None or job.cr is None:
        return
    metadata = mapping(subject.data, "metadata")
    for part in ("labels", "annotations"):
        said = mapping(metadata, part).get(INJECT)
        if said == "false":
            return
        if said == "true":
            values = {"why": f"{part} of the template ask for it", "pods": pods(job)}
            yield Hit(("metadata", part, INJECT), values)
            return
    where = namespace(job)
    labels = mapping(entry(job, "namespaces", where), "labels")
    label = "istio-injection=enabled" if labels.get("istio-injection") == "enabled" else ""
    label = label or (f"istio.io/rev={labels['istio.io/rev']}" if labels.get("istio.io/rev") else "")
    if label and job.inventory is not None:
        key = label.partition("=")[0]
        at: Path = ("spec", "namespaces", where, "labels", key)
        values = {"why": f'the namespace "{where}" has the label {label}', "pods": pods(job)}
        yield Hit(("metadata",), values, related=[(job.inventory, at, "the label of the namespace")])


def rdma_without_ipc_lock(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A container with an RDMA device that may not lock memory. Values: ``resource``, ``container``.

    Hardware classes of the inventory that have the device and do not list IPC_LOCK say that it is not needed.
    """
    found = rdma_device(subject.data)
    if found is None or _privileged(subject.data) or "IPC_LOCK" in _added(subject.data):
        return
    resource, at = found
    if resource == EFA:
        return
    listed = section(subject.job, "hardware")
    classes = [mapping(listed, name) for name in listed]
    having = [one for one in classes if resource in mapping(one, "resources")]
    if having and not any("IPC_LOCK" in dict(texts(one, "capabilities")).values() for one in having):
        return
    values = {"resource": resource, "container": text(subject.data, "name")}
    yield Hit(at, values, on_key=True, by_choice=True)


def ipc_lock_without_root(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """IPC_LOCK for a process that does not run as root, which it then does not get. Values: ``user``."""
    context = mapping(subject.data, "securityContext")
    of_pod = mapping(mapping(subject.doc.data, "spec"), "securityContext")
    user = context.get("runAsUser", of_pod.get("runAsUser"))
    if "IPC_LOCK" in _added(subject.data) and isinstance(user, int) and user > 0:
        added = mapping(context, "capabilities")["add"]
        at: Path = ("securityContext", "capabilities", "add", added.index("IPC_LOCK"))
        yield Hit(at, {"user": user})


def nccl_ib_disabled(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """NCCL told not to use the RDMA device that the container has. Values: ``resource``."""
    found = rdma_device(subject.data)
    for number, variable in entries(subject.data, "env"):
        if found is not None and text(variable, "name") == "NCCL_IB_DISABLE" and variable.get("value") == "1":
            related = [(subject.doc, (*subject.base, *found[1]), "the device")]
            yield Hit(("env", number, "value"), {"resource": found[0]}, related=related)


def interface_of_node(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """NCCL or Gloo told to use an interface of the node by a Pod with a network of its own.

    Values: ``name``, ``value``.
    """
    data = subject.doc.data
    if mapping(data, "spec").get("hostNetwork") is True or subject.job.cr is None:
        return
    if NETWORKS in mapping(mapping(data, "metadata"), "annotations"):
        return
    for number, variable in entries(subject.data, "env"):
        name, value = text(variable, "name"), text(variable, "value")
        if name not in ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"):
            continue
        names = [one.strip() for one in value.removeprefix("=").split(",")]
        if names and all(OF_NODE.fullmatch(one) for one in names):
            yield Hit(("env", number, "value"), {"name": name, "value": value})


def rdma_on_single_pod(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """An RDMA device in a job of one Pod. Values: ``resource``."""
    group = subject.group
    if group is None or pods(subject.job) != 1:
        return
    for resource in resources(group):
        at = place_of(group, resource)
        if RDMA.fullmatch(resource) and at is not None:
            yield Hit(at, {"resource": resource}, on_key=True, by_choice=True)


def rdma_device(container: Mapping[str, Any]) -> tuple[str, Path] | None:
    """An RDMA device that a container asks for, and its place below it."""
    listed = mapping(container, "resources")
    for part in ("limits", "requests"):
        for resource, amount in mapping(listed, part).items():
            if RDMA.fullmatch(resource) and amount not in (0, "0"):
                return resource, ("resources", part, resource)
    return None


def _privileged(container: Mapping[str, Any]) -> bool:
    return mapping(container, "securityContext").get("privileged") is True


def _added(container: Mapping[str, Any]) -> set[str]:
    capabilities = mapping(mapping(container, "securityContext"), "capabilities")
    return {name for _, name in texts(capabilities, "add")}
