"""Behaviors of the training operator.

All were observed in the objects that operator 1.9.4 created for several hundred custom resources;
docs/evidence/training-operator.md describes them and names the source files.
"""

from __future__ import annotations

from podplan.core.provenance import Behavior
from podplan.core.typing import Any

_PAGE = "docs/evidence/training-operator.md"
NONE, VOLCANO, SCHEDULER_PLUGINS = "none", "volcano", "scheduler-plugins"


def _verified(id_: str, text: str, section: str, *options: Any) -> Behavior:
    """Build a behavior that a real operator showed; ``options`` are its default, choices and placeholders."""
    return Behavior(id_, text, "verified", f"{_PAGE}#{section}", *options)


# Behaviors that flags of the operator change.
GANG_SCHEDULER = _verified(
    "gang-scheduler",
    "the operator creates no PodGroup",
    "gang-scheduling",
    NONE,
    (NONE, VOLCANO, SCHEDULER_PLUGINS),
)
SCHEDULER_NAME = _verified(
    "training-operator.scheduler-name",
    'with `gang-scheduler = "scheduler-plugins"` Pods get the value of the operator\'s flag as schedulerName',
    "gang-scheduling",
    "scheduler-plugins",
)
INIT_IMAGE = _verified(
    "training-operator.init-image",
    "the init container of PyTorchJob workers runs this image",
    "init-container-of-workers",
    "alpine:3.10",
)
INIT_TRIES = _verified(
    "training-operator.init-tries",
    "the init container of PyTorchJob workers looks for the master so many times, every two seconds",
    "init-container-of-workers",
    100,
)
INIT_TEMPLATE = _verified(
    "training-operator.init-template",
    "the operator finds no init container template in /etc/config/initContainer.yaml",
    "init-container-of-workers",
    "",
)
KUBECTL_IMAGE = _verified(
    "training-operator.kubectl-delivery-image",
    "the init container of MPIJob launchers runs this image",
    "objects-of-mpijob",
    "ghcr.io/kubeflow/training-v1/kubectl-delivery:latest",
)
CLUSTER_DOMAIN = _verified(
    "training-operator.cluster-domain",
    "host names in TF_CONFIG end in .svc, without a cluster domain",
    "tf_config",
    "",
)

# Behaviors that no flag changes.
POD = _verified("training-operator.pod", "the operator creates one Pod for each replica", "pods")
POD_NAME = _verified("training-operator.pod-name", "Pods and Services are called JOB-TYPE-INDEX", "pods")
LABELS = _verified(
    "training-operator.labels", "Pods and Services are labelled with job, type and index", "pods"
)
MAIN_LABEL = _verified(
    "training-operator.main-label", "the Pod that decides over the job has job-role: master", "pods"
)
OWNER = _verified("training-operator.owner", "the job owns what the operator creates for it", "pods")
DEFAULT_REPLICAS = _verified(
    "training-operator.default-replicas", "a replica type has one replica without `replicas`", "defaults"
)
DEFAULT_WORKERS_MPI = _verified(
    "training-operator.default-workers-mpi", "an MPIJob has no workers without `replicas`", "defaults"
)
RESTART_POLICY = _verified(
    "training-operator.restart-policy",
    "restartPolicy of the replica type replaces that of the template; ExitCode becomes Never",
    "restart-policy",
)
DEFAULT_PORT = _verified(
    "training-operator.default-port",
    "the training container gets the port of the kind unless it has one of that name",
    "defaults",
)
SERVICE = _verified(
    "training-operator.service", "the operator creates a headless Service for each Pod", "services"
)
QUANTITY = _verified("training-operator.quantity", "quantities are written in their shortest kind", "pods")
PROTOCOL = _verified("training-operator.protocol", "the API server sets protocol: TCP on ports", "defaults")
ENVIRONMENT = _verified(
    "training-operator.environment",
    "the operator adds its variables after those of the container, and the last of one name counts",
    "environment",
)
TF_CONFIG = _verified(
    "training-operator.tf-config", "TF_CONFIG lists all replicas, if there are two or more", "tf_config"
)
ELASTIC_BOUNDS = _verified(
    "training-operator.elastic-bounds",
    "without minReplicas and maxReplicas both are the number of workers, with one the other is the same",
    "elastic-policy",
)
INIT_CONTAINER = _verified(
    "training-operator.init-container",
    "workers of a PyTorchJob with a Master wait in an init container until DNS knows the master",
    "init-container-of-workers",
)
AUTOSCALER = _verified(
    "training-operator.autoscaler",
    "elasticPolicy with metrics makes a HorizontalPodAutoscaler of the job",
    "elastic-policy",
)
POD_GROUP = _verified(
    "training-operator.pod-group",
    "with a gang scheduler the operator creates a PodGroup called like the job",
    "gang-scheduling",
)
MIN_MEMBER = _verified(
    "training-operator.min-member", "the gang is all Pods of the job without minAvailable", "gang-scheduling"
)
MIN_RESOURCES = _verified(
    "training-operator.min-resources",
    "minResources adds up the requests of the containers, or the limits of those without any requests",
    "gang-scheduling",
)
VOLCANO_QUEUE = _verified(
    "training-operator.volcano-queue", "the queue is default without one", "gang-scheduling"
)
MPI_OBJECTS = _verified(
    "training-operator.mpi-objects",
    "an MPIJob gets a ConfigMap, a ServiceAccount, a Role and a RoleBinding",
    "objects-of-mpijob",
)
MPI_WORKER = _verified(
    "training-operator.mpi-worker",
    "a worker without a command sleeps for a year, so that the launcher can start processes in it",
    "objects-of-mpijob",
)
MPI_LAUNCHER = _verified(
    "training-operator.mpi-launcher",
    "the launcher gets kubectl, the hostfile and variables by which mpirun reaches the workers",
    "objects-of-mpijob",
)
MPI_GPU_VARIABLES = _verified(
    "training-operator.mpi-gpu-variables",
    "a launcher without GPUs gets empty NVIDIA_VISIBLE_DEVICES and NVIDIA_DRIVER_CAPABILITIES",
    "objects-of-mpijob",
)

# Compiling a profile.
SPLIT = Behavior(
    "profile.training-operator-split",
    "replicas of a profile are one replica of the main type and workers for the rest",
    "documented",
    "docs/profile-fields.md",
)
SINGLE_REPLICA = Behavior(
    "profile.training-operator-single",
    "a replica type of which there is one has replicas: 1, which its webhook requires",
    "documented",
    "docs/evidence/training-operator.md#refusals",
)
TORCHRUN_PROGRAM = Behavior(
    "profile.training-operator-program",
    "torchrun takes a program that is no Python script with --no-python",
    "documented",
    "https://docs.pytorch.org/docs/stable/elastic/run.html",
)
