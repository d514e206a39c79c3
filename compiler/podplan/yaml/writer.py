"""Writes plain data as YAML text; the only YAML writer for data.

Block style, keys in the order given, lists at the indentation of their key, as kubectl prints. Other writers
emit strings that Kubernetes reads as something else (docs/evidence/yaml-text.md#quoting-of-strings), so every
string that is not certainly a word is double-quoted; no anchors, no folded lines. Visible characters are
written literally, invisible ones as escapes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable

from yaml import cyaml
from yaml.events import (
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)

from podplan.core.lazy_regex import compile_lazily
from podplan.core.limits import MAX_DEPTH, MAX_DOCUMENT_TEXT, LimitExceeded, limit_exceeded
from podplan.core.typing import Any
from podplan.yaml.scalars import resolve_plain

_WORD = compile_lazily(
    r"(?!(?:y|n|yes|no|on|off|true|false|null)\Z)[A-Za-z][A-Za-z0-9_./-]*", re.ASCII | re.IGNORECASE
)
# Invisible characters beyond ASCII: controls, spaces, soft hyphens, joiners and directions, line breaks, byte
# order marks, private use; and everything beyond the basic plane, which the writer escapes itself, as kubectl
# does. A fixed list, because Python versions differ in which characters are printable.
_INVISIBLE = (
    r"\x7f-\xa0\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680\u17b4\u17b5"
    r"\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ud800-\uf8ff\ufdd0-\ufdef"
    r"\ufeff\uffa0\ufff0-\uffff"
)
_TO_ESCAPE = compile_lazily(f"[{_INVISIBLE}]")
# Lines of visible text, none of them ending in a space, the first neither blank nor indented.
_VISIBLE = rf"[^\x00-\x20{_INVISIBLE}\U00010000-\U0010ffff]"
_LITERAL = compile_lazily(rf"{_VISIBLE}(?: *{_VISIBLE})*(?:\n(?: *{_VISIBLE})*)*")
# The valid forms of a plain scalar, also in a flow collection: words, paths, flags, images.
_PLAIN_LETTER = r"(?:[A-Za-z0-9_./@=+%-]|:(?=[A-Za-z0-9_./-]))"
_PLAIN_TEXT = compile_lazily(rf"(?:--?|[/.]{{1,3}})?[A-Za-z]{_PLAIN_LETTER}*(?: {_PLAIN_LETTER}+)*")
_AMOUNT = compile_lazily(r"[0-9]+(?:\.[0-9]+)?(?:[KMGTP]i|[mMGT])|(?:[0-9]+[dhms])+")
_SINGLE_QUOTED = compile_lazily(r"[ -~]*\"[ -~]*")
_RESERVED_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
_UNLIMITED = -1
_PLAIN = (True, False)
_QUOTED = (False, True)

Emit = Callable[[Event], None]


def emit_documents(documents: Iterable[Any], header: str | None = None) -> str:
    """Return the YAML text of ``documents``, with ``---`` between them.

    ``header`` becomes comment lines at the top. Raises as ``emit_document`` does.
    """
    return _format_header(header) + "---\n".join(emit_document(data) for data in documents)


def emit_document(data: Any, header: str | None = None) -> str:
    """Return the YAML text of one document of dicts with string keys, lists, strings, numbers, bools and
    None.

    ``header`` becomes comment lines above it.

    Raises TypeError: for any other type. Raises ValueError: for a number that JSON does not have. Raises
    LimitExceeded: for data that is nested too deeply or contains itself, and for a text that is too long, as
    with many aliases.
    """
    stream = _LimitedStream()
    # The stubs of PyYAML lack its C classes.
    emitter = cyaml.CEmitter(stream, width=_UNLIMITED, allow_unicode=True)  # type: ignore[attr-defined]
    emit: Emit = emitter.emit
    emit(StreamStartEvent())
    emit(DocumentStartEvent(explicit=False))
    if isinstance(data, str):
        emit(ScalarEvent(None, None, _QUOTED, data, style='"'))
    else:
        _emit_value(emit, data, 0)
    emit(DocumentEndEvent(explicit=False))
    emit(StreamEndEvent())
    # Text beyond ASCII is in double quotes, or in a literal without escapes.
    text = stream.getvalue()
    if not text.isascii():
        text = _TO_ESCAPE.sub(lambda match: f"\\u{ord(match[0]):04X}", text)
    return _format_header(header) + text.removeprefix(" ")


class _LimitedStream(io.StringIO):
    """The output of the emitter, a few kilobytes at a time."""

    def write(self, text: str) -> int:
        if self.tell() + len(text) > MAX_DOCUMENT_TEXT:
            message = f"one document is more than {MAX_DOCUMENT_TEXT:,} characters of YAML"
            raise LimitExceeded(
                limit_exceeded("document-text", f"{message}; look for aliases of a long text in it")
            )
        return super().write(text)


def _format_header(header: str | None) -> str:
    lines = (header or "").splitlines()
    return "".join(f"{line if line.startswith('#') else f'# {line}'.rstrip()}\n" for line in lines)


def _emit_value(emit: Emit, value: Any, depth: int) -> None:
    if isinstance(value, str):
        emit(_build_string_event(value))
    elif isinstance(value, dict | list):
        if depth >= MAX_DEPTH:
            raise LimitExceeded(f"the data has more than {MAX_DEPTH:,} levels of nesting; flatten it")
        if isinstance(value, dict):
            _emit_mapping(emit, value, depth + 1)
        else:
            emit(SequenceStartEvent(None, None, True, flow_style=not value))
            for entry in value:
                _emit_value(emit, entry, depth + 1)
            emit(SequenceEndEvent())
    else:
        emit(ScalarEvent(None, None, _PLAIN, _format_plain(value)))


def _emit_mapping(emit: Emit, mapping: dict[Any, Any], depth: int) -> None:
    emit(MappingStartEvent(None, None, True, flow_style=not mapping))
    for key, value in mapping.items():
        if not isinstance(key, str):
            raise TypeError(f"a key is {type(key).__name__}, not a string")
        emit(_build_key_event(key))
        _emit_value(emit, value, depth)
    emit(MappingEndEvent())


def _build_key_event(text: str) -> ScalarEvent:
    if _WORD.fullmatch(text):
        return ScalarEvent(None, None, _PLAIN, text)
    return ScalarEvent(None, None, _QUOTED, text, style='"')


def _build_string_event(text: str) -> ScalarEvent:
    if "\n" in text and not text.endswith("\n\n") and _LITERAL.fullmatch(text):
        return ScalarEvent(None, None, _QUOTED, text, style="|")
    return _build_key_event(text)


def _format_plain(value: Any) -> str:
    """Format a number, bool or None in the spelling that every YAML parser reads as the same value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if not isinstance(value, float):
        raise TypeError(f"YAML here holds plain data, not {type(value).__name__}")
    text = repr(float(value))
    if text in ("inf", "-inf", "nan"):
        raise ValueError(f"JSON has no {text}")
    mantissa, _, exponent = text.partition("e")
    # YAML 1.1 parsers require a point before the exponent, and a sign in it.
    return text if not exponent or "." in mantissa else f"{mantissa}.0e{exponent}"


def format_scalar(value: Any) -> str:
    """Format a scalar on one line: a string is plain if every parser reads it as the same string."""
    if not isinstance(value, str):
        return emit_document([value]).removeprefix("- ").rstrip("\n")
    if _is_plain(value):
        return value
    if _SINGLE_QUOTED.fullmatch(value):
        return "'" + value.replace("'", "''") + "'"
    return emit_document(value).rstrip("\n")


def _is_plain(text: str) -> bool:
    word = _PLAIN_TEXT.fullmatch(text) and text.lower() not in _RESERVED_WORDS
    return bool(word or _AMOUNT.fullmatch(text)) and resolve_plain(text) == text
