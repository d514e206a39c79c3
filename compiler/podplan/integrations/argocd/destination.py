"""The destination cluster of Argo CD: KUBE_VERSION and KUBE_API_VERSIONS.

KUBE_VERSION is such as ``1.29`` or ``v1.29.4+eks``; KUBE_API_VERSIONS is a comma-separated list of the served
APIs, each as ``group/version`` and as ``group/version/Kind``
(docs/evidence/gitops-argocd.md#destination-cluster).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from podplan.core.typing import Any, NamedTuple
from podplan.kinds.registry import find_family

_VERSION = re.compile(r"v?1\.([0-9]{1,3})(?![0-9])")


class DestinationVersion(NamedTuple):
    """The Kubernetes version to check against, and a sentence if the cluster has another one."""

    version: str
    warning: str = ""


def select_version(kube_version: str, supported: Sequence[str], default: str) -> DestinationVersion:
    """Return the version of ``supported`` (sorted) that is nearest to KUBE_VERSION; ``default`` if it is
    invalid."""
    if not kube_version:
        return DestinationVersion(default)
    match = _VERSION.match(kube_version)
    if match is None:
        return DestinationVersion(
            default,
            f'KUBE_VERSION is "{kube_version[:30]}", no version of Kubernetes; checked against {default}',
        )
    requested = f"1.{int(match[1])}"
    if requested in supported:
        return DestinationVersion(requested)
    nearest = supported[0] if int(match[1]) < _parse_minor(supported[0]) else supported[-1]
    return DestinationVersion(
        nearest,
        f"the destination runs Kubernetes {requested}, which is not known here; checked against {nearest}",
    )


def find_unserved_kinds(served: str, objects: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each kind of CR in ``objects`` that the destination does not serve.

    ``served`` is KUBE_API_VERSIONS; if it is empty, nothing is reported.
    """
    served_entries = {entry.strip() for entry in served.split(",")} - {""}
    if not served_entries:
        return []
    with_kinds = any(_is_kind(entry) for entry in served_entries)
    sentences: dict[str, None] = {}
    for data in objects:
        api, kind = str(data.get("apiVersion")), data.get("kind")
        family = find_family(api, kind)
        if family is None or not (family.owns_group or family.has_job_kind(kind)):
            continue
        if api not in served_entries and f"{api}/{kind}" not in served_entries:
            sentences[
                f"the destination does not know {api}: install the controller of {kind} there first"
            ] = None
        elif with_kinds and f"{api}/{kind}" not in served_entries:
            sentences[f"the destination knows {api}, but no {kind} in it: its controller is older"] = None
    return list(sentences)


def _is_kind(entry: str) -> bool:
    """Whether an entry names a kind: only kinds begin with a capital."""
    return entry.rpartition("/")[2][:1].isupper()


def _parse_minor(version: str) -> int:
    return int(version.partition(".")[2])
