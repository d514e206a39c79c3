"""What the MPI Operator does, one behavior each.

Those that are verified were seen in what the operator 0.8.2 created for more than a hundred custom resources;
docs/evidence/mpi-operator.md describes them and names the source files.
"""

from __future__ import annotations

from podplan.core.provenance import Behavior
from podplan.core.typing import Any

_PAGE = "docs/evidence/mpi-operator.md"


def _verified(id_: str, text: str, section: str, *options: Any) -> Behavior:
    """A behavior that a real operator showed; ``options`` are its default, choices and placeholders."""
    return Behavior(f"mpi-operator.{id_}", text, "verified", f"{_PAGE}#{section}", *options)


# What flags of the operator change; gang-scheduler is shared with the training operator.
SCHEDULER_NAME = _verified(
    "scheduler-name",
    'with `gang-scheduler = "scheduler-plugins"` Pods get the value of the operator\'s flag as schedulerName',
    "gang-scheduling",
    "scheduler-plugins",
)
CLUSTER_DOMAIN = Behavior(
    "mpi-operator.cluster-domain",
    "host names in the hostfile end in .svc, without a cluster domain",
    "documented",
    f"{_PAGE}#hostfile",
    "",
)

# What no flag changes.
OBJECTS = _verified(
    "objects", "a job gets a headless Service, a ConfigMap, a Secret and a Job for its launcher", "objects"
)
NAMES = _verified("names", "what belongs to a job is called after it", "objects")
OWNER = _verified("owner", "the job owns what the operator creates for it", "objects")
LABELS = _verified("labels", "Pods are labelled with job, role and index", "pods")
SERVICE = _verified(
    "service",
    "one headless Service gives all Pods of a job a host name, before they are ready if the launcher works, "
    "too",
    "objects",
)
SSH_KEYS = _verified("ssh-keys", "the operator makes a random pair of ssh keys for each job", "ssh")
SSH_MOUNT = _verified("ssh-mount", "the first container of each Pod has the ssh keys mounted", "ssh")
HOSTFILE = _verified("hostfile", "the hostfile lists the workers with their slots", "hostfile")
DISCOVER_HOSTS = _verified(
    "discover-hosts",
    "discover_hosts.sh prints the hosts that run; when the operator creates it, no worker does",
    "hostfile",
)
WORKER = _verified("worker", "the operator creates a Pod JOB-worker-INDEX for each worker", "pods")
SSHD = _verified("sshd", "a worker without command and args runs sshd", "pods")
HOST_NAME = _verified("host-name", "hostname and subdomain of the template are replaced", "pods")
DNS = _verified("dns", "workers also look host names up in the domain of the Service", "pods")
HOST_NETWORK = _verified(
    "host-network", "Pods in the network of the node get dnsPolicy ClusterFirstWithHostNet", "pods"
)
QUANTITY = _verified("quantity", "quantities are written in their shortest form", "pods")
PROTOCOL = _verified("protocol", "ports without a protocol get TCP", "pods")
RESTART_POLICY = _verified(
    "restart-policy",
    "restartPolicy of the replica type replaces that of the template; it is OnFailure for a launcher and "
    "Never for a worker without one",
    "defaults",
)
ENVIRONMENT = _verified(
    "environment",
    "the operator adds its variables after those of the first container, and the last of one name counts",
    "launcher",
)
GPU_VARIABLES = _verified(
    "gpu-variables",
    "a launcher that does not work as a worker gets empty NVIDIA_VISIBLE_DEVICES and "
    "NVIDIA_DRIVER_CAPABILITIES, which hide its GPUs",
    "launcher",
)
LAUNCHER = _verified("launcher", "the launcher is a Job JOB-launcher, which has one Pod", "launcher")
SUSPEND = Behavior(
    "mpi-operator.suspend",
    "a suspended job has no workers, and its launcher is suspended",
    "documented",
    f"{_PAGE}#suspend",
)
POD_GROUP = _verified(
    "pod-group",
    "with a gang scheduler the operator creates a PodGroup called like the job",
    "gang-scheduling",
)
MIN_MEMBER = _verified(
    "min-member", "the gang is the workers and the launcher without minAvailable", "gang-scheduling"
)
MIN_RESOURCES = _verified(
    "min-resources",
    "minResources adds up what the containers request, and the limits of resources that they do not request",
    "gang-scheduling",
)
CUT_WORKERS = Behavior(
    "mpi-operator.cut-workers",
    "with minAvailable below the number of Pods minResources is taken to count fewer workers; the operator"
    " counts fewer launchers if the PriorityClass of the workers has the higher value",
    "assumed",
    f"{_PAGE}#gangs-of-fewer-pods",
)
VOLCANO_QUEUE = _verified(
    "volcano-queue",
    "without schedulingPolicy.queue the queue is that of the annotation scheduling.volcano.sh/queue-name",
    "gang-scheduling",
)
