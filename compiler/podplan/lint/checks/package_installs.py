"""Installers of packages in containers whose file system is read-only.

Sources: https://kubernetes.io/docs/tasks/configure-pod-container/security-context/,
https://pip.pypa.io/en/stable/user_guide/#user-installs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.findings import below
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.launchers.processes import Process
from podplan.lint.analysis.processes import programs_of
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

_PIP = compile_lazily(r"pip[0-9.]*")
_PYTHON = compile_lazily(r"python[0-9.]*")
_SYSTEM_INSTALLERS = ("apt-get", "apt", "dnf", "microdnf", "yum", "apk")
_INSTALLS = ("install", "add")
# Options with which nothing is installed, or into a folder on the line.
_ELSEWHERE = compile_lazily(
    r"-t.*|--(?:target|prefix|root|dry-run|download-only|python|user|simulate|installroot)(?:=.*)?"
)
# Variables and virtual environments that move Python packages elsewhere.
_OTHER_ENVIRONMENT = compile_lazily(
    r"\b(?:PIP_TARGET|PIP_PREFIX|PIP_ROOT|PIP_USER|PIP_CONFIG_FILE|PYTHONUSERBASE|VIRTUAL_ENV|CONDA_PREFIX"
    r"|HOME|PATH)\b|activate\b|venv|\bconda\b|\bmamba\b|chroot|\bmount\b"
)
# Folders that hold no packages of an image.
_NO_PACKAGES = compile_lazily(
    r"/(?:tmp|run|data\w*|dev|mnt|media|ckpts?|checkpoints?|out|outputs?|logs?|models?|datasets?|results?|cache"
    r"|scratch|etc|var/(?:tmp|log|cache|run))(?:/.*)?"
)


@check(requires=("readOnlyRootFilesystem",))
def install_on_read_only_root(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A package installation into a read-only folder. Values: ``program``, ``container``."""
    container = target.data
    if get_mapping(container, "securityContext").get("readOnlyRootFilesystem") is not True:
        return
    mounts = [normpath(get_text(mount, "mountPath") or "/") for mount in _writable_mounts(container)]
    for command, process in programs_of(container):
        if command is not None and (command.is_conditional or command.operator_after == "||"):
            continue
        if _installs_into_system(process):
            is_read_only = not any(_holds_system(mount) for mount in mounts)
        else:
            is_read_only = (
                _installs_python_packages(process)
                and all(_NO_PACKAGES.fullmatch(mount) for mount in mounts)
                and not _has_other_environment(container)
            )
        if is_read_only:
            field = below(target.base_path, ("securityContext", "readOnlyRootFilesystem"))
            related = [(target.doc, field, "the file system is read-only")]
            values = {"program": process.name, "container": get_text(container, "name")}
            yield Violation(process.place, values, related)
            return


def _writable_mounts(container: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return (mount for _, mount in get_entries(container, "volumeMounts") if mount.get("readOnly") is not True)


def _holds_system(path: str) -> bool:
    """Whether a mount may contain the files of system packages."""
    return path == "/" or path.startswith(("/usr", "/var/lib", "/lib", "/etc"))


def _installs_into_system(process: Process) -> bool:
    words = [word.text for word in process.words[1:]]
    return process.name in _SYSTEM_INSTALLERS and _is_installation(words)


def _installs_python_packages(process: Process) -> bool:
    """Whether a process is ``pip install`` for the interpreter of the image."""
    words = [word.text for word in process.words[1:]]
    if "/" in process.words[0].text if process.words else False:
        return False  # it may belong to another environment
    if _PYTHON.fullmatch(process.name) and words[:2] == ["-m", "pip"]:
        return _is_installation(words[2:])
    return _PIP.fullmatch(process.name) is not None and _is_installation(words)


def _is_installation(words: list[str]) -> bool:
    command = next((word for word in words if not word.startswith("-")), "")
    return command in _INSTALLS and not any(map(_ELSEWHERE.fullmatch, words))


def _has_other_environment(container: Mapping[str, Any]) -> bool:
    names = [get_text(entry, "name") for _, entry in get_entries(container, "env")]
    texts = [text for key in ("command", "args") for _, text in get_texts(container, key)]
    return bool(container.get("envFrom")) or any(map(_OTHER_ENVIRONMENT.search, [*names, *texts]))
