"""Security contexts of Pods and containers: settings that exclude each other."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Diagnostic, Path
from podplan.core.typing import Any
from podplan.kubernetes import names
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts

_HOST_SYSCTL_PREFIXES = {
    "hostNetwork": ("net.",),
    "hostIPC": ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue."),
}
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


def validate_pod_security(spec: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    """Yield the diagnostics of the security context of a PodSpec, and of its os with every security
    context."""
    context = get_mapping(spec, "securityContext")
    context_path = (*path, "securityContext")
    if context:
        yield from _validate_profiles(context, context_path)
        yield from _validate_sysctls(context, spec, context_path)
    os_name = get_text(get_mapping(spec, "os"), "name")
    if os_name:
        yield from _validate_os_fields(spec, os_name, path)


def validate_container_security(context: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    """Yield the diagnostics of the security context of a container."""
    yield from _validate_profiles(context, path)
    if context.get("allowPrivilegeEscalation") is not False:
        return
    related = (((*path, "allowPrivilegeEscalation"), "set to false here"),)
    if context.get("privileged") is True:
        message = "privileged: true needs allowPrivilegeEscalation, which is false"
        yield Diagnostic("SCHEMA009", message, path, related=related)
    if any(name == "CAP_SYS_ADMIN" for _, name in get_texts(get_mapping(context, "capabilities"), "add")):
        message = "capability CAP_SYS_ADMIN needs allowPrivilegeEscalation, which is false"
        yield Diagnostic("SCHEMA009", message, path, related=related)


def _validate_profiles(context: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    for field in ("seccompProfile", "appArmorProfile"):
        if field in context:
            profile = get_mapping(context, field)
            is_localhost, file = profile.get("type") == "Localhost", get_text(profile, "localhostProfile")
            profile_path = (*path, field, "localhostProfile")
            if is_localhost and not file:
                yield Diagnostic(
                    "SCHEMA003", f"{field} of type Localhost needs a localhostProfile", profile_path
                )
            elif not is_localhost and "localhostProfile" in profile:
                yield Diagnostic(
                    "SCHEMA009", f"{field} has a localhostProfile only with type Localhost", profile_path
                )


def _validate_sysctls(context: dict[str, Any], spec: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    first_paths: dict[str, Path] = {}
    for index, sysctl in get_entries(context, "sysctls"):
        name, name_path = get_text(sysctl, "name").replace("/", "."), (*path, "sysctls", index, "name")
        if not name:
            continue
        if name in first_paths:
            message = f"sysctl {names.format_value(name)} is set twice"
            yield Diagnostic("SCHEMA007", message, name_path, related=((first_paths[name], "the first"),))
        first_paths.setdefault(name, name_path)
        for field, prefixes in _HOST_SYSCTL_PREFIXES.items():
            if spec.get(field) is True and name.startswith(prefixes):
                message = f"sysctl {names.format_value(name)} must not be set with {field}: true"
                yield Diagnostic("SCHEMA009", message, name_path, related=(((*path[:-1], field), field),))


def _validate_os_fields(spec: dict[str, Any], os_name: str, path: Path) -> Iterator[Diagnostic]:
    is_windows = os_name == "windows"
    if is_windows:
        for field in ("hostPID", "hostIPC", "hostUsers", "shareProcessNamespace"):
            if spec.get(field) is not None:
                yield _diagnose_unsupported_field(field, os_name, (*path, field))
    contexts = [(get_mapping(spec, "securityContext"), (*path, "securityContext"), _POD_LINUX_ONLY)]
    for kind in ("initContainers", "containers"):
        for index, container in get_entries(spec, kind):
            context_path = (*path, kind, index, "securityContext")
            contexts.append((get_mapping(container, "securityContext"), context_path, _CONTAINER_LINUX_ONLY))
    for context, context_path, linux_only in contexts:
        for field in linux_only if is_windows else ("windowsOptions",):
            if field in context:
                yield _diagnose_unsupported_field(field, os_name, (*context_path, field))


def _diagnose_unsupported_field(field: str, os_name: str, path: Path) -> Diagnostic:
    return Diagnostic("SCHEMA009", f"{field} must not be set when os.name is {os_name}", path)
