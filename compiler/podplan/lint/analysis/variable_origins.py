"""Where the variables in a word of a command line get their values: in its script, or in env."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, TextPath, value_at
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_text

LABEL = "sets {name}"
_COMMANDS = ("command", "args")
_REFERENCE = compile_lazily(r"\$(?:\{|\()?([A-Za-z_]\w*)")
_ASSIGNMENT = compile_lazily(
    r"(?:\A|(?<=[\s;&|(]))([A-Za-z_]\w*)=(\"[^\"\n]*\"|'[^'\n]*'|\$\([^()\n]*\)|[^\s;&|\"'()]*)"
)
_MOST = 3  # variables for one word, and of those that they are made of


def find_variable_origins(doc_data: Any, path: Path) -> Iterator[tuple[str, Path]]:
    """Yield the names of the variables in a word of a container's command, and where they are set."""
    at = next((number for number, step in enumerate(path) if step in _COMMANDS), None)
    if at is None or at != len(path) - 2:
        return
    string = value_at(doc_data, path)
    if not isinstance(string, str) or "$" not in string:
        return
    start, end = path.text_range if isinstance(path, TextPath) else (0, len(string))
    if "\n" in string[start:end]:
        return
    container = value_at(doc_data, path[:at])
    pending = [(name, start) for name in _REFERENCE.findall(string, start, end)]
    found: set[str] = set()
    while pending and len(found) < _MOST:
        name, before = pending.pop(0)
        if name in found:
            continue
        found.add(name)
        assignment = _find_assignment(string, name, before)
        if assignment is not None:
            yield name, TextPath(tuple(path), assignment.span())
            pending += [(one, assignment.start()) for one in _REFERENCE.findall(assignment[2])]
            continue
        entry = _find_entry(container, name)
        if entry is not None:
            yield name, (*path[:at], "env", *entry)


def _find_assignment(string: str, name: str, before: int) -> Any:
    """Return the last assignment to a variable in a script before an offset."""
    last = None
    for found in _ASSIGNMENT.finditer(string, 0, before):
        if found[1] == name:
            last = found
    return last


def _find_entry(container: Any, name: str) -> Path | None:
    entries = get_entries(container, "env") if isinstance(container, Mapping) else ()
    places = [
        (at, "valueFrom" if "valueFrom" in one else "value")
        for at, one in entries
        if get_text(one, "name") == name
    ]
    return places[-1] if places else None
