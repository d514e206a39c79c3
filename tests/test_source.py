"""The reader: data, places, faults and bounds."""

from __future__ import annotations

import gc
import json
import time
from pathlib import Path as FilePath
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from podplan import limits
from podplan.emit import emit
from podplan.limits import BoundExceeded
from podplan.source import Document, Path, Source, read

FIXTURES = FilePath(__file__).parent.parent / "fixtures" / "yaml"


def one(text: str) -> Document:
    source = read(text.encode(), "f.yaml")
    assert [fault for fault in source.faults if fault.rule != "YAML005"] == []
    assert len(source.documents) == 1
    return source.documents[0]


def faults(text: str) -> list[tuple[str, int, int]]:
    return [(f.rule, f.span.line, f.span.column) for f in read(text.encode(), "f.yaml").faults]


def data(text: str) -> list[Any]:
    return [document.data for document in read(text.encode(), "f.yaml").documents]


# ---- places

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
    ("a: |+\n  x\n\nb: 1\n", ("a",), False, (1, 4, 2, 4), "|+\n  x"),
    ("a: |  \n\nb: 1\n", ("a",), False, (1, 4, 1, 7), "|  "),
    ("a: |\n  x  \n", ("a",), False, (1, 4, 2, 6), "|\n  x  "),
    ('a: "x\n  y"\n', ("a",), False, (1, 4, 2, 5), '"x\n  y"'),
    ("a: &n !!str 5\n", ("a",), False, (1, 4, 1, 14), "&n !!str 5"),
    ("? k\n: v\n", ("k",), True, (1, 3, 1, 4), "k"),
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


@pytest.mark.parametrize(("text", "path", "on_key", "place", "slice_"), SPANS)
def test_span(text: str, path: Path, on_key: bool, place: tuple[int, int, int, int], slice_: str) -> None:
    document = one(text)
    span = document.span(path, on_key)
    assert text[span.start : span.end] == slice_
    assert span[:4] == place


def test_spans_of_a_later_document_count_from_the_start_of_the_file() -> None:
    text = "a: 1\n---\nb: {c: 2}\n"
    second = read(text.encode(), "f").documents[1]
    assert second.span(("b", "c"))[:4] == (3, 8, 3, 9)
    assert second.text == text


def test_a_byte_order_mark_stays_in_the_text() -> None:
    source = read("\ufeffa: b\n".encode(), "f")
    assert source.text == "\ufeffa: b\n"
    assert source.documents[0].span(("a",)).start == 4


