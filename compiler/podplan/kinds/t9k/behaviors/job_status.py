"""What controllers report about a job: its phase, and the messages of its conditions.

The placeholders ``{job}``, ``{kind}``, ``{pod}``, ``{code}`` and ``{rule}`` in messages are filled in.
"""

from __future__ import annotations

from podplan.core.provenance import Behavior

_JOB_MESSAGE_WORDS = ("kind", "job")  # placeholders in messages
_POD_MESSAGE_WORDS = (*_JOB_MESSAGE_WORDS, "pod", "code")

PAUSE = Behavior(
    "status.paused",
    "a job that is paused has no Pods: those that it has are deleted",
    "documented",
    "docs/evidence/t9k-common.md#pause-mode",
)
PHASE_PENDING = Behavior(
    "status.pending",
    "a job is Pending until all replicas have started, an elastic one until minReplicas have",
    "assumed",
    "docs/evidence/t9k-common.md#phase-while-replicas-start",
)
PHASE_RUNNING = Behavior(
    "status.running",
    "a job whose replicas have started is Running until it ends, also while replicas are started again",
    "assumed",
    "docs/evidence/t9k-common.md#phase-while-replicas-start",
)
PHASE_RESUMING = Behavior(
    "status.resuming",
    "a job that goes on after a pause is Resuming until its replicas have started",
    "documented",
    "docs/evidence/t9k-common.md#phases",
)
PHASE_UNKNOWN = Behavior(
    "status.unknown",
    "the phase of a job is Unknown where the replica that decides over it is",
    "assumed",
    "docs/evidence/t9k-common.md#unknown-phase",
)
SAYS_INITIALIZED = Behavior(
    "status.says-initialized",
    "what Initialized says",
    "documented",
    "docs/evidence/t9k-common.md#messages-of-conditions",
    "The job has been initialized successfully.",
)
SAYS_NORMAL = Behavior(
    "status.says-normal",
    'what Running and ReplicaFailure say while nothing is wrong; until 2023 "All pods are running normally."',
    "documented",
    "docs/evidence/t9k-common.md#messages-of-conditions",
    "All pods are running normally or have completed successfully.",
)
SAYS_STILL_RUNNING = Behavior(
    "status.says-still-running",
    "what Completed says of a job that has not ended",
    "documented",
    "docs/evidence/t9k-common.md#messages-of-conditions",
    "The job is still running.",
)
SAYS_NOT_ENDED = Behavior(
    "status.says-not-ended",
    "what other conditions say of a job that has not ended, in the words of Completed",
    "assumed",
    "docs/evidence/t9k-common.md#messages-that-no-dump-shows",
    "The job is still running.",
)
SAYS_NOT_STARTED = Behavior(
    "status.says-not-started",
    "what Running says before all replicas have started",
    "assumed",
    "docs/evidence/t9k-common.md#messages-that-no-dump-shows",
    "Not all pods are running yet.",
)
SAYS_PAUSED = Behavior(
    "status.says-paused",
    "what the conditions of a job in pause mode say",
    "assumed",
    "docs/evidence/t9k-common.md#messages-that-no-dump-shows",
    "The job is paused.",
)
SAYS_SUCCEEDED = Behavior(
    "status.says-succeeded",
    "what Running, Failed and Completed say of a job that has succeeded",
    "documented",
    "docs/evidence/t9k-common.md#messages-of-conditions",
    "The job has finished successfully.",
)
SAYS_FINISHED = Behavior(
    "status.says-finished",
    "what ReplicaFailure says of a finished job with a launcher; its reason is Finished then",
    "documented",
    "docs/evidence/t9k-common.md#messages-of-conditions",
    "The job has finished successfully",
)
SAYS_FAILED_RULE = Behavior(
    "status.says-failed-rule",
    "what Running, Failed and Completed say where one of the failureRules is fulfilled",
    "documented",
    "docs/evidence/t9k-common.md#messages-of-conditions",
    "The job is failed with rule: {rule}",
    placeholders=(*_JOB_MESSAGE_WORDS, "rule"),
)
SAYS_OUT_OF_REACH = Behavior(
    "status.says-out-of-reach",
    "what Running, Failed and Completed say where none of the successRules can be fulfilled any more",
    "assumed",
    "docs/evidence/t9k-common.md#messages-that-no-dump-shows",
    "The job is failed: none of its success rules can be fulfilled any more.",
    placeholders=_JOB_MESSAGE_WORDS,
)
SAYS_FAILED_DEEPSPEED = Behavior(
    "status.says-failed-deepspeed",
    "what Running, Failed, Completed and ReplicaFailure say of a DeepSpeedJob that has failed",
    "documented",
    "docs/evidence/t9k-common.md#messages-of-conditions",
    "{kind} {job} has failed: {pod} failed with exit code {code}",
    placeholders=_POD_MESSAGE_WORDS,
)
SAYS_FAILED = Behavior(
    "status.says-failed",
    "what Running, Failed and Completed say of a job that has failed, in the words of DeepSpeedJob",
    "assumed",
    "docs/evidence/t9k-common.md#messages-that-no-dump-shows",
    "{kind} {job} has failed: {pod} failed with exit code {code}",
    placeholders=_POD_MESSAGE_WORDS,
)
SAYS_DEADLINE = Behavior(
    "status.says-deadline",
    "what the conditions say of a job that ran for too long",
    "assumed",
    "docs/evidence/t9k-common.md#messages-that-no-dump-shows",
    "{kind} {job} has failed: it ran for longer than activeDeadlineSeconds",
    placeholders=_JOB_MESSAGE_WORDS,
)
SAYS_REPLICA_FAILED = Behavior(
    "status.says-replica-failed",
    "what ReplicaFailure says where a Pod has failed; its reason is ErrorInPod",
    "documented",
    "docs/evidence/t9k-common.md#messages-of-conditions",
    "Pod[{pod}] exited with error code {code}",
    placeholders=_POD_MESSAGE_WORDS,
)
