"""Success and failure policies of a JobSet, and failure policies of Jobs, that never do what they say.

Sources: https://jobset.sigs.k8s.io/docs/concepts/ (a JobSet is complete as soon as its success policy is met,
and its running Jobs are deleted), https://jobset.sigs.k8s.io/docs/tasks/failure_policy/ (the first rule that
matches decides),
https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-failure-policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, value_at
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.lint.analysis.jobs import format_list
from podplan.lint.analysis.pod_jobs import find_job_set
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

# The fields of a Job without which it never fails for a reason.
_CAUSES = {
    "PodFailurePolicy": "podFailurePolicy",
    "DeadlineExceeded": "activeDeadlineSeconds",
    "MaxFailedIndexesExceeded": "maxFailedIndexes",
    "FailedIndexes": "backoffLimitPerIndex",
}
_DISRUPTION = "DisruptionTarget"


@check()
def success_before_others(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A success policy that is met when other Jobs are created. Values: ``awaited``, ``waiting``."""
    doc = find_job_set(target.job)
    if doc is None:
        return
    spec = get_mapping(doc.data, "spec")
    entries = get_entries(spec, "replicatedJobs")
    policy = get_mapping(spec, "successPolicy")
    targets = [name for _, name in get_texts(policy, "targetReplicatedJobs")]
    is_any = policy.get("operator") == "Any"
    if len(entries) < len(targets) + 1 and not is_any:
        return
    for number, entry in entries:
        earlier = {get_text(one, "name") for at, one in entries if at < number}
        for at, other in get_entries(entry, "dependsOn"):
            if get_text(other, "name") not in earlier:
                continue  # the webhook refuses it
            awaited, waiting = get_text(other, "name"), get_text(entry, "name")
            if other.get("status") != "Complete" or (targets and waiting in targets and not is_any):
                continue
            is_met = awaited in targets if is_any and targets else is_any or set(targets) == {awaited}
            if is_met:
                field: Path = ("operator",)
                if targets:
                    field = ("targetReplicatedJobs", targets.index(awaited))
                place = (doc, ("spec", "replicatedJobs", number, "dependsOn", at), f"{waiting} waits for it")
                values = {"awaited": awaited, "waiting": waiting}
                yield Violation(("spec", "successPolicy", *field), values, [place], doc=doc)
                return


