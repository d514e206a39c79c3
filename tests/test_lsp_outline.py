"""Where the cursor is, by indentation and brackets, in texts that need not parse."""

from __future__ import annotations

import time
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podplan.integrations.lsp.cursor import find_path_at
from podplan.integrations.lsp.name_references import find_open_expression
from podplan.integrations.lsp.outline import Outline, parse_outline
from podplan.yaml import parse_yaml
from tests.rows import each_row

FIXTURES = Path(__file__).parent.parent / "fixtures"


def look(text: str) -> Outline:
    """The outline at | in a text without it."""
    before = text.partition("|")[0]
    lines = text.replace("|", "", 1).split("\n")
    return parse_outline(lines, before.count("\n"), len(before.rpartition("\n")[2]))


@pytest.mark.parametrize(
    ("text", "path", "word"),
    [
        ("|", "", ""),
        ("ki|nd: x", "", "ki"),
        ("spec:\n  |", "spec", ""),
        ("spec:\n  re|\n  image: x", "spec", "re"),
        ("spec:\n  image: x\n  |", "spec", ""),
        ("spec:\n  image: x\n|", "", ""),
        ("spec:\n  a:\n\n  # more\n    |\n  b: 1", "spec.a", ""),
        ("spec:\n  roles:\n  - name: a\n    |", "spec.roles.0", ""),
        ("spec:\n  roles:\n  - name: a\n  - |", "spec.roles.1", ""),
        ("spec:\n  roles:\n    - name: a\n      ha|\n  image: x", "spec.roles.0", "ha"),
        ("spec:\n  roles:\n  - name: a\n  im|", "spec", "im"),
        ("- - a|", "0.0", "a"),
        ("spec: {a: 1, b|", "spec", "b"),
        ("spec: {a: {|}", "spec.a", ""),
        ("spec:\n  roles: [{name: w,\n    re|\n  image: x", "spec.roles.0", "re"),
        ("spec:\n  open: {a: [1,\n  image: x\n  fo|", "spec", "fo"),
        ("a: 1\n---\nspec:\n  |\n---\nb: 2", "spec", ""),
        ('"quoted key":\n  |', "quoted key", ""),
    ],
)
def test_a_key_is_due(text: str, path: str, word: str) -> None:
    cursor = look(text).cursor
    assert cursor is not None
    assert cursor.at_key
    assert ".".join(map(str, cursor.path)) == path
    assert cursor.word == word


@pytest.mark.parametrize(
    ("text", "path", "word"),
    [
        ("kind: Jo|b", "kind", "Jo"),
        ("kind:|", "kind", ""),
        ("spec:\n  a: {b: c, d: |", "spec.a.d", ""),
        ("spec:\n  - x: |", "spec.0.x", ""),
        ("spec:\n  a: [x, y|]", "spec.a.1", "y"),
        ('spec:\n  a: "b|"', "spec.a", "b"),
        ('spec: {a: "b c|"}', "spec.a", "b c"),
        ("a: {b: [\n  {c: |\n", "a.b.0.c", ""),
    ],
)
def test_a_value_is_due(text: str, path: str, word: str) -> None:
    cursor = look(text).cursor
    assert cursor is not None
    assert not cursor.at_key
    assert ".".join(map(str, cursor.path)) == path
    assert cursor.word == word


@pytest.mark.parametrize(
    "text", ["# com|ment", "a: b # c|", "a: {b: c, # d|\n}", "a: >\n  b: |", "  words in| a row"]
)
def test_nothing_is_due(text: str) -> None:
    assert look(text).cursor is None


def test_a_key_is_no_sibling_of_itself() -> None:
    assert look("spec:\n  a: 1\n  b|: 2\n  c: 3").keys[("spec",)] == ["a", "c"]
    assert look("spec: {a: 1, b|: 2, c: 3}").keys[("spec",)] == ["a", "c"]
    assert look("spec: {a: 1, b|").keys[("spec",)] == ["a"]


def files() -> list[Path]:
    return sorted(FIXTURES.glob("gallery/*/*.yaml")) + sorted(FIXTURES.glob("lsp/project/*/*.yaml"))


@pytest.mark.parametrize("file", files(), ids=lambda path: path.stem)
def test_the_outline_of_a_whole_text_is_what_a_reader_of_yaml_sees(file: Path) -> None:
    """At the first character of every key, both ways lead to the same path."""
    text = file.read_text()
    [document] = parse_yaml(text.encode(), str(file)).documents
    lines = text.split("\n")
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), document.data)]
    while waiting:
        path, value = waiting.pop()
        for step, below in value.items() if isinstance(value, dict) else enumerate(value):
            here = (*path, step)
            if isinstance(step, str):
                key = document.span(here, on_key=True)
                found = parse_outline(lines, key.line - 1, key.column).cursor
                assert found is not None, here
                assert found.field_path == here == find_path_at(document, key.line, key.column + 1)
            if isinstance(below, dict | list):
                waiting.append((here, below))


HEADS = ("a", "a: ", "a: {", "- ")
REPEATED = (" ", "a", "a ", "# ", "${{", "{", "[", "- ", "'", '"', "a:", "a: ", "\\t")


@each_row(("head", "piece"), product(HEADS, REPEATED), ids=repr)
def test_long_lines_take_linear_time(head: str, piece: str) -> None:
    line = head + piece * 30_000
    began = time.process_time()
    parse_outline([line, "b: 1"], 0, len(line))
    find_open_expression(line)
    assert time.process_time() - began < 2


PIECES = st.sampled_from([*"ab:-{}[],'\"#|>& \n", "a: ", "- ", "\n  ", "${{ x }}", "---\n", "训🚀"])


@given(st.lists(PIECES, max_size=60).map("".join), st.integers(0, 60), st.integers(0, 20))
def test_any_text_has_an_outline(text: str, line: int, column: int) -> None:
    lines = text.split("\n")
    at = min(line, len(lines) - 1)
    found = parse_outline(lines, at, min(column, len(lines[at])))
    assert found.cursor is None or lines[at][: min(column, len(lines[at]))].endswith(found.cursor.word)
