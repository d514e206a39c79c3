"""Where the settings of a Pod's security stand: in its securityContext and in those of its containers."""

from __future__ import annotations

from podplan.core.findings import Path
from podplan.core.truncation import shortened
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.messages import entry_name

Violation = tuple[Path, str]

CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
LONGEST_VALUE = 60


class Setter(NamedTuple):
    """A Pod or a container: where its own fields begin, and its data."""

    base: Path
    data: dict[str, Any]

    @property
    def who(self) -> str:
        """What a message calls it."""
        if len(self.base) == 1:
            return "the Pod"
        named = self.data.get("name")
        return entry_name(self.base, {"name": short(named)} if named else {})

    @property
    def context(self) -> dict[str, Any]:
        return mapping(self.data.get("securityContext"))


def setters(pod: Any) -> list[Setter]:
    """The Pod itself, then each of its containers."""
    return [Setter(("spec",), spec(pod)), *containers(pod)]


def containers(pod: Any) -> list[Setter]:
    """Every container of the Pod, init and ephemeral containers included."""
    lists = spec(pod)
    return [
        Setter(("spec", listed, number), container)
        for listed in CONTAINER_LISTS
        if listed in lists
        for number, container in members(lists[listed])
    ]


def written(pod: Any) -> frozenset[str]:
    """The names of the fields of a Pod, its containers, their securityContexts, its own, and its metadata."""
    metadata = mapping(mapping(pod).get("metadata"))
    return frozenset(metadata).union(
        *(part for setter in setters(pod) for part in (setter.data, setter.context))
    )


def spec(pod: Any) -> dict[str, Any]:
    return mapping(pod.get("spec")) if isinstance(pod, dict) else {}


def mapping(value: Any) -> dict[str, Any]:
    """``value`` where it is a mapping, else an empty one: other shapes are the schema's business."""
    return value if isinstance(value, dict) else {}


def members(value: Any) -> list[tuple[int, dict[str, Any]]]:
    """The mappings in a list, with their indices."""
    if not isinstance(value, list):
        return []
    return [(number, member) for number, member in enumerate(value) if isinstance(member, dict)]


def texts(value: Any) -> list[tuple[int, str]]:
    """The strings in a list, with their indices."""
    if not isinstance(value, list):
        return []
    return [(number, member) for number, member in enumerate(value) if isinstance(member, str)]


def nearest(pod: Any, path: Path) -> Path:
    """``path`` as far as it exists in the Pod: a missing field is reported at the mapping that lacks it."""
    value = pod
    for depth, step in enumerate(path):
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return path[:depth]
    return path


def in_user_namespace(pod: Any, minor: int) -> bool:
    """Whether root in the Pod is nobody on the node, which Kubernetes 1.35 and later make allowances for."""
    return minor >= 35 and spec(pod).get("hostUsers") is False


def on_windows(pod: Any, minor: int) -> bool:
    """Whether the Pod is for Windows, where Kubernetes 1.25 and later ask for no setting of Linux."""
    return minor >= 25 and mapping(spec(pod).get("os")).get("name") == "windows"


def short(value: Any) -> str:
    """``value`` for a message, on one line and of bounded length."""
    text = " ".join(str(value).split())
    return shortened(text, LONGEST_VALUE)
