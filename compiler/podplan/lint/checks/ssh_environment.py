"""Variables that the training processes do not see, because they are started over ssh."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import pattern
from podplan.core.path_syntax import show
from podplan.core.typing import Any
from podplan.kubernetes.accessors import mapping, text
from podplan.launchers.kubelet import environment
from podplan.lint.analysis.jobs import kind_of, mode, spec_of
from podplan.lint.analysis.over_ssh import hosts_place, over_ssh
from podplan.lint.analysis.remote_arguments import COLOSSALAI, SCRIPT, arrives, deepspeed_version
from podplan.lint.analysis.ssh_names import of_the_runtime
from podplan.lint.analysis.training import Written, env, role_called, training
from podplan.lint.checks.reserved_env import set_by_launcher
from podplan.lint.target import Hit, Subject

_SAME_IN_ALL_PODS = ("metadata.namespace", "spec.serviceAccountName")
# What deepspeed exports by itself (deepspeed/launcher/runner.py, EXPORT_ENVS).
_EXPORTED_BY_DEEPSPEED = pattern(r"MLFLOW|NCCL|PYTHON|MV2|UCX")


def env_over_ssh(subject: Subject, params: Mapping[str, Any]) -> Iterator[Hit]:
    """Variables of workers that their training processes do not see, by the pattern ``params["names"]``.

    With ``params["others"]``, those of which the pattern does not speak. ``params["kept_out"]`` narrows these
    where disableCustomEnv keeps all variables out, for some may be meant for the container alone. Values
    ``name``, ``why``, and ``launcher``: where the variables of the launcher of a ColossalAIJob are.
    """
    job = subject.job
    worker = role_called(job, "worker")
    container = training(job, worker) if worker and over_ssh(job) else None
    if container is None:
        return
    place: Path = ("spec",)
    of_launcher, read_by_training = "", None
    if kind_of(job) == "ColossalAIJob":
        launcher = role_called(job, "launcher")
        started_by = training(job, launcher) if launcher else None
        known = {name for _, name, _ in env(started_by.data)} if started_by else set()
        if started_by and started_by.data.get("envFrom"):
            return
        why = "colossalai run hands on the variables of the launcher only"
        if launcher:
            place = launcher.path
        of_launcher = _env_of_launcher(subject, started_by)
        label = "the launcher, which does not set it"
    elif spec_of(job).get("disableCustomEnv") is True:
        known = {name for _, name, _ in env(container.data) if _EXPORTED_BY_DEEPSPEED.match(name)}
        why, place = "disableCustomEnv keeps it out of the env file", ("spec", "disableCustomEnv")
        label = "the env file is turned off here"
        read_by_training = re.compile(params["kept_out"]) if "kept_out" in params else None
    else:
        return
    wanted = re.compile(params["names"])
    colossal = kind_of(job) == "ColossalAIJob"
    for index, name, entry in env(container.data):
        if name in known or of_the_runtime(name) or set_by_launcher(job, name):
            continue
        if read_by_training is not None and not read_by_training.fullmatch(name):
            continue
        if colossal and _pod_field(entry):
            continue  # on the launcher it would be the value of the launcher
        if bool(wanted.fullmatch(name)) is not bool(params.get("others")):
            path = (*container.path, "env", index)
            values = {"name": name, "why": why, "launcher": of_launcher}
            yield Hit(path, values, [(subject.doc, place, label)])


def pod_field_over_ssh(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Variables of a ColossalAIJob with a field of the Pod, which differs on each worker; value ``what``."""
    if mode(subject.job, "debug"):
        return
    of_launcher = set()
    for type_, effect in (
        ("launcher", "{name} is {field} of the launcher in the processes of all workers"),
        ("worker", "{name} with {field} of a worker does not reach its processes"),
    ):
        role = role_called(subject.job, type_)
        container = training(subject.job, role) if role is not None else None
        for index, name, entry in env(container.data) if container is not None else ():
            field = _pod_field(entry)
            if field and container is not None and name not in of_launcher:
                what = effect.format(name=name, field=field)
                yield Hit((*container.path, "env", index), {"what": what})
            if type_ == "launcher":
                of_launcher.add(name)


def _pod_field(entry: Mapping[str, Any]) -> str:
    """The field of the Pod that gives a variable its value; "" where none does, or all Pods have the same."""
    source = mapping(entry, "valueFrom")
    field = text(mapping(source, "fieldRef"), "fieldPath")
    if field:
        return "" if field in _SAME_IN_ALL_PODS else field
    return text(mapping(source, "resourceFieldRef"), "resource")


