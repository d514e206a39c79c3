"""Network of a job: host network, DNS, service meshes, RDMA, and settings of NCCL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.kubernetes import accessors
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.launchers.sshd import may_use_other_port, starts_sshd
from podplan.lint.analysis.inventory import get_section
from podplan.lint.analysis.jobs import (
    count_pods,
    format_list,
    has_isolated_replicas,
    has_trait,
    namespace_of,
    spec_of,
)
from podplan.lint.analysis.resources import count_accelerators, list_containers, list_resources
from podplan.lint.analysis.resources import find_resource_path as place_of
from podplan.lint.analysis.stated_variables import list_stated_variables
from podplan.lint.analysis.words import iter_option_values, iter_word_option_values
from podplan.lint.checks.registration import check
from podplan.lint.namespaces import find_labels
from podplan.lint.target import LoweredJob, Target, Violation

_RDMA_WORDS = ("hca", "roce", "rdma", "mlnx", "infiniband", "ib_")
# Its nodes come without a limit on locked memory (https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html).
EFA = "vpc.amazonaws.com/efa"
EPHEMERAL_PORTS = range(32768, 61000)
ISTIO_INJECT_KEY = "sidecar.istio.io/inject"
NETWORKS_ANNOTATION = "k8s.v1.cni.cncf.io/networks"
_INTERFACE_VARIABLES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")
NODE_INTERFACE = compile_lazily(r"(?:en[ospx]|ib|bond|mlx|hsn|roce|em|p\d+p)\w*")
_PORT_OPTION_TEXT = r"--(?:(?:master|main[-_]process)[-_]port|rdzv[-_]endpoint)"
PORT_OPTION = compile_lazily(rf"{_PORT_OPTION_TEXT}(?:=(.*))?")
PORT_IN_SHELL = compile_lazily(rf"\s{_PORT_OPTION_TEXT}[= ](?:\S*:)?([0-9]+)(?=\s|$)")
GPUS_OF_NODE = 8
HOSTNAME_LABEL = "kubernetes.io/hostname"
ANTI_AFFINITY_ADVICE = (
    f"separate the Pods with a required podAntiAffinity by {HOSTNAME_LABEL}, and have a node for each"
)
SECOND_NETWORK_ADVICE = f"give the Pods a second network ({NETWORKS_ANNOTATION})"


# Resolvers of the internet, which know no Service of a cluster.
_PUBLIC_TEXT = """
    1.0.0.1 1.1.1.1 114.114.114.114 119.29.29.29 208.67.222.222 223.5.5.5 223.6.6.6 8.8.4.4 8.8.8.8 9.9.9.9
