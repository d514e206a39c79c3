"""The CRs of the base revision, for rules about the effects of a change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from podplan.core.provenance import TracedDocument
from podplan.pipeline import JobPlan, PipelineSettings, iter_job_plans
from podplan.workspace.documents import identify_object
from podplan.workspace.file_loader import SkippedFile
from podplan.workspace.loader import Loader
from podplan.yaml import SourceFile

# By group, kind, namespace and name: the CRs of each environment, "" for none.
BaseCrs = Mapping[tuple[str, str, str, str], Mapping[str, TracedDocument]]


def collect_base_crs(
    sources: Iterable[SourceFile | SkippedFile], settings: PipelineSettings, reader: Loader
) -> BaseCrs:
    """Return the CRs that the files compile to or contain.

    A profile that does not compile has no CR, so that the current one counts as new.

    Raises UsageError, LimitExceeded: as pipeline.iter_job_plans does.
    """
    crs: dict[tuple[str, str, str, str], dict[str, TracedDocument]] = {}
    for source in sources:
        for item in reader.classify(source) if isinstance(source, SourceFile) else ():
            if item.category not in ("profile", "cr"):
                continue
            for plan in iter_job_plans(item, settings, reader):
                if plan.cr is not None and identify_object(plan.cr.data)["name"] is not None:
                    crs.setdefault(_identity_key(plan.cr), {}).setdefault(plan.environment, plan.cr)
    return crs


def find_base_cr(plan: JobPlan, base_crs: BaseCrs) -> TracedDocument | None:
    """Return the CR with the name of ``plan`` in the base revision; None if it is new or ambiguous.

    A CR with another environment is still the same object if it is the only one with its name.
    """
    assert plan.cr is not None
    same_name_crs = base_crs.get(_identity_key(plan.cr), {})
    return same_name_crs.get(plan.environment) or (
        next(iter(same_name_crs.values())) if len(same_name_crs) == 1 else None
    )


def _identity_key(cr: TracedDocument) -> tuple[str, str, str, str]:
    identity = identify_object(cr.data)
    group = str(identity["apiVersion"]).rpartition("/")[0]
    return group, str(identity["kind"]), str(identity["namespace"] or ""), str(identity["name"])
