"""Where a part of a scalar stands in its file, for every style in which YAML can write a text."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from podplan.lint.location import range_before
from podplan.yaml import parse_yaml

# Each has the word "torchrun" once at least; the last one is looked for.
STYLES = {
    "literal": "a:\n  - |\n    set -e\n\n      more\n    torchrun x # y\n",
    "literal with an indentation": "a:\n  - |2-\n      set -e\n    torchrun x\n",
    "literal with line breaks kept": "a:\n  - |+\n\n    set -e\n    torchrun x\n\n\nb: 1\n",
    "literal with blanks in a blank line": "a:\n  - |\n    set -e\n      \n    torchrun x\n",
    "folded": "a:\n  - >-\n    cd /opt;\n    # 8\n      more\n      x\n\n    end torchrun\n    tail\n",
    "plain": "a:\n  - cd /opt &&\n    torchrun x\n\n    foo\n",
    "plain on one line": "a: [cd /opt && torchrun x]\n",
    "single quotes": "a:\n  - 'cd ''/opt''\n    torchrun x'\n",
    "double quotes": 'a:\n  - "cd \\"x\\"\\n \\u00e9 python\n    foo torchrun y"\n',
    "Windows": "a:\r\n  - |\r\n    set -e\r\n    torchrun x\r\n",
    "with an anchor": "a:\n  - &script |\n    set -e\n    torchrun x\n",
    "with a comment": "a:\n  - | # run it\n    set -e\n    torchrun x\n",
    "with a byte order mark": "\ufeffa:\n  - |\n    torchrun é\n",
}


@pytest.mark.parametrize("text", STYLES.values(), ids=STYLES)
def test_a_word_is_found_in_its_line(text: str) -> None:
    document = parse_yaml(text.encode(), "a.yaml").documents[0]
    value = document.data["a"][0]
    start = value.rindex("torchrun")
    span = document.text_span(("a", 0), value, (start, start + 8))
    assert span is not None
    assert text[span.start : span.end] == "torchrun"
    assert span.start == text.rindex("torchrun")


def test_what_is_elsewhere_is_not_found() -> None:
    source = parse_yaml(b"a: &x |\n  set -e\n  torchrun\nb: *x\nc: {d: 1}\n", "a.yaml")
    document = source.documents[0]
    value = document.data["b"]
    assert document.text_span(("b",), value, (0, 3)) is None
    assert document.text_span(("e",), "set -e", (0, 3)) is None
    assert document.text_span(("a",), "another text", (0, 3)) is None
    assert document.text_span(("a",), value, (0, 99)) is None


@given(
    st.text("ab \n#'\"\\é\t:-", max_size=40),
    st.sampled_from(["|", ">", "'", '"', None]),
    st.integers(5, 30),
)
def test_each_character_is_found_or_unknown(value: str, style: str | None, width: int) -> None:
    text = yaml.dump({"k": [value]}, default_style=style, width=width, allow_unicode=True)
    document = parse_yaml(text.encode(), "a.yaml").documents[0]
    key = next(iter(document.data))
    if document.data != {key: [value]}:
        return
    for at, char in enumerate(value):
        span = document.text_span((key, 0), value, (at, at + 1))
        if span is not None and not char.isspace():
            assert text[span.start : span.end] in (char, "\\", "'")


@pytest.mark.parametrize(
    ("made", "written", "word", "found"),
    [
        ("set -e\ntorchrun a", "set -e\ntorchrun a", "torchrun", "torchrun"),
        ("set -e\ntorchrun a", "torchrun a", "torchrun", "torchrun"),
        ("set -e\ntorchrun a", "torchrun a", "set", None),
        ("cd /1\ntorchrun a", "cd /${{ n }}\ntorchrun a", "torchrun", "torchrun"),
        ("cd /1\ntorchrun a", "cd /${{ n }}\ntorchrun a", "/1", "cd /${{ n }}"),
        ("one\ntwo\nthree\ntorchrun a", "${{ lines }}\ntorchrun a", "torchrun", "torchrun"),
        ("one\ntwo\nthree\ntorchrun a", "${{ lines }}\ntorchrun a", "two", None),
        ("x torchrun", "", "torchrun", None),
    ],
)
def test_a_text_that_was_computed_is_traced_by_its_lines(
    made: str, written: str, word: str, found: str | None
) -> None:
    start = made.index(word)
    traced = range_before(made, written, (start, start + len(word)))
    assert (written[slice(*traced)] if traced is not None else None) == found
