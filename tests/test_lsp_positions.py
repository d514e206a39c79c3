"""Positions of the protocol and ours, in every encoding; edits by positions; framing."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podplan.integrations.lsp.actions import build_text_edits
from podplan.integrations.lsp.documents import path_to_uri, replace_surrogates, uri_to_path
from podplan.integrations.lsp.framing import MalformedMessage, frame_message, read_messages
from podplan.integrations.lsp.positions import (
    Encoding,
    count_units,
    find_column,
    from_protocol_position,
    negotiate_encoding,
    split_lines,
    to_protocol_range,
)
from tests.rows import each_row

ENCODINGS: tuple[Encoding, ...] = ("utf-8", "utf-16", "utf-32")
CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
LINES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"))
WIDE = st.text(st.sampled_from("aé训🚀👩\u0301\u200d\ufeff"))
TEXTS = st.lists(WIDE).flatmap(
    lambda parts: st.sampled_from(["\n", "\r\n", "\r"]).map(lambda end: end.join(parts))
)


@given(LINES | WIDE, st.data(), st.sampled_from(ENCODINGS))
def test_columns_and_units_are_each_others_reverse(line: str, data: Any, encoding: Encoding) -> None:
    at = data.draw(st.integers(0, len(line)))
    codec, width = CODECS[encoding]
    count = count_units(line, at, encoding)
    assert count == len(line[:at].encode(codec)) // width
    assert find_column(line, count, encoding) == at
    assert find_column(line, count_units(line, len(line), encoding) + 5, encoding) == len(line)


@given(WIDE, st.integers(0, 60), st.sampled_from(ENCODINGS))
def test_a_position_inside_a_character_is_before_it(line: str, count: int, encoding: Encoding) -> None:
    at = find_column(line, count, encoding)
    assert count_units(line, at, encoding) <= count
    assert at == len(line) or count_units(line, at + 1, encoding) > count


def test_an_emoji_has_two_units_of_utf_16() -> None:
    line = "训练🚀 x"
    assert [count_units(line, 3, encoding) for encoding in ENCODINGS] == [10, 4, 3]
    assert to_protocol_range([line], (1, 4, 1, 6), "utf-16") == {
        "start": {"line": 0, "character": 4},
        "end": {"line": 0, "character": 6},
    }
    assert from_protocol_position([line], 0, 3, "utf-16") == (0, 2)  # in the middle of the emoji
    assert from_protocol_position([line], 7, 0, "utf-16") == (0, 5)  # past the end


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (None, "utf-16"),
        ([], "utf-16"),
        (["utf-32", "utf-16"], "utf-32"),
        (["utf-8", "utf-32"], "utf-8"),
        (["utf-7", 3, "utf-8"], "utf-8"),
        ("utf-8", "utf-16"),
    ],
)
def test_the_first_encoding_that_both_know_is_taken(offered: Any, chosen: str) -> None:
    assert negotiate_encoding(offered) == chosen


@given(TEXTS, TEXTS, st.sampled_from(ENCODINGS))
def test_differences_make_one_text_of_the_other(old: str, new: str, encoding: Encoding) -> None:
    assert applied(old, build_text_edits(old, new, encoding), encoding) == new


def applied(text: str, edits: list[Any], encoding: Encoding) -> str:
    """What an editor makes of a text with edits, which it applies as if at once."""
    starts = [0]
    for line in split_lines(text)[:-1]:
        end = starts[-1] + len(line)
        starts.append(end + (2 if text[end : end + 2] == "\r\n" else 1))
    for edit in sorted(edits, key=lambda one: tuple(one["range"]["start"].values()), reverse=True):
        where = [edit["range"][end] for end in ("start", "end")]
        places = [
            from_protocol_position(split_lines(text), one["line"], one["character"], encoding)
            for one in where
        ]
        first, last = (starts[line] + at for line, at in places)
        text = text[:first] + edit["newText"] + text[last:]
    return text


@pytest.mark.parametrize("name", ["a.yaml", "über/训练 🚀.yaml", "a b#c?d%20.yaml", "x:y.yaml"])
def test_uris_lead_back_to_paths(name: str) -> None:
    assert uri_to_path(path_to_uri(f"/work/{name}")) == f"/work/{name}"


@pytest.mark.parametrize("uri", ["untitled:Untitled-1", "git:/work/a.yaml", "http://[", "", "file:///a%00b"])
def test_what_is_no_file_has_no_path(uri: str) -> None:
    assert uri_to_path(uri) is None


def test_half_a_surrogate_pair_is_replaced() -> None:
    assert replace_surrogates(json.loads('"a\\ud83d🚀"')) == "a\ufffd🚀"


def read(content: bytes) -> list[Any]:
    return list(read_messages(io.BytesIO(content)))


@given(st.lists(st.dictionaries(st.text(), st.text()), max_size=5))
def test_what_is_framed_is_read(said: list[dict[str, str]]) -> None:
    stream = b"".join(map(frame_message, said))
    as_sent = [json.loads(json.dumps(one).encode("utf-8", "replace")) for one in said]
    assert [clean_(one) for one in read(stream)] == [clean_(one) for one in as_sent]


def clean_(message: Any) -> Any:
    return {
        replace_surrogates(key).replace("\ufffd", "?"): replace_surrogates(text).replace("\ufffd", "?")
        for key, text in message.items()
    }


@given(st.binary(max_size=200))
def test_any_bytes_are_read_to_their_end(content: bytes) -> None:
    good = frame_message({"method": "good"})
    assert all(isinstance(one, dict | MalformedMessage) for one in read(content))
    if not content.lower().count(b"content-length"):
        assert read(content + good)[-1] == {"method": "good"}


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"Garbage: 1\r\n\r\n{}", "a message without Content-Length"),
        (b"Content-Length: -3\r\n\r\n", "a message without Content-Length"),
        (b"Content-Length: x\r\n\r\n", "a message without Content-Length"),
        (b"Content-Length: 5\r\n\r\n{{{{{", "a message that is not JSON"),
        (b"Content-Length: 0\r\n\r\n", "a message that is not JSON"),
        (b"Content-Length: 2\r\n\r\n[]", "a message that is not a JSON object"),
        (b"Content-Length: 2\r\n\r\n\xff\xff", "a message that is not JSON"),
        (b"Content-Length: 99999999999999999999\r\n\r\n", "a message of 99999999999999999999 bytes"),
        (b"Content-Length: 100000\r\n\r\n" + b"[" * 100_000, "a message that is not JSON"),
    ],
)
def test_after_what_is_no_message_comes_the_next(bad: bytes, reason: str) -> None:
    malformed, good = read(bad + frame_message({"method": "good"}))
    assert malformed.reason.startswith(reason)
    assert good == {"method": "good"}


@pytest.mark.long
def test_a_body_that_is_too_big_is_passed_over() -> None:
    size = 64 * 1024 * 1024 + 1
    body = b'{"text":"' + b"x" * (size - 11) + b'"}'
    malformed, good = read(b"Content-Length: %d\r\n\r\n%b" % (size, body) + frame_message({"method": "good"}))
    assert "at most" in malformed.reason
    assert good == {"method": "good"}


@each_row("length", range(8150, 8200))
def test_a_header_is_found_where_reading_cuts_a_line_in_two(length: int) -> None:
    assert read(b"x" * length + frame_message({"method": "good"})) == [{"method": "good"}]


def test_a_message_that_is_cut_off_is_the_end() -> None:
    assert read(frame_message({"method": "good"})[:-1]) == []
