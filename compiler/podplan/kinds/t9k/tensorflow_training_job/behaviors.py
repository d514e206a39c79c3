"""Behaviors of the controller of TensorFlowTrainingJob."""

from __future__ import annotations

from podplan.core.provenance import Behavior

TENSORFLOW_TRAINING_CONTAINER = Behavior(
    "tensorflow.training-container",
    "the training container is the one called tensorflow, else the first",
    "documented",
    "docs/evidence/t9k-tensorflowtrainingjob.md#training-container",
    "tensorflow",
)
TENSORFLOW_CONFIG = Behavior(
    "tensorflow.config",
    "TF_CONFIG lists the replicas of each type under cluster, and names the replica itself under task",
    "documented",
    "docs/evidence/t9k-tensorflowtrainingjob.md#tf_config",
)
TENSORFLOW_ADDRESS = Behavior(
    "tensorflow.address",
    "TF_CONFIG has a replica by the name of its Service with the namespace and svc, and the port",
    "documented",
    "docs/evidence/t9k-tensorflowtrainingjob.md#tf_config",
    "{host}.{namespace}.svc:{port}",
    placeholders=("host", "namespace", "port", "base", "job"),
)
TENSORFLOW_ENVIRONMENT = Behavior(
    "tensorflow.cloud-environment",
    'TF_CONFIG ends with "environment": "cloud"',
    "anchored",
    "docs/evidence/t9k-tensorflowtrainingjob.md#form-of-tf_config",
    True,
)
TENSORFLOW_EVALUATOR = Behavior(
    "tensorflow.evaluator-in-cluster",
    "evaluators are not in the cluster of TF_CONFIG, as in the controller whose labels T9k has",
    "assumed",
    "docs/evidence/t9k-tensorflowtrainingjob.md#evaluator",
    False,
)
TENSORFLOW_SINGLE = Behavior(
    "tensorflow.config-of-one-replica",
    "a job with one replica gets no TF_CONFIG: it is not distributed",
    "anchored",
    "docs/evidence/t9k-tensorflowtrainingjob.md#form-of-tf_config",
    False,
)
TENSORFLOW_PORT = Behavior(
    "tensorflow.port",
    "the replicas listen on port 2222",
    "documented",
    "docs/evidence/t9k-tensorflowtrainingjob.md#port",
    2222,
)
TENSORFLOW_PORT_NAME = Behavior(
    "tensorflow.port-name",
    "the port is called tfjob-port",
    "anchored",
    "docs/evidence/t9k-tensorflowtrainingjob.md#port",
    "tfjob-port",
)
TENSORFLOW_PORT_BY_NAME = Behavior(
    "tensorflow.port-by-name",
    "a container port of that name that the master declares does not replace 2222",
    "assumed",
    "docs/evidence/t9k-tensorflowtrainingjob.md#port",
    False,
)
TENSORFLOW_DECLARES_PORT = Behavior(
    "tensorflow.declares-port",
    "the training container declares the port, unless it does so itself",
    "anchored",
    "docs/evidence/t9k-tensorflowtrainingjob.md#port",
    True,
)
TENSORFLOW_ENV_ORDER = Behavior(
    "tensorflow.env-order",
    "TF_CONFIG stands after the variables of the template, and replaces one of that name",
    "anchored",
    "docs/evidence/t9k-tensorflowtrainingjob.md#form-of-tf_config",
    "after",
    ("before", "after"),
)
TENSORFLOW_ENV_CONTAINERS = Behavior(
    "tensorflow.env-containers",
    "the training container alone gets TF_CONFIG",
    "anchored",
    "docs/evidence/t9k-tensorflowtrainingjob.md#form-of-tf_config",
    "training",
    ("all", "training"),
)
TENSORFLOW_TENSORBOARD = Behavior(
    "tensorflow.tensorboard",
    "a tensorboardSpec gives the job a TensorBoard of the base name",
    "documented",
    "docs/evidence/t9k-tensorflowtrainingjob.md#tensorboard",
)
