"""How messages about queues name what is queued: a job, or an object of another kind."""

from __future__ import annotations

from podplan.core.provenance import TracedDocument, trace_to_source

_CRON_JOB = "CronJob"
# Kinds that Kueue queues and that nobody calls a job.
_OBJECTS = (
    *("Pod", "Deployment", "StatefulSet", "LeaderWorkerSet", "RayService"),
    *("AppWrapper", "SparkApplication"),
)


def name_subject(cr: TracedDocument) -> str:
    """Return "the job", or "the Deployment" and the like."""
    kind = cr.data.get("kind")
    return f"the {kind}" if kind in _OBJECTS else "the job"


def find_cron_job(cr: TracedDocument) -> TracedDocument | None:
    """Return the CronJob that creates a Job; None for a job that is written itself."""
    docs = (step.doc for step in trace_to_source(cr, ())) if cr.source is None else ()
    return next(
        (one for one in docs if isinstance(one.data, dict) and one.data.get("kind") == _CRON_JOB), None
    )


def name_labels(cr: TracedDocument) -> str:
    """Return where the label with the queue belongs."""
    if find_cron_job(cr) is not None:
        return "spec.jobTemplate.metadata.labels of the CronJob"
    return f"metadata.labels of {name_subject(cr)}"
