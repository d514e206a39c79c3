"""Files that a script writes with their whole text: here-documents, and echo into a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any, NamedTuple
from podplan.launchers.exec_form import find_shell_call, list_exec_commands

MOST_TEXT = 100_000  # characters of a script that is read
_HERE_DOCUMENT = compile_lazily(r"<<(-?)\s*(?:'([^'\n]+)'|\"([^\"\n]+)\"|([A-Za-z_]\w*))")
_INTO = compile_lazily(r"(?:(?<![>\d&])>\|?|\btee)\s*['\"]?(/[\w./@+-]+)")
_ECHO = compile_lazily(r"\b(?:echo|printf)\s+(?:-[neE]+\s+)?'([^']{1,20000})'\s*>\s*['\"]?(/[\w./@+-]+)")
_WRITERS = compile_lazily(r"\b(?:cat|tee)\b")


class WrittenFile(NamedTuple):
    """A file with its path and text; the text begins at ``start`` of the string at ``place``, which belongs
    to the container."""

    path: str
    text: str
    place: Path
    start: int


def list_written_files(container: Mapping[str, Any]) -> Iterator[WrittenFile]:
    """Return the files that the shell scripts of a container write, with their paths in the container."""
    for line in list_exec_commands(container):
        shell = find_shell_call(line)
        if shell is None or line.expansion == "none":
            continue
        script, place = line.texts[shell.script_index], line.paths[shell.script_index]
        if len(script) <= MOST_TEXT:
            yield from _find_here_documents(script, place)
            for found in _ECHO.finditer(script):
                yield WrittenFile(normpath(found[2]), found[1], place, found.start(1))


def _find_here_documents(script: str, place: Path) -> Iterator[WrittenFile]:
    """Yield the here-documents that ``cat`` or ``tee`` writes to a known path."""
    position = 0
    while position < len(script):
        end = script.find("\n", position)
        end = len(script) if end < 0 else end
        header, position = script[position:end], end + 1
        opening = _HERE_DOCUMENT.search(header)
        if opening is None:
            continue
        start, position = position, _find_end(script, position, opening)
        target = _INTO.search(header)
        if target is not None and _WRITERS.search(header):
            yield WrittenFile(normpath(target[1]), script[start:position], place, start)


def _find_end(script: str, position: int, opening: Any) -> int:
    """Return the offset of the line that ends a here-document, or the end of the script."""
    delimiter = opening[2] or opening[3] or opening[4]
    while position < len(script):
        end = script.find("\n", position)
        end = len(script) if end < 0 else end
        line = script[position:end]
        if (line.lstrip("\t") if opening[1] else line) == delimiter:
            return position
        position = end + 1
    return len(script)
