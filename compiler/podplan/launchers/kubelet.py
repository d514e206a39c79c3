"""Expansion of ``$(NAME)`` in command, args and env, as the kubelet does it.

``$$`` is an escaped ``$``; a reference to an unset variable stays unchanged
(https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any, NamedTuple
from podplan.launchers.words import MAX_ARGUMENT_LENGTH, MAX_ARGUMENTS_LENGTH, EnvVariables, Word

_FIELD_PATTERN = compile_lazily(r"metadata\.(labels|annotations)\['([^']+)'\]")


class ExpandedText(NamedTuple):
    """A text with its references replaced.

    ``variables`` are the replaced names, in order; ``unresolved`` are unset ones, whose references the
    kubelet keeps. ``is_known`` is false if a value is only known in the cluster; its reference is then also
    kept. ``offset_pairs`` are offsets in ``text`` and in the original, around each reference.
    """

    text: str
    variables: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
    is_known: bool = True
    offset_pairs: tuple[tuple[int, int], ...] = ()


def expand_references(text: str, variables: EnvVariables, *, is_complete: bool = True) -> ExpandedText:
    """Return ``text`` with its references replaced.

    Unless ``variables`` ``is_complete`` (envFrom may add more), a missing name is unknown. So is a result
    that is longer than an argument in Linux may be.
    """
    position = text.find("$")
    if position < 0:
        return ExpandedText(text)
    parts: list[str] = []
    offset_pairs: list[tuple[int, int]] = []
    used_names: list[str] = []
    unresolved: list[str] = []
    is_known, length, end = True, 0, 0
    last_parenthesis = text.rfind(")")
    while 0 <= position < len(text) - 1:
        parts.append(text[end:position])
        length += position - end
        if text[position + 1] == "(" and position < last_parenthesis:
            close = text.index(")", position)
            name, end = text[position + 2 : close], close + 1
            value = variables.get(name)
            if value is not None:
                used_names.append(name)
            elif name not in variables and is_complete and not is_service_variable(name):
                unresolved.append(name)
            else:
                is_known = False
            replacement = value if value is not None else text[position:end]
        else:
            end = position + 2
            replacement = "$" if text[position + 1] == "$" else text[position:end]
        parts.append(replacement)
        offset_pairs.append((length, position))
        length += len(replacement)
        offset_pairs.append((length, end))
        if length > MAX_ARGUMENT_LENGTH:
            return ExpandedText(text, tuple(used_names), tuple(unresolved), False)
        position = text.find("$", end)
    parts.append(text[end:])
    return ExpandedText("".join(parts), tuple(used_names), tuple(unresolved), is_known, tuple(offset_pairs))


def map_to_written_offset(expanded: ExpandedText, offset: int) -> int:
    """Map an offset in the expanded text to the original; inside a replaced reference to its start."""
    step_index = bisect_right(expanded.offset_pairs, (offset, 1 << 62)) - 1
    if step_index < 0:
        return offset
    expanded_offset, written_offset = expanded.offset_pairs[step_index]
    return written_offset if step_index % 2 == 0 else written_offset + offset - expanded_offset


def place_word(word: Word, line: Word, expanded: ExpandedText | None) -> Word:
    """Return a word of the shell string ``line`` with its location in the container, before the expansion.

    ``expanded`` is the expansion of the entry with the string, None if the string is a part of another.
    """
    if expanded is None or line.text != expanded.text:
        return word._replace(path=line.path, start=line.start, end=line.end)
    start, end = map_to_written_offset(expanded, word.start), map_to_written_offset(expanded, word.end)
    return word._replace(path=line.path, start=start, end=end)


def resolve_environment(
    container: Mapping[str, Any], metadata: Mapping[str, Any] | None = None
) -> dict[str, str | None]:
    """Return the variables that env sets: each entry can refer to the ones before it, and the last of a
    name wins.

    With the ``metadata`` of the Pod also values that a fieldRef takes from its labels and annotations.
    """
    variables: dict[str, str | None] = {}
    is_complete = not container.get("envFrom")
    total = 0
    for entry in _get_list(container.get("env")):
        if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
            continue
        value = entry.get("value")
        if isinstance(value, str) and value:
            expanded = expand_references(value, variables, is_complete=is_complete)
            total += len(expanded.text)
            variables[entry["name"]] = (
                expanded.text if expanded.is_known and total <= MAX_ARGUMENTS_LENGTH else None
            )
        else:
            variables[entry["name"]] = (
                _read_field(entry["valueFrom"], metadata or {}) if entry.get("valueFrom") else ""
            )
    return variables


def _read_field(source: Any, metadata: Mapping[str, Any]) -> str | None:
    """The label or annotation that a source of a value names; None for what is only known in the cluster."""
    reference = source.get("fieldRef") if isinstance(source, Mapping) else None
    path = reference.get("fieldPath") if isinstance(reference, Mapping) else None
    match = _FIELD_PATTERN.fullmatch(path) if isinstance(path, str) else None
    entries = metadata.get(match[1]) if match is not None else None
    value = entries.get(match[2]) if match is not None and isinstance(entries, Mapping) else None
    return value if isinstance(value, str) else None


def is_service_variable(name: str) -> bool:
    """Whether Kubernetes sets the variable for a Service of the namespace."""
    return name.endswith(("_SERVICE_HOST", "_SERVICE_PORT", "_PORT")) or "_PORT_" in name


def _get_list(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list) else []
