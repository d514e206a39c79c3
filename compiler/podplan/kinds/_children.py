"""The metadata that every child of a job has: name, labels, and the job as its owner."""

from __future__ import annotations

from typing import Any

from podplan import facts
from podplan.kinds._job import Job
from podplan.provenance import Cursor, Indexed, Marked, Why, at

Tree = dict[str, Any]


def metadata(
    job: Job,
    name: Indexed | str,
    *,
    labels: Tree,
    why: tuple[Why, ...] | None = None,
    template: Cursor | None = None,
) -> Tree:
    """The metadata of a child of the job; labels of the template stay unless the controller sets them.

    ``why`` is where the name comes from, if not from the base name.
    """
    written = template.get("labels").fields() if template is not None else {}
    tree: Tree = {
        "name": at(why or job.base_why, name),
        "namespace": job.cr.get("metadata", "namespace"),
        "labels": laid_over(written, labels),
    }
    if template is not None:
        tree["annotations"] = template.get("annotations")
    if job.uid.value:
        tree["ownerReferences"] = [owner_reference(job)]
    return tree


def owner_reference(job: Job) -> Marked:
    return at(
        (facts.OWNER_REFERENCE, job.name),
        {
            "apiVersion": job.cr["apiVersion"],
            "kind": job.cr["kind"],
            "name": job.name,
            "uid": job.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        },
    )


def laid_over(written: dict[str, Cursor], added: Tree) -> Tree:
    """``written`` with ``added`` on top; what it replaces is kept in the origin."""
    return {**written, **{key: replacing(value, written.get(key)) for key, value in added.items()}}


def replacing(value: Any, loser: Cursor | None) -> Any:
    if loser is None or not isinstance(value, Marked):
        return value
    return Marked(value.value, value.origin._replace(overrides=(loser.place,)))


def job_labels(job: Job) -> Tree:
    """The labels that tell whose a child is."""
    return {
        "tensorstack.dev/owner-name": at((facts.OWNER_NAME, job.name), job.name.value),
        "tensorstack.dev/owner-kind": at((facts.OWNER_KIND, job.cr["kind"]), job.kind),
        "tensorstack.dev/component": at((facts.COMPONENT, job.cr["kind"]), job.kind.lower()),
        "tensorstack.dev/component-type": at((facts.COMPONENT, job.cr["kind"]), "user"),
    }
