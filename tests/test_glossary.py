"""docs/glossary.md: one word for each concept, and no module that is named by a word that is not used."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

TOP = Path(__file__).parent.parent
PACKAGE = TOP / "compiler" / "podplan"
PAGE = (TOP / "docs" / "glossary.md").read_text(encoding="utf-8")
if not PACKAGE.is_dir():
    pytest.skip("not a checkout", allow_module_level=True)


class Row(NamedTuple):
    """A concept: its words, its type, its home, and the words that are not used for it."""

    concept: str
    words: tuple[str, ...]
    type: str
    module: str
    unused: tuple[str, ...]


def _rows() -> list[Row]:
    found = []
    for line in re.findall(r"^\| (?!concept|-)(.*) \|$", PAGE, re.MULTILINE):
        concept, words, kind, module, unused = (cell.strip() for cell in line.split(" | "))
        named = re.findall(r"\*`?([^*`]+)`?\*", words)
        listed = [] if unused == "–" else re.split(r", (?![^(]*\))", unused)
        found.append(Row(concept, tuple(named), kind.strip("`"), module, tuple(listed)))
    return found


ROWS = _rows()


def test_a_word_and_a_type_stand_for_one_concept() -> None:
    assert len(ROWS) > 100
    for name, count in Counter(word for row in ROWS for word in row.words).items():
        assert count == 1, name
    for name, count in Counter(row.type for row in ROWS if row.type != "–").items():
        assert count == 1, name
    assert [row.concept for row in ROWS if not row.words] == []


def _list_definitions() -> dict[str, list[str]]:
    """Return the files, below the package, that define each class and each name at the top of a module."""
    files: dict[str, list[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for name in re.findall(r"^(?:class )?(\w+)(?= ?[(:=])", path.read_text("utf-8"), re.MULTILINE):
            files.setdefault(name, []).append(path.relative_to(PACKAGE).as_posix())
    return files


def test_types_are_in_the_modules_of_their_rows() -> None:
    files = _list_definitions()
    missing = [
        f"{row.type} is not in {row.module}"
        for row in ROWS
        if row.type != "–"
        and not any(
            file == f"{module}.py" or file.startswith(f"{module}/")
            for file in files.get(row.type, ())
            for module in re.findall(r"`([^`]+)`", row.module)
        )
    ]
    assert missing == []


def test_no_word_is_both_used_and_not_used() -> None:
    """Unless its row says in parentheses where it is not used."""
    words = {word for row in ROWS for word in row.words}
    assert sorted(words & {word for row in ROWS for word in row.unused}) == []


def test_no_module_is_named_by_an_unused_word() -> None:
    unused = {word for row in ROWS for word in row.unused if re.fullmatch(r"[a-z]+", word)}
    modules = {path.stem.strip("_") for path in PACKAGE.rglob("*.py") if path.stem != "__init__"}
    modules |= {path.parent.name for path in PACKAGE.rglob("__init__.py")}
    assert modules & unused == set()


def test_homes_exist() -> None:
    for row in ROWS:
        for home in re.findall(r"`([^`]+)`", row.module):
            places = (PACKAGE / home, PACKAGE / f"{home}.py", TOP / home)
            assert any(place.exists() for place in places), f"{row.concept}: {home}"


def test_no_two_classes_have_one_name() -> None:
    files: dict[str, list[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for name in re.findall(r"^ *class (\w+)", path.read_text("utf-8"), re.MULTILINE):
            files.setdefault(name, []).append(path.relative_to(PACKAGE).as_posix())
    assert len(files) > 300
    assert {name: paths for name, paths in files.items() if len(paths) > 1} == {}