"""
_PUBLIC_RESOLVERS = frozenset(_PUBLIC_TEXT.split())


@check()
def host_network_ports(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """Pods in the host network whose ports conflict on a node. Values: ``why``, ``instead``.

    The scheduler separates Pods that declare the same port, but ignores undeclared ports.
    """
    group, job = target.group, target.job
    spec = get_mapping(target.data, "spec")
    if group is None or spec.get("hostNetwork") is not True or job.cr is None:
        return
    declared_ports = _list_declared_ports(spec)
    shared = _count_host_network_pods(job)
    needs_port_22 = _needs_port_22(job, group)
    if needs_port_22:
        reason = "the sshd of each Pod needs port 22, which the sshd of the node uses"
    elif (
        shared < 2
        or _has_host_anti_affinity(spec)
        or _takes_whole_node(group)
        or (has_isolated_replicas(job) and not declared_ports)
    ):
        return
    elif declared_ports:
        ports = "ports" if len(declared_ports) > 1 else "port"
        reason = (
            f"the Pod declares {ports} {format_list(declared_ports, 3)} of its node, so each of the"
            f" {shared} Pods needs a node with the {ports} free, and the others stay Pending"
        )
    else:
        reason = (
            f"the containers declare no port, so two of the {shared} Pods may share a node and"
            " open the same port, such as that of the rendezvous"
        )
    instead = SECOND_NETWORK_ADVICE if needs_port_22 else ANTI_AFFINITY_ADVICE
    yield Violation(("spec", "hostNetwork"), {"why": reason, "instead": instead})


def _needs_port_22(job: LoweredJob, group: ReplicaGroup) -> bool:
    """Whether a Pod runs sshd on its default port, which a command in the CR may change."""
    if not has_trait(job, "ssh") or not has_trait(job, "mpirun-by-user"):
        return has_trait(job, "ssh")
    return any(
        starts_sshd(container) and not may_use_other_port(container)
        for _, container in list_containers(group)
    )


def _list_declared_ports(spec: Mapping[str, Any]) -> list[str]:
    """Return the distinct ports that the containers of a Pod declare."""
    ports = (
        port.get("containerPort")
        for _, container in get_entries(spec, "containers")
        for _, port in get_entries(container, "ports")
    )
    return list(dict.fromkeys(str(port) for port in ports if port is not None))


def _takes_whole_node(group: ReplicaGroup) -> bool:
    """Whether a Pod has as many GPUs as nodes usually have, so that no other with GPUs runs beside it."""
    return any(
        count_accelerators(container).number >= GPUS_OF_NODE for _, container in list_containers(group)
    )


def _has_host_anti_affinity(spec: Mapping[str, Any]) -> bool:
    """Whether Pods may not share a node: required anti-affinity by host name."""
    anti_affinity = get_mapping(get_mapping(spec, "affinity"), "podAntiAffinity")
    required = get_entries(anti_affinity, "requiredDuringSchedulingIgnoredDuringExecution")
    return any(get_text(term, "topologyKey") == HOSTNAME_LABEL for _, term in required)


def _count_host_network_pods(job: LoweredJob) -> int:
    groups = (one for one in job.pods if get_mapping(one.doc.data, "spec").get("hostNetwork") is True)
    return sum(one.replicas for one in groups)


@check()
def host_network_dns(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A Pod that cannot resolve the names of Services.

    Values: ``what`` (the cause), ``service`` (a name that is not found), ``instead`` (the policy to set).
    """
    group, job = target.group, target.job
    spec = get_mapping(target.data, "spec")
    if group is None or count_pods(job) < 2:
        return
    services = [one for one in job.groups if one.doc.data["kind"] == "Service"]
    policy = get_text(spec, "dnsPolicy") or "ClusterFirst"
    has_host_network = spec.get("hostNetwork") is True
    if services and policy in (("ClusterFirst", "Default") if has_host_network else ("Default",)):
        path: Path = ("spec", "dnsPolicy" if "dnsPolicy" in spec else "hostNetwork")
        values = {
            "what": f"{'hostNetwork with ' if has_host_network else ''}the dnsPolicy {policy}",
            "service": services[0].doc.data["metadata"]["name"],
            "instead": "ClusterFirstWithHostNet" if has_host_network else "ClusterFirst",
        }
        yield Violation(path, values)


