"""Paths in text: ``spec.containers[worker].env[RANK].value``, or a JSON Pointer."""

from __future__ import annotations

import re
from collections import Counter

from podplan.core.findings import Path, value_at
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any

# Keys that identify a list entry, in order of preference.
ENTRY_NAME_KEYS = ("name", "type", "mountPath", "containerPort", "port", "key")
_STEP_PATTERN = compile_lazily(r"\.?([^.\[\]\"]+)|\.?\"([^\"]*)\"|\[\"([^\"]*)\"\]|\[([^\]]*)\]")

MAX_CHOICES = 20  # entries of a list in a message


class FieldNotFound(Exception):
    """A path that does not exist; the message says where it ends and what exists there."""


def resolve_path(data: Any, text: str) -> Path:
    """Resolve ``text`` to a path in ``data``.

    Steps are keys after dots, ``["a.key"]``, indexes in brackets, or the name of a list entry in brackets.
    Except in a JSON Pointer, the step of a list may be missing where one entry has the next step.
    Raises FieldNotFound: if the path does not exist.
    """
    path: Path = ()
    value = data
    is_pointer = text.startswith("/")
    for step in split_pointer(text) if is_pointer else split_steps(text):
        key = find_step(value, step)
        if key is None and not is_pointer and (index := _find_implied_entry(data, path, step)) is not None:
            path, value = (*path, index), value[index]
            key = find_step(value, step)
        if key is None:
            where = format_path(data, path) or "the top"
            raise FieldNotFound(f'"{step}" is not at {where}; there is {_describe_children(value)}')
        value = value[key]
        path = (*path, key)
    return path


def _find_implied_entry(data: Any, path: Path, step: str) -> int | None:
    """Return the index of the only entry of a list that has a step.

    Raises FieldNotFound: if several have it.
    """
    entries = value_at(data, path)
    if not isinstance(entries, list):
        return None
    indexes = [at for at, entry in enumerate(entries) if isinstance(entry, dict) and step in entry]
    if len(indexes) > 1:
        where = format_path(data, path) or "the top"
        choices = ", ".join(f"[{_format_entry(entries, at, {})}]" for at in indexes[:MAX_CHOICES])
        raise FieldNotFound(f'{len(indexes)} entries of {where} have "{step}"; name one: {choices}')
    return indexes[0] if indexes else None


EntryNameCounts = dict[tuple[int, str], Counter[str]]


def format_path(data: Any, path: Path, name_counts: EntryNameCounts | None = None) -> str:
    """Format a path for people; list entries are identified by name if they have a unique one.

    To format many paths of the same data, pass the same ``name_counts``, empty at first: it caches the names
    in each list.
    """
    name_counts = {} if name_counts is None else name_counts
    text = ""
    value = data
    for step in path:
        if isinstance(step, int):
            text += f"[{_format_entry(value, step, name_counts)}]"
        elif re.fullmatch(r"[A-Za-z_][\w-]*", step):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
        value = _get_child(value, step)
    return text


def _get_child(value: Any, step: str | int) -> Any:
    try:
        return value[step]
    except (KeyError, IndexError, TypeError):
        return None


def _format_entry(entries: Any, index: int, name_counts: EntryNameCounts) -> str:
    if isinstance(entries, list) and index < len(entries) and isinstance(entries[index], dict):
        for key in ENTRY_NAME_KEYS:
            name = entries[index].get(key)
            if isinstance(name, str) and _count_names(entries, key, name_counts)[name] == 1:
                return name
    return str(index)


def _count_names(entries: list[Any], key: str, name_counts: EntryNameCounts) -> Counter[str]:
    """Count the names of the entries of a list under ``key``."""
    counts = name_counts.get((id(entries), key))
    if counts is None:
        counts = Counter(str(entry.get(key)) for entry in entries if isinstance(entry, dict))
        name_counts[id(entries), key] = counts
    return counts


def split_steps(text: str) -> list[str]:
    """Split a path with dots and brackets into steps. Raises FieldNotFound: if it is malformed."""
    steps: list[str] = []
    end = 0
    for match in _STEP_PATTERN.finditer(text):
        if match.start() != end:
            break
        steps.append(next(group for group in match.groups() if group is not None))
        end = match.end()
    if end != len(text):
        raise FieldNotFound(f'"{text}" is no path: it cannot be read from "{text[end:]}" on')
    return steps


def split_pointer(text: str) -> list[str]:
    """Split a JSON Pointer (RFC 6901) that is not the root into steps."""
    return [step.replace("~1", "/").replace("~0", "~") for step in text[1:].split("/")]


def find_step(value: Any, step: str) -> str | int | None:
    """Return the key or index below ``value`` that ``step`` means, or None."""
    if isinstance(value, dict):
        return step if step in value else None
    if not isinstance(value, list):
        return None
    for key in ENTRY_NAME_KEYS:
        # Of entries with the same name the last wins, as for the env of a container.
        for index in range(len(value) - 1, -1, -1):
            if isinstance(value[index], dict) and str(value[index].get(key)) == step:
                return index
    return int(step) if step.isdecimal() and int(step) < len(value) else None


def _describe_children(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(map(str, value)) or "an empty mapping"
    if isinstance(value, list):
        return f"a list of {len(value)}: " + ", ".join(
            _format_entry(value, i, {}) for i in range(min(len(value), MAX_CHOICES))
        )
    return f"only a {type(value).__name__}"


def index_by_key(entries: list[Any], keys: tuple[str, ...]) -> dict[tuple[Any, ...], int]:
    """Map the key of each entry to its index; entries with equal keys are numbered."""
    indexes: dict[tuple[Any, ...], int] = {}
    seen: Counter[tuple[Any, ...]] = Counter()
    for index, entry in enumerate(entries):
        key = tuple(str(entry.get(part, "")) for part in keys)
        indexes[(*key, seen[key])] = index
        seen[key] += 1
    return indexes
