"""Labels and annotations by which a job asks Kueue for a queue and a topology.

Source: docs/evidence/kueue.md#managed-jobs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.provenance import Cursor, TracedDocument, root_cursor
from podplan.core.suggestions import suggest_name
from podplan.core.typing import Any
from podplan.kinds.spec import QueueIntegration
from podplan.kubernetes.accessors import get_mapping
from podplan.lint.analysis.jobs import find_kind_spec, find_written_path
from podplan.lint.analysis.queue_subjects import find_cron_job, name_labels, name_subject
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

_PREFIX = "kueue.x-k8s.io/"
_QUEUE = f"{_PREFIX}queue-name"
_PRIORITY_CLASS = f"{_PREFIX}priority-class"
_WHILE_RUNNING = "while the job runs"
_KNOWN_LABELS = ("priority-class", "max-exec-time-seconds", "prebuilt-workload-name", "managed")
_QUEUE_WORDS = ("queue-name", "queue", "local-queue")
_TOPOLOGY_PREFIX = f"{_PREFIX}podset-"


@check()
def queue_name_ignored(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A queue label where Kueue does not read it. Values: ``queue``, ``where``, ``subject``, ``labels``."""
    cr = target.job.cr
    if cr is None or not _may_mention_kueue(cr):
        return
    metadata, cron_job = get_mapping(cr.data, "metadata"), find_cron_job(cr)
    if _QUEUE in get_mapping(metadata, "labels"):
        return
    names = {"subject": name_subject(cr), "labels": name_labels(cr)}
    for path, queue, where in _iter_unread_queues(metadata):
        yield Violation(path, {"queue": queue, "where": where, **names}, at_key=True)
    in_template = next(_iter_template_queues(cr.data.get("spec"), ("spec",)), None)
    is_read = _is_read_from_template(_load_integration(target.job), cr)
    if cron_job is not None and not (is_read and in_template is not None):
        yield from _find_queues_of_cron_job(cron_job, names)
    if in_template is not None and not is_read:
        path, queue = in_template
        values = {"queue": queue, "where": "a label of a template", **names}
        yield Violation(path, values, at_key=True)


def _find_queues_of_cron_job(cron_job: TracedDocument, names: Mapping[str, Any]) -> Iterator[Violation]:
    """Yield the queues in the metadata of a CronJob, which its Jobs do not get."""
    metadata = get_mapping(cron_job.data, "metadata")
    queue = get_mapping(metadata, "labels").get(_QUEUE)
    found = list(_iter_unread_queues(metadata))
    if queue is not None:
        found.append((("metadata", "labels", _QUEUE), queue, "a label of the CronJob"))
    for path, value, where in found:
        yield Violation(path, {"queue": value, "where": where, **names}, at_key=True, doc=cron_job)


def _iter_unread_queues(metadata: Mapping[str, Any]) -> Iterator[tuple[Path, Any, str]]:
    """Yield the annotations and misspelt labels with a queue, each with its path and what it is."""
    for field in ("annotations", "labels"):
        for key, value in get_mapping(metadata, field).items():
            if field == "annotations" and key == _QUEUE:
                yield ("metadata", field, key), value, "an annotation"
            elif _is_misspelt(key):
                yield ("metadata", field, key), value, f"{field.removesuffix('s')} {key}"


