"""What holds of every text: spans lead to the text of the value, and nothing crashes."""

from __future__ import annotations

import json
from pathlib import Path as FilePath
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from podplan.core.limits import LimitExceeded
from podplan.yaml import Document, Path, SourceFile, parse_yaml
from podplan.yaml.writer import emit_documents
from tests.parsed_texts import faults
from tests.test_source import BLOCK, MERGES, SPANS
from tests.test_source_faults import FAULTS
from tests.thoroughness import examples

FIXTURES = FilePath(__file__).parent.parent / "fixtures" / "yaml"

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
    again = parse_yaml((" " * (span.column - 1) + text + "\n").encode(), "again")
    assert again.diagnostics == []
    return again.documents[0].data if again.documents else None


def check_spans(source: SourceFile, wanted: list[Any]) -> None:
    assert source.diagnostics == []
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


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(DATA, min_size=1, max_size=2))
def test_the_text_at_each_span_is_the_value_in_block_style(documents: list[Any]) -> None:
    check_spans(parse_yaml(emit_documents(documents).encode(), "f"), documents)


@settings(max_examples=examples(150), deadline=None)
@given(DATA, st.sampled_from([None, 2, 7]))
def test_the_text_at_each_span_is_the_value_in_flow_style(value: Any, indent: int | None) -> None:
    """JSON is YAML in flow style, but for what YAML wants escaped and for keys beyond 1,024 characters."""
    text = json.dumps(value, indent=indent)
    if "\\ud" not in text and len(text) < 1000:
        check_spans(parse_yaml(text.encode(), "f"), [value])


SEEDS = [BLOCK, *(text for text, *_ in SPANS), *(text for text, *_ in FAULTS), *(text for text, _ in MERGES)]
NOISE = st.text(st.sampled_from("\n\n \t-:#?&*!|>'\"%@`{}[],<~ab01.\r\ufeffé"), max_size=4)


def check_sound(content: bytes) -> None:
    """Nothing but a bound is raised, and all that comes back can be used."""
    try:
        source = parse_yaml(content, "noise.yaml")
    except LimitExceeded:
        return
    json.dumps([document.data for document in source.documents], allow_nan=False)
    for fault in [*source.diagnostics, *source.hints]:
        assert fault.message
        assert "\n" not in fault.message
        assert 0 <= fault.span.start <= fault.span.end <= len(source.text) + 1
    for document in source.documents:
        assert isinstance(document.header, list)
        for path in paths(document.data):
            span = document.span(path)
            assert document.has_path(path)
            assert 0 <= span.start <= span.end <= len(source.text)
            assert (1, 1) <= span[:2] <= span[2:4]


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=60))
def test_bytes_never_crash(content: bytes) -> None:
    check_sound(content)


@settings(max_examples=examples(500), deadline=None)
@given(st.sampled_from(SEEDS), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 3), NOISE), max_size=4))
def test_mutated_yaml_never_crashes(seed: str, edits: list[tuple[float, int, str]]) -> None:
    text = seed
    for where, cut, noise in edits:
        i = int(where * len(text))
        text = text[:i] + noise + text[i + cut :]
    check_sound(text.encode())


@settings(max_examples=examples(300), deadline=None)
@given(st.text(st.sampled_from("\n \n-ab:[]{},'\"|&*"), max_size=30))
def test_what_libyaml_refuses_is_a_fault_and_nothing_else_is(text: str) -> None:
    try:
        list(yaml.parse(text, yaml.CSafeLoader))
        refused_ = False
    except yaml.YAMLError:
        refused_ = True
    assert any(rule in ("YAML001", "YAML003", "YAML004") for rule, _, _ in faults(text)) == refused_
