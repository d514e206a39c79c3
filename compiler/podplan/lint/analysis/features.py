"""The features of a job, without which the checks that require them are neither loaded nor called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping
from podplan.lint.analysis.launches import find_launches
from podplan.lint.target import LoweredJob, cache_latest

CLUSTER = "cluster"
_LISTS = ("containers", "initContainers", "ephemeralContainers", "volumes")


@cache_latest
def list_features(job: LoweredJob) -> frozenset[str]:
    """Return the features of a job.

    They are the fields of its Pods, of their containers and of their volumes; the kinds of the lowered
    objects; the launchers that its training containers start; and ``CLUSTER`` if objects of the repository
    state something about the cluster.
    """
    features = {CLUSTER} if job.cluster is not None else set()
    features.update(group.doc.data["kind"] for group in job.groups)
    features.update(launch.invocation.launcher for launch in find_launches(job))
    for group in job.pods:
        features.update(_iter_fields(get_mapping(group.doc.data, "spec")))
    return frozenset(features)


def _iter_fields(pod_spec: Mapping[str, Any]) -> Iterator[str]:
    yield from pod_spec
    for name in _LISTS:
        for _, entry in get_entries(pod_spec, name):
            yield from entry
