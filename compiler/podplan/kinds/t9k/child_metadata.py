"""The metadata of every child of a job: name, labels, and the job as its owner."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.indexed_text import Indexed
from podplan.core.provenance import Behavior, Cause, Cursor, DocumentPath, Traced, attribute_to, copy_traced
from podplan.core.typing import Any
from podplan.kinds.common.name_patterns import INDEX_TEXT, WordValues, build_name_words, fill_pattern
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.job import JobContext, trace_job_name

TracedMap = dict[str, Any]


def build_child_metadata(
    job: JobContext,
    name: Indexed | str,
    *,
    kind: str,
    labels: Mapping[str, Any],
    type_name: str = "",
    name_origins: tuple[Cause, ...] | None = None,
    template: Cursor | None = None,
) -> TracedMap:
    """Build the metadata of a child of the job; labels of the template stay unless the controller sets them.

    ``name_origins`` are the origins of the name, if not those of the base name; ``type_name`` is the replica
    type of a child that belongs to a replica.
    """
    word_values = build_name_words(
        job.name_words, type_name, name, INDEX_TEXT if isinstance(name, Indexed) else None
    )
    child_labels = _apply_configured_values(job, behaviors.CHILD_LABELS[kind], labels, word_values)
    child_annotations = (
        _apply_configured_values(job, behaviors.CHILD_ANNOTATIONS[kind], {}, word_values)
        if kind in behaviors.CHILD_ANNOTATIONS
        else {}
    )
    tree: TracedMap = {
        "name": attribute_to(name_origins or job.base_name_origins, name),
        "namespace": job.cr.get("metadata", "namespace"),
        "labels": child_labels,
        "annotations": child_annotations or None,
    }
    if template is not None:
        tree["labels"] = _merge_template_labels(job, template.get("labels"), child_labels)
        tree["annotations"] = template.get("annotations")
        if child_annotations:
            template_annotations = tree["annotations"]
            tree["annotations"] = attribute_to(
                (template_annotations, behaviors.CHILD_ANNOTATIONS[kind]),
                overlay_fields(template_annotations.fields(), child_annotations),
            )
    elif not child_annotations:
        del tree["annotations"]
    if job.uid.value:
        tree["ownerReferences"] = [build_owner_reference(job)]
    return tree


def _apply_configured_values(
    job: JobContext, behavior: Behavior, built_in: Mapping[str, Any], word_values: WordValues
) -> TracedMap:
    """Return labels or annotations with those that an option adds, changes, or (with false) removes."""
    behavior = job.options.resolve_behavior(behavior)
    tree = dict(built_in)
    for key, pattern in behavior.value.items():
        value = None if pattern is False else fill_pattern(str(pattern), word_values)
        if value is None:
            tree.pop(key, None)
        else:
            tree[key] = attribute_to((behavior, job.spec), value)
    return tree


def _merge_template_labels(job: JobContext, written_labels: Cursor, labels: TracedMap) -> Traced:
    behavior = job.options.resolve_behavior(behaviors.TEMPLATE_LABELS)
    if behavior.value == "template":
        template_labels = {
            key: copy_traced(value, behavior=behavior) for key, value in written_labels.fields().items()
        }
        return attribute_to((written_labels, behavior), {**labels, **template_labels})
    return attribute_to((written_labels, behavior), overlay_fields(written_labels.fields(), labels))


def build_selector(job: JobContext, behavior: Behavior, type_name: str, name: str | Indexed) -> Traced:
    """Build the labels by which a Service selects its Pods: of one replica, or of the job for a name
    without an index."""
    behavior = job.options.resolve_behavior(behavior)
    word_values = build_name_words(
        job.name_words, type_name, name, INDEX_TEXT if isinstance(name, Indexed) else None
    )
    filled_labels = {key: fill_pattern(str(pattern), word_values) for key, pattern in behavior.value.items()}
    return attribute_to(
        (behavior, *job.name_origins),
        {key: value for key, value in filled_labels.items() if value is not None},
    )


def build_owner_reference(job: JobContext) -> Traced:
    block_deletion = job.options.resolve_behavior(behaviors.BLOCK_DELETION)
    return attribute_to(
        (behaviors.OWNER_REFERENCE, *job.name_origins),
        {
            "apiVersion": job.cr["apiVersion"],
            "kind": job.cr["kind"],
            "name": trace_job_name(job),
            "uid": job.uid,
            "controller": True,
            "blockOwnerDeletion": attribute_to((block_deletion, job.spec), block_deletion.value),
        },
    )


def overlay_fields(written_fields: dict[str, Cursor], added: TracedMap) -> TracedMap:
    """Return ``written_fields`` with ``added`` on top; the origins record what was replaced."""
    return {
        **written_fields,
        **{key: record_replaced(value, written_fields.get(key)) for key, value in added.items()},
    }


def record_replaced(value: Any, *replaced_values: Any) -> Any:
    """Return ``value`` with the replaced values recorded in its origin."""
    replaced_places = tuple(
        place for replaced_value in replaced_values for place in _find_replaced_places(replaced_value)
    )
    if not replaced_places:
        return value
    traced = copy_traced(value) if isinstance(value, Cursor) else value
    return Traced(
        traced.value, traced.origin._replace(overridden=(*traced.origin.overridden, *replaced_places))
    )


def _find_replaced_places(replaced_value: Any) -> tuple[DocumentPath, ...]:
    """Return the places in files whose values are replaced: the value itself, or those that it had
    replaced."""
    if isinstance(replaced_value, Cursor):
        return (replaced_value.document_path,) if replaced_value.exists else ()
    return replaced_value.origin.overridden if isinstance(replaced_value, Traced) else ()
