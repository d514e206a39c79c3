"""Behaviors of the controller of PyTorchTrainingJob."""

from __future__ import annotations

from podplan.core.provenance import Behavior

TORCHRUN_WORDS = (
    *("master-addr", "master-port", "nnodes", "replicas", "processes", "rdzv-backend", "max-restarts"),
    *("type", "base", "job"),
)
PYTORCH_MASTER_ADDR = Behavior(
    "pytorch.master-addr",
    "MASTER_ADDR is the name of the first replica of the first type",
    "anchored",
    "docs/evidence/t9k-pytorchtrainingjob.md#master_addr",
)
PYTORCH_MASTER_PORT = Behavior(
    "pytorch.master-port",
    "MASTER_PORT is 23456",
    "anchored",
    "docs/evidence/t9k-pytorchtrainingjob.md#master_port",
    23456,
)
PYTORCH_PORT_NAME = Behavior(
    "pytorch.master-port-name",
    "the port of the rendezvous is declared on the training container and on the Service",
    "anchored",
    "docs/evidence/t9k-pytorchtrainingjob.md#rendezvous-port-of-the-container",
    "pytorchjob-port",
)
PYTORCH_PORT_BY_NAME = Behavior(
    "pytorch.port-by-name",
    "a port of that name that the training container of rank 0 declares is the port of the rendezvous",
    "anchored",
    "Kubeflow's operators look the port up by its name: https://github.com/kubeflow/training-operator/blob/"
    "v1.9.0/pkg/controller.v1/pytorch/envvar.go, .../pkg/controller.v1/xgboost/xgboost.go",
    True,
)
PYTORCH_RANK = Behavior(
    "pytorch.rank",
    "RANK counts the replicas of all types in the order of replicaSpecs",
    "documented",
    "docs/evidence/t9k-pytorchtrainingjob.md#ranks",
)
PYTORCH_WORLD_SIZE = Behavior(
    "pytorch.world-size",
    "WORLD_SIZE is the number of all replicas: one process each",
    "documented",
    "docs/evidence/t9k-pytorchtrainingjob.md#world-size",
    "replicas",
    ("replicas", "processes"),
)
PYTORCH_ENV = Behavior(
    "pytorch.env",
    "without torchrun the variables are MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE",
    "documented",
    "docs/evidence/t9k-pytorchtrainingjob.md#environment",
    {
        "MASTER_ADDR": "{master-addr}",
        "MASTER_PORT": "{master-port}",
        "RANK": "{rank}",
        "WORLD_SIZE": "{world-size}",
    },
    placeholders=(*TORCHRUN_WORDS, "rank", "world-size", "index"),
)
PYTORCH_TORCHRUN_ENV = Behavior(
    "pytorch.torchrun-env",
    "under torchrun, which sets the ranks itself, the variables are MASTER_ADDR and MASTER_PORT",
    "assumed",
    "docs/evidence/t9k-pytorchtrainingjob.md#environment-under-torchrun",
    {"MASTER_ADDR": "{master-addr}", "MASTER_PORT": "{master-port}"},
    placeholders=(*TORCHRUN_WORDS, "rank", "world-size", "index"),
)
PYTORCH_ENV_ORDER = Behavior(
    "pytorch.env-order",
    "the variables stand before those of the template, which can refer to them and replace them",
    "assumed",
    "docs/evidence/t9k-pytorchtrainingjob.md#order-of-the-environment",
    "before",
    ("before", "after"),
)
PYTORCH_ENV_CONTAINERS = Behavior(
    "pytorch.env-containers",
    "all containers get the variables, not the training container alone",
    "assumed",
    "docs/evidence/t9k-pytorchtrainingjob.md#containers-with-the-environment",
    "all",
    ("all", "training"),
)
PYTORCH_DECLARES_PORT = Behavior(
    "pytorch.declares-port",
    "the training container declares the port of the rendezvous, unless it does so itself",
    "anchored",
    "docs/evidence/t9k-pytorchtrainingjob.md#rendezvous-port-of-the-container",
    True,
)
PYTORCH_TRAINING_CONTAINER = Behavior(
    "pytorch.training-container",
    "the training container is the one called python, else the first",
    "documented",
    "docs/evidence/t9k-pytorchtrainingjob.md#training-container",
    "python",
)
TORCHRUN = Behavior(
    "pytorch.torchrun",
    "torchrun takes the place of the command, and the args of the container follow it",
    "documented",
    "docs/evidence/t9k-pytorchtrainingjob.md#torchrun-mode",
)
TORCHRUN_ARGUMENTS = Behavior(
    "pytorch.torchrun-arguments",
    "torchrun gets the nodes, the processes, the rendezvous, the restarts and the replica type as role",
    "assumed",
    "docs/evidence/t9k-pytorchtrainingjob.md#torchrun-options",
    [
        "torchrun",
        "--nnodes {nnodes}",
        "--nproc_per_node {processes}",
        "--rdzv_backend {rdzv-backend}",
        "--rdzv_endpoint $(MASTER_ADDR):$(MASTER_PORT)",
        "--max_restarts {max-restarts}",
        "--role {type}",
    ],
    placeholders=TORCHRUN_WORDS,
)
RDZV_BACKEND = Behavior(
    "pytorch.rdzv-backend",
    "the rendezvous backend is c10d unless another is given",
    "documented",
    "docs/evidence/t9k-pytorchtrainingjob.md#rendezvous-backend",
    "c10d",
)
ELASTIC_SHARES = Behavior(
    "elastic.scaling-weight",
    "the types share expectedReplicas by scalingWeight (1 where none is given), largest remainder first",
    "assumed",
    "docs/evidence/t9k-pytorchtrainingjob.md#scaling-weight",
    "largest-remainder",
    ("largest-remainder", "first", "last"),
)
TENSORBOARD = Behavior(
    "pytorch.tensorboard",
    "a tensorboardSpec gives the job a TensorBoard of the base name",
    "documented",
    "docs/evidence/t9k-pytorchtrainingjob.md#tensorboard",
)
