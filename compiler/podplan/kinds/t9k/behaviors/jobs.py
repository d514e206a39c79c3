"""Behaviors of the controllers of all kinds."""

from __future__ import annotations

from podplan.core.provenance import Behavior

JOB_WORDS = ("base", "job", "kind", "component")  # placeholders for parts of the name and kind of a job
REPLICA_WORDS = (*JOB_WORDS, "type", "index", "name")

POD_PER_REPLICA = Behavior(
    "pod.per-replica",
    "the controller creates one Pod per replica from the template of its type",
    "documented",
    "docs/evidence/t9k-common.md#pod-per-replica",
)
BASE_NAME_WITHOUT_UID = Behavior(
    "name.base-without-uid",
    "without a uid the documented short form is used: the name of the job",
    "documented",
    "docs/evidence/t9k-common.md#base-name",
)
BASE_NAME_SUFFIX = Behavior(
    "name.base-suffix",
    "children are called after the job and the first five hex digits of FNV-1a-64 over name + uid",
    "documented",
    "docs/evidence/t9k-common.md#suffix-of-the-base-name",
    5,
)
POD_NAME = Behavior(
    "pod.name",
    "a Pod is called after its job, its type and its index",
    "documented",
    "docs/evidence/t9k-common.md#pod-name",
    "{base}-{type}-{index}",
    placeholders=("base", "job", "type", "index"),
)
GENERATED_NAME = Behavior(
    "name.generated",
    "the API server adds five random characters to generateName; xxxxx stands for them",
    "documented",
    "https://kubernetes.io/docs/reference/using-api/api-concepts/#generated-values",
)
OWNER_REFERENCE = Behavior(
    "pod.owner-reference",
    "the job is the controller of its children and blocks its own deletion until they are gone",
    "documented",
    "docs/evidence/t9k-common.md#owner-reference",
)
BLOCK_DELETION = Behavior(
    "owner-reference.block-deletion",
    "an ownerReference says that the child blocks the deletion of its job",
    "assumed",
    "docs/evidence/t9k-common.md#blocked-deletion",
    True,
)
OWNER_NAME = Behavior(
    "label.owner-name",
    "the label tensorstack.dev/owner-name holds the name of the job",
    "documented",
    "docs/evidence/t9k-common.md#owner-name-label",
)
OWNER_KIND = Behavior(
    "label.owner-kind",
    "the label tensorstack.dev/owner-kind holds the kind of the job",
    "assumed",
    "docs/evidence/t9k-common.md#owner-kind-label",
)
COMPONENT = Behavior(
    "label.component",
    "the labels tensorstack.dev/component and component-type hold the kind in lower case, and user",
    "assumed",
    "docs/evidence/t9k-common.md#component-labels",
)
REPLICA_LABELS = Behavior(
    "label.replica",
    "the labels replica-type and replica-index tell the replica",
    "documented",
    "docs/evidence/t9k-common.md#replica-labels",
)
MASTER_LABEL = Behavior(
    "label.job-role",
    "the replica of rank 0 has the label job-role: master",
    "documented",
    "docs/evidence/t9k-common.md#master-label",
)
TEMPLATE_LABELS = Behavior(
    "label.template",
    "labels of the template are kept; where the controller sets the same key, the controller wins",
    "assumed",
    "docs/evidence/t9k-common.md#labels-of-the-template",
    "controller",
    ("controller", "template"),
)


def _build_metadata_behavior(id_prefix: str, kind: str, part: str) -> Behavior:
    return Behavior(
        f"{id_prefix}.{part}",
        f"a {kind} has no {part} from the controller besides those listed here",
        "assumed",
        "docs/evidence/t9k-common.md#other-labels-and-annotations",
        {},
        placeholders=REPLICA_WORDS,
    )


