"""Builds a plan from lowered jobs and the cluster objects in git."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from podplan.checker.placeholders import is_diagnostic_about_placeholder
from podplan.cluster.admission import Verdict, build_queued_job
from podplan.cluster.cohorts import QuotaTree, has_whole_cohort
from podplan.cluster.model import QUEUE_LABEL, Cluster
from podplan.cluster.queued_objects import QueuedObject, is_labelled
from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.core.findings import Diagnostic, Location, Severity, value_at
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import Cursor, TracedDocument, root_cursor
from podplan.core.replica_groups import ReplicaGroup
from podplan.kinds.registry import find_kind, load_spec
from podplan.kinds.spec import KindSpec
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.analysis.jobs import count_pods_and_gpus
from podplan.lint.analysis.queued_jobs import decide_as_written, explain_placeholder
from podplan.lint.analysis.resources import ACCELERATOR
from podplan.lint.location import find_source_location
from podplan.pipeline import JobPlan, build_references
from podplan.tools.plan.gang_queues import GangVerdict, decide_by_inventory, decide_by_volcano
from podplan.tools.plan.model import Plan, PlannedJob, QuotaLine
from podplan.workspace.documents import ClassifiedDocument
from podplan.workspace.templates import iter_placeholders

if TYPE_CHECKING:
    from podplan.cluster.admission import VerdictName

# Causes of a pending job that no end of another job removes.
_LASTING_CAUSES = ("quota", "uncovered", "level", "limits", "selector")
_TYPE_RULE = "SCHEMA002"
# The ends of messages about refusals of the kind's webhook or controller.
_OTHER_REFUSAL = compile_lazily(r"; (the (?!API server)[^;:]+) refuses ")


class Planner:
    """Plans jobs one after the other, and collects their requests."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._tree = QuotaTree(cluster)
        self._jobs: list[PlannedJob] = []
        self._gang_quotas: dict[str, Mapping[str, int]] = {}

    def add(self, plan: JobPlan) -> None:
        """Plan a job that has a CR; documents that are no jobs, such as runtimes, are skipped."""
        cr = plan.cr
        if cr is None or not isinstance(cr.data, dict):
            return
        kind = find_kind(cr.data.get("apiVersion"), cr.data.get("kind"))
        spec = load_spec(kind) if kind is not None else plan.item.declared_kind
        if spec is not None and not spec.is_job:
            return
        self._append(plan, cr, spec, self._decide(plan, cr, spec))

    def add_object(self, queued: QueuedObject) -> None:
        """Plan an object that is no training job; one that has no queue, and needs none, is passed over."""
        document, job, count = queued.document, queued.job, queued.workload_count
        verdict = Verdict("unknown", queued.reason, _find_written_queue(document))
        if job is not None:
            verdict = decide_as_written(job, self._cluster, self._tree)
            if verdict.cause == "no-queue" and queued.without_queue:
                verdict = verdict._replace(message=queued.without_queue)
        if queued.refusal and (verdict.name != "ignored" or is_labelled(document.data)):
            name: VerdictName = "rejected" if queued.is_refused else "inadmissible"
            queue = verdict.queue or _find_written_queue(document)
            verdict = Verdict(name, queued.refusal, queue, place=queued.refused_place)
        is_of_no_queue = job is not None and verdict.name == "unknown" and verdict.queue is None
        is_pod = document.data.get("kind") == "Pod"
        if (verdict.name == "ignored" or is_of_no_queue) and not (is_pod or is_labelled(document.data)):
            return
        if count == 0:
            verdict = Verdict("ignored", "there are no replicas", verdict.queue)
        usage = {key: amount * count for key, amount in verdict.usage.items()}
        groups = tuple(
            ReplicaGroup(TracedDocument(one.name, {**one.template.value, "kind": "Pod"}), one.name, 0, number)
            for one in (job.pod_sets or () if job is not None else ())
            if isinstance(one.template.value, dict) and (number := one.size * count)
        )
        plan = JobPlan(ClassifiedDocument("object", document), cr=document, replica_groups=groups)
        self._append(plan, document, None, verdict._replace(usage=usage))
        planned = self._jobs[-1]
        self._jobs[-1] = planned._replace(name=queued.name or planned.name, workloads=count)

    def _append(self, plan: JobPlan, cr: TracedDocument, spec: KindSpec | None, verdict: Verdict) -> None:
        pods, gpus = count_pods_and_gpus(
            [group for group in plan.replica_groups if group.doc.data["kind"] == "Pod"]
        )
        if verdict.name == "admitted" and any(one.admitted_size != one.size for one in verdict.pod_sets):
            pods = sum(one.admitted_size for one in verdict.pod_sets)
            gpus = sum(
                amount for (_, resource), amount in verdict.usage.items() if ACCELERATOR.fullmatch(resource)
            )
        metadata = get_mapping(cr.data, "metadata")
        errors = _find_errors(plan)
        refused_by = next(filter(None, map(_find_refuser, errors)), "") if verdict.name != "rejected" else ""
        seconds = _find_deadline(cr, spec)
        self._jobs.append(
            PlannedJob(
                get_text(cr.data, "kind"),
                get_text(metadata, "name") or get_text(metadata, "generateName"),
                get_text(metadata, "namespace") or None,
                plan.variant_id or "",
                verdict.queue,
                verdict.name,
                verdict.message,
                verdict.pod_sets,
                pods,
                gpus,
                seconds,
                tuple(one.message for one in errors),
                find_location(root_cursor(cr).get("metadata", "name")),
                find_location(verdict.place) if verdict.place is not None else None,
                verdict.cluster_queue,
                verdict.usage if not refused_by else {},
                refused_by=refused_by,
                never_fits=self._never_fits(verdict),
            )
        )

    def _never_fits(self, verdict: Verdict) -> bool:
        """Whether a job stays pending as long as the objects in git are what they are."""
        queue = self._cluster.cluster_queues.get(str(verdict.cluster_queue))
        is_known = queue is None or has_whole_cohort(queue, self._cluster)
        return verdict.name == "pending" and verdict.cause in _LASTING_CAUSES and is_known

    def finish(self) -> Plan:
        """Return the plan of all jobs."""
        lines = _sum_quotas(self._jobs, self._cluster, self._tree)
        return Plan(tuple(self._jobs), (*lines, *_sum_gang_quotas(self._jobs, self._gang_quotas)))

    def _decide(self, plan: JobPlan, cr: TracedDocument, spec: KindSpec | None) -> Verdict:
        if spec is None:
            return Verdict("unknown", f"podplan does not know how {cr.data.get('kind')} is queued")
        errors = [one for one in _find_errors(plan) if not _find_refuser(one)]
        if errors:
            # The type of a scalar depends on the YAML parser of the tool that applies the CR.
            is_type_only = all(one.rule == _TYPE_RULE for one in errors)
            message, queue = errors[0].message, _find_written_queue(cr)
            return Verdict("unknown" if is_type_only else "rejected", message, queue)
        if not plan.is_lowered and (placeholder := _find_blocking_placeholder(plan)):
            return Verdict("unknown", explain_placeholder(placeholder), _find_written_queue(cr))
        options = plan.lowering_options._replace(resumed=True)
        job = build_queued_job(root_cursor(cr), spec, build_references(plan.references), options)
        if job is None and spec.declaration is None:
            return self._take(decide_by_inventory(plan))
        verdict = Verdict("unknown", f"podplan does not know how {cr.data.get('kind')} is queued")
        if job is not None:
            verdict = decide_as_written(job, self._cluster, self._tree)
        is_open = job is None or verdict.name == "ignored"
        by_volcano = decide_by_volcano(plan, self._cluster) if is_open else None
        return verdict if by_volcano is None else self._take(by_volcano)

    def _take(self, decided: GangVerdict) -> Verdict:
        """Record the quota of a gang's queue for the sums, and return the verdict."""
        if decided.verdict.queue is not None and decided.quota:
            self._gang_quotas[decided.verdict.queue] = decided.quota
        return decided.verdict