@check()
def failure_rule_never_applies(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A rule for failures that no failure can match; value ``why``."""
    job_set = find_job_set(target.job)
    if job_set is not None:
        yield from _iter_unmatched_rules(job_set)
    seen: set[tuple[int, Path]] = set()
    for doc, path in _list_job_specs(target.job, job_set):
        if (id(doc), path) not in seen:
            seen.add((id(doc), path))
            yield from _iter_unmatched_conditions(doc, path)


def _iter_unmatched_rules(doc: TracedDocument) -> Iterator[Violation]:
    spec = get_mapping(doc.data, "spec")
    jobs = {
        get_text(entry, "name"): get_mapping(get_mapping(entry, "template"), "spec")
        for _, entry in get_entries(spec, "replicatedJobs")
    }
    earlier: list[tuple[int, set[str], set[str]]] = []
    for number, rule in get_entries(get_mapping(spec, "failurePolicy"), "rules"):
        path: Path = ("spec", "failurePolicy", "rules", number)
        targets = {name for _, name in get_texts(rule, "targetReplicatedJobs")} or set(jobs)
        listed = list(get_texts(rule, "onJobFailureReasons"))
        reasons = {reason for _, reason in listed}
        for at, before_reasons, before_targets in earlier:
            is_covered = not before_reasons or (bool(reasons) and reasons <= before_reasons)
            if is_covered and targets <= before_targets:
                why = f"rule {at} comes first and matches all its failures"
                related = [(doc, ("spec", "failurePolicy", "rules", at), "matches first")]
                yield Violation(path, {"why": why}, related, doc=doc)
                break
        earlier.append((number, reasons, targets))
        fields = {reason: _CAUSES.get(reason) for _, reason in listed}
        if listed and all(
            field is not None and not any(_may_fail_by(jobs.get(name, {}), field) for name in targets)
            for field in fields.values()
        ):
            index, reason = listed[0]
            owners = format_list(sorted(targets))
            field = fields[reason] or ""
            why = f"{owners} fails for {reason} only with {_describe_cause(field)}"
            actions = _find_actions(doc, targets) if field == "podFailurePolicy" else []
            yield Violation((*path, "onJobFailureReasons", index), {"why": why}, actions[:3], doc=doc)


def _may_fail_by(spec: Mapping[str, Any], field: str) -> bool:
    """Whether a Job may fail by what a field states."""
    if field == "podFailurePolicy":
        rules = get_entries(get_mapping(spec, field), "rules")
        return any(rule.get("action") == "FailJob" for _, rule in rules)
    return spec.get(field) is not None


def _find_actions(doc: TracedDocument, targets: set[str]) -> list[tuple[TracedDocument, Path, str]]:
    """Return the actions in the podFailurePolicy of some Jobs of a set, as related locations."""
    places: list[tuple[TracedDocument, Path, str]] = []
    for number, entry in get_entries(get_mapping(doc.data, "spec"), "replicatedJobs"):
        path: Path = ("spec", "replicatedJobs", number, "template", "spec", "podFailurePolicy", "rules")
        policy = get_mapping(_read(doc, path[:-2]), "podFailurePolicy")
        for at, rule in get_entries(policy, "rules") if get_text(entry, "name") in targets else ():
            if "action" in rule:
                places.append((doc, (*path, at, "action"), "another action"))
    return places


def _describe_cause(field: str) -> str:
    return "a rule FailJob in podFailurePolicy" if field == "podFailurePolicy" else field


def _list_job_specs(job: LoweredJob, job_set: TracedDocument | None) -> list[tuple[TracedDocument, Path]]:
    """Return the specs of the Jobs of a job, as they are written."""
    if job_set is not None:
        entries = get_entries(get_mapping(job_set.data, "spec"), "replicatedJobs")
        return [(job_set, ("spec", "replicatedJobs", number, "template", "spec")) for number, _ in entries]
    is_job = job.cr is not None and "template" in get_mapping(job.cr.data, "spec")
    return [(job.cr, ("spec",))] if is_job and job.cr is not None else []


def _iter_unmatched_conditions(doc: TracedDocument, path: Path) -> Iterator[Violation]:
    """Yield rules behind one for the same exit codes, and conditions that mean the disruption of a Pod and
    have another name or status."""
    earlier: list[tuple[int, Mapping[str, Any]]] = []
    for number, rule in get_entries(get_mapping(_read(doc, path), "podFailurePolicy"), "rules"):
        codes = get_mapping(rule, "onExitCodes")
        for at, before in earlier if codes else ():
            if _covers(before, codes):
                why = f"rule {at} comes first and matches all its exit codes"
                first: Path = (*path, "podFailurePolicy", "rules", at)
                second: Path = (*path, "podFailurePolicy", "rules", number)
                yield Violation(second, {"why": why}, [(doc, first, "matches first")], doc=doc)
                break
        if codes:
            earlier.append((number, codes))
        for at, condition in get_entries(rule, "onPodConditions"):
            place: Path = (*path, "podFailurePolicy", "rules", number, "onPodConditions", at)
            type_, status = get_text(condition, "type"), get_text(condition, "status")
            if type_ != _DISRUPTION and "disrupt" in type_.lower() and "/" not in type_:
                why = f"no Pod has the condition {type_}; Kubernetes sets {_DISRUPTION}"
                yield Violation((*place, "type"), {"why": why}, doc=doc)
            elif type_ == _DISRUPTION and status == "False":
                why = f"{_DISRUPTION} is only ever set to True"
                yield Violation((*place, "status"), {"why": why}, doc=doc)


def _covers(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether the exit codes of a rule are among those of the rule before it."""
    if "containerName" in first and first.get("containerName") != second.get("containerName"):
        return False
    listed = [value if isinstance(value := one.get("values"), list) else [] for one in (first, second)]
    before, after = ({str(value) for value in values} for values in listed)
    operators = (first.get("operator"), second.get("operator"))
    if operators == ("In", "In"):
        return after <= before
    if operators == ("NotIn", "In"):
        return not before & after
    return operators == ("NotIn", "NotIn") and before <= after


def _read(doc: TracedDocument, path: Path) -> Mapping[str, Any]:
    found = value_at(doc.data, path)
    return found if isinstance(found, dict) else {}
