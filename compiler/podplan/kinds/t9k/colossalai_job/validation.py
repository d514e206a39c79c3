"""The constraint of the launcher dialect that its schema cannot express: the image of the launcher."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.findings import Diagnostic
from podplan.core.typing import Any


def validate_cr(dialect: str, cr: Mapping[str, Any]) -> list[Diagnostic]:
    """Return the diagnostics of a CR that its schema cannot express."""
    return _validate_launcher_image(cr["spec"]) if dialect == "launcher" else []


def _validate_launcher_image(spec: dict[str, Any]) -> list[Diagnostic]:
    """Return a diagnostic for a launcher without an image, if the workers have none that it could use.

    The reference does not require ``launcher.image``
    (docs/evidence/t9k-colossalaijob.md#fields-of-the-launcher-dialect), but the API server rejects the Pod
    without it.
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
    """Return the container ``worker`` of the workers, else the first; None if the template has none."""
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
