"""Variables of a container that mpirun does not forward to other hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.lazy_regex import compile_lazily
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.launchers.commands import MpirunCommand
from podplan.launchers.kubelet import resolve_environment
from podplan.launchers.sshd import starts_sshd
from podplan.lint.analysis.jobs import has_trait, is_mode_enabled
from podplan.lint.analysis.launches import find_invocations, find_launches
from podplan.lint.analysis.mounted_scripts import find_mounted_key
from podplan.lint.analysis.processes import programs_of
from podplan.lint.analysis.resources import find_training_container
from podplan.lint.analysis.ssh_names import is_exported_automatically
from podplan.lint.analysis.training import iter_env
from podplan.lint.checks.registration import check
from podplan.lint.checks.reserved_env import is_set_by_controller
from podplan.lint.checks.source_variables import list_read_variables
from podplan.lint.target import LoweredJob, Target, Violation

# Options that only the mpirun of Open MPI has; MPICH and Intel MPI forward every variable.
_OPEN_MPI_OPTIONS = frozenset({"mca", "allow_run_as_root", "map_by", "bind_to", "oversubscribe", "prtemca"})
_MAX_SHOWN = 3
# Variables that sshd sets for each login.
_OF_LOGIN = frozenset(("HOME", "LOGNAME", "SHELL", "USER"))
_REFERENCE_PATTERN = compile_lazily(r"\$[({]?([A-Za-z_][A-Za-z0-9_]*)")
# Variables that libraries read in each process.
_LIBRARY_VARIABLE = compile_lazily(
    r"(?:NCCL|RCCL|UCX|FI|GLOO|TORCH|CUDA|HF|HUGGINGFACE|TRANSFORMERS|WANDB|MLFLOW|OMP|MKL|LD|XLA|TF)_|PYTHON|"
    r"(?i:https?_proxy|no_proxy)$"
)
# Variables that only the processes of a training read.
_OF_TRAINING = compile_lazily(
    r"(?:NCCL|RCCL|UCX|GLOO|HF|TRANSFORMERS|HOROVOD|WANDB|MLFLOW|XLA|TF)_\w+|PYTHONPATH"
)
# Variables that a program may read, where no other than sshd runs beside the training.
_OF_PROGRAM = compile_lazily(
    r"(?:DATA|DATASET|MODEL|OUTPUT|SAVE|CKPT|CHECKPOINT|CACHE|LOG|RUN|EXPERIMENT|TORCH|PYTORCH|OMP|MKL|AWS|S3)_\w+"
    r"|(?:DATASET|CHECKPOINT|CKPT|OUTPUT|SEED|EXPERIMENT)S?"
)
# Files from which sshd, the shell of a login, or a program that a user configures reads variables.
_FILES_OF_SESSIONS = ("/etc/environment", ".ssh/environment", "/etc/profile", ".bashrc", ".profile", "SetEnv")


@check()
def mpirun_env(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Lines of Open MPI that start processes on other hosts without the variables; value ``names``."""
    if not has_trait(target.job, "mpirun-by-user"):
        return
    names = [
        name
        for _, name, _ in iter_env(target.data)
        if name not in _OF_LOGIN and not is_exported_automatically(name)
    ]
    referenced_names = _find_referenced_variables(target.data)
    names = [name for name in names if name not in referenced_names or _LIBRARY_VARIABLE.match(name)]
    if not names:
        return
    for invocation in find_invocations(target):
        facts = invocation.parsed
        if not isinstance(facts, MpirunCommand) or not _starts_remote_processes(
            facts, has_hostfile=has_trait(target.job, "hostfile")
        ):
            continue
        lost_names = [name for name in names if name not in facts.exported_variables]
        is_complete = not any("$" in name for name in facts.exported_variables)
        if lost_names and is_complete and facts.command_line.is_certain:
            more_text = f" and {len(lost_names) - _MAX_SHOWN} more" if len(lost_names) > _MAX_SHOWN else ""
            names_text = ", ".join(lost_names[:_MAX_SHOWN]) + more_text
            yield Violation(
                invocation.path, {"names": names_text, "options": " ".join(f"-x {n}" for n in lost_names)}
            )