# Further labels and annotations of a child, by its kind; false removes a key.
CHILD_LABELS = {
    kind: _build_metadata_behavior(child, kind, "labels")
    for kind, child in (
        ("Pod", "pod"),
        ("Service", "service"),
        ("ConfigMap", "config-map"),
        ("Secret", "secret"),
        ("PodGroup", "podgroup"),
        ("TensorBoard", "tensorboard"),
        ("FlinkCluster", "flink-cluster"),
        ("Job", "batch-job"),
    )
}
CHILD_ANNOTATIONS = {
    kind: _build_metadata_behavior(child, kind, "annotations")
    for kind, child in (
        ("Pod", "pod"),
        ("Service", "service"),
        ("ConfigMap", "config-map"),
        ("PodGroup", "podgroup"),
    )
}
RESTART_NEVER = Behavior(
    "pod.restart-policy",
    "the restartPolicy of the Pod is always Never: the controller restarts replicas itself",
    "documented",
    "docs/evidence/t9k-common.md#pod-restart-policy",
    "Never",
    ("Never", "OnFailure", "Always"),
)
RESTART_NEVER_ASSUMED = Behavior(
    "pod.restart-policy-object",
    "the restartPolicy of the Pod is taken to be Never here too: the controller counts restarts per type",
    "assumed",
    "docs/evidence/t9k-common.md#pod-restart-policy-where-it-is-an-object",
    "Never",
    ("Never", "OnFailure", "Always"),
)
SCHEDULER_NAME = Behavior(
    "pod.scheduler-name",
    "a job with a t9kScheduler section has its Pods scheduled by t9k-scheduler",
    "anchored",
    "docs/evidence/t9k-common.md#scheduler-name",
    "t9k-scheduler",
)
SCHEDULER_LABELS = Behavior(
    "label.scheduler",
    "Pods of a PodGroup carry the labels group-name, queue and role of scheduler.tensorstack.dev",
    "documented",
    "docs/evidence/t9k-common.md#scheduler-labels",
)
POD_GROUP = Behavior(
    "podgroup",
    "a job with a t9kScheduler section gets a PodGroup of its own name",
    "documented",
    "docs/evidence/t9k-common.md#podgroup",
)
POD_GROUP_NAME = Behavior(
    "podgroup.name",
    "the PodGroup has the name of the job, without digits after it",
    "documented",
    "docs/evidence/t9k-common.md#podgroup",
    "{job}",
    placeholders=("base", "job"),
)
POD_GROUP_API = Behavior(
    "podgroup.api-version",
    "the PodGroup is one of scheduler.tensorstack.dev/v1beta1",
    "documented",
    "docs/evidence/t9k-common.md#podgroup",
    "scheduler.tensorstack.dev/v1beta1",
)
POD_GROUP_PAUSED = Behavior(
    "podgroup.while-paused",
    "a paused job has no PodGroup; its Services, ConfigMaps and Secrets stay",
    "assumed",
    "docs/evidence/t9k-common.md#objects-of-a-paused-job",
    False,
)
MIN_MEMBER = Behavior(
    "podgroup.min-member",
    "minMember is the number of all replicas of all types",
    "documented",
    "docs/evidence/t9k-common.md#minimum-members",
)
MIN_MEMBER_ELASTIC = Behavior(
    "podgroup.min-member-elastic",
    "an elastic job needs minReplicas to start",
    "documented",
    "docs/evidence/t9k-common.md#minimum-members-of-an-elastic-job",
)
QUEUE = Behavior(
    "podgroup.queue",
    "a PodGroup without a queue goes to the queue default",
    "documented",
    "docs/evidence/t9k-common.md#queue",
    "default",
)
PRIORITY = Behavior(
    "podgroup.priority",
    "the priority is 0 unless one is given",
    "documented",
    "docs/evidence/t9k-common.md#priority",
    0,
)
DEFAULT_REPLICAS = Behavior(
    "replicas",
    "a replica type without a number has one replica",
    "documented",
    "docs/evidence/t9k-common.md#replica-count",
)
DEBUG_COMMAND = Behavior(
    "debug.command",
    "in debug mode containers sleep unless another command is given",
    "documented",
    "docs/evidence/t9k-common.md#default-debug-command",
    ["sleep", "inf"],
)
DEBUG_ARGS = Behavior(
    "debug.keep-args",
    "in debug mode args are dropped: they are those of the command that is replaced",
    "assumed",
    "docs/evidence/t9k-common.md#arguments-in-debug-mode",
    False,
)
RESUME_COMMAND = Behavior(
    "resume.command",
    "command and args that resumeSpecs give replace those of immediate mode, and of debug mode, on resuming",
    "documented",
    "docs/evidence/t9k-common.md#resume-specification",
)
SERVICE_PER_REPLICA = Behavior(
    "service.per-replica",
    "each replica gets a headless Service of its own name",
    "anchored",
    "docs/evidence/t9k-common.md#service-per-replica",
)
SERVICE_PER = Behavior(
    "service.per",
    "there is a Service for each replica, not one for the job, or for its first replica alone",
    "anchored",
    "docs/evidence/t9k-common.md#service-per-replica; docs/evidence/anchors.md#one-service-per-job",
    "replica",
    ("replica", "job", "first"),
)
SERVICE_NAME = Behavior(
    "service.name",
    "the Service of a replica is called like its Pod",
    "anchored",
    "docs/evidence/t9k-common.md#service-name",
    "{base}-{type}-{index}",
    placeholders=("base", "job", "type", "index"),
)
SERVICE_JOB_NAME = Behavior(
    "service.job-name",
    "where a job has only one Service, it is called after the job",
    "anchored",
    "docs/evidence/t9k-common.md#name-of-a-service-for-the-whole-job",
    "{base}",
    placeholders=("base", "job"),
)
SERVICE_HOST = Behavior(
    "service.host",
    "replicas are called by the name of their Service, or of Pod and Service where there is one per job",
    "anchored",
    "docs/evidence/t9k-common.md#service-name; docs/evidence/anchors.md#one-service-per-job",
    "{host}",
    placeholders=("host", "service", "pod", "base", "job", "namespace"),
)
SERVICE_HEADLESS = Behavior(
    "service.headless",
    "Services have no address of their own: their name leads to the Pod itself",
    "anchored",
    "docs/evidence/t9k-common.md#headless-services",
    True,
)
SERVICE_NOT_READY = Behavior(
    "service.publish-not-ready",
    "a Service leads to its Pod only once it is ready",
    "assumed",
    "docs/evidence/t9k-common.md#unready-addresses",
    False,
)
SERVICE_SELECTOR = Behavior(
    "service.selector",
    "a Service finds its Pod by the labels that tell the job and the replica",
    "assumed",
    "docs/evidence/t9k-common.md#service-selector",
    {
        "tensorstack.dev/owner-name": "{job}",
        "tensorstack.dev/owner-kind": "{kind}",
        "replica-type": "{type}",
        "replica-index": "{index}",
    },
    placeholders=REPLICA_WORDS,
)
ELASTIC_REPLICAS = Behavior(
    "elastic.replicas",
    "an elastic job has expectedReplicas Pods",
    "documented",
    "docs/evidence/t9k-pytorchtrainingjob.md#elastic-replica-count",
)
ELASTIC_MISSING_BOUND = Behavior(
    "elastic.missing-bound",
    "minReplicas or maxReplicas that is not written is the number of replicas that are created",
    "assumed",
    "the API reference names no default; Kubeflow's training operator takes the other bound instead: "
    "https://github.com/kubeflow/training-operator/blob/v1.9.0/pkg/apis/kubeflow.org/v1/pytorch_defaults.go",
    "replicas",
    ("replicas", "other-bound"),
)
