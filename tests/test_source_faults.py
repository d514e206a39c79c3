"""What is wrong with YAML, and the bounds of what is read."""

from __future__ import annotations

import gc
import time
from codecs import BOM_UTF16_BE

import pytest

from podplan.core import limits
from podplan.core.limits import LimitExceeded
from podplan.yaml import parse_yaml
from tests.parsed_texts import data, faults, one
from tests.rows import each_row

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
    ("a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> theirs\n", "YAML013", (2, 1), "lines 2 to 6"),
]  # fmt: skip


@each_row(("text", "rule", "place", "part"), FAULTS)
def test_fault(text: str, rule: str, place: tuple[int, int], part: str) -> None:
    found = [fault for fault in parse_yaml(text.encode(), "f").diagnostics if fault.rule == rule]
    assert [fault.span[:2] for fault in found] == [place]
    assert part in found[0].message
    assert "\n" not in found[0].message


def test_every_fault_has_a_rule() -> None:
    from podplan.core.builtin_rules import BUILTIN_RULES

    codes = {rule for _, rule, _, _ in FAULTS} | {"YAML010"}
    assert codes == {code for code in BUILTIN_RULES if code.startswith("YAML")}


CONFLICT = "<<<<<<< HEAD\n  image: a\n=======\n  image: b\n>>>>>>> feature\n"


@pytest.mark.parametrize(
    ("text", "place", "parts"),
    [
        (f"spec:\n{CONFLICT}", (2, 1), ["an unresolved merge conflict in lines 2 to 6", "keep one side"]),
        (f"\ufeff{CONFLICT}", (1, 1), ["lines 1 to 5"]),
        (f"spec:\n{CONFLICT}".replace("\n", "\r\n"), (2, 1), ["lines 2 to 6"]),
        (f"a: 1\n---\nb: 1\n---\nspec:\n{CONFLICT}", (6, 1), ["lines 6 to 10"]),
        (f"{CONFLICT}a: 1\n{CONFLICT * 998}", (1, 1), ["999 unresolved merge conflicts", "lines 1 to 5"]),
        (f"a: [\n{CONFLICT}b: 'x\n{CONFLICT}", (2, 1), ["2 unresolved merge conflicts"]),
        ("a: 1\nb\n>>>>>>> feature\n", (3, 1), ["line 3,"]),
        (
            "<<<<<<< HEAD\n---\na: 1\n||||||| base\na: 0\n=======\na: 2\n>>>>>>> feature\n",
            (1, 1),
            ["1 to 8"],
        ),
    ],
)
def test_merge_conflict_markers_are_one_fault(text: str, place: tuple[int, int], parts: list[str]) -> None:
    source = parse_yaml(text.encode(), "f")
    (fault,) = source.diagnostics
    assert (fault.rule, fault.span[:2], source.documents, source.hints) == ("YAML013", place, [], [])
    for part in parts:
        assert part in fault.message


@pytest.mark.parametrize(
    "text",
    [
        "a: |\n  <<<<<<< HEAD\n  =======\n  >>>>>>> b\nc: 1\n",
        "a: 1\n# <<<<<<< HEAD\nb: [\n",
        "a: <<<<<<< HEAD\nb: [\n",
        "a: 1\n=======\n",
        "a: 1\n<<<<<<<<< HEAD\nb: [\n",
    ],
)
def test_what_only_looks_like_a_merge_conflict(text: str) -> None:
    assert "YAML013" not in {rule for rule, _, _ in faults(text)}


def test_a_repeated_key_keeps_the_last_value() -> None:
    assert data("a: 1\nb: 2\na: 3\na: 4\n") == [{"b": 2, "a": 4}]
    assert faults("a: 1\nb: 2\na: 3\na: 4\n") == [("YAML002", 3, 1), ("YAML002", 4, 1)]
    assert parse_yaml(b"a: 1\na: 3\n", "f").documents[0].span(("a",))[:2] == (2, 4)


def test_a_key_repeated_after_a_merge_wins_over_it() -> None:
    """kubectl 1.32 gives 7."""
    assert data("a: &x {b: 1}\nc: {b: 5, <<: *x, b: 7}\n")[0]["c"] == {"b": 7}


def test_tabs_that_yaml_allows_are_no_fault() -> None:
    assert one("a:\t5 \t# x\nb: [\n\t'x\ty']\n").data == {"a": 5, "b": ["x\ty"]}