@check(requires=("dnsConfig",))
def own_dns_without_services(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A Pod whose own DNS settings do not resolve the names of Services. Values: ``why``, ``service``."""
    group, job, spec = target.group, target.job, get_mapping(target.data, "spec")
    if group is None or get_text(spec, "dnsPolicy") != "None" or count_pods(job) < 2:
        return
    services = [one for one in job.groups if one.doc.data["kind"] == "Service"]
    config = get_mapping(spec, "dnsConfig")
    servers = [server for _, server in accessors.get_texts(config, "nameservers")]
    searches = [domain for _, domain in accessors.get_texts(config, "searches")]
    is_public = bool(servers) and all(server in _PUBLIC_RESOLVERS for server in servers)
    lacks_search = not any(domain.partition(".")[2].startswith("svc.") for domain in searches)
    if services and (is_public or lacks_search):
        why = (
            f"{servers[0]} is a public DNS server"
            if is_public
            else "no domain of searches ends the short names of Services"
        )
        path: Path = ("spec", "dnsConfig", "nameservers") if is_public else ("spec", "dnsConfig")
        related = [(target.doc, ("spec", "dnsPolicy"), "the settings of the cluster are not used")]
        values = {"why": why, "service": services[0].doc.data["metadata"]["name"]}
        yield Violation(path, values, related)


@check()
def target_port_of_headless_service(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A port of a headless Service with a different targetPort. Values: ``port``, ``target``."""
    group, spec = target.group, get_mapping(target.data, "spec")
    if group is None or target.job.cr is None or spec.get("clusterIP") != "None":
        return
    for number, port in get_entries(spec, "ports"):
        target_port = port.get("targetPort", port.get("port"))
        if isinstance(target_port, str):
            target_port = _find_port_number(target.job, group.replica_type, target_port)
        if isinstance(target_port, int) and target_port not in (0, port.get("port")):
            values = {"port": port.get("port"), "target": target_port}
            yield Violation(("spec", "ports", number, "targetPort"), values)


def _find_port_number(job: LoweredJob, role: str, name: str) -> int | None:
    """Return the number of a named port in the containers of a replica type."""
    for group in job.pods:
        for _, container in get_entries(get_mapping(group.doc.data, "spec"), "containers"):
            for _, port in get_entries(container, "ports"):
                if group.replica_type == role and get_text(port, "name") == name:
                    return accessors.get_number(port, "containerPort")
    return None


@check()
def ephemeral_port(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A rendezvous port in the range that the kernel uses for outgoing connections. Values: ``port``."""
    for number, variable in get_entries(target.data, "env"):
        if get_text(variable, "name") == "MASTER_PORT":
            yield from _iter_ephemeral_port(get_text(variable, "value"), ("env", number, "value"))
    for value, path in iter_option_values(target.data, PORT_OPTION):
        yield from _iter_ephemeral_port(value.rpartition(":")[2], path)
    for key in ("command", "args"):
        for number, line in get_texts(target.data, key):
            for found in PORT_IN_SHELL.finditer(line):
                yield from _iter_ephemeral_port(
                    found[1], (key, number), _find_in_other_args(target, found[1])
                )


def _find_in_other_args(target: Target, port: str) -> Violation | None:
    """Return the path of a port in otherArgs of a DeepSpeedJob, from where the Pod command takes it."""
    cr = target.job.cr
    words = list(get_texts(get_mapping(spec_of(target.job), "config"), "otherArgs"))
    for value, number in iter_word_option_values(words, PORT_OPTION):
        if value == port:
            return Violation(("spec", "config", "otherArgs", number), {"port": port}, doc=cr)
    return None


def _iter_ephemeral_port(value: str, path: Path, replacement: Violation | None = None) -> Iterator[Violation]:
    if value.isascii() and value.isdecimal() and len(value) < 6 and int(value) in EPHEMERAL_PORTS:
        yield replacement or Violation(path, {"port": value})


@check()
def mesh_sidecar(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """Pods of a job that get a proxy of a service mesh. Values: ``why``, ``pods``."""
    group, job = target.group, target.job
    if group is None or job.cr is None or has_trait(job, "servers"):
        return
    metadata = get_mapping(target.data, "metadata")
    for section_name in ("labels", "annotations"):
        value = get_mapping(metadata, section_name).get(ISTIO_INJECT_KEY)
        if value == "false":
            return
        if value == "true":
            values = {"why": f"{section_name} of the template request it", "pods": count_pods(job)}
            yield Violation(("metadata", section_name, ISTIO_INJECT_KEY), values)
            return
    stated = find_labels(job)
    if stated is None:
        return
    labels = stated.value
    label = "istio-injection=enabled" if labels.get("istio-injection") == "enabled" else ""
    label = label or (f"istio.io/rev={labels['istio.io/rev']}" if labels.get("istio.io/rev") else "")
    if label:
        values = {
            "why": f'the namespace "{namespace_of(job)}" has the label {label}',
            "pods": count_pods(job),
        }
        related = [(stated.doc, (*stated.path, label.partition("=")[0]), "the label of the namespace")]
        yield Violation(("metadata",), values, related=related)


@check()
def rdma_without_ipc_lock(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A container with an RDMA device that may not lock memory. Values: ``resource``, ``container``.

    Hardware classes with the device and without IPC_LOCK state that it is not needed.
    """
    device = find_rdma_device(target.data)
    if device is None or _is_privileged(target.data) or "IPC_LOCK" in _find_added_capabilities(target.data):
        return
    resource, device_path = device
    if resource == EFA:
        return
    hardware = get_section(target.job, "hardware")
    classes = [get_mapping(hardware, name) for name in hardware]
    matching_classes = [one for one in classes if resource in get_mapping(one, "resources")]
    if matching_classes and not any(
        "IPC_LOCK" in dict(get_texts(one, "capabilities")).values() for one in matching_classes
    ):
        return
    values = {"resource": resource, "container": get_text(target.data, "name")}
    yield Violation(device_path, values, at_key=True, report_at_selector=True)


@check()
def ipc_lock_without_root(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """IPC_LOCK for a non-root process, which does not get it. Values: ``user``."""
    context = get_mapping(target.data, "securityContext")
    pod_context = get_mapping(get_mapping(target.doc.data, "spec"), "securityContext")
    user = context.get("runAsUser", pod_context.get("runAsUser"))
    if "IPC_LOCK" in _find_added_capabilities(target.data) and isinstance(user, int) and user > 0:
        added = get_mapping(context, "capabilities")["add"]
        path: Path = ("securityContext", "capabilities", "add", added.index("IPC_LOCK"))
        holder = target.base_path if "runAsUser" in context else ("spec",)
        related = [(target.doc, (*holder, "securityContext", "runAsUser"), f"user {user}")]
        yield Violation(path, {"user": user}, related)


@check()
def nccl_ib_disabled(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """NCCL_IB_DISABLE in a container with an RDMA device. Values: ``resource``."""
    device = find_rdma_device(target.data)
    for stated in list_stated_variables(target.data, ("NCCL_IB_DISABLE",)):
        if stated.value == "1" and device is not None:
            related = [(target.doc, (*target.base_path, *device[1]), "the device")]
            yield Violation(stated.path, {"resource": device[0]}, related=related)


@check()
def interface_of_node(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """NCCL or Gloo set to an interface of the node, in a Pod with its own network.

    Values: ``name``, ``value``.
    """
    data = target.doc.data
    if get_mapping(data, "spec").get("hostNetwork") is True or target.job.cr is None:
        return
    if NETWORKS_ANNOTATION in get_mapping(get_mapping(data, "metadata"), "annotations"):
        return
    for stated in list_stated_variables(target.data, _INTERFACE_VARIABLES):
        name, value, path = stated.name, stated.value, stated.path
        names = [one.strip() for one in value.removeprefix("=").split(",")]
        if names and all(NODE_INTERFACE.fullmatch(one) for one in names):
            yield Violation(path, {"name": name, "value": value})


@check()
def rdma_on_single_pod(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """An RDMA device in a job of one Pod. Values: ``resource``."""
    group = target.group
    if group is None or count_pods(target.job) != 1:
        return
    for resource in list_resources(group):
        path = place_of(group, resource)
        if is_rdma_resource(resource) and path is not None:
            yield Violation(path, {"resource": resource}, at_key=True, report_at_selector=True)


def is_rdma_resource(name: str) -> bool:
    """Whether a resource is an RDMA device, as its vendor or its name says."""
    vendor, _, device = name.partition("/")
    is_named = vendor == "rdma" or any(word in device for word in _RDMA_WORDS)
    return name == EFA or bool(vendor and device and is_named)


def find_rdma_device(container: Mapping[str, Any]) -> tuple[str, Path] | None:
    """Return an RDMA device that a container requests, and its path in the container."""
    container_resources = get_mapping(container, "resources")
    for section_name in ("limits", "requests"):
        for resource, amount in get_mapping(container_resources, section_name).items():
            if is_rdma_resource(resource) and amount not in (0, "0"):
                return resource, ("resources", section_name, resource)
    return None


def _is_privileged(container: Mapping[str, Any]) -> bool:
    return get_mapping(container, "securityContext").get("privileged") is True


def _find_added_capabilities(container: Mapping[str, Any]) -> set[str]:
    capabilities = get_mapping(get_mapping(container, "securityContext"), "capabilities")
    return {name for _, name in get_texts(capabilities, "add")}
