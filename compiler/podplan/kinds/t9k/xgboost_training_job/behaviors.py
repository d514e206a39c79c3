"""Behaviors of the controller of XGBoostTrainingJob."""

from __future__ import annotations

from podplan.core.provenance import Behavior

XGBOOST_TRAINING_CONTAINER = Behavior(
    "xgboost.training-container",
    "the training container is the one called xgboost, else the first",
    "documented",
    "docs/evidence/t9k-xgboosttrainingjob.md#training-container",
    "xgboost",
)
XGBOOST_RANK = Behavior(
    "xgboost.rank",
    "RANK is 0 for the master, and counts on through the workers",
    "documented",
    "docs/evidence/t9k-xgboosttrainingjob.md#environment",
)
XGBOOST_WORLD_SIZE = Behavior(
    "xgboost.world-size",
    "WORLD_SIZE is the number of all replicas, the master included",
    "documented",
    "docs/evidence/t9k-xgboosttrainingjob.md#environment",
)
XGBOOST_MASTER_ADDR = Behavior(
    "xgboost.master-addr",
    "MASTER_ADDR is the name of the Service of master-0, without its namespace",
    "assumed",
    "docs/evidence/t9k-xgboosttrainingjob.md#values-of-the-environment",
    "{host}",
    placeholders=("host", "namespace", "base", "job"),
)
XGBOOST_ENV = Behavior(
    "xgboost.env",
    "the variables are MASTER_PORT, MASTER_ADDR, WORLD_SIZE and RANK",
    "documented",
    "docs/evidence/t9k-xgboosttrainingjob.md#environment",
    {
        "MASTER_PORT": "{master-port}",
        "MASTER_ADDR": "{master-addr}",
        "WORLD_SIZE": "{world-size}",
        "RANK": "{rank}",
    },
    placeholders=("master-port", "master-addr", "world-size", "rank", "type", "index", "base", "job"),
)
XGBOOST_PORT = Behavior(
    "xgboost.port",
    "MASTER_PORT is 9999 unless the master declares a port of the name of the controller",
    "assumed",
    "docs/evidence/t9k-xgboosttrainingjob.md#port",
    9999,
)
XGBOOST_PORT_NAME = Behavior(
    "xgboost.port-name",
    "the port is called xgboost-port",
    "documented",
    "docs/evidence/t9k-xgboosttrainingjob.md#port",
    "xgboost-port",
)
XGBOOST_PORT_BY_NAME = Behavior(
    "xgboost.port-by-name",
    "a port of that name that the training container of the master declares is MASTER_PORT",
    "anchored",
    "docs/evidence/t9k-xgboosttrainingjob.md#port",
    True,
)
XGBOOST_DECLARES_PORT = Behavior(
    "xgboost.declares-port",
    "the training container declares the port, unless it does so itself",
    "anchored",
    "docs/evidence/t9k-xgboosttrainingjob.md#port",
    True,
)
XGBOOST_ENV_ORDER = Behavior(
    "xgboost.env-order",
    "the variables stand after those of the template, and replace those of the same name",
    "anchored",
    "docs/evidence/t9k-xgboosttrainingjob.md#values-of-the-environment",
    "after",
    ("before", "after"),
)
XGBOOST_ENV_CONTAINERS = Behavior(
    "xgboost.env-containers",
    "all containers get the variables, not the training container alone",
    "anchored",
    "docs/evidence/t9k-xgboosttrainingjob.md#values-of-the-environment",
    "all",
    ("all", "training"),
)

# How a profile becomes a job.
XGBOOST_SPLIT = Behavior(
    "profile.xgboost-split",
    "replicas of a profile are one master and workers for the rest",
    "documented",
    "docs/profile-fields.md",
)
