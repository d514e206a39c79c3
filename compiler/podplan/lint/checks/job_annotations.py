"""Annotations and labels for Pods that stand on the job, from which no controller copies them.

Sources: docs/evidence/training-operator.md, docs/evidence/jobset.md, docs/evidence/trainer.md (not copied),
https://istio.io/latest/docs/reference/config/annotations/, https://linkerd.io/2/reference/proxy-configuration/,
https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md,
https://developer.hashicorp.com/vault/docs/platform/k8s/injector/annotations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_mapping
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

# Keys that webhooks, the kubelet, network plugins and autoscalers read at Pods, and nobody at jobs.
_READ_AT_PODS = {
    "annotations": compile_lazily(
        r"sidecar\.istio\.io/.+|traffic\.sidecar\.istio\.io/.+|proxy\.istio\.io/config|inject\.istio\.io/.+"
        r"|linkerd\.io/inject|config\.linkerd\.io/.+|kuma\.io/sidecar-injection|consul\.hashicorp\.com/connect-inject"
        r"|vault\.hashicorp\.com/agent-.+|cluster-autoscaler\.kubernetes\.io/safe-to-evict"
        r"|karpenter\.sh/do-not-(?:disrupt|evict)|k8s\.v1\.cni\.cncf\.io/networks|v1\.multus-cni\.io/default-network"
        r"|container\.apparmor\.security\.beta\.kubernetes\.io/.+|gke-gcsfuse/volumes"
        r"|kubernetes\.io/(?:in|e)gress-bandwidth|networking\.gke\.io/interfaces"
    ),
    "labels": compile_lazily(r"sidecar\.istio\.io/inject|azure\.workload\.identity/use"),
}


@check()
def pod_annotation_on_job(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A key that is read at Pods, on a job whose Pods do not have it. Values: ``key``, ``pods``, ``what``."""
    job = target.job
    if job.cr is None or not job.pods:
        return
    pods = sum(group.replicas for group in job.pods)
    written = get_mapping(job.cr.data, "metadata")
    for section, pattern in _READ_AT_PODS.items():
        of_pods = {
            key
            for group in job.pods
            for field in _READ_AT_PODS
            for key in get_mapping(get_mapping(group.doc.data, "metadata"), field)
        }
        for key in get_mapping(written, section):
            if isinstance(key, str) and pattern.fullmatch(key) and key not in of_pods:
                values = {"key": key, "pods": format_count(pods, "Pod"), "what": section[:-1]}
                yield Violation(("metadata", section, key), values, doc=job.cr)
