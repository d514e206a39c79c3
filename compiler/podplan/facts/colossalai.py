"""What the controller of ColossalAIJob does, in both dialects."""

from __future__ import annotations

from podplan.provenance import Fact

COLOSSALAI_TRAINING_CONTAINER = Fact(
    "colossalai.training-container",
    "the training container of a worker is the one called worker, else the first",
    "documented",
    "t9k-semantics §3.1, API reference: ColossalAIJob",
    "worker",
)
COLOSSALAI_LAUNCHER_CONTAINER = Fact(
    "colossalai.launcher-container",
    "the container of the launcher is called launcher",
    "documented",
    "t9k-semantics §3.1, user manual: colossalaijob",
    "launcher",
)
COLOSSALAI_LAUNCHER = Fact(
    "colossalai.launcher",
    "one Pod called <base>-launcher starts the training on the workers",
    "documented",
    "t9k-semantics §2.2, §3.2, user manual: colossalaijob",
    "{base}-{type}",
    words=("base", "job", "type"),
)
COLOSSALAI_LAUNCHER_IMAGE = Fact(
    "colossalai.launcher-image",
    "a launcher without an image runs from the image of the workers",
    "assumed",
    "t9k-semantics §3.3, §8.2",
)
COLOSSALAI_LAUNCHER_RESOURCES = Fact(
    "colossalai.launcher-resources",
    "a launcher without resources gets those that the launcher of an MPIJob was seen to have",
    "assumed",
    "t9k-semantics §3.3, §8.2",
    {
        "requests": {"cpu": "100m", "memory": "100Mi"},
        "limits": {"cpu": "200m", "memory": "200Mi"},
    },
)
COLOSSALAI_RUN = Fact(
    "colossalai.run",
    "the launcher runs colossalai run with a hostfile, the processes of a worker and the script",
    "assumed",
    "t9k-semantics §3.2, §3.3; lowering-anchors §2.5",
    [
        "colossalai run",
        "--hostfile {hostfile}",
        "--nproc_per_node {processes}",
        "--extra_launch_args {launch-arguments}",
    ],
    words=("hostfile", "processes", "launch-arguments", "master-addr", "replicas", "base", "job"),
)
COLOSSALAI_HOSTFILE_LINE = Fact(
    "colossalai.hostfile-line",
    "a line of the hostfile is the host alone: colossalai knows no slots",
    "anchored",
    "t9k-semantics §3.3; lowering-anchors §2.3, §2.5",
    "{host}",
    words=("host",),
)
COLOSSALAI_LAUNCH_ARGUMENTS = Fact(
    "colossalai.launch-arguments",
    "options of torchrun are handed on as --extra_launch_args, without their dashes and joined by commas",
    "assumed",
    "t9k-semantics §3.3; lowering-anchors §2.5",
)
COLOSSALAI_PROCESSES = Fact(
    "colossalai.processes",
    "a worker runs one process unless procPerWorker says otherwise",
    "documented",
    "t9k-semantics §3.1, API reference: TorchConfig.procPerWorker",
    1,
)
COLOSSALAI_HOSTFILE_PATH = Fact(
    "colossalai.hostfile-path",
    "the hostfile is at /t9k/hostfile, as for a DeepSpeedJob",
    "assumed",
    "t9k-semantics §3.3, §6.2",
    "/t9k/hostfile",
)
COLOSSALAI_LABELS = Fact(
    "colossalai.labels",
    "the labels replica-type and replica-index tell the replica, as for the other kinds",
    "assumed",
    "t9k-semantics §2.3",
)
COLOSSALAI_MIN_MEMBER = Fact(
    "colossalai.min-member",
    "minMember counts the launcher and the workers",
    "assumed",
    "t9k-semantics §1.2, user manual: use-podgroup",
    "all",
    ("all", "workers"),
)
