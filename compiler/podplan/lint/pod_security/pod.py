"""Where a Pod states its security settings: in its securityContext and in those of its containers."""

from __future__ import annotations

from podplan.core.findings import Path
from podplan.core.truncation import truncate
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.messages import format_entry_name

ControlViolation = tuple[Path, str]

CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
MAX_SHOWN_LENGTH = 60


class PodPart(NamedTuple):
    """A Pod or a container: where its own fields begin, and its data."""

    path: Path
    data: dict[str, Any]

    @property
    def label(self) -> str:
        """What a message calls it."""
        if len(self.path) == 1:
            return "the Pod"
        container_name = self.data.get("name")
        return format_entry_name(
            self.path, {"name": truncate_value(container_name)} if container_name else {}
        )

    @property
    def security_context(self) -> dict[str, Any]:
        return as_mapping(self.data.get("securityContext"))


def list_pod_parts(pod: Any) -> list[PodPart]:
    """The Pod itself, then each of its containers."""
    return [PodPart(("spec",), get_spec(pod)), *list_containers(pod)]


def list_containers(pod: Any) -> list[PodPart]:
    """Every container of the Pod, init and ephemeral containers included."""
    pod_spec = get_spec(pod)
    return [
        PodPart(("spec", listed, number), container)
        for listed in CONTAINER_LISTS
        if listed in pod_spec
        for number, container in list_mappings(pod_spec[listed])
    ]


def find_written_fields(pod: Any) -> frozenset[str]:
    """The names of the fields of a Pod, its containers, their securityContexts, its own, and its metadata."""
    metadata = as_mapping(as_mapping(pod).get("metadata"))
    return frozenset(metadata).union(
        *(part for setter in list_pod_parts(pod) for part in (setter.data, setter.security_context))
    )


def get_spec(pod: Any) -> dict[str, Any]:
    return as_mapping(pod.get("spec")) if isinstance(pod, dict) else {}


def as_mapping(value: Any) -> dict[str, Any]:
    """``value`` where it is a mapping, else an empty one: other shapes are the schema's business."""
    return value if isinstance(value, dict) else {}


def list_mappings(value: Any) -> list[tuple[int, dict[str, Any]]]:
    """The mappings in a list, with their indices."""
    if not isinstance(value, list):
        return []
    return [(number, member) for number, member in enumerate(value) if isinstance(member, dict)]


def list_strings(value: Any) -> list[tuple[int, str]]:
    """The strings in a list, with their indices."""
    if not isinstance(value, list):
        return []
    return [(number, member) for number, member in enumerate(value) if isinstance(member, str)]


def find_existing_path(pod: Any, path: Path) -> Path:
    """``path`` as far as it exists in the Pod: a missing field is reported at the mapping that lacks it."""
    value = pod
    for depth, step in enumerate(path):
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return path[:depth]
    return path


def is_in_user_namespace(pod: Any, minor: int) -> bool:
    """Whether root in the Pod is nobody on the node, which Kubernetes 1.35 and later make allowances for."""
    return minor >= 35 and get_spec(pod).get("hostUsers") is False


def is_windows_pod(pod: Any, minor: int) -> bool:
    """Whether the Pod is for Windows, where Kubernetes 1.25 and later require no setting of Linux."""
    return minor >= 25 and as_mapping(get_spec(pod).get("os")).get("name") == "windows"


def truncate_value(value: Any) -> str:
    """Return ``value`` for a message, on one line and truncated."""
    text = " ".join(str(value).split())
    return truncate(text, MAX_SHOWN_LENGTH)
