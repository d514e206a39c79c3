"""The processes of containers, computed once for all checks of a container."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.typing import Any
from podplan.launchers import processes
from podplan.launchers.processes import Process
from podplan.launchers.shell_nodes import SimpleCommand
from podplan.lint.target import cache_recent

Container = Mapping[str, Any]


@cache_recent
def process_of(container: Container) -> Process:
    """Return the main process of a container."""
    return processes.build_container_process(container)


@cache_recent
def programs_of(container: Container) -> list[tuple[SimpleCommand | None, Process]]:
    """Return the programs that a container starts, each with the command of its shell string."""
    return list(processes.iter_programs(process_of(container)))
