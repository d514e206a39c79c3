"""How policies are decided: by a named check, a JSON Schema, or CEL.

A check is a function of a subject and the params of the policy that yields hits. It lives in a module of this
folder, and in this table under the name that policies call it by.

A check about all jobs together is two functions: one says what a job leaves behind for it, plain data and
little of it, and the other is called once with what jobs left. What is left has ``keys`` and a ``owner``: of
a job that has no key in common with another owner there is nothing to say, and the check is not told of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module

from podplan.core.typing import Any
from podplan.lint.policy import Policy
from podplan.lint.target import LoweredJob, Target, Violation

Check = Callable[[Target, Mapping[str, Any]], Iterable[Violation]]
# Of what jobs left and of a job, by their numbers; the hits, each with the number of the job it is said of.
CrossJobCheck = Callable[[Mapping[int, Any], Callable[[int], LoweredJob]], Iterable[tuple[int, Violation]]]

# name -> module below this folder; the function is called like the check, with _ for -.
CHECK_MODULES: dict[str, str] = {
    "pod-security": "pod_security",
    "shm-missing": "shared_memory",
    "shm-over-memory": "shared_memory",
    "shm-large-share": "shared_memory",
    "shm-unbounded": "shared_memory",
    "gpu-only-in-init-container": "gpus",
    "gpu-visible-without-request": "gpus",
    "visible-devices-count": "gpus",
    "missing-gpu-number": "missing_gpu_numbers",
    "cpu-only-software": "device_software",
    "backend-without-gpus": "device_software",
    "offload-beyond-memory": "offloading",
    "implausible-amount": "resource_units",
    "loaders-beyond-cpus": "resource_units",
    "gpu-on-launcher": "gpus",
    "gpu-without-memory": "gpus",
    "unknown-device": "gpus",
    "pod-resources-dropped": "gpus",
    "pod-beyond-node": "node_shapes",
    "no-node-admits": "node_shapes",
    "gpu-fragments-node": "node_shapes",
    "gpu-share-exceeded": "node_shapes",
    "replicas-beyond-nodes": "node_shapes",
    "named-node-too-small": "node_shapes",
    "contradictory-node-selection": "node_selection",
    "selector-selects-nothing": "pod_selection",
    "affinity-to-one-node": "pod_selection",
    "no-gang": "gangs",
    "other-scheduler": "gangs",
    "gang-over-quota": "gangs",
    "unknown-queue": "queues",
    "priority-out-of-bounds": "queues",
    "hardware-not-in-queue": "queues",
    "queue-oversubscribed": "queues",
    "pod-group-never-full": "gangs",
    "deadline-beyond-queue": "queues",
    "pinned-to-node": "gangs",
    "host-network-ports": "networks",
    "host-network-dns": "networks",
    "ephemeral-port": "networks",
    "mesh-sidecar": "networks",
    "rdma-without-ipc-lock": "networks",
    "ipc-lock-without-root": "networks",
    "nccl-ib-disabled": "networks",
    "interface-of-node": "networks",
    "rdma-on-single-pod": "networks",
    "target-port-of-headless-service": "networks",
    "claim-on-one-node": "claims",
    "claim-for-one-pod": "claims",
    "claim-read-only": "claims",
    "unknown-claim": "claims",
    "claim-of-several-jobs": "claims",
    "claim-of-repository": "repository_objects",
    "key-of-repository": "repository_objects",
    "program-hidden": "hidden_programs",
    "code-elsewhere": "hidden_programs",
    "offline-without-cache": "offline_hub",
    "logs-elsewhere": "log_folders",
    "folder-beyond-limit": "ephemeral_storage",
    "prepared-outside-volume": "init_preparation",
    "preparation-as-sidecar": "init_preparation",
    "host-path-data": "claims",
    "output-not-kept": "outputs",
    "output-on-read-only": "outputs",
    "decimal-file-mode": "file_modes",
    "unmounted-volume": "unmounted_volumes",
    "system-folder-hidden": "system_folders",
    "log-source-format": "tensorboard_logs",
    "unknown-reference": "references",
    "unknown-namespace": "references",
    "invalid-image": "images",
    "image-not-allowed": "images",
    "moving-tag": "images",
    "always-pulled": "images",
    "no-digest": "images",
    "retries-for-one-failure": "restarts",
    "template-restart-policy": "restarts",
    "colossalai-restart": "restarts",
    "torchrun-never": "restarts",
    "shared-retries": "restarts",
    "restart-after-success": "restarts",
    "exit-code-not-restarted": "restarts",
    "hidden-exit-status": "exit_statuses",
    "endless-container": "container_endings",
    "daemon-as-main-process": "container_endings",
    "comment-over-lines": "folded_comments",
    "joined-lines": "joined_lines",
    "unusable-command": "unusable_commands",
    "bash-syntax-in-sh": "unusable_commands",
    "endless-post-start": "start_hooks",
    "probe-of-other-port": "probe_targets",
    "probe-without-server": "probe_targets",
    "signal-kept-by-shell": "termination_signals",
    "hook-longer-than-grace": "grace_period",
    "unknown-port-name": "probe_ports",
    "root-user-refused": "root_user",
    "elastic-bounds": "lifetime",
    "elastic-missing-bounds": "lifetime",
    "elastic-without-effect": "lifetime",
    "elastic-replicas": "lifetime",
    "leaves-gpus": "lifetime",
    "leaves-waiting": "lifetime",
    "debug-holds-gpus": "lifetime",
    "debug-without-deadline": "lifetime",
    "debug-in-production": "lifetime",
    "no-deadline": "lifetime",
    "deadline-in-pod-template": "lifetime",
    "child-name-too-long": "child_names",
    "duplicate-job": "child_names",
    "shared-child-name": "child_names",
    "env-over-ssh": "ssh_environment",
    "ssh-env-values": "ssh_environment",
    "secret-over-ssh": "ssh_environment",
    "pod-field-over-ssh": "ssh_environment",
    "ssh-arguments": "ssh_arguments",
    "variable-over-ssh": "ssh_arguments",
    "ssh-user": "ssh_identity",
    "ssh-root-refused": "ssh_identity",
    "ssh-key-modes": "ssh_identity",
    "ssh-users-differ": "ssh_identity",
    "mpirun-env": "mpirun_environment",
    "training-container-missing": "containers_contract",
    "training-container-guessed": "containers_contract",
    "command-ignored": "containers_contract",
    "reserved-mount": "containers_contract",
    "duplicate-env": "containers_contract",
    "shell-syntax-without-shell": "exec_words",
    "shell-expansion-without-shell": "exec_words",
    "command-line-in-one-word": "exec_words",
    "words-after-shell-script": "exec_words",
    "shell-command-as-program": "exec_words",
    "literal-quotes": "exec_words",
    "trailing-newline": "exec_words",
    "option-as-command": "exec_words",
    "unresolved-reference": "exec_references",
    "env-value-not-expanded": "exec_references",
    "reference-outside-command": "exec_references",
    "value-read-by-shell": "exec_references",
    "reserved-env": "reserved_env",
    "launcher-env": "reserved_env",
    "variable-value": "variable_values",
    "no-restart-left": "ineffective_settings",
    "unknown-replica-type": "ineffective_settings",
    "duplicate-replica-type": "ineffective_settings",
    "nothing-to-run": "ineffective_settings",
    "section-without-effect": "ineffective_settings",
    "run-mode-conflict": "ineffective_settings",
    "unused-param": "params",
    "value-equals-default": "params",
    "value-shadowed": "params",
    "equals-inherited": "overrides",
    "override-changes-nothing": "overrides",
    "override-for-field": "overrides",
    "unused-base": "variants",
    "equal-instances": "variants",
    "secret-literal": "suspicious_values",
    "credentials-in-command": "credentials",
    "ambiguous-unit": "suspicious_values",
    "idle-gpus": "processes",
    "more-processes-than-gpus": "processes",
    "mig-slices": "processes",
    "local-rank-argument": "local_rank",
    "processes-by-gpus-of-none": "processes",
    "other-node-count": "node_counts",
    "trains-alone": "node_counts",
    "same-node-rank": "rendezvous",
    "static-by-controller": "rendezvous",
    "rendezvous-not-shared": "rendezvous",
    "rendezvous-at-address": "rendezvous",
    "unknown-replica-host": "own_hosts",
    "indivisible-world": "parallelism",
    "indivisible-model": "parallelism",
    "script-counts": "script_counts",
    "meeting-point-not-shared": "meeting_points",
    "rendezvous-id-differs": "meeting_points",
    "exclusive-options": "exclusive_options",
    "refused-by-launcher": "launcher_errors",
    "not-a-script": "launcher_words",
    "options-in-one-word": "launcher_words",
    "option-given-twice": "torchrun_options",
    "deepspeed-args": "deepspeed",
    "other-launcher": "deepspeed",
    "hostname-needed": "deepspeed",
    "local-rank-of-program": "deepspeed",
    "unequal-slots": "deepspeed",
    "unused-workers": "deepspeed",
    "missing-workers": "deepspeed",
    "custom-without-hostfile": "deepspeed",
    "launcher-workdir": "colossalai",
    "script-in-worker-folder": "colossalai",
    "launch-arguments": "colossalai",
    "script-options-taken": "colossalai",
    "several-launchers": "colossalai",
    "launcher-container-name": "containers_contract",
    "no-replicas": "replica_counts",
    "rendezvous-port": "rendezvous_port",
    "custom-command-on-one-worker": "deepspeed",
    "keys-outside-home": "ssh_identity",
    "unknown-backend": "rendezvous_backends",
    "etcd-endpoint": "rendezvous_backends",
    "elastic-static": "lifetime",
    "image-skew": "colossalai",
    "elastic-without-restarts": "unused_retries",
    "retries-never-used": "unused_retries",
    "deadline-before-planned-end": "planned_time",
    "restart-discards-progress": "lost_progress",
    "leaves-servers": "left_servers",
    "debug-switch": "debug_switches",
    "written-ranks": "written_ranks",
    "gpu-too-old": "gpu_generation",
    "failure-rule-needs-all": "failure_rules",
    "mpirun-as-root": "mpi_root",
    "threads-beyond-cpus": "processes",
    "sshd-without-capabilities": "sshd_capabilities",
    "batch-sizes": "deepspeed_batch",
    "rules-unreachable": "generic",
    "no-success-rule": "generic",
    "generic-variable": "generic",
    "variable-in-init-container": "generic",
    "port-without-listener": "generic",
    "waits-unbounded": "waits",
    "waits-for-itself": "waits",
    "starts-without-wait": "waits",
    "openmpi5-env": "mpi",
    "mpirun-without-hosts": "mpi",
    "too-few-slots": "mpi",
    "immutable-field": "changes",
    "reaches-no-job": "changes",
    "generate-name-applied": "gitops",
    "hook-runs-again": "gitops",
    "made-anew": "gitops",
    "wave-no-number": "gitops",
    "applied-too-late": "sync_waves",
    "unprotected-from-prune": "gitops",
    "substituted": "gitops",
}

# What a job leaves for a check about all jobs, None for nothing: a function of the same module.
SUMMARIZERS: dict[str, str] = {
    "pod-group-never-full": "summarize_pod_groups",
    "queue-oversubscribed": "summarize_demand",
    "claim-of-several-jobs": "summarize_mounts",
    "claim-of-repository": "claims_left",
    "key-of-repository": "keys_left",
    "duplicate-job": "summarize_name",
    "shared-child-name": "summarize_children",
    "applied-too-late": "summarize_sync_wave",
    "batch-sizes": "batch_left",
}

# What a check about all variants of a profile keeps of each of them: a class of the same module, with add().
KEPT: dict[str, str] = {
    "unused-base": "UsedFiles",
    "equal-instances": "EqualContents",
}


def resolve_check(policy: Policy) -> Check:
    """The function that decides a policy; one that is no check has its params with it."""
    if policy.evaluator == "check":
        return load_check(policy.body)
    if policy.evaluator == "schema":
        from podplan.lint.checks.by_schema import evaluate_schema_policy

        return lambda subject, _: evaluate_schema_policy(policy, subject)
    from podplan.lint.checks.by_cel import evaluate_cel_policy

    return lambda subject, _: evaluate_cel_policy(policy, subject)


@cache
def load_check(name: str) -> Check:
    """The check called ``name``; KeyError where there is none."""
    function: Check = _load_function(name, name.replace("-", "_"))
    return function


def load_cross_job_check(name: str) -> CrossJobCheck:
    """The same for a check about all jobs together."""
    function: CrossJobCheck = _load_function(name, name.replace("-", "_"))
    return function


def summarize_job(name: str, job: LoweredJob) -> Any:
    """What a job leaves for a check about all jobs."""
    return _load_function(name, SUMMARIZERS[name])(job)


def keeper(name: str) -> Any:
    """What keeps of the variants of a profile what a check about all of them needs."""
    return _load_function(name, KEPT[name])()


@cache
def _load_function(name: str, function_name: str) -> Any:
    return getattr(import_module(f"{__name__}.{CHECK_MODULES[name]}"), function_name)
