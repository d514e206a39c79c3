"""What controllers do when replicas end: restarts, the end of the job, and clean-up."""

from __future__ import annotations

from podplan.core.provenance import Behavior

_RESTART_CHOICES = ("Never", "OnFailure", "Always")
_CLEAN_UP_CHOICES = ("None", "Unfinished", "All")

RESTART_POLICY = Behavior(
    "restart.policy",
    "the restart policy is OnFailure unless another is given",
    "documented",
    "docs/evidence/t9k-common.md#default-restart-policy",
    "OnFailure",
    _RESTART_CHOICES,
)
RESTART_POLICY_PYTORCH = Behavior(
    "restart.policy-pytorch",
    "the restart policy is OnFailure unless another is given, as for the other kinds",
    "assumed",
    "docs/evidence/t9k-common.md#default-restart-policy",
    "OnFailure",
    (*_RESTART_CHOICES, "ExitCode"),
)
RESTART_POLICY_TENSORFLOW = Behavior(
    "restart.policy-tensorflow",
    "the restart policy of a TensorFlowTrainingJob is OnFailure unless another is given, as for other kinds",
    "assumed",
    "docs/evidence/t9k-common.md#default-restart-policy",
    "OnFailure",
    (*_RESTART_CHOICES, "ExitCode"),
)
RESTART_NEVER_AGAIN = Behavior(
    "restart.never",
    "Never: a replica that has ended is not started again",
    "documented",
    "docs/evidence/t9k-common.md#meaning-of-the-restart-policies",
)
RESTART_ON_FAILURE = Behavior(
    "restart.on-failure",
    "OnFailure: a replica that has failed is started again, whatever its exit code",
    "documented",
    "docs/evidence/t9k-common.md#meaning-of-the-restart-policies",
)
RESTART_ALWAYS = Behavior(
    "restart.always",
    "Always: a replica that has ended is started again, even after success, which may keep a job from ending",
    "documented",
    "docs/evidence/t9k-common.md#meaning-of-the-restart-policies",
)
RESTART_EXIT_CODE = Behavior(
    "restart.exit-code",
    "ExitCode: a replica is started again after the exit codes 130, 137, 138 and 143; any other is final",
    "documented",
    "docs/evidence/t9k-common.md#exitcode",
    [130, 137, 138, 143],
)
BACKOFF_LIMIT = Behavior(
    "restart.backoff-limit",
    "all replicas share the restarts that backoffLimit grants: 3 unless another number is given",
    "documented",
    "docs/evidence/t9k-common.md#backoff-limit",
    3,
)
BACKOFF_LIMIT_DEEPSPEED = Behavior(
    "restart.backoff-limit-deepspeed",
    "all workers share the restarts of backoffLimit: 3 unless another number is given, as for PyTorch",
    "assumed",
    "docs/evidence/t9k-common.md#backoff-limit",
    3,
)
BACKOFF_LIMIT_TYPED = Behavior(
    "restart.backoff-limit-of-master",
    "all replicas of a job with a master share the restarts of backoffLimit: 3 unless it is given",
    "assumed",
    "docs/evidence/t9k-common.md#backoff-limit",
    3,
)
RESTART_LIMIT = Behavior(
    "restart.limit",
    "restartPolicy.limit is the maximum number of restarts, and 0 unless a number is given",
    "documented",
    "docs/evidence/t9k-genericjob.md#restart-limit",
    0,
)
RESTART_LIMIT_SHARED = Behavior(
    "restart.limit-shared",
    "the replicas of a type share these restarts; the API reference does not say whether each has its own",
    "assumed",
    "docs/evidence/t9k-genericjob.md#restart-limit",
)
RESTART_ORDER = Behavior(
    "restart.order",
    "restarts that do not suffice for all go to the first replicas, in the order of the types and ranks",
    "assumed",
    "docs/evidence/t9k-common.md#order-of-restarts",
)
RESTART_WHEN_ENDED = Behavior(
    "restart.when-ended",
    "a job that ends starts nothing again, not even replicas that it has restarts for",
    "assumed",
    "docs/evidence/t9k-common.md#restarts-of-a-job-that-ends",
)
RESTART_COLOSSALAI = Behavior(
    "restart.colossalai",
    "no replica is started again: it would not join the training any more",
    "documented",
    "docs/evidence/t9k-colossalaijob.md#no-restart",
)
RESTART_MPI = Behavior(
    "restart.mpi",
    "no replica of an MPIJob is started again: mpirun would not take it up",
    "assumed",
    "docs/evidence/t9k-mpijob.md#no-restart",
)
DELETED_REPLICA = Behavior(
    "restart.gone",
    "the controller creates a Pod anew that somebody else has deleted, and does not count that as a restart",
    "assumed",
    "docs/evidence/t9k-common.md#deleted-pods",
)
OUTCOME_PYTORCH = Behavior(
    "outcome.pytorch",
    "the first replica is the master, and decides alone: the job succeeds with it, and fails with it once it "
    "is not started again",
    "documented",
    "docs/evidence/t9k-pytorchtrainingjob.md#success-and-failure",
)
OUTCOME_TENSORFLOW = Behavior(
    "outcome.tensorflow",
    "the chief, else worker-0, is the master and decides alone: the job succeeds with it, and fails with it "
    "once it is not started again",
    "documented",
    "docs/evidence/t9k-tensorflowtrainingjob.md#master",
)
OUTCOME_XGBOOST = Behavior(
    "outcome.xgboost",
    "the master decides alone: the job succeeds with it, and fails with it once it is not started again",
    "documented",
    "docs/evidence/t9k-xgboosttrainingjob.md#master-replica",
)
OUTCOME_DEEPSPEED = Behavior(
    "outcome.deepspeed",
    "worker-0 decides alone: the job succeeds with it, and fails with it once it is not started again",
    "documented",
    "docs/evidence/t9k-deepspeedjob.md#success-and-failure",
)
OUTCOME_COLOSSALAI = Behavior(
    "outcome.colossalai",
    "the launcher decides alone; when it ends with 0 the job has finished, and only its log tells how",
    "documented",
    "docs/evidence/t9k-colossalaijob.md#success-and-failure",
)
OUTCOME_MPI = Behavior(
    "outcome.mpi",
    "the launcher decides alone; when mpirun ends with 0 the job has finished, and only its log tells how",
    "documented",
    "docs/evidence/t9k-mpijob.md#success-and-failure",
)
SUCCESS_RULES = Behavior(
    "outcome.success-rules",
    "the job succeeds as soon as all replicas that one of its successRules lists have completed",
    "documented",
    "docs/evidence/t9k-genericjob.md#success-rules",
)
SUCCESS_WITHOUT_RULES = Behavior(
    "outcome.success-without-rules",
    "a job without successRules succeeds when all replicas have completed",
    "assumed",
    "docs/evidence/t9k-genericjob.md#no-success-rules",
)
FAILURE_RULES = Behavior(
    "outcome.failure-rules",
    "the job fails as soon as all replicas that one of its failureRules lists have failed, and none "
    "of them is started again",
    "documented",
    "docs/evidence/t9k-genericjob.md#failure-rules",
)
FAILURE_WITHOUT_RULES = Behavior(
    "outcome.failure-without-rules",
    "a job without successRules fails once a replica has failed that is not started again",
    "assumed",
    "docs/evidence/t9k-genericjob.md#no-failure-rules",
)
SUCCESS_RULES_UNREACHABLE = Behavior(
    "outcome.out-of-reach",
    "the job fails when restarts are used up and none of its successRules can be fulfilled any more",
    "documented",
    "docs/evidence/t9k-genericjob.md#unreachable-success",
)
DEADLINE = Behavior(
    "outcome.deadline",
    "the job fails once it has run for longer than activeDeadlineSeconds",
    "documented",
    "docs/evidence/t9k-common.md#active-deadline",
)
CLEAN_UP_NONE = Behavior(
    "clean-up.none",
    "None: the Pods of a job that has ended stay, and those that run go on running",
    "documented",
    "docs/evidence/t9k-common.md#clean-up-policy",
)
CLEAN_UP_UNFINISHED = Behavior(
    "clean-up.unfinished",
    "Unfinished: when a job ends, its Pods that are Pending, Running or Unknown are deleted",
    "documented",
    "docs/evidence/t9k-common.md#clean-up-policy",
)
CLEAN_UP_ALL = Behavior(
    "clean-up.all",
    "All: when a job ends, all its Pods are deleted, and their logs with them",
    "documented",
    "docs/evidence/t9k-common.md#clean-up-policy",
)
CLEAN_UP_DEFAULT = Behavior(
    "clean-up.default",
    "the clean-up policy is None unless another is given",
    "documented",
    "docs/evidence/t9k-common.md#default-clean-up-policy",
    "None",
    _CLEAN_UP_CHOICES,
)
CLEAN_UP_DEFAULT_ASSUMED = Behavior(
    "clean-up.default-run-policy",
    "the clean-up policy is None unless another is given, as for GenericJob",
    "assumed",
    "docs/evidence/t9k-common.md#default-clean-up-policy",
    "None",
    _CLEAN_UP_CHOICES,
)
CLEAN_UP_WORKERS = Behavior(
    "clean-up.workers",
    "cleanUpWorkers deletes the workers when the job has ended, and never the launcher",
    "documented",
    "docs/evidence/t9k-common.md#clean-up-of-workers",
)
