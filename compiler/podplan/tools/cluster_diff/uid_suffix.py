"""The digits in the names of children, where nothing tells the uid that they come from."""

from __future__ import annotations

import re

from podplan.core.typing import Any
from podplan.tools.cluster_diff.kubectl_dump import Object

# Five as the controller writes them (docs/evidence/t9k-common.md#suffix-of-the-base-name), before a type,
# which is no number.
_DIGITS = r"-([0-9a-f]{5})(?=-[a-z])"


def without_digits(objects: list[Object], job: str) -> tuple[list[Object], str]:
    """Objects of a job as if it had no uid, and the digits left out: none where Pods do not share any."""
    start = re.compile(rf"{re.escape(job)}{_DIGITS}")
    called = (start.match(one["metadata"]["name"]) for one in objects if one["kind"] == "Pod")
    digits = {found[1] if found else "" for found in called}
    if len(digits) != 1 or "" in digits:
        return objects, ""
    [shared] = digits
    named = re.compile(rf"(?<![A-Za-z0-9-]){re.escape(job)}-{shared}(?![A-Za-z0-9])")
    return [_replaced(one, named, job) for one in objects], shared


def _replaced(value: Any, named: re.Pattern[str], job: str) -> Any:
    if isinstance(value, dict):
        return {_replaced(key, named, job): _replaced(below, named, job) for key, below in value.items()}
    if isinstance(value, list):
        return [_replaced(below, named, job) for below in value]
    return named.sub(job, value) if isinstance(value, str) else value
