"""Documents as they are read: their data, and the places of its parts."""

from __future__ import annotations

from typing import Any

import pytest

from podplan.yaml import Path, parse_yaml
from podplan.yaml.plain_scalars import SCALAR_KEYS, SCALAR_VALUES
from tests.parsed_texts import one
from tests.rows import each_row

BLOCK = """\
# head
kind: Job

spec:
  args:
  - a
  -   "b c"
  env: {A: 1, "B": [x, 'y z'] }
  script: |
    one
      two

  # not part of it
  plain: word
    goes on   # comment
  empty:
  last:
    folded: >-
      x
      y


# tail
"""

SPEC = BLOCK[BLOCK.index("args:") : BLOCK.index("\n\n\n# tail")]

SPANS: list[tuple[str, Path, bool, tuple[int, int, int, int], str]] = [
    (BLOCK, ("kind",), False, (2, 7, 2, 10), "Job"),
    (BLOCK, ("kind",), True, (2, 1, 2, 5), "kind"),
    (BLOCK, ("spec",), True, (4, 1, 4, 5), "spec"),
    (BLOCK, ("spec", "args"), False, (6, 3, 7, 12), '- a\n  -   "b c"'),
    (BLOCK, ("spec", "args", 0), False, (6, 5, 6, 6), "a"),
    (BLOCK, ("spec", "args", 0), True, (6, 5, 6, 6), "a"),
    (BLOCK, ("spec", "args", 1), False, (7, 7, 7, 12), '"b c"'),
    (BLOCK, ("spec", "env"), False, (8, 8, 8, 32), "{A: 1, \"B\": [x, 'y z'] }"),
    (BLOCK, ("spec", "env", "A"), True, (8, 9, 8, 10), "A"),
    (BLOCK, ("spec", "env", "B"), True, (8, 15, 8, 18), '"B"'),
    (BLOCK, ("spec", "env", "B"), False, (8, 20, 8, 30), "[x, 'y z']"),
    (BLOCK, ("spec", "env", "B", 1), False, (8, 24, 8, 29), "'y z'"),
    (BLOCK, ("spec", "script"), False, (9, 11, 11, 10), "|\n    one\n      two"),
    (BLOCK, ("spec", "plain"), False, (14, 10, 15, 12), "word\n    goes on"),
    (BLOCK, ("spec", "empty"), False, (16, 9, 16, 9), ""),
    (BLOCK, ("spec", "last"), False, (18, 5, 20, 8), "folded: >-\n      x\n      y"),
    (
        BLOCK,
        ("spec", "none", "deep"),
        False,
        (5, 3, 20, 8),
        BLOCK[BLOCK.index("args:") : BLOCK.index("\n\n\n# t")],
    ),
    (BLOCK, ("kind", "deep"), True, (2, 7, 2, 10), "Job"),
    (BLOCK, ("spec", "args", 2), False, (6, 3, 7, 12), '- a\n  -   "b c"'),
    (BLOCK, ("spec", "args", -1), False, (6, 3, 7, 12), '- a\n  -   "b c"'),
    ("größe: 日本\nb: 😀 x\n", ("größe",), True, (1, 1, 1, 6), "größe"),
    ("größe: 日本\nb: 😀 x\n", ("größe",), False, (1, 8, 1, 10), "日本"),
    ("größe: 日本\nb: 😀 x\n", ("b",), False, (2, 4, 2, 7), "😀 x"),
    ("a: 1\r\nb:\r\n  c: |\r\n    x\r\n\r\nd: e\r\n", ("b", "c"), False, (3, 6, 4, 6), "|\r\n    x"),
    ("a: 1\r\nb:\r\n  c: |\r\n    x\r\n\r\nd: e\r\n", ("d",), False, (6, 4, 6, 5), "e"),
    ("a: 1\rb: 2\r", ("b",), False, (2, 4, 2, 5), "2"),
    ("\ufeffa: é\nb: 1\n", ("a",), True, (1, 1, 1, 2), "a"),
    ("\ufeffa: é\nb: 1\n", ("a",), False, (1, 4, 1, 5), "é"),
    ("\ufeffa: é\nb: 1\n", ("b",), False, (2, 4, 2, 5), "1"),
    ("\ufeff\ufeffa: é\nb: 1\n", ("a",), False, (1, 4, 1, 5), "é"),
    ("a: |+\n  x\n\nb: 1\n", ("a",), False, (1, 4, 2, 4), "|+\n  x"),
    ("a: |  \n\nb: 1\n", ("a",), False, (1, 4, 1, 7), "|  "),
    ("a: |\n  x  \n", ("a",), False, (1, 4, 2, 6), "|\n  x  "),
    ('a: "x\n  y"\n', ("a",), False, (1, 4, 2, 5), '"x\n  y"'),
    ("a: &n !!str 5\n", ("a",), False, (1, 4, 1, 14), "&n !!str 5"),
    ("? k\n: v\n", ("k",), True, (1, 3, 1, 4), "k"),
    ("? one\n  two\n: v\n", ("one two",), True, (1, 3, 2, 6), "one\n  two"),
    ("? one\n\n  two\n: v\n", ("one\ntwo",), True, (1, 3, 3, 6), "one\n\n  two"),
    ("a  b : 1\n", ("a  b",), True, (1, 1, 1, 5), "a  b"),
    ("!!str 5: x\n", ("5",), True, (1, 1, 1, 8), "!!str 5"),
    ("a: &k key\nb: {*k : 1}\n", ("b", "key"), True, (2, 5, 2, 7), "*k"),
    ("y: 2\n1.50: 3\n", ("true",), True, (1, 1, 1, 2), "y"),
    ("y: 2\n1.50: 3\n", ("1.5",), True, (2, 1, 2, 5), "1.50"),
    ("- - a\n  - b\n- c\n", (0,), False, (1, 3, 2, 6), "- a\n  - b"),
    ("base: &b {x: 1}\nuse: *b\n", ("use",), False, (2, 6, 2, 8), "*b"),
    ("base: &b {x: 1}\nuse: *b\n", ("use", "x"), False, (1, 14, 1, 15), "1"),
    ("base: &b {x: 1}\nuse: {<<: *b, y: 2}\n", ("use", "x"), True, (1, 11, 1, 12), "x"),
    ("base: &b {x: 1}\nuse: {x: 3, <<: *b}\n", ("use", "x"), False, (1, 14, 1, 15), "1"),
    ("base: &b {x: 1}\nuse: {<<: *b, x: 3}\n", ("use", "x"), False, (2, 18, 2, 19), "3"),
    ("a: &a {x: 1}\nb: &b {x: 2}\nc: {<<: [*a, *b]}\n", ("c", "x"), False, (1, 11, 1, 12), "1"),
]


