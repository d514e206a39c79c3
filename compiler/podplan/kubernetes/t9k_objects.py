"""The objects of the T9k platform that lowering makes beside Kubernetes' own: PodGroup and TensorBoard.

Source of the fields: docs/evidence/t9k-common.md#podgroup,
docs/evidence/t9k-pytorchtrainingjob.md#tensorboard-fields.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Problem
from podplan.core.typing import Any
from podplan.kubernetes import metadata, resources
from podplan.kubernetes.accessors import mapping


def check(obj: dict[str, Any]) -> Iterator[Problem]:
    """The problems of a PodGroup or a TensorBoard that its schema cannot tell."""
    if isinstance(obj.get("metadata"), dict):
        yield from metadata.check(obj["metadata"], ("metadata",), "dns-subdomain", required=True)
    yield from resources.check(mapping(mapping(obj, "spec"), "resources"), ("spec", "resources"), set())