def test_bytes_that_are_not_utf8() -> None:
    source = parse_yaml("é: 1\nb: ".encode() + b"\xff\n", "f")
    (fault,) = source.diagnostics
    assert (fault.rule, fault.span[:2], source.documents) == ("YAML009", (2, 4), [])
    assert "0xFF" in fault.message


def test_documents_around_a_broken_one_are_read() -> None:
    text = "a: 1\n---\nb: [\n---\nc: 1\nd: 2\n--- # x\nd: 'x\n---\n- e\n"
    source = parse_yaml(text.encode(), "f")
    assert [(d.index, d.data) for d in source.documents] == [(0, {"a": 1}), (2, {"c": 1, "d": 2}), (4, ["e"])]
    assert [(f.rule, f.document_index) for f in source.diagnostics] == [("YAML001", 1), ("YAML001", 3)]
    assert source.documents[1].span(("d",))[:4] == (6, 4, 6, 5)
    assert source.documents[2].span((0,))[:4] == (10, 3, 10, 4)


def test_a_marker_inside_a_block_scalar_does_not_cut_it() -> None:
    source = parse_yaml(b"a: |\n  ---\n  x: [\nb: 1\n---\n: [\n", "f")
    assert [document.data for document in source.documents] == [{"a": "---\nx: [\n", "b": 1}]
    assert len(source.diagnostics) == 1


def test_hints_are_for_values_only_and_apart_from_faults() -> None:
    source = parse_yaml(b"no: [no, 1e3, 'no', &a 07770, *a]\nok: true\ny: 5\n", "f")
    assert source.diagnostics == []
    assert [(hint.rule, hint.span.column) for hint in source.hints] == [
        ("YAML010", 6),
        ("YAML010", 10),
        ("YAML010", 21),
    ]


def test_hints_in_a_secret_do_not_show_the_value() -> None:
    (hint,) = parse_yaml(b"stringData: {pin: 07315}\nkind: Secret\n", "f").hints
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
    assert parse_yaml(f"{kind}\n".encode(), "f").has_secret
    assert not parse_yaml(kind.replace("Secret", "Pod").encode(), "f").has_secret


@pytest.mark.parametrize(
    "value",
    [
        "*hunter2", "!hunter2 x", "!hunter2 {}", "!h!unter2 x", "!!int hunter2", "{*hunter2 : 1}", "@hunter2",
        "`hunter2`", "{{ hunter2 }}", "[hunter2", '"\\hunter2"', "{&hunter2 [a]: 1, *hunter2 : 2}",
        "&hunter2 {b: *hunter2}", "%hunter2", "hunter2: hunter2", "!<hunter2 x", "yes", "1e3", ".inf",
    ],
)  # fmt: skip
def test_faults_in_a_file_with_a_secret_quote_no_value(value: str) -> None:
    source = parse_yaml(f"kind: &k Secret\nstringData:\n  a: {value}\n".encode(), "f")
    assert source.has_secret
    for fault in (*source.diagnostics, *source.hints):
        for secret in ("hunter", "unter2", "*", "!", "@", "`", "yes", "1e3", ".inf", "inf", "{{"):
            assert f'"{secret}' not in fault.message.replace('quote the "*"', "")
            assert secret not in fault.message or secret in ("*", "yes", "inf"), fault
    assert source.diagnostics or source.hints


def refused(text: str) -> str:
    with pytest.raises(LimitExceeded) as caught:
        parse_yaml(text.encode(), "big.yaml")
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
    source = parse_yaml(b"a: 1\n" * 5000, "f")
    assert len(source.diagnostics) == limits.MAX_FILE_DIAGNOSTICS + 1
    assert "3,999 more" in source.diagnostics[-1].message


def test_the_collector_is_left_as_it_was() -> None:
    assert gc.isenabled()
    refused("[" * 200)
    assert gc.isenabled()
    gc.disable()
    try:
        parse_yaml(b"a: 1\n", "f")
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_a_file_that_windows_saved_as_utf_16_is_told_as_such(encoding: str) -> None:
    text = "apiVersion: podplan/v1\nkind: JobProfile\n"
    bom = BOM_UTF16_BE if encoding == "utf-16-be" else b""
    source = parse_yaml(bom + text.encode(encoding), "a.yaml")
    assert source.text.endswith(text)  # and so it is seen to be one of ours
    assert [(fault.rule, fault.message) for fault in source.diagnostics] == [
        ("YAML009", "this file is UTF-16; save it as UTF-8")
    ]