@each_row(("text", "path", "on_key", "place", "slice_"), SPANS)
def test_span(text: str, path: Path, on_key: bool, place: tuple[int, int, int, int], slice_: str) -> None:
    document = one(text)
    span = document.span(path, on_key)
    assert text[span.start : span.end] == slice_
    assert span[:4] == place


def test_no_more_scalars_are_kept_than_are_worth_it() -> None:
    text = "".join(f"k{i}: {i}.50\n" for i in range(10_000))
    document = one(text)
    assert document.data == {f"k{i}": i + 0.5 for i in range(10_000)}
    assert document.span(("k9999",), on_key=True)[:4] == (10_000, 1, 10_000, 6)
    assert 0 < len(SCALAR_KEYS) < 5_000
    assert 0 < len(SCALAR_VALUES) < 5_000


def test_spans_of_a_later_document_count_from_the_start_of_the_file() -> None:
    text = "a: 1\n---\nb: {c: 2}\n"
    second = parse_yaml(text.encode(), "f").documents[1]
    assert second.span(("b", "c"))[:4] == (3, 8, 3, 9)
    assert second.text == text


def test_a_byte_order_mark_stays_in_the_text() -> None:
    source = parse_yaml("\ufeffa: b\n".encode(), "f")
    assert source.text == "\ufeffa: b\n"
    assert source.documents[0].span(("a",)).start == 4


