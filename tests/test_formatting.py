"""The canonical form: any profile keeps its data and its comments, and the form of a form is itself."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from podplan.formatting import formatted
from podplan.source import read
from tests.ugly import documents

CASES = sorted(Path("fixtures/fmt").glob("*.formatted.yaml"))


def form(text: str) -> str:
    source = read(text.encode(), "x.yaml")
    assert not source.faults, source.faults[0]
    return formatted(source)


def data(text: str) -> str:
    return json.dumps([one.data for one in read(text.encode(), "x.yaml").documents], sort_keys=True)


@given(documents())
@settings(max_examples=400)
def test_data_and_comments_stay(text: str) -> None:
    new = form(text)
    assert data(new) == data(text)
    said, now = (Counter(re.findall(r"(?<!\S)# c\d+", one)) for one in (text, new))
    assert now == said
    assert form(new) == new


@given(documents(), st.sampled_from(("\r\n", "\n")), st.booleans())
@settings(max_examples=60)
def test_line_breaks_and_byte_order_mark_stay(text: str, line_break: str, marked: bool) -> None:
    wild = ("\ufeff" if marked else "") + text.replace("\n", line_break)
    new = form(wild)
    assert new.startswith("\ufeff") == marked
    assert new.removeprefix("\ufeff").replace(line_break, "\n") == form(text)
    assert "\r" not in new.replace("\r\n", "")
