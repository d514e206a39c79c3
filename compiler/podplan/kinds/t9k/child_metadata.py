"""The metadata that every child of a job has: name, labels, and the job as its owner."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.indexed_text import Indexed
from podplan.core.provenance import Cursor, Fact, Marked, Place, Why, at, copied
from podplan.core.typing import Any
from podplan.kinds.common.name_patterns import INDEX, Known, filled, naming
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.job import Job, name_of

Tree = dict[str, Any]


def metadata(
    job: Job,
    name: Indexed | str,
    *,
    kind: str,
    labels: Mapping[str, Any],
    type_: str = "",
    why: tuple[Why, ...] | None = None,
    template: Cursor | None = None,
) -> Tree:
    """The metadata of a child of the job; labels of the template stay unless the controller sets them.

    ``why`` is where the name comes from, if not from the base name; ``type_`` is the replica type of a child
    that belongs to a replica.
    """
    known = naming(job, type_, name, INDEX if isinstance(name, Indexed) else None)
    own = _with_more(job, behaviors.LABELS[kind], labels, known)
    more = _with_more(job, behaviors.ANNOTATIONS[kind], {}, known) if kind in behaviors.ANNOTATIONS else {}
    tree: Tree = {
        "name": at(why or job.base_why, name),
        "namespace": job.cr.get("metadata", "namespace"),
        "labels": own,
        "annotations": more or None,
    }
    if template is not None:
        tree["labels"] = _with_those_of_template(job, template.get("labels"), own)
        tree["annotations"] = template.get("annotations")
        if more:
            written = tree["annotations"]
            tree["annotations"] = at(
                (written, behaviors.ANNOTATIONS[kind]), laid_over(written.fields(), more)
            )
    elif not more:
        del tree["annotations"]
    if job.uid.value:
        tree["ownerReferences"] = [owner_reference(job)]
    return tree


def _with_more(job: Job, fact: Fact, told: Mapping[str, Any], known: Known) -> Tree:
    """Labels or annotations with those that a setting adds, changes, or (as false) leaves out."""
    fact = job.options.fact(fact)
    tree = dict(told)
    for key, pattern in fact.value.items():
        value = None if pattern is False else filled(str(pattern), known)
        if value is None:
            tree.pop(key, None)
        else:
            tree[key] = at((fact, job.spec), value)
    return tree


def _with_those_of_template(job: Job, written: Cursor, labels: Tree) -> Marked:
    fact = job.options.fact(behaviors.TEMPLATE_LABELS)
    if fact.value == "template":
        theirs = {key: copied(value, fact=fact) for key, value in written.fields().items()}
        return at((written, fact), {**labels, **theirs})
    return at((written, fact), laid_over(written.fields(), labels))


def selector(job: Job, fact: Fact, type_: str, name: str | Indexed) -> Marked:
    """The labels by which a Service finds its Pods: of one replica, or of the job where it has no index."""
    fact = job.options.fact(fact)
    known = naming(job, type_, name, INDEX if isinstance(name, Indexed) else None)
    found = {key: filled(str(pattern), known) for key, pattern in fact.value.items()}
    return at((fact, *job.name_why), {key: value for key, value in found.items() if value is not None})


def owner_reference(job: Job) -> Marked:
    blocks = job.options.fact(behaviors.BLOCK_DELETION)
    return at(
        (behaviors.OWNER_REFERENCE, *job.name_why),
        {
            "apiVersion": job.cr["apiVersion"],
            "kind": job.cr["kind"],
            "name": name_of(job),
            "uid": job.uid,
            "controller": True,
            "blockOwnerDeletion": at((blocks, job.spec), blocks.value),
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
