"""Security contexts of Pods and containers: settings that exclude each other."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Path, Problem
from podplan.core.typing import Any
from podplan.kubernetes import names
from podplan.kubernetes.accessors import entries, mapping, text, texts

_OF_HOST = {"hostNetwork": ("net.",), "hostIPC": ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")}
_POD_LINUX_ONLY: tuple[str, ...] = (
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
)
_CONTAINER_LINUX_ONLY: tuple[str, ...] = (
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def of_pod(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of the security context of a PodSpec, and of its os with every security context."""
    context = mapping(spec, "securityContext")
    at = (*path, "securityContext")
    if context:
        yield from _profiles(context, at)
        yield from _sysctls(context, spec, at)
    system = text(mapping(spec, "os"), "name")
    if system:
        yield from _fits_system(spec, system, path)


def of_container(context: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of the security context of a container."""
    yield from _profiles(context, path)
    if context.get("allowPrivilegeEscalation") is not False:
        return
    related = (((*path, "allowPrivilegeEscalation"), "set to false here"),)
    if context.get("privileged") is True:
        message = "privileged: true needs allowPrivilegeEscalation; it is false"
        yield Problem("SCHEMA009", message, path, related=related)
    if any(name == "CAP_SYS_ADMIN" for _, name in texts(mapping(context, "capabilities"), "add")):
        message = "capability CAP_SYS_ADMIN needs allowPrivilegeEscalation; it is false"
        yield Problem("SCHEMA009", message, path, related=related)


def _profiles(context: dict[str, Any], path: Path) -> Iterator[Problem]:
    for field in ("seccompProfile", "appArmorProfile"):
        if field in context:
            profile = mapping(context, field)
            local, file = profile.get("type") == "Localhost", text(profile, "localhostProfile")
            at = (*path, field, "localhostProfile")
            if local and not file:
                yield Problem("SCHEMA003", f"{field} of type Localhost needs a localhostProfile", at)
            elif not local and "localhostProfile" in profile:
                yield Problem("SCHEMA009", f"{field} has a localhostProfile only with type Localhost", at)


def _sysctls(context: dict[str, Any], spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    seen: dict[str, Path] = {}
    for index, sysctl in entries(context, "sysctls"):
        name, at = text(sysctl, "name").replace("/", "."), (*path, "sysctls", index, "name")
        if not name:
            continue
        if name in seen:
            message = f"sysctl {names.shown(name)} is set twice"
            yield Problem("SCHEMA007", message, at, related=((seen[name], "the first"),))
        seen.setdefault(name, at)
        for field, prefixes in _OF_HOST.items():
            if spec.get(field) is True and name.startswith(prefixes):
                message = f"sysctl {names.shown(name)} may not be set with {field}: true"
                yield Problem("SCHEMA009", message, at, related=(((*path[:-1], field), field),))


def _fits_system(spec: dict[str, Any], system: str, path: Path) -> Iterator[Problem]:
    windows = system == "windows"
    if windows:
        for field in ("hostPID", "hostIPC", "hostUsers", "shareProcessNamespace"):
            if spec.get(field) is not None:
                yield _unfit(field, system, (*path, field))
    contexts = [(mapping(spec, "securityContext"), (*path, "securityContext"), _POD_LINUX_ONLY)]
    for kind in ("initContainers", "containers"):
        for index, container in entries(spec, kind):
            at = (*path, kind, index, "securityContext")
            contexts.append((mapping(container, "securityContext"), at, _CONTAINER_LINUX_ONLY))
    for context, at, linux_only in contexts:
        for field in linux_only if windows else ("windowsOptions",):
            if field in context:
                yield _unfit(field, system, (*at, field))


def _unfit(field: str, system: str, path: Path) -> Problem:
    return Problem("SCHEMA009", f"{field} may not be set when os.name is {system}", path)
