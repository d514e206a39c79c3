"""What the rest of podplan may ask about TrainJobs."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.typing import TYPE_CHECKING, Any
from podplan.kinds.spec import KindSpec, QueueIntegration, Reference
from podplan.kinds.trainer.validation import (
    explain_dropped_field,
    validate_references,
    validate_train_job,
)

if TYPE_CHECKING:
    from podplan.kinds.change_effects import ChangeRules
    from podplan.kinds.conversion import ConversionTarget
    from podplan.kinds.status_rules import JobsRules


_GROUP = "trainer.kubeflow.org"
CLUSTER_KIND = "ClusterTrainingRuntime"
RUNTIME_KINDS = (CLUSTER_KIND, "TrainingRuntime")
# The runtimes for a cluster that Trainer 2.3 ships, and their files in its repository. They are no part of
# podplan: a platform changes them, and its copies tell how.
_SHIPPED_PREFIX = "torchtune-"
_SHIPPED_RUNTIMES = frozenset(
    (
        "deepspeed-distributed",
        "jax-distributed",
        "mlx-distributed",
        "torch-distributed",
        "torch-distributed-with-cache",
        "xgboost-distributed",
    )
)
_SHIPPED_HELP = (
    "Kubeflow Trainer ships this runtime: put the one of your cluster into the repository with kubectl get"
    " clustertrainingruntime {name} -o yaml, or copy manifests/base/runtimes of kubeflow/trainer"
)
_JOB = "spec.template.spec.replicatedJobs[node].template.spec"
_POD_TEMPLATE = f"{_JOB}.template.spec"


def list_references(cr: Mapping[str, Any]) -> tuple[Reference, ...]:
    """The runtime of a TrainJob; without a kind it is one for the whole cluster."""
    metadata, written = cr.get("metadata") or {}, (cr.get("spec") or {}).get("runtimeRef") or {}
    kind = written.get("kind") or CLUSTER_KIND
    namespace = "" if kind == CLUSTER_KIND else str(metadata.get("namespace") or "")
    group, name = str(written.get("apiGroup") or _GROUP), str(written.get("name") or "")
    path = ("spec", "runtimeRef", "name")
    others = tuple(one for one in RUNTIME_KINDS if one != kind)
    is_shipped = kind == CLUSTER_KIND and (name in _SHIPPED_RUNTIMES or name.startswith(_SHIPPED_PREFIX))
    help_text = _SHIPPED_HELP.format(name=name) if is_shipped else ""
    return (Reference(group, str(kind), namespace, name, path, True, others, help_text),)


def load_status_rules() -> JobsRules:
    from podplan.kinds.trainer.status import STATUS_RULES

    return STATUS_RULES


def load_change_rules() -> ChangeRules:
    from podplan.kinds.trainer.change_effects import CHANGE_RULES

    return CHANGE_RULES


def load_conversion_target() -> ConversionTarget:
    """What becomes a TrainJob."""
    from podplan.kinds.trainer.migration.target import TARGET

    return TARGET


def load_queue_integration() -> QueueIntegration:
    """How Kueue sees TrainJobs."""
    from podplan.kinds.trainer.train_job import queueing

    return queueing.INTEGRATION


SPEC = KindSpec(
    plural="trainjobs",
    load_change_rules=load_change_rules,
    load_status_rules=load_status_rules,
    option_prefix="trainer",
    profile_fields=frozenset(("runtime", "launcher", "processes", "torchrun", "deadline")),
    required_profile_fields={
        "runtimeRef": (
            "runtime",
            "write runtime: NAME, the runtime that has the Pods, or runtime: {kind, name}",
        )
    },
    replaced_profile_fields={
        "restart": f"write restartPolicy into the Pod template of the runtime, at {_POD_TEMPLATE}",
        "retries": "write spec.template.spec.failurePolicy.maxRestarts into the runtime, or backoffLimit, "
        f"which counts Pods, at {_JOB}",
        "cleanUp": "its JobSet deletes Pods that run when it ends; to delete the others, too, write "
        "spec.template.spec.ttlSecondsAfterFinished into the runtime",
    },
    starter_fields={"cleanUp": "", "runtime": "{kind: TrainingRuntime, name: torch}"},
    starter_files={"runtimes/torch.yaml": "training-runtime.yaml"},
    schedulers=("kueue",),
    version_schemas={"2.1": "TrainJob.2.1", "2.2": "TrainJob.2.2"},
    validate_cr=validate_train_job,
    validate_references=validate_references,
    unknown_field_rule="SCHEMA012",
    explain_dropped_field=explain_dropped_field,
    traits=frozenset(
        (
            "training",
            "unique-variables",
            "deadline",
            "suspend",
            "kueue",
            "runtime",
            "conditional-torch-env",
            "host-by-index",
        )
    ),
    run_policy_path=("spec",),
    managers=("trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue"),
    owner_label="jobset.sigs.k8s.io/jobset-name",
    list_references=list_references,
    load_queue_integration=load_queue_integration,
    load_conversion_target=load_conversion_target,
)
