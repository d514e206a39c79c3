"""What the controllers do, one fact each: how well it is known, and where it is written.

Sources are sections of the evidence that podplan was built on (t9k-semantics, lowering-anchors) with
the public document behind them. A fact with a value can be given another one in the configuration,
under ``[lowering]``, by its id.
"""

from __future__ import annotations

from podplan.provenance import Fact

# --- every kind -----------------------------------------------------------------------------------

POD_PER_REPLICA = Fact(
    "pod.per-replica",
    "the controller creates one Pod per replica from the template of its type",
    "documented",
    "t9k-semantics §2.2, user manual: jobs",
)
POD_NAME = Fact(
    "pod.name",
    "a Pod is called <base>-<type>-<index>",
    "documented",
    "t9k-semantics §2.2, user manual: jobs",
)
BASE_SHORT = Fact(
    "name.base-without-uid",
    "without a uid the documented short form is used: the name of the job",
    "documented",
    "t9k-semantics §2.1, user manual: jobs",
)
BASE_SUFFIX = Fact(
    "name.base-suffix",
    "children are called after the job and the first five hex digits of FNV-1a-64 over name + uid",
    "documented",
    "t9k-semantics §2.1, five observed (name, uid, child) triples",
)
OWNER_REFERENCE = Fact(
    "pod.owner-reference",
    "the job is the controller of its children and blocks its own deletion until they are gone",
    "documented",
    "t9k-semantics §2.4, admin manual",
)
OWNER_NAME = Fact(
    "label.owner-name",
    "the label tensorstack.dev/owner-name holds the name of the job",
    "documented",
    "t9k-semantics §2.3, tutorial examples: job/debug",
)
OWNER_KIND = Fact(
    "label.owner-kind",
    "the label tensorstack.dev/owner-kind holds the kind of the job",
    "assumed",
    "t9k-semantics §2.3, seen on other objects of the platform",
)
COMPONENT = Fact(
    "label.component",
    "the labels tensorstack.dev/component and component-type hold the kind in lower case, and user",
    "assumed",
    "t9k-semantics §2.3, documented for GenericJob only",
)
REPLICA_LABELS = Fact(
    "label.replica",
    "the labels replica-type and replica-index tell the replica",
    "documented",
    "t9k-semantics §2.3, screenshots of running jobs",
)
MASTER_LABEL = Fact(
    "label.job-role",
    "the replica of rank 0 has the label job-role: master",
    "documented",
    "t9k-semantics §2.3, screenshots of running jobs",
)
TEMPLATE_LABELS = Fact(
    "label.template",
    "labels of the template are kept; where the controller sets the same key, the controller wins",
    "assumed",
    "t9k-semantics §2.3, as mpi-operator does",
)
RESTART_NEVER = Fact(
    "pod.restart-policy",
    "the restartPolicy of the Pod is always Never: the controller restarts replicas itself",
    "documented",
    "t9k-semantics §1.3, API reference: ReplicaSpec.template",
    "Never",
)
RESTART_NEVER_ASSUMED = Fact(
    "pod.restart-policy-object",
    "the restartPolicy of the Pod is taken to be Never here too: the controller counts restarts per type",
    "assumed",
    "t9k-semantics §1.3, documented for the other kinds",
    "Never",
)
SCHEDULER_NAME = Fact(
    "pod.scheduler-name",
    "a job with a t9kScheduler section has its Pods scheduled by t9k-scheduler",
    "anchored",
    "t9k-semantics §1.2, user manual: use-podgroup; lowering-anchors §1.1, §1.3",
    "t9k-scheduler",
)
SCHEDULER_LABELS = Fact(
    "label.scheduler",
    "Pods of a PodGroup carry the labels group-name, queue and role of scheduler.tensorstack.dev",
    "documented",
    "t9k-semantics §1.2, user manual: use-podgroup, podgroup",
)
POD_GROUP = Fact(
    "podgroup",
    "a job with a t9kScheduler section gets a PodGroup of its own name",
    "documented",
    "t9k-semantics §1.2, user manual: use-podgroup",
)
MIN_MEMBER = Fact(
    "podgroup.min-member",
    "minMember is the number of all replicas of all types",
    "documented",
    "t9k-semantics §1.2, user manual: use-podgroup",
)
MIN_MEMBER_ELASTIC = Fact(
    "podgroup.min-member-elastic",
    "an elastic job needs minReplicas to start",
    "documented",
    "t9k-semantics §1.2",
)
QUEUE = Fact(
    "podgroup.queue",
    "a PodGroup without a queue goes to the queue default",
    "documented",
    "t9k-semantics §1.2, API reference: scheduler",
    "default",
)
PRIORITY = Fact(
    "podgroup.priority",
    "the priority is 0 unless one is given",
    "documented",
    "t9k-semantics §1.2, API reference: T9kScheduler",
    0,
)
REPLICAS = Fact(
    "replicas",
    "a replica type without a number has one replica",
    "documented",
    "t9k-semantics §4.1, API reference: ReplicaSpec.replicas",
    1,
)
DEBUG = Fact(
    "debug.command",
    "in debug mode containers sleep unless another command is given",
    "documented",
    "t9k-semantics §1.1, API reference: ReplicaDebugSet",
    ["sleep", "inf"],
)
DEBUG_ARGS = Fact(
    "debug.args",
    "where debug mode replaces the command, the arguments of the template are dropped",
    "assumed",
    "t9k-semantics §1.1, tutorial examples: job/debug",
)
SKIP_INIT = Fact(
    "skip-init-container",
    "skipInitContainer leaves the init containers out",
    "documented",
    "t9k-semantics §1.1, API reference: ReplicaDebugSet",
)
HEADLESS_SERVICE = Fact(
    "service.per-replica",
    "each replica gets a headless Service of its own name",
    "anchored",
    "t9k-semantics §4.4, §5.6; lowering-anchors §1.1, §1.9",
)

