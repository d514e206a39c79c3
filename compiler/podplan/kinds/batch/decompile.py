"""The spec of a Job as fields of a role, on plain data: the inverse of ``compile`` and ``torchrun``."""

from __future__ import annotations

from podplan.core.lazy_regex import compile_lazily
from podplan.core.structural_diff import is_same_data
from podplan.core.typing import Any
from podplan.kinds.batch.compile import RESTART_POLICIES
from podplan.kinds.batch.torchrun import PORT
from podplan.kinds.common.decompile import Fields, as_mapping, decompile_processes
from podplan.kinds.common.decompile_run import decompile_command, decompile_program
from podplan.kinds.common.decompile_template import decompile_pod_template

_PROCESSES = compile_lazily(r"--nproc-per-node=([1-9][0-9]{0,8}|gpu|cpu|auto)")
_RESTARTS = compile_lazily(r"--max-restarts=(0|[1-9][0-9]{0,8})")
_ADDRESS = compile_lazily(r"--(?:master-addr=|rdzv-endpoint=)([a-z0-9.-]+?)(?::[0-9]+)?")


def decompile_job_fields(job: Fields, name: str) -> Fields:
    """Return the fields of a role for the number of Pods and their template, which are removed from ``job``.

    ``name`` is that of the training container in compiled templates.
    """
    fields = _take_replicas(job)
    template = job.pop("template", None)
    pod_spec = as_mapping(as_mapping(template).get("spec"))
    if pod_spec.get("restartPolicy") in RESTART_POLICIES:
        fields["restart"] = pod_spec["restartPolicy"]
        rest = {key: value for key, value in pod_spec.items() if key != "restartPolicy"}
        template = {**template, "spec": rest}
    return fields | decompile_pod_template(template, name, decompile_command)


def _take_replicas(job: Fields) -> Fields:
    count = job.get("parallelism")
    if type(count) is not int or not is_same_data(count, job.get("completions")):
        return {}
    del job["parallelism"], job["completions"]
    return {"replicas": count}


def decompile_torchrun(roles: list[Fields]) -> Fields:
    """Return ``launcher: torchrun`` with its fields if all roles run it, and remove it from their ``run``."""
    commands = [_split_torchrun(role) for role in roles]
    if not commands or None in commands:
        return {}
    fields, _ = commands[0] or ({}, [])
    if not all(command and is_same_data(command[0], fields) for command in commands):
        return {}
    for role, command in zip(roles, commands, strict=True):
        role["run"] = command[1] if command else {}
    processes = decompile_processes(fields.pop("processes", None), roles)
    return {"launcher": "torchrun", **processes, **({"torchrun": fields} if fields else {})}


def _split_torchrun(role: Fields) -> tuple[Fields, list[str] | Fields] | None:
    """Return fields for the options of torchrun, and the ``run`` after these; None if no fields say them."""
    words = as_mapping(role.get("run")).get("exec")
    if not isinstance(words, list) or words[:1] != ["torchrun"]:
        return None
    fields: Fields = {}
    rest = words[1:]
    if rest and (processes := _PROCESSES.fullmatch(rest[0])):
        is_count = processes[1].isdigit()
        fields |= {"processes": int(processes[1])} if is_count else {"procPerNode": processes[1]}
        rest = rest[1:]
    if rest and (restarts := _RESTARTS.fullmatch(rest[0])):
        fields["maxRestarts"] = int(restarts[1])
        rest = rest[1:]
    count = role.get("replicas")
    if type(count) is int and count > 1:
        backend = _find_backend(rest, count)
        if backend is None:
            return None
        fields |= {"rdzvBackend": backend} if backend != "static" else {}
        rest = rest[4:]
    run = decompile_program(rest)
    return (fields, run) if run is not None else None


def _find_backend(words: list[str], count: int) -> str | None:
    """Return the rendezvous of which ``words`` begin with the options, with some address.

    Compiling writes the address that follows from the names; the importer compares it.
    """
    address = next((match[1] for word in words[:4] if (match := _ADDRESS.fullmatch(word))), "")
    nodes = f"--nnodes={count}"
    options: dict[str, list[Any]] = {
        "static": [
            "--node-rank=$(JOB_COMPLETION_INDEX)",
            f"--master-addr={address}",
            f"--master-port={PORT}",
        ],
        "c10d": [
            "--rdzv-backend=c10d",
            f"--rdzv-endpoint={address}:{PORT}",
            f"--rdzv-id={address.partition('.')[0]}",
        ],
    }
    return next((name for name, known in options.items() if words[:4] == [nodes, *known]), None)
