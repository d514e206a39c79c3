"""From lowered jobs and the cluster in git to a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from podplan.cluster.admission import Verdict, build_queued_job, decide_admission
from podplan.cluster.cohorts import QuotaTree
from podplan.cluster.model import QUEUE_LABEL, Cluster
from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.core.findings import Diagnostic, Location, Severity
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import Cursor, TracedDocument, root_cursor
from podplan.kinds.registry import find_kind, load_spec
from podplan.kinds.spec import KindSpec
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.analysis.jobs import count_pods_and_gpus
from podplan.lint.analysis.resources import ACCELERATOR
from podplan.lint.location import find_source_location
from podplan.pipeline import JobPlan, build_references
from podplan.tools.plan.bare_pods import build_pod_job
from podplan.tools.plan.gang_queues import GangVerdict, decide_by_inventory, decide_by_volcano
from podplan.tools.plan.model import Plan, PlannedJob, QuotaLine

_TYPE_RULE = "SCHEMA002"
# How messages of kinds end about what the webhook of the kind or its controller refuses.
_OTHER_REFUSAL = compile_lazily(r"; the (?!API server)[^;:]+ refuses ")


class Planner:
    """Plans one job after the other, and keeps what each asks for."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._tree = QuotaTree(cluster)
        self._jobs: list[PlannedJob] = []
        self._gang_quotas: dict[str, Mapping[str, int]] = {}

    def add(self, plan: JobPlan) -> None:
        """Plan a job that has a CR; what is no job itself, such as a runtime, is passed over."""
        cr = plan.cr
        if cr is None or not isinstance(cr.data, dict):
            return
        pod = build_pod_job(plan)
        if pod is not None:
            self._append(plan, cr, None, decide_admission(pod, self._cluster, self._tree))
            return
        kind = find_kind(cr.data.get("apiVersion"), cr.data.get("kind"))
        spec = load_spec(kind) if kind is not None else plan.item.declared_kind
        if spec is not None and not spec.is_job:
            return
        self._append(plan, cr, spec, self._decide(plan, cr, spec))

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
                tuple(one.message for one in _find_errors(plan)),
                find_location(root_cursor(cr).get("metadata", "name")),
                find_location(verdict.place) if verdict.place is not None else None,
                verdict.cluster_queue,
                verdict.usage,
            )
        )

    def finish(self) -> Plan:
        """Return the plan of all jobs."""
        lines = _sum_quotas(self._jobs, self._cluster, self._tree)
        return Plan(tuple(self._jobs), (*lines, *_sum_gang_quotas(self._jobs, self._gang_quotas)))

    def _decide(self, plan: JobPlan, cr: TracedDocument, spec: KindSpec | None) -> Verdict:
        if spec is None:
            return Verdict("unknown", f"podplan does not know how {cr.data.get('kind')} is queued")
        errors = [one for one in _find_errors(plan) if not _is_by_its_controller(one)]
        if errors:
            # What a scalar is depends on the YAML parser of the tool that applies the CR.
            is_type_only = all(one.rule == _TYPE_RULE for one in errors)
            message, queue = errors[0].message, _find_written_queue(cr)
            return Verdict("unknown" if is_type_only else "rejected", message, queue)
        options = plan.lowering_options._replace(resumed=True)
        job = build_queued_job(root_cursor(cr), spec, build_references(plan.references), options)
        if job is None and spec.declaration is None:
            return self._take(decide_by_inventory(plan))
        verdict = Verdict("unknown", f"podplan does not know how {cr.data.get('kind')} is queued")
        if job is not None:
            verdict = decide_admission(job, self._cluster, self._tree)
        is_open = job is None or verdict.name == "ignored"
        by_volcano = decide_by_volcano(plan, self._cluster) if is_open else None
        return verdict if by_volcano is None else self._take(by_volcano)

    def _take(self, decided: GangVerdict) -> Verdict:
        """Keep the quota of the queue of a gang for the sums, and return the verdict."""
        if decided.verdict.queue is not None and decided.quota:
            self._gang_quotas[decided.verdict.queue] = decided.quota
        return decided.verdict


def find_location(cursor: Cursor) -> Location | None:
    """Return where a value is written, or what is written around it."""
    found = find_source_location(cursor.doc, cursor.path)
    return found.location if found is not None else None


def _find_errors(plan: JobPlan) -> list[Diagnostic]:
    """Return why the API server or a webhook refuses the CR itself."""
    return [
        one
        for one in plan.diagnostics
        if one.level == "cr" and BUILTIN_RULES[one.rule].severity is Severity.ERROR
    ]


def _is_by_its_controller(error: Diagnostic) -> bool:
    """Whether the webhook or controller of the kind refuses a CR, which is nothing to Kueue."""
    return _OTHER_REFUSAL.search(error.message) is not None


def _find_written_queue(cr: TracedDocument) -> str | None:
    labels = get_mapping(get_mapping(cr.data, "metadata"), "labels")
    return get_text(labels, QUEUE_LABEL) or None


def _find_deadline(cr: TracedDocument, spec: KindSpec | None) -> int | None:
    """Return the deadline of a job in seconds, from its run policy or its spec."""
    cursor = root_cursor(cr)
    for path in ((spec.run_policy_path if spec is not None else ()) or ("spec",), ("spec",)):
        value = cursor.get(*path, "activeDeadlineSeconds").value
        if isinstance(value, int) and value > 0:
            return value
    return None


def _sum_quotas(jobs: Iterable[PlannedJob], cluster: Cluster, tree: QuotaTree) -> list[QuotaLine]:
    """Sum what the jobs take of each queue that one of them uses."""
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
    """Sum what the jobs take of each queue of gangs, whose quotas know no flavors and no borrowing."""
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
