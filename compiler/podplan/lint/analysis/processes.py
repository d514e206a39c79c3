"""The processes of containers, computed once for all checks of a container."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.typing import TYPE_CHECKING, Any
from podplan.kubernetes.accessors import get_text, get_texts
from podplan.launchers import processes
from podplan.launchers.processes import Process
from podplan.launchers.shell_nodes import SimpleCommand
from podplan.launchers.words import Word
from podplan.lint.target import cache_recent

if TYPE_CHECKING:
    from podplan.launchers.endings import EndlessProcess

Container = Mapping[str, Any]
# Images whose entrypoint is a server, also with options, by the last part of their name.
_SERVER_IMAGES = frozenset(
    ("mariadb", "memcached", "mongo", "mysql", "nats", "nginx", "postgres", "rabbitmq", "redis", "valkey")
)


@cache_recent
def process_of(container: Container) -> Process:
    """Return the main process of a container."""
    return processes.build_container_process(container)


@cache_recent
def programs_of(container: Container) -> list[tuple[SimpleCommand | None, Process]]:
    """Return the programs that a container starts, each with the command of its shell string."""
    return list(processes.iter_programs(process_of(container)))


def find_endless_process(container: Container) -> EndlessProcess | None:
    """Return why the main process of a container never ends; None if it may end."""
    from podplan.launchers.endings import EndlessProcess, find_endless

    first = next((text for _, text in get_texts(container, "args")), "-")
    if container.get("command") or not first.startswith("-"):
        return find_endless(process_of(container))
    image = get_text(container, "image")
    name = image.rpartition("/")[2].partition("@")[0].partition(":")[0]
    return EndlessProcess((Word(image, ("image",), 0, len(image)),)) if name in _SERVER_IMAGES else None
