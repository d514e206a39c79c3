"""Annotations and labels for Pods on the job, from where no controller copies them to its Pods.

Sources: docs/evidence/training-operator.md, docs/evidence/jobset.md, docs/evidence/trainer.md (not copied),
https://istio.io/latest/docs/reference/config/annotations/, https://linkerd.io/2/reference/proxy-configuration/,
https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md,
https://developer.hashicorp.com/vault/docs/platform/k8s/injector/annotations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_mapping
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

# Keys that webhooks, the kubelet, network plugins and autoscalers read on Pods only.
_READ_AT_PODS = {
    "annotations": frozenset(
        (
            "proxy.istio.io/config",
            "linkerd.io/inject",
            "kuma.io/sidecar-injection",
            "consul.hashicorp.com/connect-inject",
            "cluster-autoscaler.kubernetes.io/safe-to-evict",
            "karpenter.sh/do-not-disrupt",
            "karpenter.sh/do-not-evict",
            "k8s.v1.cni.cncf.io/networks",
            "v1.multus-cni.io/default-network",
            "gke-gcsfuse/volumes",
            "kubernetes.io/ingress-bandwidth",
            "kubernetes.io/egress-bandwidth",
            "networking.gke.io/interfaces",
        )
    ),
    "labels": frozenset(("sidecar.istio.io/inject", "azure.workload.identity/use")),
}
# The same, by what the keys begin with.
_PREFIXES: dict[str, tuple[str, ...]] = {
    "annotations": (
        "sidecar.istio.io/",
        "traffic.sidecar.istio.io/",
        "inject.istio.io/",
        "config.linkerd.io/",
        "vault.hashicorp.com/agent-",
        "container.apparmor.security.beta.kubernetes.io/",
    ),
    "labels": (),
}


@check()
def pod_annotation_on_job(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A key that is read on Pods only, on a job whose Pods lack it. Values: ``key``, ``pods``, ``what``."""
    job = target.job
    if job.cr is None or not job.pods:
        return
    pods = sum(group.replicas for group in job.pods)
    written = get_mapping(job.cr.data, "metadata")
    for section, keys in _READ_AT_PODS.items():
        of_pods = {
            key
            for group in job.pods
            for field in _READ_AT_PODS
            for key in get_mapping(get_mapping(group.doc.data, "metadata"), field)
        }
        for key in get_mapping(written, section):
            is_read = isinstance(key, str) and (key in keys or key.startswith(_PREFIXES[section]))
            if is_read and key not in of_pods:
                values = {"key": key, "pods": format_count(pods, "Pod"), "what": section[:-1]}
                yield Violation(("metadata", section, key), values, doc=job.cr)