@check()
def queue_name_without_integration(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A queue label on a job of a kind that Kueue does not know. Values: ``queue``, ``kind``."""
    queue = get_mapping(get_mapping(target.data, "metadata"), "labels").get(_QUEUE)
    if queue:
        kind = f"{target.data.get('kind')} of {target.data.get('apiVersion')}"
        yield Violation(("metadata", "labels", _QUEUE), {"queue": queue, "kind": kind}, at_key=True)


@check()
def refused_by_kueue(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A label or annotation that the webhook of Kueue refuses. Values: ``reason``, ``subject``."""
    job = target.job
    spec = find_kind_spec(job)
    if job.cr is None or spec is None or spec.load_queue_integration is None:
        return
    if not _may_mention_kueue(job.cr) or spec.list_references(job.cr.data):
        return  # the templates are in another document
    from podplan.cluster.admission import explain_framework_off, name_framework
    from podplan.cluster.job_refusals import iter_label_refusals, iter_template_refusals
    from podplan.cluster.model import KueueConfiguration
    from podplan.core.replica_groups import LoweringOptions

    integration, cursor = spec.load_queue_integration(), root_cursor(job.cr)
    label = cursor.get("metadata", "labels", _QUEUE)
    configuration = job.cluster.configuration if job.cluster is not None else KueueConfiguration()
    if not label.exists or explain_framework_off(name_framework(cursor, integration), configuration):
        return
    refusals: list[tuple[Cursor, str]] = [*iter_label_refusals(cursor, label)]
    if integration.validate is not None:
        refusals += ((cursor.get(*path), reason) for path, reason in integration.validate(cursor))
    refusals += iter_template_refusals(integration.list_pod_sets(cursor, {}, LoweringOptions()))
    for place, reason in refusals:
        values = {"reason": reason, "subject": name_subject(job.cr)}
        yield Violation(place.path, values, doc=place.doc)


@check()
def topology_request_on_job(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A topology annotation of the job instead of its Pod templates. Values: ``annotation``, ``subject``."""
    if target.data.get("kind") == "Pod":
        return  # it is its own template
    annotations = get_mapping(get_mapping(target.data, "metadata"), "annotations")
    for key in annotations:
        if key.startswith(_TOPOLOGY_PREFIX):
            values = {"annotation": key, "subject": name_subject(target.doc)}
            yield Violation(("metadata", "annotations", key), values, at_key=True)


@check()
def queue_changed(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A change of a job that replaces or removes its queue, or adds or removes a priority class.

    Values: ``what``, ``before``, ``after``, ``when``.
    """
    base_cr = target.job.base_cr
    if base_cr is None:
        return
    old, new = (get_mapping(get_mapping(data, "metadata"), "labels") for data in (base_cr.data, target.data))
    queues, classes = ((old.get(label), new.get(label)) for label in (_QUEUE, _PRIORITY_CLASS))
    if queues[0] and queues[0] != queues[1]:
        yield _build_change(target, "queue", _QUEUE, queues, _WHILE_RUNNING)
    if bool(classes[0]) != bool(classes[1]) and (old.get(_QUEUE) or new.get(_QUEUE)):
        when = "also while it waits" if classes[0] else _WHILE_RUNNING
        yield _build_change(target, "priority class", _PRIORITY_CLASS, classes, when)


def _build_change(target: Target, what: str, label: str, values: tuple[Any, Any], when: str) -> Violation:
    before, after = (value or "none" for value in values)
    path = find_written_path(target.data, "metadata", "labels", label)
    return Violation(path, {"what": what, "before": before, "after": after, "when": when})


def _may_mention_kueue(cr: TracedDocument) -> bool:
    """Whether a CR may have a label of Kueue: a search of the text is faster than one of the data."""
    return cr.source is None or "kueue" in cr.source.text


def _is_misspelt(key: str) -> bool:
    prefix, _, name = key.rpartition("/")
    if "kueue" not in prefix or key == _QUEUE:
        return False
    meant = suggest_name(name, (*_KNOWN_LABELS, *_QUEUE_WORDS))
    return name == "queue-name" or (name not in _KNOWN_LABELS and meant in _QUEUE_WORDS)


def _load_integration(job: LoweredJob) -> QueueIntegration | None:
    spec = find_kind_spec(job)
    load = spec.load_queue_integration if spec is not None else None
    return load() if load is not None else None


def _is_read_from_template(integration: QueueIntegration | None, cr: TracedDocument) -> bool:
    """Whether Kueue reads labels of the Pod template of a job."""
    if integration is None:
        return False
    labels = get_mapping(get_mapping(cr.data, "metadata"), "labels")
    return integration.queues_pods or (integration.takes_labels_of_template and not labels)


def _iter_template_queues(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield the labels with a queue in the templates below a value."""
    if isinstance(value, dict):
        labels = get_mapping(get_mapping(value, "metadata"), "labels")
        if _QUEUE in labels:
            yield (*path, "metadata", "labels", _QUEUE), labels[_QUEUE]
        for key, entry in value.items():
            yield from _iter_template_queues(entry, (*path, key))
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _iter_template_queues(entry, (*path, index))
