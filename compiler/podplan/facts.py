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
GENERATED_NAME = Fact(
    "name.generated",
    "the API server adds five random characters to generateName; xxxxx stands for them",
    "documented",
    "https://kubernetes.io/docs/reference/using-api/api-concepts/#generated-values",
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
)
DEBUG = Fact(
    "debug.command",
    "in debug mode containers sleep unless another command is given",
    "documented",
    "t9k-semantics §1.1, API reference: ReplicaDebugSet",
    ["sleep", "inf"],
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
    "$(type), $(rank), $(replicas[T]) and $(service…) are replaced in command, args and env values",
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
    "the types share expectedReplicas by scalingWeight (1 where none is given), largest remainder first",
    "assumed",
    "t9k-semantics §5.3",
)
TENSORBOARD = Fact(
    "pytorch.tensorboard",
    "a tensorboardSpec gives the job a TensorBoard of the base name",
    "documented",
    "t9k-semantics §5.4, status of a running job",
)

# --- kinds that start processes over ssh ----------------------------------------------------------

SSH_SECRET = Fact(
    "ssh.secret",
    "each job has a key pair of its own in a Secret <base>-ssh; podplan shows a placeholder for it",
    "anchored",
    "t9k-semantics §6.2, §8.3; lowering-anchors §1.2, §1.3, §1.5",
)
SSH_KEY_PLACEHOLDER = Fact(
    "ssh.key-placeholder",
    "the keys are made when the job is created; this text stands for them",
    "assumed",
    "t9k-semantics §8.3",
)
SSH_CLIENT = Fact(
    "ssh.client-config",
    "ssh is told not to ask about host keys, which are new for each Pod",
    "anchored",
    "t9k-semantics §6.4; lowering-anchors §1.3, §1.5",
    "Host *\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  ConnectionAttempts 10\n",
)
SSH_MOUNT_PATH = Fact(
    "ssh.auth-mount-path",
    "the keys are mounted at /root/.ssh unless another path is given",
    "documented",
    "t9k-semantics §3.1, §6.2, API reference: SSHConfig",
    "/root/.ssh",
)
SSH_MODE = Fact(
    "ssh.key-mode",
    "keys at /root/.ssh are readable by their owner only, as ssh demands; elsewhere the mode is left alone",
    "anchored",
    "t9k-semantics §8.3; lowering-anchors §1.3, §2.6",
    0o600,
)
SSH_PORT = Fact(
    "ssh.port",
    "sshd listens on port 22",
    "assumed",
    "t9k-semantics §6.4; lowering-anchors §1.5",
    22,
)
SSHD_PATH = Fact(
    "ssh.sshd-path",
    "sshd is at /usr/sbin/sshd unless another path is given",
    "documented",
    "t9k-semantics §3.1, §6.2",
    "/usr/sbin/sshd",
)
SSHD_ARGUMENTS = Fact(
    "ssh.sshd-arguments",
    "sshd stays in the foreground",
    "documented",
    "t9k-semantics §6.2, user manual: deepspeedjob",
    ["-D"],
)
SSHD = Fact(
    "ssh.sshd",
    "the training container of a worker runs sshd; its own command and args are ignored",
    "documented",
    "t9k-semantics §3.2, §6.2, user manual: colossalaijob, deepspeedjob",
)
JOB_FILES = Fact(
    "ssh.config-map",
    "the hostfile and the env file are in a ConfigMap <base>-config",
    "assumed",
    "t9k-semantics §6.4, §8.3; lowering-anchors §1.3",
)
HOSTFILE = Fact(
    "ssh.hostfile",
    "the hostfile has a line for each worker, by the name of its Service",
    "anchored",
    "t9k-semantics §3.3, §6.4; lowering-anchors §1.3, §2.3",
)

# --- DeepSpeedJob ---------------------------------------------------------------------------------

DEEPSPEED_TRAINING_CONTAINER = Fact(
    "deepspeed.training-container",
    "the training container is the one called worker, else the first",
    "documented",
    "t9k-semantics §6.2, user manual: deepspeedjob",
    "worker",
)
DEEPSPEED_COMMAND = Fact(
    "deepspeed.command",
    "worker-0 runs sshd and deepspeed in one shell; each word reaches deepspeed as it is written",
    "assumed",
    "t9k-semantics §6.2, §6.4; lowering-anchors §2.2",
)
DEEPSPEED_CUSTOM_COMMAND = Fact(
    "deepspeed.custom-command",
    "customCommand takes the place of deepspeed and its options",
    "documented",
    "t9k-semantics §6.1, API reference: Config.customCommand",
)
DEEPSPEED_DEBUG = Fact(
    "deepspeed.debug-command",
    "in debug mode every worker runs only sshd unless another command is given",
    "documented",
    "t9k-semantics §1.1, §6.2, user manual: deepspeedjob",
    ["/usr/sbin/sshd", "-D"],
)
DEEPSPEED_SLOTS = Fact(
    "deepspeed.slots-per-worker",
    "a worker has one slot unless slotsPerWorker says otherwise",
    "assumed",
    "t9k-semantics §6.1",
    1,
)
DEEPSPEED_HOSTFILE_PATH = Fact(
    "deepspeed.hostfile-path",
    "the hostfile is at /t9k/hostfile",
    "documented",
    "t9k-semantics §6.2, user manual: deepspeedjob",
    "/t9k/hostfile",
)
DEEPSPEED_ENV_FILE_PATH = Fact(
    "deepspeed.env-file-path",
    "the env file is at /root/.deepspeed_env",
    "documented",
    "t9k-semantics §6.2, §6.3, user manual: deepspeedjob",
    "/root/.deepspeed_env",
)
DEEPSPEED_ENV_FILE = Fact(
    "deepspeed.env-file",
    "the env file has a line NAME=VALUE for each variable of the training container that has a plain value",
    "assumed",
    "t9k-semantics §6.3; lowering-anchors §2.4",
)

# --- ColossalAIJob --------------------------------------------------------------------------------

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
