"""Names of what a job lowers to: short enough with the controller's suffix, and no two the same.

Source: docs/evidence/t9k-common.md#suffix-of-the-base-name: children are named after the job, a dash and five
hex digits.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from itertools import islice

from podplan.core.indexed_text import Indexed
from podplan.core.replica_groups import Group
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import mapping, text
from podplan.lint.analysis.cross_job import NAME, Again, Sharers, named_place
from podplan.lint.analysis.jobs import Instance, Named, named, written
from podplan.lint.location import locate
from podplan.lint.target import Hit, Job, Subject

# What must fit into a DNS label of 63 characters, and what becomes of it where it does not.
BOUND = {
    "Service": "a Service of that name is refused, and the replicas do not find each other",
    "Pod": "the host name of the Pod is cut off there, and is that of other replicas too",
    "TensorBoard": "what the TensorBoard is served by cannot have that name",
}


def child_name_too_long(subject: Subject, params: Mapping[str, Any]) -> Iterator[Hit]:
    """A name that is too long once the controller adds its suffix; the longest one, once per job.

    Values: ``kind``, ``name``, ``length``, ``most``, ``over``, ``consequence``. A job whose uid is known has
    its real names, and the API server's own rules are enough.
    """
    job = subject.job
    if job.cr is None or text(mapping(job.cr.data, "metadata"), "uid"):
        return
    longest: tuple[int, str, Group] | None = None
    for group in job.groups:
        if group.doc.data["kind"] not in BOUND or mapping(group.doc.data, "metadata").get("ownerReferences"):
            continue
        name = _last_name(group)
        if longest is None or len(name) > longest[0]:
            longest = len(name), name, group
    if longest is None or longest[0] + params["suffix"] <= params["most"]:
        return
    length, name, group = longest
    kind = group.doc.data["kind"]
    values = {
        "kind": kind,
        "name": name,
        "length": length + params["suffix"],
        "most": params["most"],
        "over": length + params["suffix"] - params["most"],
        "consequence": BOUND[kind],
    }
    yield Hit(written(job.cr.data, *NAME), values)


def _last_name(group: Group) -> str:
    """The name of the last object of a group, which is the longest."""
    varying = group.doc.varies.get(NAME)
    if isinstance(varying, Indexed):
        return varying.text(group.start + group.replicas - 1)
    return text(group.doc.data["metadata"], "name")


def name_left(job: Job) -> Named | None:
    """The name of a job; None for an object, and where the API server makes one, which is never the same."""
    is_named = job.cr is not None and text(mapping(job.cr.data, "metadata"), "name")
    return named(job) if is_named else None


def duplicate_job(left: Mapping[int, Named], again: Again) -> Iterator[tuple[int, Hit]]:
    """A job that is written twice: the same kind, namespace and name.

    Values: ``job``, ``first`` (the file and line of the other one), ``namespace``.
    """
    same: dict[tuple[str, str], Sharers] = {}
    for number, job in left.items():
        same.setdefault((job.namespace, job.called), Sharers()).add(number, job)
    for number, job in left.items():
        others, _ = same[job.namespace, job.called].before(job)
        if others:
            values = {"job": job.called, "first": _line(again(others[0])), "namespace": _in(job.namespace)}
            yield number, _hit(number, values, others, again)


class Children(NamedTuple):
    """What a job lowers to, as kind and first name: groups overlap where they begin alike."""

    job: Named
    names: tuple[str, ...]

    @property
    def keys(self) -> list[Hashable]:
        return [(self.job.namespace, child) for child in self.names]

    @property
    def party(self) -> Hashable:
        return self.job.instance


def children_left(job: Job) -> Children | None:
    """What a job lowers to; None where no other can have the same, as for ``name_left``."""
    left = name_left(job)
    data = (group.doc.data for group in job.groups)
    return left and Children(left, tuple(f"{one['kind']}/{one['metadata']['name']}" for one in data))


def shared_child_name(left: Mapping[int, Children], again: Again) -> Iterator[tuple[int, Hit]]:
    """A lowered object that another job has under the same name.

    Values: ``child``, ``more``, ``other``, ``namespace``.
    """
    # The first of each name that makes a child, and the first variant of each job.
    makers: dict[tuple[str, str], dict[str, int]] = {}
    variants: dict[tuple[str, str, Instance], int] = {}
    for number, one in left.items():
        for child in one.names:
            where, called, instance = one.job
            makers.setdefault((where, child), {}).setdefault(called, number)
            variants.setdefault((where, child, instance), number)
    for number, one in left.items():
        shared: list[tuple[str, str, int]] = []
        for child in one.names:
            where, called, instance = one.job
            for other, first in islice(makers[where, child].items(), 2):
                if other != called and first < variants[where, child, instance]:
                    shared.append((child, other, first))
                    break
        if shared:
            child, other, first = shared[0]
            more = f" and {len(shared) - 1} more" if len(shared) > 1 else ""
            values = {"child": child, "more": more, "other": other, "namespace": _in(one.job.namespace)}
            yield number, _hit(number, values, [first], again)


def _in(namespace: str) -> str:
    return f'the namespace "{namespace}"' if namespace else "the same namespace"


def _line(job: Job) -> str:
    """Where the name of a job is written: "jobs/train.yaml:5"."""
    doc, path, _ = named_place(job)
    where = locate(doc, path).location
    return f"{where.file}:{where.line}"


def _hit(number: int, values: Mapping[str, Any], others: list[int], again: Again) -> Hit:
    """At the name of a job, with those of others."""
    return Hit(named_place(again(number))[1], values, related=[named_place(again(other)) for other in others])
