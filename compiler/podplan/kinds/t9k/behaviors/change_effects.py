"""The effects of a change of a CR on a running job of T9k, by the changed field."""

from __future__ import annotations

from podplan.core.provenance import Behavior
from podplan.kinds.change_effects import STATUS, ChangeRule, ChangeRules

METADATA = Behavior(
    "change.metadata",
    "labels and annotations of the CR change, and nothing that runs",
    "assumed",
    "docs/evidence/t9k-common.md#metadata-of-a-job",
)
PAUSE = Behavior(
    "change.pause",
    "runMode.pause.enabled may be changed at any time: the Pods are deleted, or made again",
    "documented",
    "docs/evidence/t9k-common.md#pause-mode",
)
SCALE = Behavior(
    "change.expected-replicas",
    "expectedReplicas may be changed while the job runs, and the job is scaled to it",
    "documented",
    "docs/evidence/t9k-pytorchtrainingjob.md#elastic-bounds; "
    "docs/evidence/t9k-deepspeedjob.md#elastic-workers",
)
POLICY = Behavior(
    "change.policy",
    "the controller reads the limits, rules and clean-up of a job each time it looks at it",
    "assumed",
    "docs/evidence/t9k-common.md#changed-policies",
)
RESUME_SPECS = Behavior(
    "change.resume-specs",
    "resumeSpecs must not be changed once the job is created",
    "documented",
    "docs/evidence/t9k-common.md#resume-specification",
)
ELASTIC_BOUNDS = Behavior(
    "change.elastic-bounds",
    "minReplicas and maxReplicas cannot be changed once the job is created",
    "documented",
    "docs/evidence/t9k-pytorchtrainingjob.md#elastic-bounds",
)
LAUNCHER = Behavior(
    "change.launcher",
    "workingDir, env and resources of the launcher cannot be updated",
    "documented",
    "docs/evidence/t9k-colossalaijob.md#immutable-launcher-fields",
)
PAUSED = Behavior(
    "change.paused",
    "a job that is paused has no Pods, and those that it gets are made from the CR as it is then",
    "assumed",
    "docs/evidence/t9k-common.md#changes-while-paused",
)
QUEUE = Behavior(
    "change.queue",
    "Pods cannot change their queue and their PodGroup",
    "documented",
    "docs/evidence/t9k-common.md#immutable-queue-and-group",
)
PRIORITY = Behavior(
    "change.priority",
    "nothing tells that a PodGroup takes up another priority once it is made",
    "assumed",
    "docs/evidence/t9k-common.md#changed-priority",
)
PODS = Behavior(
    "change.pods",
    "Pods that exist keep what they have, and only those that are made after a change have it",
    "assumed",
    "docs/evidence/t9k-common.md#changed-template",
)

CHANGE_RULES = ChangeRules(
    (
        ChangeRule(("metadata",), "none", METADATA),
        ChangeRule(("status",), "none", STATUS),
        ChangeRule(("spec", "runMode", "pause", "enabled"), "in-place", PAUSE),
        ChangeRule(("spec", "runMode", "pause", "resumeSpecs"), "re-run", RESUME_SPECS),
        ChangeRule(("spec", "elastic", "expectedReplicas"), "in-place", SCALE),
        ChangeRule(("spec", "elastic", "minReplicas"), "re-run", ELASTIC_BOUNDS),
        ChangeRule(("spec", "elastic", "maxReplicas"), "re-run", ELASTIC_BOUNDS),
        ChangeRule(("spec", "launcher", "workingDir"), "re-run", LAUNCHER),
        ChangeRule(("spec", "launcher", "env"), "re-run", LAUNCHER),
        ChangeRule(("spec", "launcher", "resources"), "re-run", LAUNCHER),
        ChangeRule(("spec", "scheduler", "t9kScheduler", "priority"), "re-run", PRIORITY),
        ChangeRule(("spec", "scheduler"), "re-run", QUEUE),
        ChangeRule(("spec", "runPolicy"), "in-place", POLICY),
        ChangeRule(("spec", "cleanUpPolicy"), "in-place", POLICY),
        ChangeRule(("spec", "successRules"), "in-place", POLICY),
        ChangeRule(("spec", "failureRules"), "in-place", POLICY),
        ChangeRule((), "re-run", PODS, PAUSED),
    ),
    pause_path=("spec", "runMode", "pause", "enabled"),
)
