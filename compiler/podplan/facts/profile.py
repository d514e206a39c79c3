"""What compiling a profile writes out that the profile does not say word for word."""

from __future__ import annotations

from podplan.provenance import Fact

PROCESSES_AUTO = Fact(
    "profile.processes-auto",
    "processes: auto is written out as the number of GPUs of a replica",
    "documented",
    "docs/profile-fields.md; API reference: slotsPerWorker is normally the number of GPUs",
)
GPU_RESOURCES = Fact(
    "profile.gpu-resources",
    "these resources count as GPUs, besides those that a hardware class lists under gpus",
    "assumed",
    "docs/profile-fields.md; device plugins of NVIDIA, AMD, Hygon, Huawei, Cambricon, Intel and Habana",
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
SHM_AUTO = Fact(
    "profile.shm-auto",
    "shm: auto is half of the memory limit where the class has no size, as tmpfs takes half of memory",
    "documented",
    "docs/profile-fields.md; Linux kernel documentation: filesystems/tmpfs, mount option size",
)
SHM_VOLUME = Fact(
    "profile.shm-volume",
    "/dev/shm is an emptyDir in memory called dshm",
    "documented",
    "docs/profile-fields.md; Kubernetes documentation: volumes, emptyDir",
)
ROLE_NAME = Fact(
    "profile.role-name",
    "a profile without roles has one role, called worker; a ColossalAIJob has launcher and worker",
    "documented",
    "docs/profile-fields.md",
)
CONTAINER_NAME = Fact(
    "profile.container-name",
    "the training container is called pytorch, worker, launcher or like its role; container.name renames it",
    "documented",
    "docs/profile-fields.md; t9k-semantics §3.1, §5.3, §6.2",
)
RUN_PYTHON = Fact(
    "profile.run-python",
    "a script or module is run by python",
    "documented",
    "docs/profile-fields.md",
)
RUN_MODULE = Fact(
    "profile.run-module",
    "a module is run by python -m",
    "documented",
    "docs/profile-fields.md; Python documentation: command line, -m",
)
TORCHRUN_PROGRAM = Fact(
    "profile.torchrun-no-python",
    "torchrun runs a program that is no Python script with --no-python",
    "documented",
    "PyTorch documentation: torchrun, --no-python",
)
