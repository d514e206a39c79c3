"""Variables that training processes lack because they are started over ssh."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.path_syntax import format_path
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.launchers.kubelet import resolve_environment
from podplan.lint.analysis.jobs import has_trait, is_mode_enabled, spec_of
from podplan.lint.analysis.over_ssh import list_worker_count_places, starts_over_ssh
from podplan.lint.analysis.remote_arguments import (
    COLOSSALAI_REGIME,
    SCRIPT_REGIME,
    parse_deepspeed_version,
    transmit_word,
)
from podplan.lint.analysis.ssh_names import is_runtime_variable
from podplan.lint.analysis.training import (
    WrittenContainer,
    find_replica_spec,
    find_written_training_container,
    iter_env,
)
from podplan.lint.checks.registration import BOOLEAN, check, object_schema
from podplan.lint.checks.reserved_env import is_set_by_launcher
from podplan.lint.target import Target, Violation

_SHARED_POD_FIELDS = ("metadata.namespace", "spec.serviceAccountName")
# The variables that deepspeed exports (deepspeed/launcher/runner.py, EXPORT_ENVS).
EXPORTED_BY_DEEPSPEED = compile_lazily(r"MLFLOW|NCCL|PYTHON|MV2|UCX")


_VARIABLE_NAMES = {
    "description": "Names, or beginnings of names with .* behind, with | in between.",
    "type": "string",
    "pattern": "^[A-Za-z0-9_]+([.][*])?([|][A-Za-z0-9_]+([.][*])?)*$",
}


@check(
    params=object_schema({"names": _VARIABLE_NAMES}, {"others": BOOLEAN, "kept_out": _VARIABLE_NAMES}),
    aliases=("env-over-ssh",),
)
def env_lost_over_ssh(target: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """Variables of workers that their training processes do not see, with the pattern ``params["names"]``.

    With ``params["others"]``, those that the pattern does not match. ``params["kept_out"]`` narrows these
    where disableCustomEnv excludes all variables, because some may be intended for the container only. Values
    ``name``, ``why``, and ``launcher``: the path of the launcher's variables in a ColossalAIJob.
    """
    job = target.job
    worker = find_replica_spec(job, "worker")
    container = find_written_training_container(job, worker) if worker and starts_over_ssh(job) else None
    if container is None:
        return
    related_path: Path = ("spec",)
    launcher_env, read_by_training = "", None
    if has_trait(job, "colossalai-by-controller"):
        launcher = find_replica_spec(job, "launcher")
        launcher_container = find_written_training_container(job, launcher) if launcher else None
        exported_names = (
            {name for _, name, _ in iter_env(launcher_container.data)} if launcher_container else set()
        )
        if launcher_container and launcher_container.data.get("envFrom"):
            return
        reason = "colossalai run passes on only the variables of the launcher"
        if launcher:
            related_path = launcher.path
        launcher_env = _describe_launcher_env(target, launcher_container)
        label = "the launcher, which does not set it"
    elif spec_of(job).get("disableCustomEnv") is True:
        exported_names = {
            name for _, name, _ in iter_env(container.data) if EXPORTED_BY_DEEPSPEED.match(name)
        }
        reason, related_path = "disableCustomEnv excludes it from the env file", ("spec", "disableCustomEnv")
        label = "the env file is disabled here"
        read_by_training = re.compile(params["kept_out"]) if "kept_out" in params else None
    else:
        return
    name_pattern = re.compile(params["names"])
    is_colossalai = has_trait(job, "colossalai-by-controller")
    for index, name, entry in iter_env(container.data):
        if name in exported_names or is_runtime_variable(name) or is_set_by_launcher(job, name):
            continue
        if read_by_training is not None and not read_by_training.fullmatch(name):
            continue
        if is_colossalai and _find_pod_field(entry):
            continue  # in the launcher it would have the value of the launcher
        if bool(name_pattern.fullmatch(name)) is not bool(params.get("others")):
            path = (*container.path, "env", index)
            values = {"name": name, "why": reason, "launcher": launcher_env}
            yield Violation(path, values, [(target.doc, related_path, label)])


@check()
def pod_field_over_ssh(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Variables of a ColossalAIJob with a field of the Pod, which differs on each worker; value ``what``."""
    if is_mode_enabled(target.job, "debug"):
        return
    launcher_names = set()
    for type_, effect in (
        ("launcher", "{name} is {field} of the launcher in the processes of all workers"),
        ("worker", "{name} with {field} of a worker does not reach its processes"),
    ):
        replica_spec = find_replica_spec(target.job, type_)
        container = (
            find_written_training_container(target.job, replica_spec) if replica_spec is not None else None
        )
        for index, name, entry in iter_env(container.data) if container is not None else ():
            field = _find_pod_field(entry)
            if field and container is not None and name not in launcher_names:
                message = effect.format(name=name, field=field)
                yield Violation((*container.path, "env", index), {"what": message})
            if type_ == "launcher":
                launcher_names.add(name)


