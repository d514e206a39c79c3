"""The status of a job that ends with the only batch/v1 Job that its controller creates."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.kinds.status_rules import OwnedJobRules
from podplan.tools.status.job_sets import list_jobs
from podplan.tools.status.jobs import JobEnd, decide_job
from podplan.tools.status.observed_job import ControllerDecision, ObservedJob, count_past_restarts, get_at
from podplan.tools.status.replicas import ObservedReplica, describe_end
from podplan.tools.status.result import ReplicaTransition, StatusResult

_STARTED = ("Running", "Succeeded", "Failed", "Unknown")
_PHASES = {"Complete": "Succeeded", "Failed": "Failed"}


def reconcile_by_owned_job(job: ObservedJob, rules: OwnedJobRules) -> StatusResult:
    """Return the phase that the controller reports, and its decisions with their reasons."""
    specs = [group.doc.data["spec"] for group in job.groups if group.doc.data["kind"] == "Job"]
    ends = [
        decide_job(one._replace(spec=spec, path=rules.job_path), rules.job)
        for one, spec in zip(list_jobs(job, job.elapsed), specs, strict=False)
    ]
    end = ends[0] if ends else None
    phase = _PHASES.get(end.phase, "") if end is not None else ""
    if not phase:
        phase = "Running" if any(one.phase in _STARTED for one in job.replicas) else "Initializing"
    transitions = tuple(_change(one, end) for one in job.replicas)
    restarts = count_past_restarts(job)
    for one in transitions:
        restarts[one.observed.type] += one.is_restarted
    decisions = list(end.decisions) if end is not None else []
    if phase in _PHASES.values():
        decisions += _explain_clean_up(job, rules)
    return StatusResult(
        job,
        phase,
        rules.phases,
        _explain_phase(job, end, transitions),
        transitions,
        (),
        tuple(decisions),
        restarts,
        {"phase": phase},
    )


def _change(replica: ObservedReplica, end: JobEnd | None) -> ReplicaTransition:
    """Return a replica after the Job controller has acted: Pods that run when the Job ends are deleted."""
    if end is not None and end.phase != "Active" and replica.phase in ("Running", "Pending", "Creating"):
        return ReplicaTransition(replica, "Deleted", is_deleted=True)
    if end is not None and replica.short_name in end.recreated:
        return ReplicaTransition(replica, "Creating", is_restarted=True)
    is_created = replica.phase == "Deleted" and end is not None and end.phase == "Active"
    return ReplicaTransition(replica, "Creating" if is_created else replica.phase)


def _explain_clean_up(job: ObservedJob, rules: OwnedJobRules) -> Iterator[ControllerDecision]:
    written = get_at(job.cr, rules.clean_up_path)
    field = rules.clean_up_path[-1]
    value = "true" if written is True else "false" if written is False else "false, the default"
    text = f"the {rules.other} {'is deleted' if written is True else 'stays'}: {field} is {value}"
    path = rules.clean_up_path if written is not None else ()
    yield ControllerDecision("clean-up", text, rules.clean_up, (), path)
    seconds = get_at(job.cr, (*rules.job_path, "ttlSecondsAfterFinished"))
    if isinstance(seconds, int):
        when = "at once" if seconds == 0 else f"{seconds} s after its end"
        text = f"the Job is deleted {when}, with its Pods and their logs"
        path = (*rules.job_path, "ttlSecondsAfterFinished")
        yield ControllerDecision("clean-up", text, rules.job.time_to_live, (), path)


def _explain_phase(job: ObservedJob, end: JobEnd | None, transitions: tuple[ReplicaTransition, ...]) -> str:
    if end is not None and end.phase != "Active":
        return end.decisions[-1].text.partition(": ")[2]
    restarted = [one.observed for one in transitions if one.is_restarted]
    if restarted:
        return f"{restarted[0].short_name} {describe_end(restarted[0])}, and a new Pod takes its place"
    running = sum(one.phase == "Running" for one in job.replicas)
    return f"{running} of {len(job.replicas)} Pods of its Job run" if job.replicas else "its Job has no Pods"
