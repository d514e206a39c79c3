"""Containers with a command, and the one program that they start."""

from __future__ import annotations

from typing import Any

from podplan.launchers.discovery import DiscoveredPrograms, Invocation, find_programs

Env = dict[str, str]


def container(command: list[str], *args: str, env: Env | None = None) -> dict[str, Any]:
    listed = [{"name": name, "value": value} for name, value in (env or {}).items()]
    return {"command": command, "args": list(args), "env": listed}


def only(found: DiscoveredPrograms) -> Invocation:
    assert len(found.invocations) == 1, found.invocations
    return found.invocations[0]


def in_bash(text: str, **env: str) -> Invocation:
    return only(find_programs(container(["bash", "-c", text], env=env)))
