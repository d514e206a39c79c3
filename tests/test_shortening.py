"""What a message repeats of a text: no more than it has room for, and no less than would fit."""

from __future__ import annotations

import pytest

from podplan.core.truncation import truncate
from podplan.tools.status.declared_state import format_value as shown_of_state
from podplan.yaml.diagnostics import format_key
from podplan.yaml.scalars import format_tag


@pytest.mark.parametrize("length", [0, 1, 59, 60, 61, 10**6])
def test_a_text_is_as_long_as_it_may_be(length: int) -> None:
    text = "ab" * (length // 2) + "a" * (length % 2)
    cut = truncate(text, 60)
    assert len(cut) == min(length, 60)
    assert cut == text if length <= 60 else text.startswith(cut.removesuffix("…")) and cut.endswith("…")


def test_the_end_of_a_tag_or_a_key_is_not_replaced_by_a_mark_that_is_no_shorter() -> None:
    for tell, longest in ((format_tag, 41), (format_key, 61)):
        assert tell("x" * longest) == "x" * longest
        assert tell("x" * (longest + 1)) == "x" * (longest - 1) + "…"
    assert shown_of_state(10**60) == "1" + "0" * 60
    assert shown_of_state(10**61) == "1" + "0" * 59 + "…"


def test_a_key_that_is_cut_has_no_place_for_a_line_and_is_one_line() -> None:
    assert format_key("a\n{line}" + "b" * 60) == "a\\n{ line }" + "b" * 52 + "…"
