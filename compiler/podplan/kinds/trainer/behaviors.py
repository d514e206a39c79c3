"""What the TrainJob controller does, one behavior each.

Those that are verified were seen in what Trainer 2.3.0 created; docs/evidence/trainer.md describes them.
"""

from __future__ import annotations

from podplan.core.provenance import Behavior

_PAGE = "docs/evidence/trainer.md"


def _verified(id_: str, text: str, section: str) -> Behavior:
    return Behavior(f"trainer.{id_}", text, "verified", f"{_PAGE}#{section}")


JOBSET = _verified(
    "jobset", "a TrainJob becomes a JobSet of its name, made from the template of its runtime", "jobset"
)
NODES = _verified(
    "nodes", "parallelism and completions of each Job are the number of its nodes", "number-of-nodes"
)
LAUNCHER_NODE = _verified(
    "launcher-node", "a launcher that trains, too, counts as a node, but there is always another one", "mpi"
)
REPLICAS = _verified("replicas", "the jobs of the trainer and of the initializers have one Job", "jobset")
TRAINER = _verified(
    "trainer", "trainer replaces image, command and arguments of the container node", "jobset"
)
RESOURCES = _verified(
    "resources", "resourcesPerNode is merged into the resources of the runtime", "resources"
)
SUSPEND = _verified("suspend", "the JobSet is suspended with the TrainJob", "jobset")
PATCH = _verified("patch", "runtimePatches are merged into the runtime", "runtime-patches")
INITIALIZER = _verified("initializer", "an initializer gets its address as STORAGE_URI", "initializers")
SNAPSHOT = _verified(
    "snapshot", "a ConfigMap keeps the runtime as it is when the job is created", "runtime-snapshot"
)
OWNER = _verified("owner", "the TrainJob owns what the controller creates for it", "jobset")
TORCH = _verified("torch", "with spec.trainer, a torch runtime sets the variables of torchrun", "torch")
TORCH_PROCESSES = _verified(
    "torch-processes",
    "without numProcPerNode there are as many processes as GPUs, else as CPUs",
    "torch",
)
TUNE = _verified("torchtune", "the command tune run gets recipe, configuration and paths", "torchtune")
TUNE_ADAPTER = Behavior(
    "trainer.torchtune-adapter",
    "arguments for LoRA or QLoRA choose the recipe and the configuration of tune run",
    "documented",
    f"{_PAGE}#torchtune-adapters",
)
JAX = _verified("jax", "with spec.trainer, a jax runtime sets the variables of JAX", "jax")
XGBOOST = _verified(
    "xgboost", "with spec.trainer, an xgboost runtime sets the variables of XGBoost", "xgboost"
)
PORT = _verified("port", "the container node has the port 29500", "torch")
MPI = _verified("mpi", "the launcher gets a hostfile, and all nodes ssh keys", "mpi")
MPI_PROCESSES = _verified(
    "mpi-processes", "the slots of a node are numProcPerNode, or its GPUs if that is 1", "mpi"
)
SSH_KEYS = _verified("ssh-keys", "the controller makes a random pair of ssh keys", "mpi")
POD_GROUP = _verified(
    "pod-group", "podGroupPolicy makes a PodGroup of all Pods of the job", "gang-scheduling"
)
FLUX = _verified(
    "flux",
    "an init container installs Flux on each node, and a script starts the brokers and the command",
    "flux",
)
FLUX_SCRIPTS = _verified(
    "flux-scripts",
    "the scripts get the hosts, the resources and the numbers of nodes and processes",
    "flux",
)
