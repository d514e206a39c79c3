"""From a resolved profile to the CR that it stands for."""

from __future__ import annotations

from collections.abc import Iterable

from podplan.core.findings import Problem
from podplan.core.provenance import Cursor, Doc, at, root, split
from podplan.core.suggestions import did_you_mean
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.common.merge import ordered, patched, without_nulls
from podplan.kinds.common.profile import enumeration, repeated_names, shown, unused_fields
from podplan.kinds.registry import KIND_NAMES, PACKAGES, GroupVersionKind, iter_kinds_named, load_module

METADATA_FIRST = ("name", "generateName", "namespace", "labels", "annotations")


class Compiled(NamedTuple):
    """The CR, or None where the profile cannot be compiled; the paths of ``problems`` are in the profile."""

    cr: Doc | None
    problems: list[Problem]


def compile_profile(profile: Doc, inventory: Doc | None, gitops: str = "none") -> Compiled:
    """The CR of a resolved profile: one without extends, params, environments, matrix and expressions.

    It says what the profile says: no default of a controller is written out, and the annotations for the
    tool ``gitops`` are all that is added. Each path of it traces to the profile, the inventory or a named
    fact.
    """
    top = root(profile)
    job = top.get("spec", "job")
    kind = next(iter_kinds_named(job.value), None)
    if kind is None:
        return Compiled(None, [_no_job(job)])
    module = load_module(kind, "compile")
    tree, problems = module.compile(top, root(inventory if inventory is not None else Doc("", {})))
    unused = unused_fields(top.get("spec"), module.FIELDS, module.ROLE_FIELDS, _users)
    problems = [*unused, *repeated_names(top.get("spec")), *problems]
    overrides = (override.get("spec") for override in top.get("spec", "override").entries())
    tree = patched(tree, (spec for spec in overrides if isinstance(spec.value, dict)))
    return Compiled(split(_cr(top, job, kind, tree, gitops), f"{job.value}/{_name(top)}"), problems)


def _cr(top: Cursor, job: Cursor, kind: GroupVersionKind, spec: Any, gitops: str) -> Any:
    metadata = top.get("metadata")
    return at(
        top,
        {
            "apiVersion": at(job, kind.api_version),
            "kind": job,
            "metadata": _metadata(metadata, gitops),
            "spec": spec,
        },
    )


def _metadata(written: Cursor, gitops: str) -> Any:
    """The metadata of the profile, the name first even where a base gave the labels."""
    if not isinstance(written.value, dict):
        return written
    fields = {key: without_nulls(value) for key, value in written.fields().items()}
    if gitops != "none":
        from podplan.kinds.common.gitops_annotations import annotated

        fields["annotations"] = annotated(written, gitops)
    return at(written, ordered(fields, METADATA_FIRST))


def _name(top: Cursor) -> Any:
    metadata = top.get("metadata")
    return metadata.get("name").otherwise(metadata.get("generateName").otherwise(""))


def _users(field: str, in_role: bool) -> Iterable[str]:
    """The kinds that have a field."""
    name = "ROLE_FIELDS" if in_role else "FIELDS"
    return (kind.kind for kind in PACKAGES if field in getattr(load_module(kind, "compile"), name))


def _no_job(job: Cursor) -> Problem:
    listed = enumeration(list(KIND_NAMES), "or")
    if not job.exists:
        return Problem("PROF025", f"spec.job is missing; write {listed}", job.path[:-1])
    hint = did_you_mean(str(job.value), KIND_NAMES) or f"; there is {listed}"
    return Problem("PROF025", f"there is no kind of job {shown(job.value)}{hint}", job.path)
