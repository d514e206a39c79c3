"""The containers of a Pod: names, ports, mounts and what must fit together in each of them."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Path, Problem
from podplan.core.suggestions import did_you_mean
from podplan.core.typing import Any
from podplan.kubernetes import environment, names, probes, resources, security
from podplan.kubernetes.accessors import entries, mapping, number, text
from podplan.kubernetes.messages import label

LISTS = ("initContainers", "containers")
_DEFAULT_GRACE = 30
_RESTART_POLICIES = 35  # KEP-5307: from 1.35 on every container may have one
_RESTARTABLE_ONLY = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")


def check(spec: dict[str, Any], path: Path, minor: int) -> Iterator[Problem]:
    """The problems of the containers of a PodSpec, each by itself and together."""
    volumes = {text(volume, "name"): volume for _, volume in entries(spec, "volumes")}
    claims = {text(claim, "name") for _, claim in entries(spec, "resourceClaims")}
    grace = number(spec, "terminationGracePeriodSeconds") if "terminationGracePeriodSeconds" in spec else None
    seen: dict[str, Path] = {}
    for field in LISTS:
        for index, container in entries(spec, field):
            at = (*path, field, index)
            yield from unique(text(container, "name"), (*at, "name"), seen, "container")
            yield from _container(container, at, volumes, claims, _DEFAULT_GRACE if grace is None else grace)
            if field == "initContainers":
                yield from _init_container(container, at)
            elif "restartPolicy" in container and minor < _RESTART_POLICIES:
                message = (
                    f"only init containers have a restartPolicy of their own before 1.{_RESTART_POLICIES}"
                )
                yield Problem("SCHEMA009", message, (*at, "restartPolicy"))
    yield from _host_ports(spec, path)


def unique(name: str, path: Path, seen: dict[str, Path], what: str) -> Iterator[Problem]:
    """The problem of a name that ``seen`` already holds; adds it to ``seen`` otherwise."""
    if not name:
        return
    if name in seen:
        message = f"{what} name {names.shown(name)} is used twice"
        yield Problem("SCHEMA007", message, path, related=((seen[name], f"the first {what}"),))
    else:
        seen[name] = path


def _container(
    container: dict[str, Any], path: Path, volumes: dict[str, Any], claims: set[str], grace: int
) -> Iterator[Problem]:
    if "ports" in container:
        seen: dict[str, Path] = {}
        for index, port in entries(container, "ports"):
            yield from unique(text(port, "name"), (*path, "ports", index, "name"), seen, "port")
            yield from address(text(port, "hostIP"), (*path, "ports", index, "hostIP"))
    if "env" in container or "envFrom" in container:
        yield from environment.check(container, path)
    if "resources" in container:
        yield from resources.check(mapping(container, "resources"), (*path, "resources"), claims)
    if "resizePolicy" in container:
        yield from _resize(container, path)
    yield from probes.check(container, path, grace)
    if "securityContext" in container:
        yield from security.of_container(mapping(container, "securityContext"), (*path, "securityContext"))
    taken: dict[str, Path] = {}
    yield from _mounts(container, path, volumes, taken)
    if "volumeDevices" in container:
        yield from _devices(container, path, volumes, taken)


def _mounts(
    container: dict[str, Any], path: Path, volumes: dict[str, Any], taken: dict[str, Path]
) -> Iterator[Problem]:
    for index, mount in entries(container, "volumeMounts"):
        at = (*path, "volumeMounts", index)
        name, where = text(mount, "name"), text(mount, "mountPath")
        if name and name not in volumes:
            yield dangling(name, volumes, (*at, "name"))
        if where in taken:
            message = f"mountPath {names.shown(where)} is used twice"
            yield Problem(
                "SCHEMA007", message, (*at, "mountPath"), related=((taken[where], "the first mount"),)
            )
        elif where:
            taken[where] = (*at, "mountPath")
        if "subPathExpr" in mount and text(mount, "subPath") and text(mount, "subPathExpr"):
            yield Problem(
                "SCHEMA009",
                "subPath and subPathExpr may not stand together; keep one of them",
                (*at, "subPathExpr"),
            )
        if mount.get("mountPropagation") == "Bidirectional" and not _privileged(container):
            message = "mountPropagation Bidirectional is for privileged containers only"
            yield Problem("SCHEMA009", message, (*at, "mountPropagation"))
        if mount.get("recursiveReadOnly") in ("IfPossible", "Enabled"):
            yield from _recursive(mount, at)


def _privileged(container: dict[str, Any]) -> bool:
    return mapping(container, "securityContext").get("privileged") is True


def _recursive(mount: dict[str, Any], path: Path) -> Iterator[Problem]:
    at = (*path, "recursiveReadOnly")
    if mount.get("readOnly") is not True:
        yield Problem("SCHEMA009", "recursiveReadOnly needs readOnly: true", at)
    if mount.get("mountPropagation") not in (None, "None"):
        yield Problem("SCHEMA009", "recursiveReadOnly allows no mountPropagation but None", at)


def _devices(
    container: dict[str, Any], path: Path, volumes: dict[str, Any], taken: dict[str, Path]
) -> Iterator[Problem]:
    seen: dict[str, Path] = {}
    for index, device in entries(container, "volumeDevices"):
        at = (*path, "volumeDevices", index)
        name, where = text(device, "name"), text(device, "devicePath")
        yield from unique(name, (*at, "name"), seen, "device")
        if name and name not in volumes:
            yield dangling(name, volumes, (*at, "name"))
        elif name and not volumes[name].keys() & {"persistentVolumeClaim", "ephemeral"}:
            message = f'volume "{name}" is no block device; it needs a persistentVolumeClaim'
            yield Problem("SCHEMA009", message, (*at, "name"))
        if not where:
            yield Problem("SCHEMA003", "devicePath is empty", (*at, "devicePath"))
        elif ".." in where.split("/"):
            yield Problem(
                "SCHEMA006", f"devicePath {names.shown(where)} may not hold '..'", (*at, "devicePath")
            )
        elif where in taken:
            message = f"path {names.shown(where)} is used twice"
            yield Problem("SCHEMA007", message, (*at, "devicePath"), related=((taken[where], "the first"),))
        taken.setdefault(where, (*at, "devicePath"))


def dangling(name: str, volumes: dict[str, Any], path: Path) -> Problem:
    """``name`` is none of the volumes of the Pod."""
    known = [volume for volume in volumes if volume]
    hint = did_you_mean(name, known)
    help = f"the volumes are: {', '.join(known)}" if known and not hint else ""
    return Problem("SCHEMA008", f"no volume {names.shown(name)} in this Pod{hint}", path, help=help)


def address(text_: str, path: Path) -> Iterator[Problem]:
    """The problem of a text that should be an IP address; the empty text is fine."""
    if text_:
        from ipaddress import ip_address

        try:
            ip_address(text_)
        except ValueError:
            yield Problem("SCHEMA006", f"{label(path)} {names.shown(text_)} is no IP address", path)


def _resize(container: dict[str, Any], path: Path) -> Iterator[Problem]:
    seen: dict[str, Path] = {}
    for index, policy in entries(container, "resizePolicy"):
        yield from unique(text(policy, "resourceName"), (*path, "resizePolicy", index), seen, "resource")


def _init_container(container: dict[str, Any], path: Path) -> Iterator[Problem]:
    if container.get("restartPolicy") == "Always":
        return
    for field in _RESTARTABLE_ONLY:
        if field in container:
            message = f"an init container has a {field} only with restartPolicy: Always"
            yield Problem("SCHEMA009", message, (*path, field))


def _host_ports(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    shared = spec.get("hostNetwork") is True
    taken: dict[tuple[str, str, int], Path] = {}
    for i, container in entries(spec, "containers"):
        for j, port in entries(container, "ports"):
            at = (*path, "containers", i, "ports", j)
            inner, outer = number(port, "containerPort"), number(port, "hostPort")
            if shared and outer and outer != inner:
                message = f"containerPort {inner} and hostPort {outer} must be equal with hostNetwork: true"
                related = (((*at, "hostPort"), "the host port"),)
                yield Problem("SCHEMA009", message, (*at, "containerPort"), related=related)
            outer = outer or (inner if shared else 0)
            if outer:
                key = (text(port, "protocol") or "TCP", text(port, "hostIP"), outer)
                if key in taken:
                    message = f"host port {outer} ({key[0]}) is taken twice"
                    where = (*at, "hostPort") if "hostPort" in port else (*at, "containerPort")
                    yield Problem("SCHEMA007", message, where, related=((taken[key], "the first"),))
                taken.setdefault(key, at)
