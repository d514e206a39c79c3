"""The name suffix of children, if the uid that it depends on is unknown."""

from __future__ import annotations

import re

from podplan.core.typing import Any
from podplan.tools.cluster_diff.kubectl_dump import KubernetesObject

# Five as the controller writes them (docs/evidence/t9k-common.md#suffix-of-the-base-name), before a type,
# which is no number.
_SUFFIX = r"-([0-9a-f]{5})(?=-[a-z])"


def remove_name_suffix(objects: list[KubernetesObject], job: str) -> tuple[list[KubernetesObject], str]:
    """Return the objects without the name suffix, and the suffix; "" if the Pods do not share one."""
    start = re.compile(rf"{re.escape(job)}{_SUFFIX}")
    matches = (start.match(one["metadata"]["name"]) for one in objects if one["kind"] == "Pod")
    suffixes = {found[1] if found else "" for found in matches}
    if len(suffixes) != 1 or "" in suffixes:
        return objects, ""
    [suffix] = suffixes
    base_name = re.compile(rf"(?<![A-Za-z0-9-]){re.escape(job)}-{suffix}(?![A-Za-z0-9])")
    return [_replace_base_name(one, base_name, job) for one in objects], suffix


def _replace_base_name(value: Any, base_name: re.Pattern[str], job: str) -> Any:
    if isinstance(value, dict):
        return {
            _replace_base_name(key, base_name, job): _replace_base_name(below, base_name, job)
            for key, below in value.items()
        }
    if isinstance(value, list):
        return [_replace_base_name(below, base_name, job) for below in value]
    return base_name.sub(job, value) if isinstance(value, str) else value
