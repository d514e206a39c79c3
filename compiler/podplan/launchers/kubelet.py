"""``$(NAME)`` in command, args and env, as the kubelet replaces it.

``$$`` stands for one ``$``; a reference to a variable that nobody set stays as it is
(https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping

from podplan.core.typing import Any, NamedTuple
from podplan.launchers.words import MAX_ARGUMENT, MAX_ARGUMENTS, Variables, Word


class Expanded(NamedTuple):
    """A text with its references replaced.

    ``variables`` are the names replaced, in order; ``unresolved`` those that nobody set, whose references
    the kubelet keeps. ``known`` is false when a value is only known on the cluster; its reference is then
    kept too. ``steps`` are pairs of offsets, in ``text`` and in what was written, around each reference.
    """

    text: str
    variables: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
    known: bool = True
    steps: tuple[tuple[int, int], ...] = ()


def expand(text: str, variables: Variables, *, complete: bool = True) -> Expanded:
    """``text`` with its references replaced.

    Where ``variables`` are not ``complete`` (envFrom holds more of them), a name that is not there is not
    known. Nor is a result that would be longer than Linux takes as an argument.
    """
    at = text.find("$")
    if at < 0:
        return Expanded(text)
    parts: list[str] = []
    steps: list[tuple[int, int]] = []
    used: list[str] = []
    unresolved: list[str] = []
    known, length, end = True, 0, 0
    closes = text.rfind(")")
    while 0 <= at < len(text) - 1:
        parts.append(text[end:at])
        length += at - end
        if text[at + 1] == "(" and at < closes:
            close = text.index(")", at)
            name, end = text[at + 2 : close], close + 1
            value = variables.get(name)
            if value is not None:
                used.append(name)
            elif name not in variables and complete and not is_of_service(name):
                unresolved.append(name)
            else:
                known = False
            new = value if value is not None else text[at:end]
        else:
            end = at + 2
            new = "$" if text[at + 1] == "$" else text[at:end]
        parts.append(new)
        steps.append((length, at))
        length += len(new)
        steps.append((length, end))
        if length > MAX_ARGUMENT:
            return Expanded(text, tuple(used), tuple(unresolved), False)
        at = text.find("$", end)
    parts.append(text[end:])
    return Expanded("".join(parts), tuple(used), tuple(unresolved), known, tuple(steps))


def written(expanded: Expanded, offset: int) -> int:
    """The offset in what was written for one in the expanded text; a replaced reference is its start."""
    number = bisect_right(expanded.steps, (offset, 1 << 62)) - 1
    if number < 0:
        return offset
    new, old = expanded.steps[number]
    return old if number % 2 == 0 else old + offset - new


def placed(word: Word, line: Word, expanded: Expanded | None) -> Word:
    """A word of the shell string ``line`` with its place in the container, before the replacements.

    ``expanded`` is what became of the entry that is the string, None where the string is a part of another.
    """
    if expanded is None or line.text != expanded.text:
        return word._replace(path=line.path, start=line.start, end=line.end)
    start, end = written(expanded, word.start), written(expanded, word.end)
    return word._replace(path=line.path, start=start, end=end)


def environment(container: Mapping[str, Any]) -> dict[str, str | None]:
    """The variables that env sets: each entry sees the ones before it, and the last of a name stays."""
    found: dict[str, str | None] = {}
    complete = not container.get("envFrom")
    total = 0
    for entry in _list(container.get("env")):
        if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
            continue
        value = entry.get("value")
        if isinstance(value, str) and value:
            expanded = expand(value, found, complete=complete)
            total += len(expanded.text)
            found[entry["name"]] = expanded.text if expanded.known and total <= MAX_ARGUMENTS else None
        else:
            found[entry["name"]] = None if entry.get("valueFrom") else ""
    return found


def is_of_service(name: str) -> bool:
    """Kubernetes sets these for the Services of the namespace."""
    return name.endswith(("_SERVICE_HOST", "_SERVICE_PORT", "_PORT")) or "_PORT_" in name


def _list(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list) else []
