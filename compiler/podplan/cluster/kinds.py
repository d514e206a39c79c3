"""The kinds of objects that describe a cluster, by API group."""

from __future__ import annotations

from podplan.core.lazy_regex import compile_lazily

KUEUE_GROUP = "kueue.x-k8s.io"
CONFIGURATION_GROUP = "config.kueue.x-k8s.io"

# Objects that decide about jobs.
KINDS: dict[str, tuple[str, ...]] = {
    KUEUE_GROUP: (
        "ClusterQueue",
        "LocalQueue",
        "Cohort",
        "ResourceFlavor",
        "Topology",
        "AdmissionCheck",
        "WorkloadPriorityClass",
        "Workload",
    ),
    CONFIGURATION_GROUP: ("Configuration",),
    "": ("Namespace", "LimitRange", "ResourceQuota", "Node", "ConfigMap"),
    "scheduling.k8s.io": ("PriorityClass",),
    "node.k8s.io": ("RuntimeClass",),
    "scheduling.volcano.sh": ("Queue",),
}
# Other objects that state facts about a cluster.
FACT_KINDS: dict[str, tuple[str, ...]] = {
    "": ("PersistentVolumeClaim", "ServiceAccount"),
    "storage.k8s.io": ("StorageClass",),
    "karpenter.sh": ("NodePool",),
    "bitnami.com": ("SealedSecret",),
    "external-secrets.io": ("ExternalSecret",),
}
# A ConfigMap counts only with a configuration of Kueue, whose API group it then mentions.
_NAMES = tuple(name for names in KINDS.values() for name in names if name != "ConfigMap")
MENTION = compile_lazily(
    rf"kind[\"']?[ \t]*:[ \t]*[\"']?(?:{'|'.join(_NAMES)})(?:List)?\b"
    rf"|{CONFIGURATION_GROUP.replace('.', '[.]')}"
)
# One of these is in each text with such a mention.
MENTIONED_WORDS = tuple(name.encode() for name in (*_NAMES, CONFIGURATION_GROUP))
# How files mention the images of operators whose flags are lowering options.
OPERATOR_IMAGES = (b"training-operator", b"mpi-operator", b"trainer-controller-manager", b"jobset/jobset")


def describes_cluster(api_version: object, kind: object) -> bool:
    """Whether all objects of a kind state facts about the cluster."""
    group = str(api_version).rpartition("/")[0]
    return kind != "ConfigMap" and kind in (*KINDS.get(group, ()), *FACT_KINDS.get(group, ()))
