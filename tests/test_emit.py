"""What is written is what is read back, and what kubectl reads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podplan.core.limits import LimitExceeded
from podplan.yaml import parse_yaml
from podplan.yaml import writer as emitting
from podplan.yaml.writer import emit_document, emit_documents
from tests.rows import each_row
from tests.thoroughness import examples

FIXTURES = Path(__file__).parent.parent / "fixtures" / "yaml"
SCALARS: list[str] = [json.loads(line)[0] for line in (FIXTURES / "scalars.jsonl").open(encoding="utf-8")]

TRICKY: list[str] = json.loads((FIXTURES / "tricky.json").read_text(encoding="utf-8"))
# What kubectl 1.32 read back without a difference; ask it again before this file changes.
READ_BY_KUBECTL = (FIXTURES / "tricky.yaml").read_text(encoding="utf-8")
CONFIG_MAP = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "x"},
    "data": {"list": TRICKY, "map": {text: text for text in TRICKY}},
}


def back(text: str) -> list[Any]:
    source = parse_yaml(text.encode(), "emitted.yaml")
    assert source.diagnostics == []
    return [document.data for document in source.documents]


@each_row("text", TRICKY)
def test_a_tricky_string_comes_back_as_value_and_as_key(text: str) -> None:
    data = {"value": text, "list": [text, [text]], "map": {text: text}}
    written = emit_document(data)
    assert back(written) == [data]
    assert all(char.isprintable() or char == "\n" for char in written)
    assert back(emit_document(text)) == [text]


def test_what_can_be_seen_is_written_as_it_is() -> None:
    data = {
        "grüße": "ünï 训练",
        "script": "echo 你好\n  naïve\n\n\\u0041 é\n",
        "unseen": "a\u202eb\x85c\u2028d\ufeffe\xa0f\xadg\ue000\x1b\u3000",
        "lines": "é\u200b\nb\n",
        "beyond": "😀 \\U0001F600",
    }
    written = emit_document(data)
    assert written == (
        '"grüße": "ünï 训练"\n'
        "script: |\n  echo 你好\n    naïve\n\n  \\u0041 é\n"
        'unseen: "a\\u202Eb\\Nc\\Ld\\uFEFFe\\u00A0f\\u00ADg\\uE000\\e\\u3000"\n'
        'lines: "é\\u200B\\nb\\n"\n'
        'beyond: "\\U0001F600 \\\\U0001F600"\n'
    )
    assert back(written) == [data]


@pytest.mark.long
def test_every_character_of_the_basic_plane_comes_back() -> None:
    characters = [chr(code) for code in range(0x10000) if not 0xD800 <= code < 0xE000]
    for around in ("{}", "a{}\nb\n", "a{}b"):
        data = {"values": [around.format(char) for char in characters]}
        written = emit_document(data)
        assert back(written) == [data]
        assert not any(
            unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") for char in set(written) - {"\n"}
        )


def test_every_frozen_scalar_comes_back_as_a_string() -> None:
    data = {"values": SCALARS, "keys": dict.fromkeys(SCALARS, "")}
    assert back(emit_document(data)) == [data]


def test_the_style_is_that_of_kubectl() -> None:
    data = {
        "kind": "Job",
        "spec": {
            "args": ["a", ["b", []], {"c": 1, "d": None}],
            "empty": {},
            "script": "set -e\n\nif x; then\n  y\nfi\n",
            "y": "1e3",
            "flag": True,
            "rate": 1e-4,
        },
    }
    assert emit_documents([data, {"a": 1}], "Source: x.yaml\n# as it is") == (
        "# Source: x.yaml\n# as it is\n"
        "kind: Job\nspec:\n  args:\n  - a\n  - - b\n    - []\n  - c: 1\n    d: null\n  empty: {}\n"
        "  script: |\n    set -e\n\n    if x; then\n      y\n    fi\n"
        '  "y": "1e3"\n  flag: true\n  rate: 0.0001\n---\na: 1\n'
    )


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"), (-5, "-5"), (2**64 - 1, "18446744073709551615"), (0.5, "0.5"), (2.0, "2.0"),
        (1e21, "1.0e+21"), (1.5e300, "1.5e+300"), (-1e-7, "-1.0e-07"), (5e-324, "5.0e-324"),
        (True, "true"), (None, "null"),
    ],
)  # fmt: skip
def test_numbers_are_written_so_that_they_come_back(number: Any, text: str) -> None:
    assert emit_document({"num": number}) == f"num: {text}\n"
    assert back(f"num: {text}\n") == [{"num": number}]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ({1: "a"}, TypeError),
        ({None: "a"}, TypeError),
        ({"a": (1,)}, TypeError),
        ({"a": {1}}, TypeError),
        (float("nan"), ValueError),
        ({"a": float("-inf")}, ValueError),
    ],
)
def test_what_is_not_plain_data_is_refused(data: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        emit_document(data)


def test_data_that_contains_itself_is_refused() -> None:
    data: dict[str, Any] = {}
    data["self"] = data
    with pytest.raises(LimitExceeded, match="100"):
        emit_document(data)


def test_shared_parts_are_written_twice_and_without_an_alias() -> None:
    shared = {"a": ["b"]}
    assert emit_document({"x": shared, "y": shared}) == 'x:\n  a:\n  - b\n"y":\n  a:\n  - b\n'


STRINGS = st.one_of(
    st.sampled_from(TRICKY),
    st.sampled_from(SCALARS),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.text(st.sampled_from(" \n\té你\xa0\x85\u2028\u3000\ufeff😀\\\"'#:a"), max_size=12),
    st.text(st.sampled_from(" \n\t:#-'\"ab\\|>"), max_size=12),
)
NUMBERS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: abs(number) < 2**53 or number % 1),
)
DATA = st.recursive(
    st.one_of(STRINGS, NUMBERS),
    lambda below: st.one_of(st.lists(below, max_size=4), st.dictionaries(STRINGS, below, max_size=4)),
    max_leaves=12,
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(DATA, min_size=1, max_size=3))
def test_reading_gives_back_what_was_written(documents: list[Any]) -> None:
    assert back(emit_documents(documents)) == documents


def test_the_tricky_strings_are_written_as_kubectl_has_read_them() -> None:
    assert emit_document(CONFIG_MAP) == READ_BY_KUBECTL


KUBECTL = shutil.which("kubectl")

# .ci/run installs kubectl and demands it: there, a missing one is a failure and not one test less.
if KUBECTL or os.environ.get("PODPLAN_REQUIRE_KUBECTL"):

    def test_kubectl_reads_the_tricky_strings() -> None:
        done = subprocess.run(
            [str(KUBECTL), "label", "--local", "--dry-run=client", "-f", "-", "zz=1", "-o", "json"],
            input=READ_BY_KUBECTL,
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(done.stdout)["data"] == CONFIG_MAP["data"]


def test_aliases_of_a_long_text_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emitting, "MAX_DOCUMENT_TEXT", 100_000)
    emit_document({"args": ["x" * 1_000] * 90})
    with pytest.raises(LimitExceeded, match="more than 100,000 characters"):
        emit_document({"args": ["x" * 1_000] * 100})
