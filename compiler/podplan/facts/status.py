"""What controllers report of a job, and what they do when replicas end.

Facts whose value is a text are messages of conditions; ``{job}``, ``{kind}``, ``{pod}``, ``{code}`` and
``{rule}`` in them stand for what they say.
"""

from __future__ import annotations

from podplan.provenance import Fact

OF_JOB = ("kind", "job")  # words in messages
OF_POD = (*OF_JOB, "pod", "code")
_RESTARTS = ("Never", "OnFailure", "Always")
_CLEAN_UPS = ("None", "Unfinished", "All")

RESTART_POLICY = Fact(
    "restart.policy",
    "the restart policy is OnFailure unless another is given",
    "documented",
    "t9k-semantics §1.3, API reference: ReplicaSpec.restartPolicy, Worker.restartPolicy",
    "OnFailure",
    _RESTARTS,
)
RESTART_POLICY_PYTORCH = Fact(
    "restart.policy-pytorch",
    "the restart policy is OnFailure unless another is given, as for the other kinds",
    "assumed",
    "t9k-semantics §1.3, screenshots of the form that creates a job",
    "OnFailure",
    (*_RESTARTS, "ExitCode"),
)
RESTART_NEVER_AGAIN = Fact(
    "restart.never",
    "Never: a replica that has ended is not started again",
    "documented",
    "t9k-semantics §1.3, user manual: pytorchtrainingjob, genericjob",
)
RESTART_ON_FAILURE = Fact(
    "restart.on-failure",
    "OnFailure: a replica that has failed is started again, whatever its exit code",
    "documented",
    "t9k-semantics §1.3, user manual: pytorchtrainingjob, genericjob",
)
RESTART_ALWAYS = Fact(
    "restart.always",
    "Always: a replica that has ended is started again, even after success, which may keep a job from ending",
    "documented",
    "t9k-semantics §1.3, user manual: genericjob",
)
RESTART_EXIT_CODE = Fact(
    "restart.exit-code",
    "ExitCode: a replica is started again after the exit codes 130, 137, 138 and 143; any other is final",
    "documented",
    "t9k-semantics §1.3, user manual: pytorchtrainingjob",
    [130, 137, 138, 143],
)
BACKOFF_LIMIT = Fact(
    "restart.backoff-limit",
    "all replicas share the restarts that backoffLimit grants: 3 unless another number is given",
    "documented",
    "t9k-semantics §1.4, user manual: pytorchtrainingjob",
    3,
)
BACKOFF_LIMIT_DEEPSPEED = Fact(
    "restart.backoff-limit-deepspeed",
    "all workers share the restarts of backoffLimit: 3 unless another number is given, as for PyTorch",
    "assumed",
    "t9k-semantics §1.4",
    3,
)
RESTART_LIMIT = Fact(
    "restart.limit",
    "the replicas of a type share the restarts that its limit grants: none unless a number is given",
    "documented",
    "t9k-semantics §4.1, §4.2, API reference: RestartPolicy.limit",
    0,
)
RESTART_ORDER = Fact(
    "restart.order",
    "restarts that do not suffice for all go to the first replicas, in the order of the types and ranks",
    "assumed",
    "t9k-semantics §1.4",
)
RESTART_WHEN_ENDED = Fact(
    "restart.when-ended",
    "a job that ends starts nothing again, not even replicas that it has restarts for",
    "assumed",
    "t9k-semantics §1.4, §4.2",
)
RESTART_COLOSSALAI = Fact(
    "restart.colossalai",
    "no replica is started again: it would not join the training any more",
    "documented",
    "t9k-semantics §3.2, user manual: colossalaijob",
)
REPLICA_GONE = Fact(
    "restart.gone",
    "the controller creates a Pod anew that somebody else has deleted, and does not count that as a restart",
    "assumed",
    "lowering-anchors §1.1, as training-operator does",
)
OUTCOME_PYTORCH = Fact(
    "outcome.pytorch",
    "the first replica is the master, and decides alone: the job succeeds with it, and fails with it once it "
    "is not started again",
    "documented",
    "t9k-semantics §5.5, user manual: pytorchtrainingjob",
)
OUTCOME_DEEPSPEED = Fact(
    "outcome.deepspeed",
    "worker-0 decides alone: the job succeeds with it, and fails with it once it is not started again",
    "documented",
    "t9k-semantics §6.2, user manual: deepspeedjob",
)
OUTCOME_COLOSSALAI = Fact(
    "outcome.colossalai",
    "the launcher decides alone; when it ends with 0 the job has finished, and only its log tells how",
    "documented",
    "t9k-semantics §3.2, user manual: colossalaijob",
)
SUCCESS_RULES = Fact(
    "outcome.success-rules",
    "the job succeeds as soon as all replicas that one of its successRules lists have completed",
    "documented",
    "t9k-semantics §4.2, API reference: GenericJobSpec.successRules",
)
SUCCESS_WITHOUT_RULES = Fact(
    "outcome.success-without-rules",
    "a job without successRules succeeds when all replicas have completed",
    "assumed",
    "t9k-semantics §4.5",
)
FAILURE_RULES = Fact(
    "outcome.failure-rules",
    "the job fails as soon as all replicas that one of its failureRules lists have failed, and none "
    "of them is started again",
    "documented",
    "t9k-semantics §4.2, user manual: genericjob",
)
FAILURE_WITHOUT_RULES = Fact(
    "outcome.failure-without-rules",
    "a job without successRules fails once a replica has failed that is not started again",
    "assumed",
    "t9k-semantics §4.5",
)
RULES_OUT_OF_REACH = Fact(
    "outcome.out-of-reach",
    "the job fails when restarts are used up and none of its successRules can be fulfilled any more",
    "documented",
    "t9k-semantics §4.2, user manual: genericjob",
)
DEADLINE = Fact(
    "outcome.deadline",
    "the job fails once it has run for longer than activeDeadlineSeconds",
    "documented",
    "t9k-semantics §1.4, API reference: RunPolicy.activeDeadlineSeconds",
)
CLEAN_UP_NONE = Fact(
    "clean-up.none",
    "None: the Pods of a job that has ended stay, and those that run go on running",
    "documented",
    "t9k-semantics §1.4, user manual: genericjob",
)
CLEAN_UP_UNFINISHED = Fact(
    "clean-up.unfinished",
    "Unfinished: when a job ends, its Pods that are Pending, Running or Unknown are deleted",
    "documented",
    "t9k-semantics §1.4, user manual: genericjob",
)
CLEAN_UP_ALL = Fact(
    "clean-up.all",
    "All: when a job ends, all its Pods are deleted, and their logs with them",
    "documented",
    "t9k-semantics §1.4, user manual: genericjob",
)
CLEAN_UP_DEFAULT = Fact(
    "clean-up.default",
    "the clean-up policy is None unless another is given",
    "documented",
    "t9k-semantics §1.4, API reference: GenericJobSpec.cleanUpPolicy",
    "None",
    _CLEAN_UPS,
)
CLEAN_UP_DEFAULT_ASSUMED = Fact(
    "clean-up.default-run-policy",
    "the clean-up policy is None unless another is given, as for GenericJob",
    "assumed",
    "t9k-semantics §1.4",
    "None",
    _CLEAN_UPS,
)
CLEAN_UP_WORKERS = Fact(
    "clean-up.workers",
    "cleanUpWorkers deletes the workers when the job has ended, and never the launcher",
    "documented",
    "t9k-semantics §1.4, user manual: colossalaijob",
)
PAUSE = Fact(
    "status.paused",
    "a job that is paused has no Pods: those that it has are deleted",
    "documented",
    "t9k-semantics §1.1, user manual: jobs",
)
PHASE_PENDING = Fact(
    "status.pending",
    "a job is Pending until all replicas have started, an elastic one until minReplicas have",
    "assumed",
    "t9k-semantics §1.5, user manual: genericjob",
)
PHASE_RUNNING = Fact(
    "status.running",
    "a job whose replicas have started is Running until it ends, also while replicas are started again",
    "assumed",
    "t9k-semantics §1.5, user manual: genericjob",
)
PHASE_RESUMING = Fact(
    "status.resuming",
    "a job that goes on after a pause is Resuming until its replicas have started",
    "documented",
    "t9k-semantics §1.1, user manual: jobs",
)
PHASE_UNKNOWN = Fact(
    "status.unknown",
    "the phase of a job is Unknown where the replica that decides over it is",
    "assumed",
    "t9k-semantics §1.5, user manual: genericjob",
)
SAYS_INITIALIZED = Fact(
    "status.says-initialized",
    "what Initialized says",
    "documented",
    "t9k-semantics §1.5, status of real jobs",
    "The job has been initialized successfully.",
)
SAYS_NORMAL = Fact(
    "status.says-normal",
    'what Running and ReplicaFailure say while nothing is wrong; until 2023 "All pods are running normally."',
    "documented",
    "t9k-semantics §1.5, status of real jobs",
    "All pods are running normally or have completed successfully.",
)
SAYS_STILL_RUNNING = Fact(
    "status.says-still-running",
    "what Completed says of a job that has not ended",
    "documented",
    "t9k-semantics §1.5, screenshots of running jobs",
    "The job is still running.",
)
SAYS_NOT_ENDED = Fact(
    "status.says-not-ended",
    "what other conditions say of a job that has not ended, in the words of Completed",
    "assumed",
    "t9k-semantics §1.5",
    "The job is still running.",
)
SAYS_NOT_STARTED = Fact(
    "status.says-not-started",
    "what Running says before all replicas have started",
    "assumed",
    "t9k-semantics §1.5",
    "Not all pods are running yet.",
)
SAYS_PAUSED = Fact(
    "status.says-paused",
    "what the conditions of a job in pause mode say",
    "assumed",
    "t9k-semantics §1.1, §1.5",
    "The job is paused.",
)
SAYS_SUCCEEDED = Fact(
    "status.says-succeeded",
    "what Running, Failed and Completed say of a job that has succeeded",
    "documented",
    "t9k-semantics §1.5, status of real jobs",
    "The job has finished successfully.",
)
SAYS_FINISHED = Fact(
    "status.says-finished",
    "what ReplicaFailure says of a ColossalAIJob that has finished; its reason is Finished then",
    "documented",
    "user manual: colossalaijob, status of a real job",
    "The job has finished successfully",
)
SAYS_FAILED_RULE = Fact(
    "status.says-failed-rule",
    "what Running, Failed and Completed say where one of the failureRules is fulfilled",
    "documented",
    "t9k-semantics §1.5, status of a real job",
    "The job is failed with rule: {rule}",
    words=(*OF_JOB, "rule"),
)
SAYS_OUT_OF_REACH = Fact(
    "status.says-out-of-reach",
    "what Running, Failed and Completed say where none of the successRules can be fulfilled any more",
    "assumed",
    "t9k-semantics §4.2",
    "The job is failed: none of its success rules can be fulfilled any more.",
    words=OF_JOB,
)
SAYS_FAILED_DEEPSPEED = Fact(
    "status.says-failed-deepspeed",
    "what Running, Failed, Completed and ReplicaFailure say of a DeepSpeedJob that has failed",
    "documented",
    "t9k-semantics §1.5, status of a real job",
    "{kind} {job} has failed: {pod} failed with exit code {code}",
    words=OF_POD,
)
SAYS_FAILED = Fact(
    "status.says-failed",
    "what Running, Failed and Completed say of a job that has failed, in the words of DeepSpeedJob",
    "assumed",
    "t9k-semantics §1.5",
    "{kind} {job} has failed: {pod} failed with exit code {code}",
    words=OF_POD,
)
SAYS_DEADLINE = Fact(
    "status.says-deadline",
    "what the conditions say of a job that ran for too long",
    "assumed",
    "t9k-semantics §1.4, §1.5",
    "{kind} {job} has failed: it ran for longer than activeDeadlineSeconds",
    words=OF_JOB,
)
SAYS_REPLICA_FAILED = Fact(
    "status.says-replica-failed",
    "what ReplicaFailure says where a Pod has failed; its reason is ErrorInPod",
    "documented",
    "t9k-semantics §1.5, status of a real job",
    "Pod[{pod}] exited with error code {code}",
    words=OF_POD,
)
