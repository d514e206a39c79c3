"""Flux: an init container installs it, a script starts the brokers, and the lead broker runs the command."""

from __future__ import annotations

from podplan.core.provenance import Cause, attribute_to
from podplan.core.replica_groups import ReplicaGroup, build_group
from podplan.core.typing import Any
from podplan.kinds.common.field_order import order_container_fields
from podplan.kinds.common.merge import list_entries, to_plain_data
from podplan.kinds.trainer import behaviors
from podplan.kinds.trainer.job import TrainJob, build_metadata
from podplan.kinds.trainer.job_set_template import NODE, TRAINER_STEP, TemplateJob, TracedMap, upsert
from podplan.kinds.trainer.processes import count_gpus

INSTALLER = "flux-installer"
_INSTALL, _SOFTWARE, _CURVE, _MEMORY = "flux-install", "spack-install", "flux-curve", "shared-memory"
_CONFIG_PATH = "/etc/flux-config"
# Variables of the container node that are settings of Flux, with their defaults.
_IMAGE, _DEVICE, _QUEUE = "FLUX_VIEW_IMAGE", "FLUX_NETWORK_DEVICE", "FLUX_QUEUE_POLICY"
_DEFAULTS = {
    _IMAGE: "ghcr.io/converged-computing/flux-view-ubuntu:tag-jammy",
    _DEVICE: "eth0",
    _QUEUE: "fcfs",
}
# Of each variable the value, and what states it.
Settings = dict[str, tuple[str, tuple[Cause, ...]]]
_CERTIFICATE_PLACEHOLDER = "a2V5"  # "key" in base64


def apply_policy(
    train_job: TrainJob, jobs: list[TemplateJob]
) -> tuple[list[TemplateJob], list[ReplicaGroup]]:
    """The jobs of a Flux runtime, the ConfigMap with its scripts and the Secret with the certificate."""
    trainer_job = next((one for one in jobs if one.ancestor == TRAINER_STEP), None)
    if trainer_job is None:
        return jobs, []
    settings = _find_settings(train_job, trainer_job)
    command = _join_command(train_job, trainer_job)
    jobs = [_wrap_command(train_job, one, command) for one in jobs]
    jobs = [_install(train_job, one, settings) for one in jobs]
    return jobs, [_build_scripts(train_job, trainer_job, settings), _build_certificate(train_job)]


def _find_settings(train_job: TrainJob, job: TemplateJob) -> Settings:
    """Each setting with what states it: the variables of the TrainJob, else those of the runtime."""
    policy = train_job.policy.get("flux")
    settings: Settings = {name: (value, (behaviors.FLUX, policy)) for name, value in _DEFAULTS.items()}
    containers = job.entry.get("template", "spec", "template", "spec", "containers").entries()
    runtime = next((one for one in containers if one.get("name").value == NODE), None)
    variables = [] if runtime is None else runtime.get("env").entries()
    for variable in [*variables, *train_job.trainer.get("env").entries()]:
        name, value = variable.get("name").value, variable.get("value")
        if name in settings and isinstance(value.value_or(""), str):
            settings[name] = (str(value.value_or("")), (value if value.exists else variable,))
    return settings


def _join_command(train_job: TrainJob, job: TemplateJob) -> Any:
    """The words of the command as one text: the shell of the script splits it again."""
    fields = job.find_container(NODE) or {}
    args = train_job.trainer.get("args")
    words = [*(to_plain_data(fields.get("command")) or []), *(args.value_or([]))]
    causes: list[Cause] = [one for one in (train_job.trainer.get("command"), args) if one.exists]
    return attribute_to((*causes, behaviors.FLUX, train_job.policy), " ".join(map(str, words)).strip())


def _wrap_command(train_job: TrainJob, job: TemplateJob, command: Any) -> TemplateJob:
    if job.ancestor != TRAINER_STEP:
        return job
    why = (behaviors.FLUX, train_job.policy.get("flux"))
    words = attribute_to(why, ["/bin/bash", f"{_CONFIG_PATH}/entrypoint.sh", command])
    containers = job.entry.get("template", "spec", "template", "spec", "containers").entries()
    args = next((one.get("args") for one in containers if one.get("name").value == NODE), None)

    def change(fields: TracedMap) -> TracedMap:
        others = {name: value for name, value in fields.items() if name != "args"}
        return {**others, "command": words, **({"args": args} if args is not None and args.exists else {})}

    return job.map_containers(NODE, change)


