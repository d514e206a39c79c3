"""A CR with old spellings as it is written now, so that its profile renders a CR that is accepted.

What the old names are called now is data: schemas/old-spellings.json.
"""

from __future__ import annotations

import shlex

from podplan.core.findings import Path, Problem
from podplan.core.typing import Any, NamedTuple
from podplan.schema.old_spellings import old_places, old_value_places, word_places

Data = dict[str, Any]
Moves = list[tuple[Path, Path]]


class Repaired(NamedTuple):
    """A CR as it is written now, a problem for each thing that was not, and what moved, in order."""

    cr: Data
    problems: list[Problem]
    moves: Moves


def repaired(cr: Data, kind: str) -> Repaired:
    """``cr``, of a ``kind``, with the names of today, and lists of words where there was the text of a line.

    What would take the place of something else stays as it is. The paths of the problems are in ``cr``.
    """
    now = _unshared(cr)
    moves: Moves = []
    said: list[tuple[Path, str]] = []
    for path, name in old_places(kind, now):
        old, new, value = target(now, path, name)
        if is_free(now, new):
            said.append((_before(path, moves), f"{path[-1]} is called {name}"))
            _put(now, old, new, value)
            moves.append((old, new))
    for path, values in old_value_places(kind, now):
        value = str(_get(now, path)).capitalize()
        if value in values and value != _get(now, path):
            said.append((_before(path, moves), f"{path[-1]} is spelled {value}"))
            _get(now, path[:-1])[path[-1]] = value
    for path in word_places(now):
        listed = words(_get(now, path))
        if listed:
            said.append((_before(path, moves), f"{path[-1]} is a list of words, not one text"))
            _get(now, path[:-1])[path[-1]] = listed
    problems = [Problem("PROF026", f"{what}; the profile has it right", path) for path, what in said]
    return Repaired(now, problems, moves)


def after(path: Path, moves: Moves) -> Path:
    """Where the value that was at ``path`` stands after the moves."""
    for old, new in moves:
        if path[: len(old)] == old:
            path = (*new, *path[len(old) :])
    return path


def _before(path: Path, moves: Moves) -> Path:
    return after(path, [(new, old) for old, new in reversed(moves)])


def target(cr: Data, path: Path, name: str) -> tuple[Path, Path, Any]:
    """From where to where which value goes when the field at ``path`` is called ``name``.

    A name with dots begins at a field that ``path`` leads through. A map stays, unless it holds only the
    field that is meant: then that goes.
    """
    value, steps = _get(cr, path), name.split(".")
    if len(steps) == 1:
        return path, (*path[:-1], name), value
    new = (*path[: path.index(steps[0])], *steps)
    if not isinstance(value, dict):
        return path, new, value
    if list(value) == steps[-1:]:
        return (*path, steps[-1]), new, value[steps[-1]]
    return path, path, value


def is_free(cr: Data, path: Path) -> bool:
    """Whether a value can be put at ``path``: nothing stands there, and only maps on the way."""
    data: Any = cr
    for step in path:
        if isinstance(data, dict) and step not in data:
            return True
        if not isinstance(data, dict | list):
            return False
        data = _get(data, (step,))
    return False


def _put(cr: Data, old: Path, new: Path, value: Any) -> None:
    """Moves a value; one that stays in its map keeps its place among the others."""
    fields = _get(cr, old[:-1])
    if old[:-1] == new[:-1]:
        entries = [(new[-1] if key == old[-1] else key, below) for key, below in fields.items()]
        fields.clear()
        fields.update(entries)
        return
    del fields[old[-1]]
    if not fields and isinstance(old[-2], str):
        del _get(cr, old[:-2])[old[-2]]
    into: Any = cr
    for step in new[:-1]:
        into = into.setdefault(step, {}) if isinstance(into, dict) else _get(into, (step,))
    into[new[-1]] = value


def words(value: Any) -> list[str]:
    """The words of a text as a shell reads it; none where it does not end, or is no text."""
    try:
        return shlex.split(value) if isinstance(value, str) else []
    except ValueError:
        return []


def _get(data: Any, path: Path) -> Any:
    for step in path:
        data = data[step]
    return data


def _unshared(value: Any) -> Any:
    """A copy in which every map and list stands once, even where the YAML has aliases."""
    if isinstance(value, dict):
        return {key: _unshared(below) for key, below in value.items()}
    return [_unshared(entry) for entry in value] if isinstance(value, list) else value
