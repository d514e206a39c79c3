"""Jobs as Kueue queues them. Source: docs/evidence/kueue.md#pod-sets."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.provenance import Cursor, Path, attribute_to, build_traced_document, root_cursor
from podplan.core.replica_groups import LoweringOptions
from podplan.kinds.batch.pod_defaults import apply_pod_defaults
from podplan.kinds.batch.pods import count_active_pods, is_indexed
from podplan.kinds.spec import PodSet, QueueIntegration, References

MIN_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"
SYNCED_COMPLETIONS = "kueue.x-k8s.io/job-completions-equal-parallelism"
PREBUILT_LABEL = "kueue.x-k8s.io/prebuilt-workload-name"
POD_SET = "main"


def list_pod_sets(job: Cursor, _references: References, _options: LoweringOptions) -> list[PodSet]:
    """The one pod set of a Job."""
    spec = job.get("spec")
    prebuilt = job.get("metadata", "labels", PREBUILT_LABEL)
    minimum = _parse_integer(job.get("metadata", "annotations", MIN_PARALLELISM).value)
    return [
        PodSet(
            POD_SET,
            count_active_pods(job),
            _complete_template(spec.get("template")) if prebuilt.exists else spec.get("template"),
            spec.get("parallelism"),
            minimum if minimum is not None else 0,
        )
    ]


def validate(job: Cursor) -> Iterator[tuple[Path, str]]:
    """What the webhook refuses in the annotations of a Job."""
    annotations, parallelism = job.get("metadata", "annotations"), job.get("spec", "parallelism").value_or(1)
    written = annotations.get(MIN_PARALLELISM)
    if written.exists:
        minimum = _parse_integer(written.value)
        if minimum is None:
            yield written.path, f"{MIN_PARALLELISM} must be an integer"
        elif not 0 < minimum < parallelism:
            yield written.path, f"Invalid value: {minimum}: should be between 0 and {parallelism - 1}"
    synced = annotations.get(SYNCED_COMPLETIONS)
    if synced.exists and synced.value not in ("true", "false", "True", "False", "1", "0", "t", "f"):
        yield synced.path, f"{SYNCED_COMPLETIONS} must be true or false"
    elif synced.exists and synced.value in ("true", "True", "1", "t"):
        if not is_indexed(job):
            yield synced.path, "should not be enabled for NonIndexed jobs"
        elif job.get("spec", "completions").value_or(parallelism) != parallelism:
            yield synced.path, "completions should be equal to parallelism when the annotation is true"


def _complete_template(template: Cursor) -> Cursor:
    """The Pod template as the API server stores it, which Kueue compares with a Workload."""
    tree = {**template.fields(), "spec": attribute_to(template, apply_pod_defaults(template.get("spec")))}
    return root_cursor(build_traced_document(attribute_to(template, tree), "Pod template"))


def _parse_integer(value: object) -> int | None:
    text = value.strip() if isinstance(value, str) else ""
    return int(text) if text.lstrip("-").isdigit() and len(text) < 12 else None


INTEGRATION = QueueIntegration(list_pod_sets, takes_labels_of_template=True, validate=validate)
