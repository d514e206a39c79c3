"""podplan.core.typing and podplan.core.lazy_regex behave as the modules of Python that they replace."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import pytest

import podplan.core.typing as ours
from podplan.core.lazy_regex import compile_lazily

CLASS = '''
class Place(NamedTuple):
    """Where something is."""

    file: str
    line: int = 1
    tags: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        return f"{self.file}:{self.line}"

    def below(self, lines: int) -> "Place":
        return self._replace(line=self.line + lines)
'''


def made(base: Any) -> Any:
    scope = {"NamedTuple": base, "__name__": __name__}
    exec("from __future__ import annotations\n" + CLASS, scope)
    return scope["Place"]


Place = made(ours.NamedTuple)


@pytest.mark.parametrize(
    "asked",
    [
        lambda place: place("a"),
        lambda place: place(line=3, file="b").below(2),
        lambda place: place("a", 2, ("x",)).shown,
        lambda place: (place.__name__, place.__doc__, place.__module__, place._fields, place._field_defaults),
        lambda place: place("a")._asdict(),
        lambda place: repr(place("a")),
        lambda place: place._make(["a", 1, ()]),
        lambda place: place.__match_args__,
        lambda place: (isinstance(place("a"), tuple), place("a") == ("a", 1, ()), hash(place("a"))),
    ],
)
def test_a_named_tuple_is_one_of_typing(asked: Any) -> None:
    assert asked(made(ours.NamedTuple)) == asked(made(typing.NamedTuple))


@pytest.mark.parametrize("arguments", [((), {}), (("a", 1, (), 2), {}), (("a",), {"lien": 1})])
def test_wrong_arguments_are_refused_as_by_typing(arguments: Any) -> None:
    values, named = arguments
    for base in (ours.NamedTuple, typing.NamedTuple):
        with pytest.raises(TypeError):
            made(base)(*values, **named)


def test_fields_may_be_called_as_they_like() -> None:
    class Odd(ours.NamedTuple):
        cls: int
        self: int
        new: int
        names: int = 4

    assert Odd(1, 2, 3)._replace(new=5) == (1, 2, 5, 4)


def test_an_unknown_field_is_not_replaced() -> None:
    with pytest.raises(ValueError, match="lien"):
        Place("a")._replace(lien=1)
    with pytest.raises(TypeError, match="3"):
        Place._make(["a"])


def test_it_can_be_copied_to_another_process() -> None:
    assert pickle.loads(pickle.dumps(Place("a", 2))) == Place("a", 2)


def test_all_names_are_there_at_run_time() -> None:
    text = Path(ours.__file__).read_text()
    for name in re.findall(r"from typing import (\w+) as", text):
        assert hasattr(ours, name), name


def check_runs(script: str) -> None:
    """A Python of its own runs a script to its end."""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_a_pattern_is_compiled_once_and_late(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    compile_ = re.compile

    def counted(text: str, flags: int = 0) -> Any:
        compiled.append(text)
        return compile_(text, flags)

    monkeypatch.setattr(re, "compile", counted)
    word = compile_lazily("[a-z]+", re.IGNORECASE)
    assert compiled == []
    assert [word.fullmatch(text) is not None for text in ("Ab", "a b", "c")] == [True, False, True]
    assert compiled == ["[a-z]+"]
    assert word.sub("-", "a1b") == "-1-"


def test_no_pattern_is_compiled_by_loading_the_checks() -> None:
    """A pattern of a module is ``pattern("…")``: what re.compile makes at the start is paid by every run."""
    script = (
        "import os, re, sys\nfrom importlib import import_module\n"
        "compile_ = re.compile\n"
        "def noted(*arguments):\n"
        "    module = sys._getframe(1).f_globals['__name__']\n"
        "    assert not module.startswith('podplan'), module\n"
        "    return compile_(*arguments)\n"
        "re.compile = noted\n"
        "import podplan.cli.check_run, podplan.report.finding_blocks, podplan.lint.checks\n"
        "for name in os.listdir(podplan.lint.checks.__path__[0]):\n"
        "    if name.endswith('.py') and name != 'by_cel.py':\n"
        "        import_module('podplan.lint.checks.' + name[:-3])\n"
    )
    check_runs(script)
