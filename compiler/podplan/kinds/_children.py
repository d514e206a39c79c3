"""The metadata that every child of a job has: name, labels, and the job as its owner."""

from __future__ import annotations

from typing import Any

from podplan import facts
from podplan.kinds._job import Job, name_of
from podplan.provenance import Cursor, Indexed, Marked, Place, Why, at, copied

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
    tree: Tree = {
        "name": at(why or job.base_why, name),
        "namespace": job.cr.get("metadata", "namespace"),
        "labels": labels,
    }
    if template is not None:
        written = template.get("labels")
        tree["labels"] = at((written, facts.TEMPLATE_LABELS), laid_over(written.fields(), labels))
        tree["annotations"] = template.get("annotations")
    if job.uid.value:
        tree["ownerReferences"] = [owner_reference(job)]
    return tree


def owner_reference(job: Job) -> Marked:
    return at(
        (facts.OWNER_REFERENCE, *job.name_why),
        {
            "apiVersion": job.cr["apiVersion"],
            "kind": job.cr["kind"],
            "name": name_of(job),
            "uid": job.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        },
    )


def laid_over(written: dict[str, Cursor], added: Tree) -> Tree:
    """``written`` with ``added`` on top; what it replaces is kept in the origin."""
    return {**written, **{key: replacing(value, written.get(key)) for key, value in added.items()}}


def replacing(value: Any, *losers: Any) -> Any:
    """``value`` where it takes the place of other values, which are kept in its origin."""
    lost = tuple(place for loser in losers for place in _places(loser))
    if not lost:
        return value
    marked = copied(value) if isinstance(value, Cursor) else value
    return Marked(marked.value, marked.origin._replace(overrides=(*marked.origin.overrides, *lost)))


def _places(loser: Any) -> tuple[Place, ...]:
    """What somebody wrote and does not get: the value itself, or what had already lost to it."""
    if isinstance(loser, Cursor):
        return (loser.place,) if loser.exists else ()
    return loser.origin.overrides if isinstance(loser, Marked) else ()


def job_labels(job: Job) -> Tree:
    """The labels that tell whose a child is."""
    return {
        "tensorstack.dev/owner-name": at((facts.OWNER_NAME, *job.name_why), job.name),
        "tensorstack.dev/owner-kind": at((facts.OWNER_KIND, job.cr["kind"]), job.kind),
        "tensorstack.dev/component": at((facts.COMPONENT, job.cr["kind"]), job.kind.lower()),
        "tensorstack.dev/component-type": at((facts.COMPONENT, job.cr["kind"]), "user"),
    }
