"""Variables of a container that its shell script does not read as intended: quoted, or misspelt.

Source: https://www.gnu.org/software/bash/manual/html_node/Single-Quotes.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_text, get_texts
from podplan.launchers.processes import iter_commands
from podplan.launchers.words import Word
from podplan.lint.analysis.jobs import is_mode_enabled
from podplan.lint.analysis.processes import process_of
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

_QUOTED = compile_lazily(
    r"(?:-{1,2}[\w.-]+=)?'[^'\n]*?\$(?:\{(?P<braced>[A-Z][A-Z0-9_]+)\}|(?P<plain>[A-Z][A-Z0-9_]+))[^'\n]*'"
)
# Programs that do not expand variables of their arguments themselves.
_PLAIN_PROGRAMS = frozenset(
    (
        "accelerate",
        "cd",
        "cp",
        "deepspeed",
        "ls",
        "mkdir",
        "mv",
        "rm",
        "rsync",
        "tar",
        "test",
        "torchrun",
        "touch",
        "[",
    )
)
_SETS_OTHERS = compile_lazily(r"\b(?:source|eval|envsubst)\b|(?:^|[\s;&|])\.\s")
_USED = compile_lazily(r"\$(?:\{(?P<braced>[A-Z][A-Z0-9_]{3,})\}|(?P<plain>[A-Z][A-Z0-9_]{3,}))")
_OF_SHELL = frozenset(
    (
        "EUID",
        "HOME",
        "HOSTNAME",
        "LANG",
        "OPTARG",
        "OPTIND",
        "PATH",
        "PPID",
        "RANDOM",
        "RANK",
        "REPLY",
        "SECONDS",
        "SHELL",
        "TERM",
        "USER",
    )
)
_LEAST = 4  # letters of a name that is compared with others
_LONGEST = 20_000


@check()
def variable_in_single_quotes(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A variable of the container that the shell keeps as text. Values: ``name``, ``program``."""
    string = process_of(target.data).string
    if string is None or "'" not in string.text or is_mode_enabled(target.job, "debug"):
        return
    names = {get_text(entry, "name") for _, entry in get_entries(target.data, "env")}
    for command in iter_commands(string.nodes) if names else ():
        process = string.process(command)
        words = [word.text for word in process.words]
        is_plain = process.name in _PLAIN_PROGRAMS or (
            process.name.startswith("python") and "-c" not in words
        )
        for word in command.words if is_plain else ():
            found = _QUOTED.fullmatch(string.text[word.start : word.end])
            name = (found["braced"] or found["plain"]) if found is not None else ""
            if name in names:
                place = string.place_word(word).place
                yield Violation(place, {"name": name, "program": process.name})


@check()
def misspelt_shell_variable(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A variable that nothing sets beside one that nothing reads. Values: ``name``, ``meant``."""
    container = target.data
    string = process_of(container).string
    if string is None or container.get("envFrom") or is_mode_enabled(target.job, "debug"):
        return
    text = string.text
    if _SETS_OTHERS.search(text):
        return
    places = {
        name: at
        for at, entry in get_entries(container, "env")
        if len(name := get_text(entry, "name")) >= _LEAST and name.isupper()
    }
    if not places or "$" not in text or len(text) > _LONGEST:
        return
    every = "\n".join(value for key in ("command", "args") for _, value in get_texts(container, key))
    every += "\n".join(get_text(entry, "value") for _, entry in get_entries(container, "env"))
    for found in _USED.finditer(text):
        name = found["braced"] or found["plain"]
        near = [one for one in places if _is_near(name, one)]
        if name in places or not near or name in _OF_SHELL or _is_assigned(name, text):
            continue
        # A name that is read as well only counts with two letters swapped, such as SHRAD beside SHARD.
        meant = next((one for one in near if _is_unread(one, every) or sorted(one) == sorted(name)), "")
        if meant:
            related = [(target.doc, (*target.base_path, "env", places[meant], "name"), "the variable")]
            place = string.place_word(Word("", start=found.start(), end=found.end())).place
            yield Violation(place, {"name": name, "meant": meant}, related)
            return


def _is_unread(name: str, texts: str) -> bool:
    return re.search(rf"\b{name}\b", texts) is None


def _is_assigned(name: str, text: str) -> bool:
    builtins = "read|for|export|declare|local|readonly|mapfile|getopts"
    pattern = rf"(?:^|[\s;&|(]){name}\+?=|\b(?:{builtins})\b[^\n;]*\b{name}\b"
    return re.search(pattern, text) is not None


def _is_near(one: str, other: str) -> bool:
    """Whether two names differ by one letter more, less or other, or by two letters in another order."""
    if abs(len(one) - len(other)) > 1 or one == other:
        return False
    start = next(
        (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
        min(len(one), len(other)),
    )
    left, right = one[start:], other[start:]
    is_swapped = left[:2] == right[:2][::-1] and left[2:] == right[2:]
    is_other = left[1:] == right[1:] and left[:1].isalpha() and right[:1].isalpha()
    is_more = (left[1:] == right and not left[:1].isdigit()) or (
        left == right[1:] and not right[:1].isdigit()
    )
    return is_swapped or is_other or is_more
