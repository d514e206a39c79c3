"""Paths as people write them: ``spec.containers[worker].env[RANK].value``, or a JSON Pointer."""

from __future__ import annotations

import re
from collections import Counter

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any

# What an entry of a list is called by, in this order of preference.
ENTRY_NAME_KEYS = ("name", "type", "mountPath", "containerPort", "port", "key")
_STEP_PATTERN = compile_lazily(r"\.?([^.\[\]\"]+)|\.?\"([^\"]*)\"|\[\"([^\"]*)\"\]|\[([^\]]*)\]")


class FieldNotFound(Exception):
    """A path that leads nowhere; the message says where it ends and what there is."""


def resolve_path(data: Any, text: str) -> Path:
    """The path in ``data`` that ``text`` stands for.

    Steps are keys after dots, ``["a.key"]``, indexes in brackets, or the name of a list entry in brackets.
    Raises NoSuchField.
    """
    path: Path = ()
    value = data
    for step in split_pointer(text) if text.startswith("/") else split_steps(text):
        key = find_step(value, step)
        if key is None:
            where = format_path(data, path) or "the top"
            raise FieldNotFound(f'"{step}" is not at {where}; there is {_describe_children(value)}')
        value = value[key]
        path = (*path, key)
    return path


EntryNameCounts = dict[tuple[int, str], Counter[str]]


def format_path(data: Any, path: Path, name_counts: EntryNameCounts | None = None) -> str:
    """A path as people write it; entries of lists go by name where they have one that is unique.

    Who shows many paths of the same data hands in ``names``, empty at first, where those of lists are kept.
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
    """How many entries of a list have which name."""
    counts = name_counts.get((id(entries), key))
    if counts is None:
        counts = Counter(str(entry.get(key)) for entry in entries if isinstance(entry, dict))
        name_counts[id(entries), key] = counts
    return counts


def split_steps(text: str) -> list[str]:
    """The steps of a path with dots and brackets. Raises FieldNotFound."""
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
    """The steps of a JSON Pointer (RFC 6901) that is not the root."""
    return [step.replace("~1", "/").replace("~0", "~") for step in text[1:].split("/")]


def find_step(value: Any, step: str) -> str | int | None:
    """The key or index below ``value`` that a step stands for; None where there is none."""
    if isinstance(value, dict):
        return step if step in value else None
    if not isinstance(value, list):
        return None
    for key in ENTRY_NAME_KEYS:
        # Of entries with one name the last counts, as for the env of a container.
        for index in range(len(value) - 1, -1, -1):
            if isinstance(value[index], dict) and str(value[index].get(key)) == step:
                return index
    return int(step) if step.isdecimal() and int(step) < len(value) else None


def _describe_children(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(map(str, value)) or "an empty mapping"
    if isinstance(value, list):
        return f"a list of {len(value)}: " + ", ".join(
            _format_entry(value, i, {}) for i in range(min(len(value), 20))
        )
    return f"only a {type(value).__name__}"


def index_by_key(entries: list[Any], keys: tuple[str, ...]) -> dict[tuple[Any, ...], int]:
    """The index of each entry by its key; of entries with one key, each has a number besides."""
    indexes: dict[tuple[Any, ...], int] = {}
    seen: Counter[tuple[Any, ...]] = Counter()
    for index, entry in enumerate(entries):
        key = tuple(str(entry.get(part, "")) for part in keys)
        indexes[(*key, seen[key])] = index
        seen[key] += 1
    return indexes
