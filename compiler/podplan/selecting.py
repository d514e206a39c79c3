"""Paths as people write them: ``spec.containers[worker].env[RANK].value``, or a JSON Pointer."""

from __future__ import annotations

import re
from typing import Any

from podplan.findings import Path

# What an entry of a list is called by, in this order of preference.
NAMING_KEYS = ("name", "type", "mountPath", "containerPort", "port", "key")
_STEP = re.compile(r"\.?([^.\[\]\"]+)|\.?\"([^\"]*)\"|\[\"([^\"]*)\"\]|\[([^\]]*)\]")


class NoSuchField(Exception):
    """A path that leads nowhere; the message says where it ends and what there is."""


def select(data: Any, text: str) -> Path:
    """The path in ``data`` that ``text`` stands for.

    Steps are keys after dots, ``["a.key"]``, indexes in brackets, or the name of a list entry in brackets.
    Raises NoSuchField.
    """
    path: Path = ()
    value = data
    for step in _pointer_steps(text) if text.startswith("/") else _steps(text):
        key = _step(value, step)
        if key is None:
            where = show(data, path) or "the top"
            raise NoSuchField(f'"{step}" is not at {where}; there is {_what_is_there(value)}')
        value = value[key]
        path = (*path, key)
    return path


def show(data: Any, path: Path) -> str:
    """A path as people write it; entries of lists go by name where they have one that is unique."""
    text = ""
    value = data
    for step in path:
        if isinstance(step, int):
            text += f"[{_entry_name(value, step)}]"
        elif re.fullmatch(r"[A-Za-z_][\w-]*", step):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
        value = _below(value, step)
    return text


def _below(value: Any, step: str | int) -> Any:
    try:
        return value[step]
    except (KeyError, IndexError, TypeError):
        return None


def _entry_name(entries: Any, index: int) -> str:
    if isinstance(entries, list) and index < len(entries) and isinstance(entries[index], dict):
        for key in NAMING_KEYS:
            name = entries[index].get(key)
            if isinstance(name, str) and sum(_named(entry, key, name) for entry in entries) == 1:
                return name
    return str(index)


def _named(entry: Any, key: str, name: str) -> bool:
    return isinstance(entry, dict) and str(entry.get(key)) == name


def _steps(text: str) -> list[str]:
    steps: list[str] = []
    end = 0
    for match in _STEP.finditer(text):
        if match.start() != end:
            break
        steps.append(next(group for group in match.groups() if group is not None))
        end = match.end()
    if end != len(text):
        raise NoSuchField(f'"{text}" is no path: it cannot be read from "{text[end:]}" on')
    return steps


def _pointer_steps(text: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in text[1:].split("/")]


def _step(value: Any, step: str) -> str | int | None:
    if isinstance(value, dict):
        return step if step in value else None
    if not isinstance(value, list):
        return None
    for key in NAMING_KEYS:
        # Of entries with one name the last counts, as for the env of a container.
        for index in range(len(value) - 1, -1, -1):
            if _named(value[index], key, step):
                return index
    return int(step) if step.isdecimal() and int(step) < len(value) else None


def _what_is_there(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(map(str, value)) or "an empty mapping"
    if isinstance(value, list):
        return f"a list of {len(value)}: " + ", ".join(
            _entry_name(value, i) for i in range(min(len(value), 20))
        )
    return f"only a {type(value).__name__}"