def test_has() -> None:
    document = one("a: {b: [1, null]}\nc:\n")
    assert all(document.has_path(path) for path in [(), ("a",), ("a", "b", 1), ("c",)])
    assert not any(
        document.has_path(path) for path in [("d",), ("a", "b", 2), ("a", "b", "1"), ("c", "d"), ("a", 0)]
    )


@pytest.mark.parametrize(
    ("text", "headers"),
    [
        ("# Source: x\n# two\na: 1\n", [["# Source: x", "# two"]]),
        ("# one\n---\n  # two\n\na: 1\n# tail\n---\n# three\nb: 1\n", [["# one", "# two"], ["# three"]]),
        ("a: 1 # no\n# no\n", [[]]),
        ("\ufeff# one\r\na: 1\n", [["# one"]]),
    ],
)
def test_header_is_the_comment_above_the_content(text: str, headers: list[list[str]]) -> None:
    assert [document.header for document in parse_yaml(text.encode(), "f").documents] == headers


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        ("", []),
        ("# only a comment\n", []),
        ("---\n---\n# x\n--- \n", []),
        ("a: 1\n---\n\n---\nb: 2\n...\n---\nnull\n", [{"a": 1}, {"b": 2}, None]),
        ("--- a\n--- |\n  ---\n--- [b]\n", ["a", "---\n", ["b"]]),
        ('{"a": [true, null, 1.5e3, "\\u00e9"]}', [{"a": [True, None, 1500, "é"]}]),
        ("a: !!binary aGk=\nb: !!str 5\nc: ! 5\nd: !!map {}\ne: !!seq []\n",
         [{"a": "hi", "b": "5", "c": "5", "d": {}, "e": []}]),
        ("a: &x 1e6\n*x : 4\n", [{"a": 1000000, "1e+06": 4}]),
        ("a: &x [1]\nb: *x\nc: {d: *x}\n", [{"a": [1], "b": [1], "c": {"d": [1]}}]),
    ],
)  # fmt: skip
def test_documents(text: str, documents: list[Any]) -> None:
    source = parse_yaml(text.encode(), "f")
    assert source.diagnostics == []
    assert [document.data for document in source.documents] == documents
    assert [document.index for document in source.documents] == list(range(len(documents)))


MERGES = [
    ("a: &x {b: 1}\nc: {b: 5, <<: *x}\n", {"b": 1}),
    ("a: &x {b: 1}\nc: {<<: *x, b: 5}\n", {"b": 5}),
    ("a: &x {b: 1}\ny: &y {b: 2, c: 3}\nc: {<<: [*x, *y], <<: {z: 1}}\n", {"b": 1, "c": 3, "z": 1}),
    ("a: &x {b: 1}\ny: &y {<<: *x, c: 3}\nc: {<<: *y, <<: {c: {<<: *x}}}\n", {"b": 1, "c": {"b": 1}}),
    ("c: {'<<': 1}\n", {"<<": 1}),
    ("c: {!!merge <<: {a: 1}}\n", {"a": 1}),
    ('c: {!!merge "\\x3c<": {a: 1}}\n', {"a": 1}),
    ("c: {? !!str << : 1}\n", {"<<": 1}),
]


@pytest.mark.parametrize(
    "text",
    [
        "a: &x {b: 1}\nc: {<<: *x}\n",
        "a: &x {b: 1}\nc: {<<: *x, b: 2}\n",
        "a: &x {b: 1}\nc: {d: 2, <<: *x, b: 2}\n",
        "a: &x {b: 1}\ny: &y {b: 2}\nc: {<<: [*x, *y]}\n",
    ],
)
def test_nothing_is_said_of_a_merge_key_that_is_the_same_everywhere(text: str) -> None:
    assert one(text)
    assert parse_yaml(text.encode(), "f").diagnostics == []


@pytest.mark.parametrize(("text", "merged"), MERGES)
def test_merge_keys_give_what_kubectl_gives(text: str, merged: dict[str, Any]) -> None:
    assert one(text).data["c"] == merged


def test_a_long_chain_of_merges_has_places() -> None:
    text = "a0: &a0 {x: 1}\n" + "".join(f"a{i}: &a{i} {{<<: *a{i - 1}}}\n" for i in range(1, 900))
    assert one(text).span(("a899", "x"))[:4] == (1, 13, 1, 14)
