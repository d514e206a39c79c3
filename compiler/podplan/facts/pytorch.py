"""What the controller of PyTorchTrainingJob does."""

from __future__ import annotations

from podplan.provenance import Fact

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
