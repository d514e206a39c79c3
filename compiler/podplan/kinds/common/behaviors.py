"""Behaviors of compiling: values in the CR that the profile does not state literally."""

from __future__ import annotations

from podplan.core.provenance import Behavior

PROCESSES_AUTO = Behavior(
    "profile.processes-auto",
    "processes: auto is written out as the number of GPUs of a replica",
    "documented",
    "docs/profile-fields.md; docs/evidence/t9k-deepspeedjob.md#slots-per-worker",
)
GPU_RESOURCES = Behavior(
    "profile.gpu-resources",
    "these resources count as GPUs, besides those that a hardware class lists under gpus",
    "assumed",
    "docs/profile-fields.md; https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/",
    (
        "nvidia.com/gpu",
        "amd.com/gpu",
        "hygon.com/dcu",
        "huawei.com/Ascend910",
        "cambricon.com/mlu",
        "gpu.intel.com/i915",
        "gpu.intel.com/xe",
        "habana.ai/gaudi",
    ),
)
SHM_AUTO = Behavior(
    "profile.shm-auto",
    "shm: auto is half of the memory limit where the class has no size, as tmpfs takes half of memory",
    "documented",
    "docs/profile-fields.md; https://docs.kernel.org/filesystems/tmpfs.html",
)
SHM_VOLUME = Behavior(
    "profile.shm-volume",
    "/dev/shm is an emptyDir in memory called dshm",
    "documented",
    "docs/profile-fields.md; https://kubernetes.io/docs/concepts/storage/volumes/#emptydir",
)
ROLE_NAME = Behavior(
    "profile.role-name",
    "a profile without roles has one role, called worker, unless its kind has fixed roles",
    "documented",
    "docs/profile-fields.md",
)
CONTAINER_NAME = Behavior(
    "profile.container-name",
    "the training container is called pytorch, worker, launcher, submit-job or like its role; container.name "
    "renames it",
    "documented",
    "docs/profile-fields.md; docs/evidence/t9k-pytorchtrainingjob.md#name-of-the-training-container; "
    "docs/evidence/t9k-deepspeedjob.md#training-container; "
    "docs/evidence/t9k-colossalaijob.md#training-container",
)
RUN_PYTHON = Behavior(
    "profile.run-python",
    "a script or module is run by python",
    "documented",
    "docs/profile-fields.md",
)
RUN_MODULE = Behavior(
    "profile.run-module",
    "a module is run by python -m",
    "documented",
    "docs/profile-fields.md; https://docs.python.org/3/using/cmdline.html#cmdoption-m",
)
TORCHRUN_PROGRAM = Behavior(
    "profile.torchrun-no-python",
    "torchrun runs a program that is no Python script with --no-python",
    "documented",
    "https://docs.pytorch.org/docs/stable/elastic/run.html",
)
QUEUE_LABEL = Behavior(
    "profile.queue-label",
    "the queue of a kind without a field for it is the label by which Kueue finds the job",
    "documented",
    "docs/profile-fields.md; https://kueue.sigs.k8s.io/docs/tasks/run/jobs/",
)
TOPOLOGY_ANNOTATION = Behavior(
    "profile.topology-annotation",
    "the topology of a job is an annotation of its Pod templates, which Kueue reads",
    "documented",
    "docs/profile-fields.md; https://kueue.sigs.k8s.io/docs/concepts/topology_aware_scheduling/",
)
TORCHRUN_OPTIONS = Behavior(
    "profile.torchrun-options",
    "without a controller that sets variables for torchrun, its options state the Pods and the first of them",
    "documented",
    "docs/profile-fields.md; https://docs.pytorch.org/docs/stable/elastic/run.html",
)
INDEXED = Behavior(
    "profile.indexed",
    "replicas of a Job are Indexed: each Pod has a host name and an index of its own",
    "documented",
    "docs/profile-fields.md; https://kubernetes.io/docs/concepts/workloads/controllers/job/#completion-mode",
)
RESTART_NEVER = Behavior(
    "profile.restart-never",
    "without restart, the Pods of a Job are not restarted: the API server requires that a Job states it",
    "documented",
    "docs/profile-fields.md; https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-template",
)
RUNTIME_PATCH = Behavior(
    "profile.runtime-patch",
    "what a job has no field for becomes a patch of the nodes of its runtime",
    "documented",
    "docs/profile-fields.md; https://www.kubeflow.org/docs/components/trainer/operator-guides/runtime-patches/",
)
