"""Pods that no controller creates, which Kueue queues as well."""

from __future__ import annotations

from podplan.cluster.admission import QueuedJob
from podplan.core.provenance import Cursor, TracedDocument, root_cursor
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.kinds.spec import PodSet, QueueIntegration, References
from podplan.pipeline import JobPlan
from podplan.workspace.documents import ClassifiedDocument

FRAMEWORK = "pod"
POD_SET = "main"
API_VERSION, KIND = "v1", "Pod"


def build_pod_plan(document: TracedDocument) -> JobPlan | None:
    """Return the plan of a Pod, for a document that is one."""
    data = document.data
    if not isinstance(data, dict) or (data.get("apiVersion"), data.get("kind")) != (API_VERSION, KIND):
        return None
    item = ClassifiedDocument("object", document)
    return JobPlan(item, cr=document, replica_groups=(ReplicaGroup(document, POD_SET),), is_lowered=True)


def build_pod_job(plan: JobPlan) -> QueuedJob | None:
    """Return the job of a Pod as Kueue sees it, for the plan of a Pod."""
    if plan.item.category != "object" or plan.cr is None:
        return None
    pod = root_cursor(plan.cr)
    integration = QueueIntegration(_list_pod_sets)
    return QueuedJob(pod, FRAMEWORK, integration, _list_pod_sets(pod, {}, LoweringOptions()), pod.get(""))


def _list_pod_sets(pod: Cursor, _references: References, _options: LoweringOptions) -> list[PodSet]:
    return [PodSet(POD_SET, 1, pod, pod)]
