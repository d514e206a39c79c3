"""The containers of a Pod: names, ports, mounts, and constraints inside each of them."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Diagnostic, Path
from podplan.core.suggestions import suggest_phrase
from podplan.core.typing import Any
from podplan.kubernetes import environment, names, probes, resources, security
from podplan.kubernetes.accessors import get_entries, get_mapping, get_number, get_text
from podplan.kubernetes.messages import format_label

CONTAINER_LISTS = ("initContainers", "containers")
_DEFAULT_GRACE_PERIOD = 30
_RESTART_POLICIES_SINCE = 35  # KEP-5307: from 1.35 on every container may have one
_RESTARTABLE_ONLY = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")


def validate_containers(spec: dict[str, Any], path: Path, minor_version: int) -> Iterator[Diagnostic]:
    """Yield the diagnostics of the containers of a PodSpec, individually and together."""
    volumes = {get_text(volume, "name"): volume for _, volume in get_entries(spec, "volumes")}
    claims = {get_text(claim, "name") for _, claim in get_entries(spec, "resourceClaims")}
    grace_period = (
        get_number(spec, "terminationGracePeriodSeconds") if "terminationGracePeriodSeconds" in spec else None
    )
    first_paths: dict[str, Path] = {}
    for field in CONTAINER_LISTS:
        for index, container in get_entries(spec, field):
            container_path = (*path, field, index)
            yield from validate_unique_name(
                get_text(container, "name"), (*container_path, "name"), first_paths, "container"
            )
            yield from _validate_container(
                container,
                container_path,
                volumes,
                claims,
                _DEFAULT_GRACE_PERIOD if grace_period is None else grace_period,
            )
            if field == "initContainers":
                yield from _validate_init_container(container, container_path)
            elif "restartPolicy" in container and minor_version < _RESTART_POLICIES_SINCE:
                message = (
                    "only init containers have a restartPolicy of their own before"
                    f" 1.{_RESTART_POLICIES_SINCE}"
                )
                yield Diagnostic("SCHEMA009", message, (*container_path, "restartPolicy"))
    yield from _validate_host_ports(spec, path)


def validate_unique_name(
    name: str, path: Path, first_paths: dict[str, Path], noun: str
) -> Iterator[Diagnostic]:
    """Yield a diagnostic if ``first_paths`` already has the name; otherwise add it there."""
    if not name:
        return
    if name in first_paths:
        message = f"{noun} name {names.format_value(name)} is used twice"
        yield Diagnostic("SCHEMA007", message, path, related=((first_paths[name], f"the first {noun}"),))
    else:
        first_paths[name] = path


def _validate_container(
    container: dict[str, Any], path: Path, volumes: dict[str, Any], claims: set[str], grace_period: int
) -> Iterator[Diagnostic]:
    if "ports" in container:
        first_paths: dict[str, Path] = {}
        for index, port in get_entries(container, "ports"):
            yield from validate_unique_name(
                get_text(port, "name"), (*path, "ports", index, "name"), first_paths, "port"
            )
            yield from validate_ip_address(get_text(port, "hostIP"), (*path, "ports", index, "hostIP"))
    if "env" in container or "envFrom" in container:
        yield from environment.validate_environment(container, path)
    if "resources" in container:
        yield from resources.validate_resources(
            get_mapping(container, "resources"), (*path, "resources"), claims
        )
    if "resizePolicy" in container:
        yield from _validate_resize_policy(container, path)
    yield from probes.validate_probes(container, path, grace_period)
    if "securityContext" in container:
        yield from security.validate_container_security(
            get_mapping(container, "securityContext"), (*path, "securityContext")
        )
    mount_paths: dict[str, Path] = {}
    yield from _validate_mounts(container, path, volumes, mount_paths)
    if "volumeDevices" in container:
        yield from _validate_devices(container, path, volumes, mount_paths)


def _validate_mounts(
    container: dict[str, Any], path: Path, volumes: dict[str, Any], mount_paths: dict[str, Path]
) -> Iterator[Diagnostic]:
    for index, mount in get_entries(container, "volumeMounts"):
        mount_path = (*path, "volumeMounts", index)
        name, target = get_text(mount, "name"), get_text(mount, "mountPath")
        if name and name not in volumes:
            yield diagnose_unknown_volume(name, volumes, (*mount_path, "name"))
        if target in mount_paths:
            message = f"mountPath {names.format_value(target)} is used twice"
            yield Diagnostic(
                "SCHEMA007",
                message,
                (*mount_path, "mountPath"),
                related=((mount_paths[target], "the first mount"),),
            )
        elif target:
            mount_paths[target] = (*mount_path, "mountPath")
        if "subPathExpr" in mount and get_text(mount, "subPath") and get_text(mount, "subPathExpr"):
            yield Diagnostic(
                "SCHEMA009",
                "subPath and subPathExpr exclude each other; keep one of them",
                (*mount_path, "subPathExpr"),
            )
        if mount.get("mountPropagation") == "Bidirectional" and not _is_privileged(container):
            message = "mountPropagation Bidirectional requires a privileged container"
            yield Diagnostic("SCHEMA009", message, (*mount_path, "mountPropagation"))
        if mount.get("recursiveReadOnly") in ("IfPossible", "Enabled"):
            yield from _validate_recursive_read_only(mount, mount_path)


def _is_privileged(container: dict[str, Any]) -> bool:
    return get_mapping(container, "securityContext").get("privileged") is True


def _validate_recursive_read_only(mount: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    field_path = (*path, "recursiveReadOnly")
    if mount.get("readOnly") is not True:
        yield Diagnostic("SCHEMA009", "recursiveReadOnly needs readOnly: true", field_path)
    if mount.get("mountPropagation") not in (None, "None"):
        yield Diagnostic("SCHEMA009", "recursiveReadOnly allows only mountPropagation None", field_path)


def _validate_devices(
    container: dict[str, Any], path: Path, volumes: dict[str, Any], mount_paths: dict[str, Path]
) -> Iterator[Diagnostic]:
    first_paths: dict[str, Path] = {}
    for index, device in get_entries(container, "volumeDevices"):
        device_path = (*path, "volumeDevices", index)
        name, target = get_text(device, "name"), get_text(device, "devicePath")
        yield from validate_unique_name(name, (*device_path, "name"), first_paths, "device")
        if name and name not in volumes:
            yield diagnose_unknown_volume(name, volumes, (*device_path, "name"))
        elif name and not volumes[name].keys() & {"persistentVolumeClaim", "ephemeral"}:
            message = f'volume "{name}" is not a block device; it needs a persistentVolumeClaim'
            yield Diagnostic("SCHEMA009", message, (*device_path, "name"))
        if not target:
            yield Diagnostic("SCHEMA003", "devicePath is empty", (*device_path, "devicePath"))
        elif ".." in target.split("/"):
            yield Diagnostic(
                "SCHEMA006",
                f"devicePath {names.format_value(target)} must not contain '..'",
                (*device_path, "devicePath"),
            )
        elif target in mount_paths:
            message = f"path {names.format_value(target)} is used twice"
            yield Diagnostic(
                "SCHEMA007",
                message,
                (*device_path, "devicePath"),
                related=((mount_paths[target], "the first"),),
            )
        mount_paths.setdefault(target, (*device_path, "devicePath"))


def diagnose_unknown_volume(name: str, volumes: dict[str, Any], path: Path) -> Diagnostic:
    """Build the diagnostic for ``name``, which is none of the volumes of the Pod."""
    volume_names = [volume for volume in volumes if volume]
    hint = suggest_phrase(name, volume_names)
    help = f"the volumes are: {', '.join(volume_names)}" if volume_names and not hint else ""
    return Diagnostic("SCHEMA008", f"the Pod has no volume {names.format_value(name)}{hint}", path, help=help)


def validate_ip_address(address_text: str, path: Path) -> Iterator[Diagnostic]:
    """Yield a diagnostic if a text is no IP address; the empty text is valid."""
    if address_text:
        from ipaddress import ip_address

        try:
            ip_address(address_text)
        except ValueError:
            yield Diagnostic(
                "SCHEMA006",
                f"{format_label(path)} {names.format_value(address_text)} is not an IP address",
                path,
            )


def _validate_resize_policy(container: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    first_paths: dict[str, Path] = {}
    for index, policy in get_entries(container, "resizePolicy"):
        yield from validate_unique_name(
            get_text(policy, "resourceName"), (*path, "resizePolicy", index), first_paths, "resource"
        )


def _validate_init_container(container: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    if container.get("restartPolicy") == "Always":
        return
    for field in _RESTARTABLE_ONLY:
        if field in container:
            message = f"an init container may have a {field} only with restartPolicy: Always"
            yield Diagnostic("SCHEMA009", message, (*path, field))


def _validate_host_ports(spec: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    is_host_network = spec.get("hostNetwork") is True
    host_ports: dict[tuple[str, str, int], Path] = {}
    for i, container in get_entries(spec, "containers"):
        for j, port in get_entries(container, "ports"):
            port_path = (*path, "containers", i, "ports", j)
            container_port, host_port = get_number(port, "containerPort"), get_number(port, "hostPort")
            if is_host_network and host_port and host_port != container_port:
                message = (
                    f"containerPort {container_port} and hostPort {host_port} must be equal with hostNetwork:"
                    " true"
                )
                related = (((*port_path, "hostPort"), "the host port"),)
                yield Diagnostic("SCHEMA009", message, (*port_path, "containerPort"), related=related)
            host_port = host_port or (container_port if is_host_network else 0)
            if host_port:
                key = (get_text(port, "protocol") or "TCP", get_text(port, "hostIP"), host_port)
                if key in host_ports:
                    message = f"host port {host_port} ({key[0]}) is used twice"
                    reported_path = (
                        (*port_path, "hostPort") if "hostPort" in port else (*port_path, "containerPort")
                    )
                    yield Diagnostic(
                        "SCHEMA007", message, reported_path, related=((host_ports[key], "the first"),)
                    )
                host_ports.setdefault(key, port_path)
