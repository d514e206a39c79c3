"""The CRs of the revision that a change is compared with, for rules about what the change does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from podplan.core.provenance import Doc
from podplan.pipeline import Plan, Settings, plans
from podplan.workspace import Reader
from podplan.workspace.documents import identity, items
from podplan.workspace.file_loader import Unread
from podplan.yaml import Source

# By kind, namespace and name; the CRs of each environment, "" for none.
Before = Mapping[tuple[str, str, str], Mapping[str, Doc]]


def before(found: Iterable[Source | Unread], settings: Settings, reader: Reader) -> Before:
    """The CRs that the files stood for, rendered or written by hand. Raises what pipeline.plans raises.

    What did not compile has no CR, and what is compared with it is new.
    """
    crs: dict[tuple[str, str, str], dict[str, Doc]] = {}
    for source in found:
        for item in items(source) if isinstance(source, Source) else ():
            if item.what not in ("profile", "cr"):
                continue
            for plan in plans(item, settings, reader):
                if plan.cr is not None and identity(plan.cr.data)["name"] is not None:
                    crs.setdefault(_key(plan.cr), {}).setdefault(plan.environment, plan.cr)
    return crs


def former(plan: Plan, crs: Before) -> Doc | None:
    """The CR that was there under the name of that of ``plan``; None for a new one, or where it is unclear.

    A CR that had no environment, or another, is still the same object where there was only one of its name.
    """
    assert plan.cr is not None
    there = crs.get(_key(plan.cr), {})
    return there.get(plan.environment) or (next(iter(there.values())) if len(there) == 1 else None)


def _key(cr: Doc) -> tuple[str, str, str]:
    named = identity(cr.data)
    return str(named["kind"]), str(named["namespace"] or ""), str(named["name"])