def _env_of_launcher(subject: Subject, launcher: Written | None) -> str:
    """Where the variables of the launcher are, or are to be written."""
    if launcher is not None:
        return show(subject.data, (*launcher.path, "env"))
    if "replicaSpecs" in spec_of(subject.job):
        return "the env of a container called launcher, in a replica spec of type launcher"
    return "spec.launcher.env"


def ssh_env_values(subject: Subject, params: Mapping[str, Any]) -> Iterator[Hit]:
    """Variables whose values or names do not cross ssh; value ``what``. ``params["certain"]`` as above."""
    job = subject.job
    if not over_ssh(job):
        return
    colossal = kind_of(job) == "ColossalAIJob"
    role = role_called(job, "launcher" if colossal else "worker")
    container = training(job, role) if role else None
    if container is None or spec_of(job).get("disableCustomEnv") is True:
        return
    known = environment(container.data)
    version = deepspeed_version(container.data.get("image"))
    for index, name, entry in env(container.data):
        value = known.get(name) if colossal else entry.get("value")
        if not isinstance(value, str) or entry.get("valueFrom"):
            continue
        what, certain = _lost(name, value.strip(), colossal, version)
        if what and certain is params["certain"]:
            path = (*container.path, "env", index, "name" if what.startswith("the name") else "value")
            yield Hit(path, {"what": what}, hosts_place(subject))


def _lost(name: str, value: str, colossal: bool, version: tuple[int, ...] | None) -> tuple[str, bool]:
    """Why a value does not arrive as it is, "" if it does, and whether that is so in every version."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        return f"the name {name} is not one that the shell of the workers can export", True
    if "\n" in value or "\r" in value:
        if colossal:
            return f"colossalai run leaves out {name}: its value has more than one line", True
        return f"{name} has more than one line, and the env file of deepspeed has one variable a line", True
    quoted = _export_fault(name, f'{name}="{value}"', value, by_pdsh=not colossal)
    if colossal or quoted:
        certain = colossal or "$(" not in value
        return (f"{quoted} (exported in double quotes)" if quoted else ""), certain
    raw = _export_fault(name, f"{name}={value}", value, by_pdsh=True)
    if raw and (version is None or version < (0, 15, 2)):
        return f"{raw} (DeepSpeed up to 0.15.1 exports it without quotes)", version is not None
    return "", True


def _export_fault(name: str, text: str, value: str, *, by_pdsh: bool) -> str:
    """What is wrong with an assignment behind ``export``; the value itself is not shown."""
    got = arrives(text, SCRIPT if by_pdsh else COLOSSALAI)
    if got.fault:
        return f"the shell of the workers cannot read the value of {name}: {got.fault}"
    if got.replaced.startswith("%"):
        return f"pdsh replaces {got.replaced} in the value of {name}"
    if got.replaced:
        return f"the shell of the workers replaces what begins with $ or ` in the value of {name}"
    if got.ends or got.swallows:
        return f'the shell of the workers ends the value of {name} at "{got.ends or "#"}"'
    if len(got.words) > 1:
        return f"the shell of the workers cuts the value of {name} into {len(got.words)} words"
    if got.words != (f"{name}={value}",):
        return f"the shell of the workers takes quotes or backslashes out of the value of {name}"
    return ""


def secret_over_ssh(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Variables of a DeepSpeedJob with valueFrom; values ``name``, ``source`` and ``instead``."""
    job = subject.job
    worker = role_called(job, "worker")
    container = training(job, worker) if worker and over_ssh(job) else None
    if container is None or spec_of(job).get("disableCustomEnv") is True:
        return
    for index, name, entry in env(container.data):
        if entry.get("valueFrom"):
            yield Hit((*container.path, "env", index), {"name": name, **_from(entry["valueFrom"])})


def _from(source: Any) -> dict[str, str]:
    """Where the value of a variable comes from, and how else the training gets it."""
    for field, kind in (("secretKeyRef", "Secret"), ("configMapKeyRef", "ConfigMap")):
        if isinstance(source, dict) and field in source:
            name = text(mapping(source, field), "name")
            called = f'the {kind} "{name}"'
            mounted = f"mount {called} as a volume, and read the value from its file"
            return {"source": called, "instead": mounted}
    other = "mount a downwardAPI volume with it, and read its file"
    return {"source": "a field of the Pod", "instead": other}