def _install(train_job: TrainJob, job: TemplateJob, settings: Settings) -> TemplateJob:
    """The job of the nodes with the volumes of Flux, their mounts and the init container."""
    if job.name != NODE:
        return job
    config = f"{train_job.name}-flux-entrypoint"
    why = (behaviors.FLUX, train_job.policy.get("flux"))
    shares_memory = train_job.version.shares_memory_of_flux
    volumes: list[dict[str, Any]] = [
        {"name": _SOFTWARE, "emptyDir": {}},
        {"name": _INSTALL, "emptyDir": {}},
        {"name": config, "configMap": {"name": config, "defaultMode": 0o755}},
        *([{"name": _MEMORY, "emptyDir": {"medium": "Memory"}}] if shares_memory else []),
        {"name": _CURVE, "secret": {"secretName": f"{train_job.name}-flux-curve", "defaultMode": 0o400}},
    ]
    install = {"name": _INSTALL, "mountPath": "/mnt/flux"}
    scripts = {"name": config, "mountPath": _CONFIG_PATH, "readOnly": True}
    mounts = [
        install,
        {"name": _SOFTWARE, "mountPath": "/opt/software"},
        scripts,
        {"name": _CURVE, "mountPath": "/curve", "readOnly": True},
        *([{"name": _MEMORY, "mountPath": "/dev/shm", "readOnly": True}] if shares_memory else []),
    ]
    added = [attribute_to(why, one) for one in mounts]
    job = job.map_containers(
        NODE,
        lambda fields: {
            **fields,
            "volumeMounts": upsert(list_entries(fields.get("volumeMounts")), added, "mountPath"),
        },
    )
    image, causes = settings[_IMAGE]
    installer = {
        "name": INSTALLER,
        "image": attribute_to(causes, image),
        "command": ["/bin/bash", f"{_CONFIG_PATH}/init.sh"],
        "volumeMounts": [install, scripts],
    }
    return job._replace(
        volumes=tuple(upsert(list(job.volumes), [attribute_to(why, one) for one in volumes], "name")),
        init_containers=(*job.init_containers, attribute_to(why, order_container_fields(installer))),
    )


def _build_scripts(train_job: TrainJob, job: TemplateJob, settings: Settings) -> ReplicaGroup:
    """The ConfigMap with the scripts: what Trainer fills in, without the text that all jobs share."""
    nodes, policy = job.nodes.value, train_job.policy.get("flux")
    written, default = train_job.trainer.get("numProcPerNode"), policy.get("numProcPerNode")
    processes = written if written.exists else default
    per_node = int(processes.value_or(1))
    gpus, gpu_causes = count_gpus(train_job, job)
    hosts = f"{train_job.name}-{NODE}-0-[{_write_range(nodes)}]"
    service = f"{train_job.name}.{train_job.namespace}.svc.cluster.local"
    (device, device_causes), (queue, queue_causes) = settings[_DEVICE], settings[_QUEUE]
    init = [f"hosts: {hosts}, in {service}", f"network device: {device}", f"queue policy: {queue}"]
    resources = f"--cores={_write_range(per_node)}{f' --gpu={_write_range(gpus)}' if gpus else ''}"
    run = [
        f"lead broker: {train_job.name}-{NODE}-0-0",
        *([f"resources: {resources}"] if train_job.version.shares_memory_of_flux else []),
        f"flux run -N {nodes} -n {per_node * nodes}{f' -g {gpus}' if gpus else ''} COMMAND",
    ]
    counts: tuple[Cause, ...] = (*job.nodes.causes, processes if processes.exists else policy, *gpu_causes)
    tree = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": build_metadata(train_job, f"{train_job.name}-flux-entrypoint"),
        "data": {
            "entrypoint.sh": attribute_to((*counts, behaviors.FLUX_SCRIPTS), _write_comments(run)),
            "init.sh": attribute_to(
                (*job.nodes.causes, *device_causes, *queue_causes, behaviors.FLUX_SCRIPTS),
                _write_comments(init),
            ),
        },
    }
    return build_group(attribute_to((policy, behaviors.FLUX), tree))


def _build_certificate(train_job: TrainJob) -> ReplicaGroup:
    policy = train_job.policy.get("flux")
    tree = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": build_metadata(train_job, f"{train_job.name}-flux-curve"),
        "data": {"curve.cert": attribute_to((behaviors.FLUX, policy), _CERTIFICATE_PLACEHOLDER)},
    }
    return build_group(attribute_to((policy, behaviors.FLUX), tree))


def _write_range(count: int) -> str:
    return "0" if count == 1 else f"0-{count - 1}"


def _write_comments(lines: list[str]) -> str:
    return "".join(f"# {line}\n" for line in lines)