def find_location(cursor: Cursor) -> Location | None:
    """Return the location of a value, or of its nearest parent in a file."""
    found = find_source_location(cursor.doc, cursor.path)
    return found.location if found is not None else None


def _find_errors(plan: JobPlan) -> list[Diagnostic]:
    """Return why the API server or a webhook refuses the CR itself, but for values that another tool fills
    in."""
    return [one for one in _iter_errors(plan) if not is_diagnostic_about_placeholder(one, plan.item.doc)]


def _iter_errors(plan: JobPlan) -> Iterator[Diagnostic]:
    return (
        one
        for one in plan.diagnostics
        if one.level == "cr" and BUILTIN_RULES[one.rule].severity is Severity.ERROR
    )


def _find_blocking_placeholder(plan: JobPlan) -> str:
    """Return the placeholder without whose value a CR cannot be lowered, "" for none."""
    values = (value_at(one.doc.data, one.path) for one in _iter_errors(plan) if one.doc is not None)
    return next((text for value in values for text in iter_placeholders(value)), "")


def _find_refuser(error: Diagnostic) -> str:
    """Return the webhook or controller of the kind if that refuses a CR, "" for the API server or Kueue."""
    found = _OTHER_REFUSAL.search(error.message)
    return found[1] if found is not None else ""


