"""Commands that need rights which their container does not have: of root, or of a service account.

Sources: https://kubernetes.io/docs/tasks/configure-pod-container/security-context/,
https://kubernetes.io/docs/tasks/configure-pod-container/configure-service-account/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.launchers.processes import Process
from podplan.lint.analysis.jobs import is_mode_enabled
from podplan.lint.analysis.processes import programs_of
from podplan.lint.checks.outputs import mount_of
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

_INSTALLERS = ("apt-get", "apt", "dnf", "microdnf", "yum", "apk")
_INSTALLS = frozenset(("install", "add", "update", "upgrade", "remove"))
_OF_ROOT = (
    "mount",
    "umount",
    "modprobe",
    "useradd",
    "adduser",
    "groupadd",
    "update-ca-certificates",
    "ldconfig",
)
_RAISES = ("sudo", "su-exec", "gosu", "chroot", "setpriv")
_TOKEN_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"
_TOKEN_PATH = compile_lazily(
    r"/(?:var/)?run/secrets/kubernetes\.io/serviceaccount/(?:token|namespace|ca\.crt)"
)
_CLIENTS = ("kubectl", "oc", "argo")
_OTHER_ACCESS = ("--kubeconfig", "--token", "--server", "-s", "--client", "version", "--help")


@check(requires=("securityContext",))
def command_needs_root(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A command that only root can run. Values: ``command``, ``container``, ``why``."""
    if is_mode_enabled(target.job, "debug"):
        return
    container = target.data
    user, place = _find_effective(target, "runAsUser")
    escalation: Path = (*target.base_path, "securityContext", "allowPrivilegeEscalation")
    is_bound = get_mapping(container, "securityContext").get("allowPrivilegeEscalation") is False
    for command, process in programs_of(container):
        if command is not None and (command.operator_after == "||" or command.is_conditional):
            continue
        values = {"command": process.name, "container": get_text(container, "name")}
        if "sudo" in process.wrappers and is_bound:
            why = "allowPrivilegeEscalation: false keeps sudo from changing the user"
            related = [(target.doc, escalation, "it is set here")]
            values["command"] = f"sudo {process.name}"
        elif isinstance(user, int) and user > 0 and _needs_root(process):
            why, related = f"it runs as user {user}", [(target.doc, place, "the user")]
        else:
            continue
        yield Violation(process.place, {**values, "why": why}, related)
        return


def _needs_root(process: Process) -> bool:
    words = [word.text for word in process.words[1:]]
    if not set(process.wrappers).isdisjoint(_RAISES) or "--help" in words or "--version" in words:
        return False
    if process.name in _INSTALLERS:
        return not _INSTALLS.isdisjoint(words) and "--download-only" not in words and "--root" not in words
    if process.name == "chown":
        return any(word.split(":")[0] in ("root", "0") for word in words)
    if process.name == "mount":
        return len(words) > 1
    return process.name in _OF_ROOT


@check(requires=("automountServiceAccountToken",))
def token_not_mounted(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A use of the token of the service account, which the Pod does not mount. Values: ``use``."""
    spec = get_mapping(target.doc.data, "spec")
    container = target.data
    if spec.get("automountServiceAccountToken") is not False or is_mode_enabled(target.job, "debug"):
        return
    if mount_of(container, _TOKEN_FOLDER) is not None:
        return
    related = [(target.doc, ("spec", "automountServiceAccountToken"), "the token is not mounted")]
    for key in ("command", "args"):
        for at, text in get_texts(container, key):
            found = _TOKEN_PATH.search(text)
            if found is not None:
                place: Path = (key, at)
                yield Violation(place, {"use": f"{found[0]} does not exist"}, related)
                return
    texts = [text for key in ("command", "args") for _, text in get_texts(container, key)]
    has_config = container.get("envFrom") or any("KUBECONFIG" in text for text in texts)
    has_config = has_config or any(
        get_text(one, "name") in ("KUBECONFIG", "KUBERNETES_MASTER")
        for _, one in get_entries(container, "env")
    )
    for command, process in programs_of(container) if not has_config else ():
        may_fail = command is not None and command.operator_after == "||"
        words = [word.text.partition("=")[0] for word in process.words[1:]]
        if process.name in _CLIENTS and words and not may_fail and set(words).isdisjoint(_OTHER_ACCESS):
            shown = " ".join(
                [process.name, next((one for one in words if not one.startswith("-")), "")]
            ).strip()
            yield Violation(process.place, {"use": f"{shown} has no credentials"}, related)
            return


def _find_effective(target: Target, field: str) -> tuple[Any, Path]:
    """Return a field of the security context and its path: the container overrides the Pod."""
    own = get_mapping(target.data, "securityContext")
    if own.get(field) is not None:
        return own[field], (*target.base_path, "securityContext", field)
    of_pod = get_mapping(get_mapping(target.doc.data, "spec"), "securityContext")
    return of_pod.get(field), ("spec", "securityContext", field)
