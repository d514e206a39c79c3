"""From a Job to its Pods."""

from __future__ import annotations

from podplan.core.provenance import Cursor, attribute_to, build_traced_document, root_cursor
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.kinds.batch import behaviors
from podplan.kinds.batch.pods import build_pods, creates_pods, split_pods
from podplan.kinds.spec import References

GENERATED_SUFFIX = "xxxxx"  # the five characters that the API server adds to generateName


def lower(cr: Cursor, _references: References, options: LoweringOptions) -> list[ReplicaGroup]:
    """The Pods that the Job controller creates as soon as the Job runs."""
    if not creates_pods(cr, options.resumed):
        return []
    jobs = ReplicaGroup(cr.doc if cr.get("metadata", "name").exists else _name_job(cr).doc)
    return [build_pods(jobs, one) for one in split_pods(root_cursor(jobs.doc))]


def _name_job(cr: Cursor) -> Cursor:
    """The Job with a name that the API server may give it."""
    metadata = cr.get("metadata")
    prefix = metadata.get("generateName")
    name = attribute_to((prefix, behaviors.POD_NAME), f"{prefix.value_or('')}{GENERATED_SUFFIX}")
    tree = attribute_to(
        cr, {**cr.fields(), "metadata": attribute_to(metadata, {**metadata.fields(), "name": name})}
    )
    return root_cursor(build_traced_document(tree, cr.doc.name))
