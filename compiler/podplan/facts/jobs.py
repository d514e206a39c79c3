"""What the controllers of every kind do."""

from __future__ import annotations

from podplan.provenance import Fact

JOB_WORDS = ("base", "job", "kind", "component")  # words that stand for parts of the name and kind of a job
REPLICA_WORDS = (*JOB_WORDS, "type", "index", "name")

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
    5,
)
POD_NAME = Fact(
    "pod.name",
    "a Pod is called after its job, its type and its index",
    "documented",
    "t9k-semantics §2.2, status of running jobs",
    "{base}-{type}-{index}",
    words=("base", "job", "type", "index"),
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
BLOCK_DELETION = Fact(
    "owner-reference.block-deletion",
    "an ownerReference says that the child blocks the deletion of its job",
    "assumed",
    "t9k-semantics §2.4, seen on other objects of the platform",
    True,
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
    "controller",
    ("controller", "template"),
)


def _more(child: str, kind: str, part: str) -> Fact:
    return Fact(
        f"{child}.{part}",
        f"a {kind} has no {part} from the controller besides those told here",
        "assumed",
        "t9k-semantics §2.3",
        {},
        words=REPLICA_WORDS,
    )


# What else a child has, by its kind; false as the value of a key leaves out what it has.
LABELS = {
    kind: _more(child, kind, "labels")
    for kind, child in (
        ("Pod", "pod"),
        ("Service", "service"),
        ("ConfigMap", "config-map"),
        ("Secret", "secret"),
        ("PodGroup", "podgroup"),
        ("TensorBoard", "tensorboard"),
    )
}
ANNOTATIONS = {
    kind: _more(child, kind, "annotations")
    for kind, child in (
        ("Pod", "pod"),
        ("Service", "service"),
        ("ConfigMap", "config-map"),
        ("PodGroup", "podgroup"),
    )
}
RESTART_NEVER = Fact(
    "pod.restart-policy",
    "the restartPolicy of the Pod is always Never: the controller restarts replicas itself",
    "documented",
    "t9k-semantics §1.3, API reference: ReplicaSpec.template",
    "Never",
    ("Never", "OnFailure", "Always"),
)
RESTART_NEVER_ASSUMED = Fact(
    "pod.restart-policy-object",
    "the restartPolicy of the Pod is taken to be Never here too: the controller counts restarts per type",
    "assumed",
    "t9k-semantics §1.3, documented for the other kinds",
    "Never",
    ("Never", "OnFailure", "Always"),
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
POD_GROUP_NAME = Fact(
    "podgroup.name",
    "the PodGroup has the name of the job, without digits after it",
    "documented",
    "t9k-semantics §1.2, user manual: use-podgroup",
    "{job}",
    words=("base", "job"),
)
POD_GROUP_API = Fact(
    "podgroup.api-version",
    "the PodGroup is one of scheduler.tensorstack.dev/v1beta1",
    "documented",
    "t9k-semantics §1.2, user manual: use-podgroup",
    "scheduler.tensorstack.dev/v1beta1",
)
POD_GROUP_PAUSED = Fact(
    "podgroup.while-paused",
    "a paused job has no PodGroup; its Services, ConfigMaps and Secrets stay",
    "assumed",
    "t9k-semantics §1.1, as training-operator suspends",
    False,
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
DEBUG_ARGS = Fact(
    "debug.keep-args",
    "in debug mode args are dropped: they are those of the command that is replaced",
    "assumed",
    "t9k-semantics §1.1, tutorial examples: job/debug",
    False,
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
SERVICE_PER = Fact(
    "service.per",
    "there is a Service for each replica, not one for the job, or for its first replica alone",
    "anchored",
    "lowering-anchors §1.1, §1.9; per job: §1.3, §1.5, §1.6",
    "replica",
    ("replica", "job", "first"),
)
SERVICE_NAME = Fact(
    "service.name",
    "the Service of a replica is called like its Pod",
    "anchored",
    "t9k-semantics §4.4; lowering-anchors §1.1",
    "{base}-{type}-{index}",
    words=("base", "job", "type", "index"),
)
SERVICE_JOB_NAME = Fact(
    "service.job-name",
    "where a job has only one Service, it is called after the job",
    "anchored",
    "lowering-anchors §1.3, §1.5, §1.6",
    "{base}",
    words=("base", "job"),
)
SERVICE_HOST = Fact(
    "service.host",
    "replicas are called by the name of their Service, or of Pod and Service where there is one per job",
    "anchored",
    "t9k-semantics §4.4; lowering-anchors §1.1, §1.5, §1.9",
    "{host}",
    words=("host", "service", "pod", "base", "job", "namespace"),
)
SERVICE_HEADLESS = Fact(
    "service.headless",
    "Services have no address of their own: their name leads to the Pod itself",
    "anchored",
    "t9k-semantics §4.4; lowering-anchors §1.1, §1.9",
    True,
)
SERVICE_NOT_READY = Fact(
    "service.publish-not-ready",
    "a Service leads to its Pod only once it is ready",
    "assumed",
    "lowering-anchors §1.1; otherwise in §1.4, §1.6",
    False,
)
SERVICE_SELECTOR = Fact(
    "service.selector",
    "a Service finds its Pod by the labels that tell the job and the replica",
    "assumed",
    "t9k-semantics §2.3; lowering-anchors §1.1",
    {
        "tensorstack.dev/owner-name": "{job}",
        "tensorstack.dev/owner-kind": "{kind}",
        "replica-type": "{type}",
        "replica-index": "{index}",
    },
    words=REPLICA_WORDS,
)