def _find_pod_field(entry: Mapping[str, Any]) -> str:
    """Return the Pod field of a variable; "" if it has none, or if all Pods have the same value."""
    source = get_mapping(entry, "valueFrom")
    field = get_text(get_mapping(source, "fieldRef"), "fieldPath")
    if field:
        return "" if field in _SHARED_POD_FIELDS else field
    return get_text(get_mapping(source, "resourceFieldRef"), "resource")


def _describe_launcher_env(target: Target, launcher: WrittenContainer | None) -> str:
    """Return the path for variables of the launcher."""
    if launcher is not None:
        return format_path(target.data, (*launcher.path, "env"))
    if "replicaSpecs" in spec_of(target.job):
        return "the env of a container called launcher, in a replica spec of type launcher"
    return "spec.launcher.env"


@check(params=object_schema({"certain": BOOLEAN}), aliases=("ssh-env-values",))
def env_not_encodable(target: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """Variables whose values or names cannot be sent over ssh.

    Value: ``what``. ``params["certain"]`` as above.
    """
    job = target.job
    if not starts_over_ssh(job):
        return
    is_colossalai = has_trait(job, "colossalai-by-controller")
    replica_spec = find_replica_spec(job, "launcher" if is_colossalai else "worker")
    container = find_written_training_container(job, replica_spec) if replica_spec else None
    if container is None or spec_of(job).get("disableCustomEnv") is True:
        return
    expanded_values = resolve_environment(container.data)
    version = parse_deepspeed_version(container.data.get("image"))
    for index, name, entry in iter_env(container.data):
        value = expanded_values.get(name) if is_colossalai else entry.get("value")
        if not isinstance(value, str) or entry.get("valueFrom"):
            continue
        message, is_certain = _explain_loss(name, value.strip(), is_colossalai, version)
        if message and is_certain is params["certain"]:
            path = (*container.path, "env", index, "name" if message.startswith("the name") else "value")
            yield Violation(path, {"what": message}, list_worker_count_places(target))


def _explain_loss(
    name: str, value: str, is_colossalai: bool, version: tuple[int, ...] | None
) -> tuple[str, bool]:
    """Explain why a value does not arrive unchanged, "" if it does, and whether every version does so."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        return f"the name {name} is not one that the shell of the workers can export", True
    if "\n" in value or "\r" in value:
        if is_colossalai:
            return f"colossalai run omits {name}, because its value has more than one line", True
        return f"{name} has more than one line, but the env file of deepspeed has one variable per line", True
    quoted_error = _explain_export_error(name, f'{name}="{value}"', value, uses_pdsh=not is_colossalai)
    if is_colossalai or quoted_error:
        is_certain = is_colossalai or "$(" not in value
        return (f"{quoted_error} (exported in double quotes)" if quoted_error else ""), is_certain
    unquoted_error = _explain_export_error(name, f"{name}={value}", value, uses_pdsh=True)
    if unquoted_error and (version is None or version < (0, 15, 2)):
        return f"{unquoted_error} (DeepSpeed up to 0.15.1 exports it without quotes)", version is not None
    return "", True


def _explain_export_error(name: str, text: str, value: str, *, uses_pdsh: bool) -> str:
    """Describe the error of an assignment after ``export`` without its value."""
    received = transmit_word(text, SCRIPT_REGIME if uses_pdsh else COLOSSALAI_REGIME)
    if received.error:
        return f"the shell of the workers cannot read the value of {name}: {received.error}"
    if received.substitution.startswith("%"):
        return f"pdsh replaces {received.substitution} in the value of {name}"
    if received.substitution:
        return f"the shell of the workers expands $ or ` in the value of {name}"
    if received.terminator or received.absorbs_next:
        return f'the shell of the workers ends the value of {name} at "{received.terminator or "#"}"'
    if len(received.words) > 1:
        return f"the shell of the workers splits the value of {name} into {len(received.words)} words"
    if received.words != (f"{name}={value}",):
        return f"the shell of the workers removes quotes or backslashes from the value of {name}"
    return ""


@check()
def secret_over_ssh(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Variables of a DeepSpeedJob with valueFrom; values ``name``, ``source`` and ``instead``."""
    job = target.job
    worker = find_replica_spec(job, "worker")
    container = find_written_training_container(job, worker) if worker and starts_over_ssh(job) else None
    if container is None or spec_of(job).get("disableCustomEnv") is True:
        return
    for index, name, entry in iter_env(container.data):
        if entry.get("valueFrom"):
            yield Violation(
                (*container.path, "env", index), {"name": name, **_describe_value_source(entry["valueFrom"])}
            )


def _describe_value_source(source: Any) -> dict[str, str]:
    """Describe the source of a value, and how the training can get it instead."""
    for field, kind in (("secretKeyRef", "Secret"), ("configMapKeyRef", "ConfigMap")):
        if isinstance(source, dict) and field in source:
            name = get_text(get_mapping(source, field), "name")
            object_label = f'the {kind} "{name}"'
            remedy = f"mount {object_label} as a volume, and read the value from its file"
            return {"source": object_label, "instead": remedy}
    other = "mount a downwardAPI volume with it, and read its file"
    return {"source": "a field of the Pod", "instead": other}
