"""The variables that a container states with a value: in env, and in the shell scripts of its command."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from podplan.core.findings import Path, TextPath
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_text, get_texts

# NAME=VALUE at the beginning of a command or after export, env or mpirun's -x, without expansions.
_ASSIGNMENT = compile_lazily(
    r"(?:\A|[\n;&|(]|(?<=[ \t]))[ \t]*([A-Z][A-Z0-9_]*)=(?:\"([^\"\n$`\\]*)\"|'([^'\n]*)'"
    r"|([^\s;&|\"'()$`\\<>]*)(?=[\s;&|)]|\Z))"
)
LONGEST = 50_000  # characters of a script that is read


class StatedVariable(NamedTuple):
    """A variable with its value, and the path of the value below the container."""

    name: str
    value: str
    path: Path


def list_stated_variables(container: Mapping[str, Any], names: Collection[str]) -> Iterator[StatedVariable]:
    """Yield the settings of some variables in a container."""
    for at, entry in get_entries(container, "env"):
        name = get_text(entry, "name")
        if name in names:
            yield StatedVariable(name, get_text(entry, "value"), ("env", at, "value"))
    for field in ("command", "args"):
        for at, text in get_texts(container, field):
            if "=" not in text or len(text) > LONGEST:
                continue
            for found in _ASSIGNMENT.finditer(text):
                if found[1] in names:
                    value = next((part for part in found.groups()[1:] if part is not None), "")
                    span = (found.start(1), found.end())
                    yield StatedVariable(found[1], value, TextPath((field, at), span))