def _find_referenced_variables(container: Mapping[str, Any]) -> frozenset[str]:
    """Return variables that the command line expands, such as a host list, and those that they refer to.

    The processes need not read them.
    """
    values = {name: entry.get("value") for _, name, entry in iter_env(container)}
    pending = [text for key in ("command", "args") for _, text in get_texts(container, key)]
    referenced_names: set[str] = set()
    while pending:
        new_names = {
            match[1] for match in _REFERENCE_PATTERN.finditer(pending.pop())
        } & values.keys() - referenced_names
        referenced_names |= new_names
        pending += [value for name in new_names if isinstance(value := values[name], str)]
    return frozenset(referenced_names)


def _starts_remote_processes(facts: MpirunCommand, has_hostfile: bool) -> bool:
    """Whether the line or its variables name other hosts."""
    has_hosts = has_hostfile or bool(facts.hostfile) or len(facts.hosts) > 1
    options = facts.command_line.options
    exports_variables = any(option.flag.text == "-x" for option in options.values())
    return has_hosts and (exports_variables or not _OPEN_MPI_OPTIONS.isdisjoint(options))


@check(requires=("mpirun",))
def worker_env_lost(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Variables of the workers that their processes, which sshd starts, do not have. Value ``name``."""
    job = target.job
    launches = [one for one in find_launches(job) if isinstance(one.invocation.parsed, MpirunCommand)]
    if len(launches) != 1 or is_mode_enabled(job, "debug"):
        return
    launch = launches[0]
    known = resolve_environment(launch.container)
    if "envFrom" in launch.container or launch.invocation.started_by:
        return
    starts = _list_command_texts(launch.container)
    for group in job.pods:
        found = find_training_container(group)
        if found is None or group is launch.group or not starts_sshd(found[1]) or _saves_variables(found[1]):
            continue
        read = _list_read_variables(job, group, launch.mpirun, found[1])
        has_only_sshd = {process.name for _, process in programs_of(found[1])} == {"sshd"}
        for index, entry in get_entries(found[1], "env"):
            name, path = get_text(entry, "name"), (*found[0], "env", index, "name")
            if name in known or not name or any(name in text for text in starts):
                continue
            is_of_program = has_only_sshd and read is not None and _OF_PROGRAM.fullmatch(name)
            if not _OF_TRAINING.fullmatch(name) and not is_of_program and name not in (read or ()):
                continue
            if is_set_by_controller(group, path[:-1]) or name in str(_list_handlers(found[1])):
                continue
            yield Violation(path, {"name": name}, doc=group.doc, group=group)


def _list_command_texts(container: Mapping[str, Any]) -> list[str]:
    return [text for key in ("command", "args") for _, text in get_texts(container, key)]


def _list_handlers(container: Mapping[str, Any]) -> list[Any]:
    return [container.get(key) for key in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")]


def _saves_variables(container: Mapping[str, Any]) -> bool:
    """Whether a command writes a file with variables for the sessions of sshd."""
    return any(file in text for text in _list_command_texts(container) for file in _FILES_OF_SESSIONS)


def _list_read_variables(
    job: LoweredJob, group: ReplicaGroup, mpirun: MpirunCommand | None, container: Mapping[str, Any]
) -> frozenset[str] | None:
    """Return what the Python script that mpirun starts on a worker reads, nothing where its text is unknown.

    None if mpirun starts another program, which may set variables itself.
    """
    words = mpirun.program_words if mpirun is not None else ()
    if not words or not words[0].base_name.startswith("python"):
        return None
    script = next((word for word in words[1:] if word.is_known and word.text.endswith(".py")), None)
    mounted = None
    if script is not None and script.text.startswith("/"):
        mounted = find_mounted_key(get_mapping(group.doc.data, "spec"), container, normpath(script.text))
    for reference in job.references.values() if mounted is not None else ():
        data = reference.doc.data
        if mounted is None or data.get("kind") != "ConfigMap":
            continue
        if get_text(get_mapping(data, "metadata"), "name") == mounted.config_map:
            return list_read_variables(get_text(get_mapping(data, "data"), mounted.key))
    return frozenset()