def _find_written_queue(cr: TracedDocument) -> str | None:
    labels = get_mapping(get_mapping(cr.data, "metadata"), "labels")
    return get_text(labels, QUEUE_LABEL) or None


def _find_deadline(cr: TracedDocument, spec: KindSpec | None) -> int | None:
    """Return the deadline of a job in seconds, from its run policy or its spec."""
    cursor = root_cursor(cr)
    of_kind = spec.run_policy_path or ("spec",) if spec is not None else ("spec", "jobTemplate", "spec")
    for path in (of_kind, ("spec",)):
        value = cursor.get(*path, "activeDeadlineSeconds").value
        if isinstance(value, int) and value > 0:
            return value
    return None


def _sum_quotas(jobs: Iterable[PlannedJob], cluster: Cluster, tree: QuotaTree) -> list[QuotaLine]:
    """Sum the requests of the jobs for each queue in use."""
    used: dict[tuple[str, str, str], tuple[int, int]] = {}
    for job in jobs:
        for (flavor, resource), amount in job.usage.items():
            if job.cluster_queue is not None:
                key = job.cluster_queue, flavor, resource
                total, count = used.get(key, (0, 0))
                used[key] = total + amount, count + 1
    requested: dict[tuple[str, str], dict[str, int]] = {}
    for (queue, flavor, resource), (total, _) in used.items():
        requested.setdefault((flavor, resource), {})[queue] = total
    shortages = {key: tree.find_shortages(by_queue, *key) for key, by_queue in requested.items()}
    lines = []
    for (queue, flavor, resource), (total, count) in used.items():
        nominal = _find_nominal(cluster, queue, flavor, resource)
        maximum = tree.find_maximum(queue, flavor, resource)
        shortage = shortages[flavor, resource].get(queue)
        lines.append(QuotaLine(queue, flavor, resource, total, nominal, maximum, count, shortage))
    return sorted(lines, key=lambda one: (one.queue, one.flavor, one.resource))


def _sum_gang_quotas(
    jobs: Iterable[PlannedJob], quotas: Mapping[str, Mapping[str, int]]
) -> Iterator[QuotaLine]:
    """Sum the requests for each queue of gangs, whose quotas have no flavors and no borrowing."""
    used: dict[tuple[str, str], list[int]] = {}
    for job in jobs:
        for (_, resource), amount in job.usage.items() if job.cluster_queue is None else ():
            used.setdefault((str(job.queue), resource), []).append(amount)
    for (queue, resource), amounts in sorted(used.items()):
        quota = quotas[queue][resource]
        yield QuotaLine(queue, "", resource, sum(amounts), quota, quota, len(amounts))


def _find_nominal(cluster: Cluster, queue: str, flavor: str, resource: str) -> int:
    for group in cluster.cluster_queues[queue].groups:
        for quotas in group.flavors:
            quota = quotas.quotas.get(resource)
            if quotas.name == flavor and quota is not None:
                return quota.nominal
    return 0
