"""Clusters of Ray: values that its autoscaler needs or changes, and versions that must be the same.

Source: docs/evidence/kueue.md#ray, and the links of the policies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import Cursor, root_cursor
from podplan.core.typing import Any
from podplan.lint.analysis.gitops import TOOL_NAMES, find_gitops_tool
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

_HEAD = "headGroupSpec"
# Images of Ray itself, by the name of the repository, with tags such as 2.9.0-py310-gpu.
_RAY_IMAGE = compile_lazily(r"(?:^|/)ray(?:-ml|-llm)?:(\d+\.\d+\.\d+)(?=$|[-_.@])")
_VERSION = compile_lazily(r"\d+\.\d+\.\d+")


@check()
def replicas_set_by_autoscaler(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A number of replicas that the autoscaler changes in the CR. Values: ``group``, ``tool``."""
    tool = find_gitops_tool(target.job)
    for cluster in _list_clusters(target.job):
        # The autoscaler of a job changes the RayCluster that the operator creates for it.
        if not tool or cluster.path != ("spec",) or not _is_autoscaled(cluster):
            continue
        for group in cluster.get("workerGroupSpecs").entries():
            replicas = group.get("replicas")
            if replicas.exists:
                values = {"group": group.get("groupName").value, "tool": TOOL_NAMES[tool]}
                yield Violation(replicas.path, values)


@check()
def autoscaler_without_cpu(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A group of which the autoscaler does not know the CPUs. Values: ``group``."""
    for cluster in _list_clusters(target.job):
        for group in _list_groups(cluster) if _is_autoscaled(cluster) else ():
            containers = group.get("template", "spec", "containers").entries()
            if group.get("rayStartParams", "num-cpus").exists or not containers:
                continue
            resources = containers[0].get("resources")
            if not any(resources.get(field, "cpu").exists for field in ("limits", "requests")):
                path = resources.path if resources.exists else containers[0].path
                yield Violation(path, {"group": _name_group(group)})


@check()
def different_ray_versions(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Versions of Ray in one cluster that differ. Values: ``version``, ``others``, ``effect``."""
    for cluster in _list_clusters(target.job):
        images = [
            (group, image, match[1])
            for group in _list_groups(cluster)
            for image in _list_images(group)
            if (match := _RAY_IMAGE.search(str(image.value))) is not None
        ]
        written = cluster.get("rayVersion")
        if (
            images
            and _VERSION.fullmatch(str(written.value))
            and all(one[2] != written.value for one in images)
        ):
            values = {
                "version": f"rayVersion is {written.value}",
                "others": f"the images have Ray {', '.join(dict.fromkeys(one[2] for one in images))}",
                "effect": "KubeRay sets the Pods up for another version",
            }
            yield Violation(written.path, values, related=[(images[0][1].doc, images[0][1].path, "an image")])
        head = next((one for one in images if one[0].path == cluster.get(_HEAD).path), None)
        for group, image, version in images if head is not None else ():
            if head is not None and version != head[2]:
                values = {
                    "version": f"{_name_group(group)} has Ray {version}",
                    "others": f"the head {head[2]}",
                    "effect": "its Pods cannot join the cluster",
                }
                yield Violation(image.path, values, related=[(head[1].doc, head[1].path, "the head")])


def _list_clusters(job: LoweredJob) -> list[Cursor]:
    """Return the specs of clusters in a CR: its own, or one of a cluster that the operator creates."""
    if job.cr is None:
        return []
    spec = root_cursor(job.cr).get("spec")
    return [one for one in (spec, *spec.fields().values()) if one.get(_HEAD).exists]


def _is_autoscaled(cluster: Cursor) -> bool:
    return cluster.get("enableInTreeAutoscaling").value is True


def _list_groups(cluster: Cursor) -> list[Cursor]:
    return [cluster.get(_HEAD), *cluster.get("workerGroupSpecs").entries()]


def _list_images(group: Cursor) -> list[Cursor]:
    """Return the image of the container with Ray: the first one."""
    return [one.get("image") for one in group.get("template", "spec", "containers").entries()[:1]]


def _name_group(group: Cursor) -> str:
    path: Path = group.path
    return "the head" if path[-1] == _HEAD else f"group {group.get('groupName').value}"
