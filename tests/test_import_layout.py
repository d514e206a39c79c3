"""The text of a profile: read back as it was written, and as plain as can be."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podplan.core.structural_diff import is_same_data
from podplan.tools.importer.layout import render_profile
from podplan.yaml.writer import format_scalar
from tests.imported_profiles import document
from tests.thoroughness import examples

WORDS_OF_YAML = (
    "yes",
    "No",
    "~",
    "null",
    "0x1F",
    "1e3",
    "12:30",
    "017",
    "16Gi",
    "1_0",
    ".5",
    "1.",
    "=",
    "<<",
)
LINES = ("a\nb", "a\nb\n", "a\n\n", "\na", " a\nb", "a\n b\n", "#a\nb", "a\tb\n", "a\nb ")
SIGNS = (
    "-",
    "--",
    "- a",
    "a: b",
    "a #b",
    "'",
    '"',
    "\\",
    "\t",
    "{a}",
    "a:b",
    "a:",
    "a,b",
    "&a",
    "*a",
    "!a",
    "%a",
)
OTHERS = (
    ".a",
    "/a",
    "-a",
    "é",
    "😀",
    "\x85",
    "\u2028",
    "\ufeff",
    "\x00",
    "?",
    "? a",
    "...",
    "---",
    "@a",
    "`a",
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: not number.is_integer()),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.sampled_from((*WORDS_OF_YAML, *LINES, *SIGNS, *OTHERS)),
)
DATA = st.recursive(
    SCALARS,
    lambda below: (
        st.lists(below, max_size=4) | st.dictionaries(st.text("ab-:# ", max_size=3), below, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=examples(300), deadline=None)
@given(st.dictionaries(st.sampled_from(["spec", "a", "b"]), DATA, min_size=1))
def test_data_reads_back_as_it_was_written(data: dict[str, Any]) -> None:
    assert is_same_data(document(render_profile(data)).data, data)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("train.py", "train.py"),
        ("--epochs", "--epochs"),
        ("registry.example.com:5000/a/b@sha256:0f", "registry.example.com:5000/a/b@sha256:0f"),
        ("16Gi", "16Gi"),
        ("90", '"90"'),
        ("on", '"on"'),
        ("$(A)", '"$(A)"'),
        ('{"a": 1}', """'{"a": 1}'"""),
        (90, "90"),
        (1e-05, "1.0e-05"),
        (True, "true"),
        (None, "null"),
    ],
)
def test_scalars_are_as_plain_as_they_can_be(value: Any, text: str) -> None:
    assert format_scalar(value) == text
