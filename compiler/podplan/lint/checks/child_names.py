"""Names of what a job lowers to: short enough with the controller's suffix, and no two the same.

Source: t9k-semantics §2.1: children are named after the job, a dash and five hex digits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.findings import Path
from podplan.groups import Group
from podplan.kubernetes.shape import mapping, text
from podplan.lint.checks._jobs import called, for_all, instance, namespace, written
from podplan.lint.subject import Hit, Job, Subject
from podplan.provenance import Doc, Indexed
from podplan.typing import Any

NAME: Path = ("metadata", "name")
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


def duplicate_job(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A job that is written twice: the same kind, namespace and name. Values: ``job``, ``namespace``."""
    job = subject.job
    assert job.cr is not None
    others = _earlier(_by_name(subject.jobs).get((namespace(job), called(job)), []), job)
    if others:
        values = {"job": called(job), "namespace": _in(job)}
        yield Hit(written(job.cr.data, *NAME), values, related=_named(others))


def shared_child_name(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A lowered object that another job has under the same name.

    Values: ``child``, ``more``, ``other``, ``namespace``.
    """
    job = subject.job
    assert job.cr is not None
    shared: list[str] = []
    others: list[Job] = []
    for child in _children(job):
        for other in _earlier(_by_child(subject.jobs).get((namespace(job), child), []), job):
            if called(other) != called(job):
                shared.append(child)
                others.append(other)
                break
    if shared:
        more = f" and {len(shared) - 1} more" if len(shared) > 1 else ""
        values = {"child": shared[0], "more": more, "other": called(others[0]), "namespace": _in(job)}
        yield Hit(written(job.cr.data, *NAME), values, related=_named(others[:1]))


def _in(job: Job) -> str:
    return f'the namespace "{namespace(job)}"' if namespace(job) else "the same namespace"


def _named(jobs: list[Job]) -> list[tuple[Doc, Path, str]]:
    return [(job.cr, written(job.cr.data, *NAME), called(job)) for job in jobs[:3] if job.cr is not None]


def _earlier(jobs: list[Job], job: Job) -> list[Job]:
    """The jobs of other files and documents before the first variant of ``job``."""
    before: list[Job] = []
    if len(jobs) == 1 and jobs[0] is job:
        return before
    this = instance(job)
    for other in jobs:
        if instance(other) == this:
            break
        before.append(other)
    return before


@for_all
def _by_name(jobs: tuple[Job, ...]) -> dict[tuple[str, str], list[Job]]:
    """All jobs by namespace and name; those whose name the API server makes are never the same."""
    found: dict[tuple[str, str], list[Job]] = {}
    for job in jobs:
        if job.cr is not None and text(mapping(job.cr.data, "metadata"), "name"):
            found.setdefault((namespace(job), called(job)), []).append(job)
    return found


@for_all
def _by_child(jobs: tuple[Job, ...]) -> dict[tuple[str, str], list[Job]]:
    """All jobs by namespace and what they lower to."""
    found: dict[tuple[str, str], list[Job]] = {}
    for job in jobs:
        if job.cr is not None and text(mapping(job.cr.data, "metadata"), "name"):
            for child in _children(job):
                found.setdefault((namespace(job), child), []).append(job)
    return found


def _children(job: Job) -> list[str]:
    """What a job lowers to, as kind and first name: groups overlap where they begin alike."""
    return [f"{group.doc.data['kind']}/{group.doc.data['metadata']['name']}" for group in job.groups]
