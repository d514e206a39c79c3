"""Corrects old spellings in a CR, so that its profile renders a CR that the API server accepts.

The current names are data: schemas/old-spellings.json.
"""

from __future__ import annotations

import shlex

from podplan.core.findings import Diagnostic, Path
from podplan.core.typing import Any, NamedTuple
from podplan.schema.old_spellings import iter_command_words, iter_old_fields, iter_old_values

Data = dict[str, Any]
Moves = list[tuple[Path, Path]]


class NormalizedCr(NamedTuple):
    """A CR in current spelling, a diagnostic for each correction, and the moved paths, in order."""

    cr: Data
    diagnostics: list[Diagnostic]
    moves: Moves


def normalize_cr(cr: Data, kind: str) -> NormalizedCr:
    """Return ``cr``, of a ``kind``, with current names, and lists of words in place of command-line texts.

    A correction that would overwrite something else is not made. The paths of the diagnostics are in ``cr``.
    """
    normalized = _copy_unshared(cr)
    moves: Moves = []
    renamed_paths: list[tuple[Path, str]] = []
    for path, name in iter_old_fields(kind, normalized):
        old, new, value = find_move(normalized, path, name)
        if is_free_path(normalized, new):
            renamed_paths.append((_reverse_moves(path, moves), f"{path[-1]} is called {name}"))
            _move_value(normalized, old, new, value)
            moves.append((old, new))
    for path, values in iter_old_values(kind, normalized):
        value = str(_get_at(normalized, path)).capitalize()
        if value in values and value != _get_at(normalized, path):
            renamed_paths.append((_reverse_moves(path, moves), f"{path[-1]} is spelled {value}"))
            _get_at(normalized, path[:-1])[path[-1]] = value
    for path in iter_command_words(normalized):
        word_list = split_words(_get_at(normalized, path))
        if word_list:
            renamed_paths.append(
                (_reverse_moves(path, moves), f"{path[-1]} is a list of words, not one text")
            )
            _get_at(normalized, path[:-1])[path[-1]] = word_list
    diagnostics = [
        Diagnostic("PROF026", f"{what}; the profile has it right", path) for path, what in renamed_paths
    ]
    return NormalizedCr(normalized, diagnostics, moves)


def apply_moves(path: Path, moves: Moves) -> Path:
    """Return the path after the moves of the value that was at ``path``."""
    for old, new in moves:
        if path[: len(old)] == old:
            path = (*new, *path[len(old) :])
    return path


def _reverse_moves(path: Path, moves: Moves) -> Path:
    return apply_moves(path, [(new, old) for old, new in reversed(moves)])


def find_move(cr: Data, path: Path, name: str) -> tuple[Path, Path, Any]:
    """Return old path, new path and value for renaming the field at ``path`` to ``name``.

    A name with dots begins at a field on ``path``. A mapping stays, unless it contains only the renamed
    field: then the field moves.
    """
    value, steps = _get_at(cr, path), name.split(".")
    if len(steps) == 1:
        return path, (*path[:-1], name), value
    new = (*path[: path.index(steps[0])], *steps)
    if not isinstance(value, dict):
        return path, new, value
    if list(value) == steps[-1:]:
        return (*path, steps[-1]), new, value[steps[-1]]
    return path, path, value


def is_free_path(cr: Data, path: Path) -> bool:
    """Whether a value can be put at ``path``: nothing exists there, and only mappings above."""
    data: Any = cr
    for step in path:
        if isinstance(data, dict) and step not in data:
            return True
        if not isinstance(data, dict | list):
            return False
        data = _get_at(data, (step,))
    return False


def _move_value(cr: Data, old: Path, new: Path, value: Any) -> None:
    """Move a value; one that stays in its mapping keeps its position."""
    fields = _get_at(cr, old[:-1])
    if old[:-1] == new[:-1]:
        entries = [(new[-1] if key == old[-1] else key, below) for key, below in fields.items()]
        fields.clear()
        fields.update(entries)
        return
    del fields[old[-1]]
    if not fields and isinstance(old[-2], str):
        del _get_at(cr, old[:-2])[old[-2]]
    container: Any = cr
    for step in new[:-1]:
        container = (
            container.setdefault(step, {}) if isinstance(container, dict) else _get_at(container, (step,))
        )
    container[new[-1]] = value


def split_words(value: Any) -> list[str]:
    """Split a text as a shell does; empty if it has unbalanced quotes, or is no text."""
    try:
        return shlex.split(value) if isinstance(value, str) else []
    except ValueError:
        return []


def _get_at(data: Any, path: Path) -> Any:
    for step in path:
        data = data[step]
    return data


def _copy_unshared(value: Any) -> Any:
    """Return a copy in which no mapping or list is shared, even if the YAML has aliases."""
    if isinstance(value, dict):
        return {key: _copy_unshared(below) for key, below in value.items()}
    return [_copy_unshared(entry) for entry in value] if isinstance(value, list) else value
