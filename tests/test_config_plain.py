"""Plain settings are what tomllib reads, and what is not plain is left to it."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from podplan.config.plain import parse_plain_toml
from podplan.config.toml_lines import find_key_lines

KEYS = st.sampled_from(["ignore", "k8s-version", "a_b", "7", '"a"', "a.b", "", "é", "# ignore", "[a]", "a b"])
VALUES = st.one_of(
    st.sampled_from(
        ["1", "-0", "01", "+1", "1_000", "0x1F", "1.5", "1e3", "inf", "nan", "NaN", "2020-01-01"]
    ),
    st.sampled_from(["true", "True", "null", "{}", '{"a":1}', "{a=1}", '"SEC014"', "'SEC014'", '""', '"""']),
    st.sampled_from(
        ['"a', '"a\\tb"', '"a\\/b"', '"a\tb"', '"\x7f"', '"é"', '"\u2028"', '"a" "b"', "[", "[]"]
    ),
    st.sampled_from(['["a"]', '["a", "b"]', '["a",]', "[1]", "[[]]", '["a"', "[null]"]),
    st.text(max_size=8),
)
LINES = st.one_of(
    st.builds(
        "{} = {}{}".format, KEYS, VALUES, st.sampled_from(["", " ", " # why", " why", " #\t", " #\x00"])
    ),
    st.sampled_from(["", "   ", "# ignore = 1", "=", "[table]", "ignore", "\t", "\ufeff", '"""', "]"]),
    st.text(max_size=12),
)


@given(st.lists(LINES, max_size=5).map("\n".join))
@example('ignore = ["SEC014"]  # root is fine\n\n# a "note" \u00e9\nfail-on = "warning"\n')
def test_what_is_plain_is_what_tomllib_reads(text: str) -> None:
    known = parse_plain_toml(text)
    if known is not None:
        assert known == (tomllib.loads(text), find_key_lines(text))
        assert repr(known[0]) == repr(tomllib.loads(text))


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("", {}),
        ("# nothing", {}),
        ('ignore = ["SEC014", "SEC015"]\n', {"ignore": ["SEC014", "SEC015"]}),
        ('  fail-on="warning"#why\npreview = true\n', {"fail-on": "warning", "preview": True}),
    ],
)
def test_plain(text: str, data: object) -> None:
    known = parse_plain_toml(text)
    assert known == (data, find_key_lines(text))


@pytest.mark.parametrize(
    "text",
    [
        "a = 1\na = 1",
        "[rules]",
        "a.b = 1",
        "a = [\n1]",
        "a = 2020-01-01",
        'a = "\\t"',
        'a = "\\/"',
        'a = "\x7f"',
        "a = 1 #\x00",
        "a = NaN",
        "a = null",
        'a = {"b": 1}',
        "a = 1 1",
    ],
)
def test_not_plain(text: str) -> None:
    assert parse_plain_toml(text) is None