# --- GenericJob -----------------------------------------------------------------------------------

GENERIC_LABELS = Fact(
    "generic.labels",
    "the labels genericjob and genericjob-replica name the job and the replica",
    "documented",
    "t9k-semantics §2.3, user manual: use-podgroup",
)
GENERIC_SERVICE = Fact(
    "generic.service",
    "a service section gives every replica a Service called <base>-<type>-<rank>",
    "documented",
    "t9k-semantics §4.4, user manual: genericjob",
)
GENERIC_SUBSTITUTION = Fact(
    "generic.substitution",
    "the controller replaces $(type), $(rank), $(replicas[T]) and $(service…) in command, args and env values",
    "documented",
    "t9k-semantics §4.3, user manual: genericjob",
)

# --- PyTorchTrainingJob ---------------------------------------------------------------------------

PYTORCH_MASTER_ADDR = Fact(
    "pytorch.master-addr",
    "MASTER_ADDR is the name of the first replica of the first type, before the env of the template",
    "anchored",
    "t9k-semantics §5.2; lowering-anchors §1.1, §1.5",
)
PYTORCH_MASTER_PORT = Fact(
    "pytorch.master-port",
    "MASTER_PORT is 23456",
    "anchored",
    "t9k-semantics §5.2; lowering-anchors §1.1, §1.5",
    23456,
)
PYTORCH_PORT_NAME = Fact(
    "pytorch.master-port-name",
    "the port of the rendezvous is declared on the training container and on the Service",
    "anchored",
    "lowering-anchors §1.1, §1.5",
    "pytorchjob-port",
)
PYTORCH_RANK = Fact(
    "pytorch.rank",
    "RANK counts the replicas of all types in the order of replicaSpecs",
    "documented",
    "t9k-semantics §5.2, tutorial examples: pytorchtrainingjob/ps",
)
PYTORCH_WORLD_SIZE = Fact(
    "pytorch.world-size",
    "WORLD_SIZE is the number of all replicas: one process each",
    "documented",
    "t9k-semantics §5.2, tutorial examples: pytorchtrainingjob/ps",
)
PYTORCH_TRAINING_CONTAINER = Fact(
    "pytorch.training-container",
    "the training container is the one called python, else the first",
    "documented",
    "t9k-semantics §5.3, user manual: pytorchtrainingjob",
    "python",
)
TORCHRUN = Fact(
    "pytorch.torchrun",
    "torchrun takes the place of the command, and the args of the container follow it",
    "documented",
    "t9k-semantics §5.3, user manual: pytorchtrainingjob",
)
TORCHRUN_ARGUMENTS = Fact(
    "pytorch.torchrun-arguments",
    "torchrun is told the nodes, the processes, the rendezvous, the restarts and the replica type as role",
    "assumed",
    "t9k-semantics §5.3, tutorial examples: pytorchtrainingjob/ddp/job_torchrun.yaml",
)
RDZV_BACKEND = Fact(
    "pytorch.rdzv-backend",
    "the rendezvous backend is c10d unless another is given",
    "documented",
    "t9k-semantics §5.1, API reference: TorchrunConfig.rdzvBackend",
    "c10d",
)
ELASTIC_REPLICAS = Fact(
    "elastic.replicas",
    "an elastic job has expectedReplicas Pods",
    "documented",
    "t9k-semantics §5.1, API reference: ElasticConfig.expectedReplicas",
)
ELASTIC_SHARES = Fact(
    "elastic.scaling-weight",
    "expectedReplicas are shared among the types by scalingWeight, largest remainder first, 1 where none is given",
    "assumed",
    "t9k-semantics §5.3",
)
TENSORBOARD = Fact(
    "pytorch.tensorboard",
    "a tensorboardSpec gives the job a TensorBoard of the base name",
    "documented",
    "t9k-semantics §5.4, status of a running job",
)

# --- what compiling a profile writes out ----------------------------------------------------------

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
    "shm: auto without a size in the hardware class is half of the memory limit, as tmpfs takes half of memory",
    "documented",
    "docs/profile-fields.md; Linux kernel documentation: filesystems/tmpfs, mount option size",
)
SHM_VOLUME = Fact(
    "profile.shm-volume",
    "/dev/shm is an emptyDir in memory called dshm",
    "documented",
    "docs/profile-fields.md; Kubernetes documentation: volumes, emptyDir",
)
CONTAINER_NAME = Fact(
    "profile.container-name",
    "the training container is called pytorch, worker, launcher or like its role, unless container.name differs",
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
