"""What the schema of the launcher dialect of ColossalAIJob cannot say: where the launcher gets its image."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.typing import Any


def validate_spec(dialect: str, spec: Any) -> list[Diagnostic]:
    """The problems of the spec of a CR in a dialect that no schema can state."""
    return _validate_launcher_image(spec) if dialect == "launcher" else []


def _validate_launcher_image(spec: dict[str, Any]) -> list[Diagnostic]:
    """The problem of a launcher without an image where the workers have none that it could take.

    The reference does not require ``launcher.image``
    (docs/evidence/t9k-colossalaijob.md#fields-of-the-launcher-dialect), but the Pod is refused without.
    """
    worker = _find_training_container(spec)
    if worker is None or worker.get("image") or _as_mapping(spec.get("launcher")).get("image"):
        return []
    message = "launcher.image is missing, and the workers have no image that the launcher could take"
    has_launcher = spec.get("launcher") is not None
    help = "write launcher: {image: REGISTRY/NAME:TAG}, or give the container of the workers an image"
    path = ("spec", "launcher") if has_launcher else ("spec",)
    return [Diagnostic("SCHEMA003", message, path, on_key=not has_launcher, help=help)]


def _find_training_container(spec: dict[str, Any]) -> dict[str, Any] | None:
    """The container ``worker`` of the workers, else the first; None where none can be told."""
    template = _as_mapping(_as_mapping(spec.get("worker")).get("template"))
    containers = _as_mapping(template.get("spec")).get("containers")
    container_list = (
        [entry for entry in containers if isinstance(entry, dict)] if isinstance(containers, list) else []
    )
    return next(
        (entry for entry in container_list if entry.get("name") == "worker"), next(iter(container_list), None)
    )


def _as_mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
