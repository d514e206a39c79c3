"""What the controllers of every kind do."""

from __future__ import annotations

from podplan.provenance import Fact

POD_PER_REPLICA = Fact(
    "pod.per-replica",
    "the controller creates one Pod per replica from the template of its type",
    "documented",
    "t9k-semantics §2.2, user manual: jobs",
)
BASE_SHORT = Fact(
    "name.base-without-uid",
    "without a uid the documented short form is used: the name of the job",
    "documented",
    "t9k-semantics §2.1, user manual: jobs",
)
BASE_SUFFIX = Fact(
    "name.base-suffix",
    "children are called after the job and the first five hex digits of FNV-1a-64 over name + uid",
    "documented",
    "t9k-semantics §2.1, five observed (name, uid, child) triples",
)
GENERATED_NAME = Fact(
    "name.generated",
    "the API server adds five random characters to generateName; xxxxx stands for them",
    "documented",
    "https://kubernetes.io/docs/reference/using-api/api-concepts/#generated-values",
)
OWNER_REFERENCE = Fact(
    "pod.owner-reference",
    "the job is the controller of its children and blocks its own deletion until they are gone",
    "documented",
    "t9k-semantics §2.4, admin manual",
)
OWNER_NAME = Fact(
    "label.owner-name",
    "the label tensorstack.dev/owner-name holds the name of the job",
    "documented",
    "t9k-semantics §2.3, tutorial examples: job/debug",
)
OWNER_KIND = Fact(
    "label.owner-kind",
    "the label tensorstack.dev/owner-kind holds the kind of the job",
    "assumed",
    "t9k-semantics §2.3, seen on other objects of the platform",
)
COMPONENT = Fact(
    "label.component",
    "the labels tensorstack.dev/component and component-type hold the kind in lower case, and user",
    "assumed",
    "t9k-semantics §2.3, documented for GenericJob only",
)
REPLICA_LABELS = Fact(
    "label.replica",
    "the labels replica-type and replica-index tell the replica",
    "documented",
    "t9k-semantics §2.3, screenshots of running jobs",
)
MASTER_LABEL = Fact(
    "label.job-role",
    "the replica of rank 0 has the label job-role: master",
    "documented",
    "t9k-semantics §2.3, screenshots of running jobs",
)
TEMPLATE_LABELS = Fact(
    "label.template",
    "labels of the template are kept; where the controller sets the same key, the controller wins",
    "assumed",
    "t9k-semantics §2.3, as mpi-operator does",
)
RESTART_NEVER = Fact(
    "pod.restart-policy",
    "the restartPolicy of the Pod is always Never: the controller restarts replicas itself",
    "documented",
    "t9k-semantics §1.3, API reference: ReplicaSpec.template",
    "Never",
)
RESTART_NEVER_ASSUMED = Fact(
    "pod.restart-policy-object",
    "the restartPolicy of the Pod is taken to be Never here too: the controller counts restarts per type",
    "assumed",
    "t9k-semantics §1.3, documented for the other kinds",
    "Never",
)
SCHEDULER_NAME = Fact(
    "pod.scheduler-name",
    "a job with a t9kScheduler section has its Pods scheduled by t9k-scheduler",
    "anchored",
    "t9k-semantics §1.2, user manual: use-podgroup; lowering-anchors §1.1, §1.3",
    "t9k-scheduler",
)
SCHEDULER_LABELS = Fact(
    "label.scheduler",
    "Pods of a PodGroup carry the labels group-name, queue and role of scheduler.tensorstack.dev",
    "documented",
    "t9k-semantics §1.2, user manual: use-podgroup, podgroup",
)
POD_GROUP = Fact(
    "podgroup",
    "a job with a t9kScheduler section gets a PodGroup of its own name",
    "documented",
    "t9k-semantics §1.2, user manual: use-podgroup",
)
MIN_MEMBER = Fact(
    "podgroup.min-member",
    "minMember is the number of all replicas of all types",
    "documented",
    "t9k-semantics §1.2, user manual: use-podgroup",
)
MIN_MEMBER_ELASTIC = Fact(
    "podgroup.min-member-elastic",
    "an elastic job needs minReplicas to start",
    "documented",
    "t9k-semantics §1.2",
)
QUEUE = Fact(
    "podgroup.queue",
    "a PodGroup without a queue goes to the queue default",
    "documented",
    "t9k-semantics §1.2, API reference: scheduler",
    "default",
)
PRIORITY = Fact(
    "podgroup.priority",
    "the priority is 0 unless one is given",
    "documented",
    "t9k-semantics §1.2, API reference: T9kScheduler",
    0,
)
REPLICAS = Fact(
    "replicas",
    "a replica type without a number has one replica",
    "documented",
    "t9k-semantics §4.1, API reference: ReplicaSpec.replicas",
)
DEBUG = Fact(
    "debug.command",
    "in debug mode containers sleep unless another command is given",
    "documented",
    "t9k-semantics §1.1, API reference: ReplicaDebugSet",
    ["sleep", "inf"],
)
RESUME = Fact(
    "resume.command",
    "command and args that resumeSpecs give replace those of immediate mode, and of debug mode, on resuming",
    "documented",
    "t9k-semantics §1.1, user manual: jobs",
)
HEADLESS_SERVICE = Fact(
    "service.per-replica",
    "each replica gets a headless Service of its own name",
    "anchored",
    "t9k-semantics §4.4, §5.6; lowering-anchors §1.1, §1.9",
)