def test_has() -> None:
    document = one("a: {b: [1, null]}\nc:\n")
    assert all(document.has(path) for path in [(), ("a",), ("a", "b", 1), ("c",)])
    assert not any(
        document.has(path) for path in [("d",), ("a", "b", 2), ("a", "b", "1"), ("c", "d"), ("a", 0)]
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
    assert [document.header for document in read(text.encode(), "f").documents] == headers


# ---- documents and data


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
    source = read(text.encode(), "f")
    assert source.faults == []
    assert [document.data for document in source.documents] == documents
    assert [document.index for document in source.documents] == list(range(len(documents)))


MERGES = [
    ("a: &x {b: 1}\nc: {b: 5, <<: *x}\n", {"b": 1}),
    ("a: &x {b: 1}\nc: {<<: *x, b: 5}\n", {"b": 5}),
    ("a: &x {b: 1}\ny: &y {b: 2, c: 3}\nc: {<<: [*x, *y], <<: {z: 1}}\n", {"b": 1, "c": 3, "z": 1}),
    ("a: &x {b: 1}\ny: &y {<<: *x, c: 3}\nc: {<<: *y, <<: {c: {<<: *x}}}\n", {"b": 1, "c": {"b": 1}}),
    ("c: {'<<': 1}\n", {"<<": 1}),
    ("c: {!!merge <<: {a: 1}}\n", {"a": 1}),
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
    assert read(text.encode(), "f").faults == []


@pytest.mark.parametrize(("text", "merged"), MERGES)
def test_merge_keys_give_what_kubectl_gives(text: str, merged: dict[str, Any]) -> None:
    assert one(text).data["c"] == merged


def test_a_long_chain_of_merges_has_places() -> None:
    text = "a0: &a0 {x: 1}\n" + "".join(f"a{i}: &a{i} {{<<: *a{i - 1}}}\n" for i in range(1, 900))
    assert one(text).span(("a899", "x"))[:4] == (1, 13, 1, 14)


# ---- faults

FAULTS = [
    ("a: 1\nb: 2\na: 3\n", "YAML002", (3, 1), "line 1"),
    ("y: 1\n'true': 2\n", "YAML002", (2, 1), '"true"'),
    ("1: a\n\"1\": b\n", "YAML002", (2, 1), "line 1"),
    ("a: {b: 1, b: 2}\n", "YAML002", (1, 11), "line 1"),
    ("a:\n\tb: 1\n", "YAML003", (2, 1), "spaces"),
    ("a: 1\n  \tb: 1\n", "YAML003", (2, 3), "spaces"),
    ("a: 1\n\t\nb: 2\n", "YAML003", (2, 1), "spaces"),
    ("a: !foo 5\n", "YAML004", (1, 4), "!foo"),
    ("a: !!set {}\n", "YAML004", (1, 4), "!!set"),
    ("a: !!seq {}\n", "YAML004", (1, 4), "!!seq"),
    ("a: !!int x\n", "YAML004", (1, 4), "!!int"),
    ("a: !b!c x\n", "YAML004", (1, 4), "tag"),
    ("a: &x {c: 1}\nb:\n  c: 2\n  <<: *x\n", "YAML005", (4, 3), 'overrides "c" of line 3 in kubectl'),
    ("a: &x {c: 1, d: 1}\nb: {d: 2, c: 2, <<: [{}, *x]}\n", "YAML005", (2, 17), '"d" of line 2 and 1 more'),
    ("a: *x\n", "YAML006", (1, 4), "&x"),
    ("a: &x\n- b: *x\n", "YAML006", (2, 6), "itself"),
    ("a: &x {b: {<<: *x}}\n", "YAML006", (1, 16), "itself"),
    ("a: 1\n---\n- &x 1\n---\n- *x\n", "YAML006", (5, 3), "&x"),
    ("a: [.inf, 1]\n", "YAML007", (1, 5), ".inf"),
    ("a: !!float .nan\n", "YAML007", (1, 4), ".nan"),
    ("? [a]\n: b\n", "YAML008", (1, 3), "list"),
    ("~: b\n", "YAML008", (1, 1), "null"),
    ("?\n: b\n", "YAML008", (1, 2), "null"),
    (": b\n", "YAML001", (1, 1), "no key"),
    ("18446744073709551615: b\n", "YAML008", (1, 1), "64 bits"),
    ("a: &x []\n*x : b\n", "YAML008", (2, 1), "*x"),
    ("image: {{ .Values.image }}\n", "YAML008", (1, 8), "quotes"),
    ("a: x\x00\n", "YAML009", (1, 5), "U+0000"),
    ("a: x\x1b[0m\n", "YAML009", (1, 5), "U+001B"),
    ("%YAML 1.2\n---\na: 1\n", "YAML011", (1, 1), "%YAML"),
    ("%YAML 1.3\n%YAML 1.3\n---\na: 1\n", "YAML011", (1, 1), "directive"),
    ("a: {<<: 1}\n", "YAML012", (1, 5), "mapping"),
    ("a: &x [{}]\nb: {<<: *x}\n", "YAML012", (2, 9), "mapping"),
    ("image: {{ .Values.a }}-{{ b }}\n", "YAML001", (1, 8), "quote"),
    ("a: [x, ${{ params.b }}]\n", "YAML001", (1, 8), "${{"),
    ("a: b: c\n", "YAML001", (1, 5), '": "'),
    ("a: 1\n  b: 2\n", "YAML001", (2, 3), "indentation"),
    ("a:\n  b: 1\n c: 2\n", "YAML001", (3, 2), "line 1"),
    ("a:\n  - b\n  c: 1\n", "YAML001", (3, 3), "list of line 2"),
    ("a: 'it's'\n", "YAML001", (1, 8), "quoted"),
    ('b: 1\na: "x\nc: d\n', "YAML001", (2, 4), "never closed"),
    ("a: [1, 2\nb: 3\n", "YAML001", (1, 4), '"]"'),
    ("a: {b: 1\nc: 2\n", "YAML001", (1, 4), '"}"'),
    ("a: ]\n", "YAML001", (1, 4), '"]"'),
    ("a: 1\nb\nc: 2\n", "YAML001", (2, 1), "key: value"),
    ("a: @x\n", "YAML001", (1, 4), '"@"'),
    ("a: *.py\n", "YAML001", (1, 4), '"*"'),
    ("a: - b\n", "YAML001", (1, 4), "line of its own"),
    ('a: "\\d"\n', "YAML001", (1, 5), "backslash"),
    ("a: |x\n  b\n", "YAML001", (1, 5), "next line"),
    ("{a: 1}\nb: 2\n", "YAML001", (2, 1), "---"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "rule", "place", "part"), FAULTS)
def test_fault(text: str, rule: str, place: tuple[int, int], part: str) -> None:
    found = [fault for fault in read(text.encode(), "f").faults if fault.rule == rule]
    assert [fault.span[:2] for fault in found] == [place]
    assert part in found[0].message
    assert "\n" not in found[0].message


def test_every_fault_has_a_rule() -> None:
    from podplan.rules import RULES

    codes = {rule for _, rule, _, _ in FAULTS} | {"YAML010"}
    assert codes == {code for code in RULES if code.startswith("YAML")}


def test_a_repeated_key_keeps_the_last_value() -> None:
    assert data("a: 1\nb: 2\na: 3\na: 4\n") == [{"b": 2, "a": 4}]
    assert faults("a: 1\nb: 2\na: 3\na: 4\n") == [("YAML002", 3, 1), ("YAML002", 4, 1)]
    assert read(b"a: 1\na: 3\n", "f").documents[0].span(("a",))[:2] == (2, 4)


def test_a_key_repeated_after_a_merge_wins_over_it() -> None:
    """kubectl 1.32 gives 7."""
    assert data("a: &x {b: 1}\nc: {b: 5, <<: *x, b: 7}\n")[0]["c"] == {"b": 7}


def test_tabs_that_yaml_allows_are_no_fault() -> None:
    assert one("a:\t5 \t# x\nb: [\n\t'x\ty']\n").data == {"a": 5, "b": ["x\ty"]}


def test_bytes_that_are_not_utf8() -> None:
    source = read("é: 1\nb: ".encode() + b"\xff\n", "f")
    (fault,) = source.faults
    assert (fault.rule, fault.span[:2], source.documents) == ("YAML009", (2, 4), [])
    assert "0xFF" in fault.message


def test_documents_around_a_broken_one_are_read() -> None:
    text = "a: 1\n---\nb: [\n---\nc: 1\nd: 2\n--- # x\nd: 'x\n---\n- e\n"
    source = read(text.encode(), "f")
    assert [(d.index, d.data) for d in source.documents] == [(0, {"a": 1}), (2, {"c": 1, "d": 2}), (4, ["e"])]
    assert [(f.rule, f.document) for f in source.faults] == [("YAML001", 1), ("YAML001", 3)]
    assert source.documents[1].span(("d",))[:4] == (6, 4, 6, 5)
    assert source.documents[2].span((0,))[:4] == (10, 3, 10, 4)


def test_a_marker_inside_a_block_scalar_does_not_cut_it() -> None:
    source = read(b"a: |\n  ---\n  x: [\nb: 1\n---\n: [\n", "f")
    assert [document.data for document in source.documents] == [{"a": "---\nx: [\n", "b": 1}]
    assert len(source.faults) == 1


def test_hints_are_for_values_only_and_apart_from_faults() -> None:
    source = read(b"no: [no, 1e3, 'no', &a 07770, *a]\nok: true\ny: 5\n", "f")
    assert source.faults == []
    assert [(hint.rule, hint.span.column) for hint in source.hints] == [
        ("YAML010", 6),
        ("YAML010", 10),
        ("YAML010", 21),
    ]


def test_hints_in_a_secret_do_not_show_the_value() -> None:
    (hint,) = read(b"stringData: {pin: 07315}\nkind: Secret\n", "f").hints
    assert "0731" not in hint.message
    assert "3789" not in hint.message


@pytest.mark.parametrize(
    "kind",
    [
        "kind: &k Secret", "kind: !!str Secret", "'kind':   'Secret'", '"kind": "Secret"', "? kind\n: Secret",
        "kind: SecretList", "kind: List\nitems: [{kind: Secret}]", "{kind: Secret}", "kind: >-\n  Secret",
        "x: &k Secret\nkind: *k",
    ],
)  # fmt: skip
def test_a_secret_is_known_by_what_its_kind_is_read_as(kind: str) -> None:
    assert read(f"{kind}\n".encode(), "f").holds_secret
    assert not read(kind.replace("Secret", "Pod").encode(), "f").holds_secret


@pytest.mark.parametrize(
    "value",
    [
        "*hunter2", "!hunter2 x", "!hunter2 {}", "!h!unter2 x", "!!int hunter2", "{*hunter2 : 1}", "@hunter2",
        "`hunter2`", "{{ hunter2 }}", "[hunter2", '"\\hunter2"', "{&hunter2 [a]: 1, *hunter2 : 2}",
        "&hunter2 {b: *hunter2}", "%hunter2", "hunter2: hunter2", "!<hunter2 x", "yes", "1e3", ".inf",
    ],
)  # fmt: skip
def test_faults_in_a_file_with_a_secret_quote_no_value(value: str) -> None:
    source = read(f"kind: &k Secret\nstringData:\n  a: {value}\n".encode(), "f")
    assert source.holds_secret
    for fault in (*source.faults, *source.hints):
        for secret in ("hunter", "unter2", "*", "!", "@", "`", "yes", "1e3", ".inf", "inf", "{{"):
            assert f'"{secret}' not in fault.message.replace('quote the "*"', "")
            assert secret not in fault.message or secret in ("*", "yes", "inf"), fault
    assert source.faults or source.hints


# ---- bounds


def refused(text: str) -> str:
    with pytest.raises(BoundExceeded) as caught:
        read(text.encode(), "big.yaml")
    return str(caught.value)


@pytest.mark.parametrize("text", ["[", "{", "- ", "? ", "{? ", "[{", "- ? "])
def test_a_megabyte_of_nesting_is_refused_at_once(text: str) -> None:
    started = time.process_time()
    message = refused(text * (1_000_000 // len(text)))
    assert time.process_time() - started < 1
    assert message == "big.yaml: more than 100 levels of nesting; flatten the document"


def test_depth_counts_collections() -> None:
    assert data("[" * 100 + "]" * 100)
    refused("[" * 101 + "]" * 101)


def test_depth_counts_through_aliases() -> None:
    chain = "".join(f"- &a{i} [*a{i - 1}]\n" for i in range(1, 200))
    assert "nesting" in refused("- &a0 x\n" + chain)


def test_alias_bomb() -> None:
    rows = "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12))
    assert "100,000 nodes" in refused("a0: &a0 [x, x]\n" + rows)


def test_merge_bomb() -> None:
    wide = ", ".join(f"k{i}: 1" for i in range(500))
    assert "100,000 nodes" in refused(f"a: &a {{{wide}}}\nb:\n" + "  <<: *a\n" * 900)


def test_number_of_aliases_documents_and_bytes() -> None:
    assert "1,000 aliases" in refused("- &a 1\n" + "- *a\n" * 1001)
    assert "10,000 documents" in refused("---\n" * 10_001)
    assert "bytes" in refused("#" * (limits.MAX_FILE_BYTES + 1))


def test_many_faults_are_cut_with_a_word() -> None:
    source = read(b"a: 1\n" * 5000, "f")
    assert len(source.faults) == limits.MAX_FAULTS + 1
    assert "3,999 more" in source.faults[-1].message


def test_the_collector_is_left_as_it_was() -> None:
    assert gc.isenabled()
    refused("[" * 200)
    assert gc.isenabled()
    gc.disable()
    try:
        read(b"a: 1\n", "f")
        assert not gc.isenabled()
    finally:
        gc.enable()


# ---- properties

TRICKY: list[str] = json.loads((FIXTURES / "tricky.json").read_text(encoding="utf-8"))
STRINGS = st.sampled_from(TRICKY) | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBERS = st.integers(-(2**63), 2**64 - 1) | st.sampled_from([None, True, False, 0.5, 1e-7, 1e300])
DATA = st.recursive(
    STRINGS | NUMBERS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(STRINGS, below, max_size=3),
    max_leaves=10,
)


def paths(value: Any, path: Path = ()) -> list[Path]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(deeper for step, entry in below for deeper in paths(entry, (*path, step)))]


def at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def parsed_again(document: Document, path: Path, on_key: bool = False) -> Any:
    """The value of the text at a span, moved to where it stood in its line."""
    span = document.span(path, on_key)
    text = document.text[span.start : span.end]
    again = read((" " * (span.column - 1) + text + "\n").encode(), "again")
    assert again.faults == []
    return again.documents[0].data if again.documents else None


def check_spans(source: Source, wanted: list[Any]) -> None:
    assert source.faults == []
    assert [document.data for document in source.documents] == wanted
    for document in source.documents:
        for path in paths(document.data):
            value = at(document.data, path)
            got = parsed_again(document, path)
            if (
                isinstance(value, str)
                and isinstance(got, str)
                and document.text[document.span(path).start] == "|"
            ):
                value, got = value.rstrip("\n"), got.rstrip("\n")
            assert got == value
            if path and isinstance(path[-1], str):
                assert parsed_again(document, path, on_key=True) == path[-1]


@settings(max_examples=150, deadline=None)
@given(st.lists(DATA, min_size=1, max_size=2))
def test_the_text_at_each_span_is_the_value_in_block_style(documents: list[Any]) -> None:
    check_spans(read(emit(documents).encode(), "f"), documents)


@settings(max_examples=150, deadline=None)
@given(DATA, st.sampled_from([None, 2, 7]))
def test_the_text_at_each_span_is_the_value_in_flow_style(value: Any, indent: int | None) -> None:
    """JSON is YAML in flow style, but for what YAML wants escaped and for keys beyond 1,024 characters."""
    text = json.dumps(value, indent=indent)
    if "\\ud" not in text and len(text) < 1000:
        check_spans(read(text.encode(), "f"), [value])


SEEDS = [BLOCK, *(text for text, *_ in SPANS), *(text for text, *_ in FAULTS), *(text for text, _ in MERGES)]
NOISE = st.text(st.sampled_from("\n\n \t-:#?&*!|>'\"%@`{}[],<~ab01.\r\ufeffé"), max_size=4)


def check_sound(content: bytes) -> None:
    """Nothing but a bound is raised, and all that comes back can be used."""
    try:
        source = read(content, "noise.yaml")
    except BoundExceeded:
        return
    json.dumps([document.data for document in source.documents], allow_nan=False)
    for fault in [*source.faults, *source.hints]:
        assert fault.message
        assert "\n" not in fault.message
        assert 0 <= fault.span.start <= fault.span.end <= len(source.text) + 1
    for document in source.documents:
        assert isinstance(document.header, list)
        for path in paths(document.data):
            span = document.span(path)
            assert document.has(path)
            assert 0 <= span.start <= span.end <= len(source.text)
            assert (1, 1) <= span[:2] <= span[2:4]


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60))
def test_bytes_never_crash(content: bytes) -> None:
    check_sound(content)


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(SEEDS), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 3), NOISE), max_size=4))
def test_mutated_yaml_never_crashes(seed: str, edits: list[tuple[float, int, str]]) -> None:
    text = seed
    for where, cut, noise in edits:
        i = int(where * len(text))
        text = text[:i] + noise + text[i + cut :]
    check_sound(text.encode())


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("\n \n-ab:[]{},'\"|&*"), max_size=30))
def test_what_libyaml_refuses_is_a_fault_and_nothing_else_is(text: str) -> None:
    try:
        list(yaml.parse(text, yaml.CSafeLoader))
        refused_ = False
    except yaml.YAMLError:
        refused_ = True
    assert any(rule in ("YAML001", "YAML003", "YAML004") for rule, _, _ in faults(text)) == refused_
