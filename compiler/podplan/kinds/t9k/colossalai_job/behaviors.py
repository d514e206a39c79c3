"""Behaviors of the controller of ColossalAIJob, in both dialects."""

from __future__ import annotations

from podplan.core.provenance import Behavior

COLOSSALAI_TRAINING_CONTAINER = Behavior(
    "colossalai.training-container",
    "the training container of a worker is the one called worker, else the first",
    "documented",
    "docs/evidence/t9k-colossalaijob.md#training-container",
    "worker",
)
COLOSSALAI_LAUNCHER_CONTAINER = Behavior(
    "colossalai.launcher-container",
    "the container of the launcher is called launcher",
    "documented",
    "docs/evidence/t9k-colossalaijob.md#launcher-container",
    "launcher",
)
COLOSSALAI_LAUNCHER = Behavior(
    "colossalai.launcher",
    "one Pod called <base>-launcher starts the training on the workers",
    "documented",
    "docs/evidence/t9k-colossalaijob.md#launcher-and-workers",
    "{base}-{type}",
    placeholders=("base", "job", "type"),
)
COLOSSALAI_LAUNCHER_IMAGE = Behavior(
    "colossalai.launcher-image",
    "a launcher without an image runs from the image of the workers",
    "assumed",
    "docs/evidence/t9k-colossalaijob.md#default-launcher",
)
COLOSSALAI_LAUNCHER_RESOURCES = Behavior(
    "colossalai.launcher-resources",
    "a launcher without resources gets those that the launcher of an MPIJob was seen to have",
    "assumed",
    "docs/evidence/t9k-colossalaijob.md#default-launcher",
    {
        "requests": {"cpu": "100m", "memory": "100Mi"},
        "limits": {"cpu": "200m", "memory": "200Mi"},
    },
)
COLOSSALAI_RUN = Behavior(
    "colossalai.run",
    "the launcher runs colossalai run with a hostfile, the processes of a worker and the script",
    "assumed",
    "docs/evidence/t9k-colossalaijob.md#launch-command",
    [
        "colossalai run",
        "--hostfile {hostfile}",
        "--nproc_per_node {processes}",
        "--extra_launch_args {launch-arguments}",
    ],
    placeholders=("hostfile", "processes", "launch-arguments", "master-addr", "replicas", "base", "job"),
)
COLOSSALAI_HOSTFILE_LINE = Behavior(
    "colossalai.hostfile-line",
    "a line of the hostfile is the host alone: colossalai knows no slots",
    "anchored",
    "docs/evidence/t9k-colossalaijob.md#hostfile",
    "{host}",
    placeholders=("host",),
)
COLOSSALAI_LAUNCH_ARGUMENTS = Behavior(
    "colossalai.launch-arguments",
    "options of torchrun are handed on as --extra_launch_args, without their dashes and joined by commas",
    "assumed",
    "docs/evidence/t9k-colossalaijob.md#options-of-torchrun",
)
COLOSSALAI_PROCESSES = Behavior(
    "colossalai.processes",
    "a worker runs one process unless procPerWorker says otherwise",
    "documented",
    "docs/evidence/t9k-colossalaijob.md#processes-per-worker",
    1,
)
COLOSSALAI_HOSTFILE_PATH = Behavior(
    "colossalai.hostfile-path",
    "the hostfile is at /t9k/hostfile, as for a DeepSpeedJob",
    "assumed",
    "docs/evidence/t9k-colossalaijob.md#hostfile-path",
    "/t9k/hostfile",
)
COLOSSALAI_LABELS = Behavior(
    "colossalai.labels",
    "the labels replica-type and replica-index tell the replica, as for the other kinds",
    "assumed",
    "docs/evidence/t9k-colossalaijob.md#labels",
)
COLOSSALAI_MIN_MEMBER = Behavior(
    "colossalai.min-member",
    "minMember counts the launcher and the workers",
    "assumed",
    "docs/evidence/t9k-colossalaijob.md#minimum-members",
    "all",
    ("all", "workers"),
)
