"""Objects of the T9k platform that lowering creates besides built-in ones: PodGroup and TensorBoard.

Source of the fields: docs/evidence/t9k-common.md#podgroup,
docs/evidence/t9k-pytorchtrainingjob.md#tensorboard-fields.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Diagnostic
from podplan.core.typing import Any
from podplan.kubernetes import metadata, resources
from podplan.kubernetes.accessors import get_mapping


def validate_t9k_object(obj: dict[str, Any]) -> Iterator[Diagnostic]:
    """Yield the diagnostics of a PodGroup or a TensorBoard beyond its schema."""
    if isinstance(obj.get("metadata"), dict):
        yield from metadata.validate_object_meta(
            obj["metadata"], ("metadata",), "dns-subdomain", required=True
        )
    yield from resources.validate_resources(
        get_mapping(get_mapping(obj, "spec"), "resources"), ("spec", "resources"), set()
    )
