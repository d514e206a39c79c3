"""The meaning of a YAML scalar in Kubernetes.

Every value is the JSON value that sigs.k8s.io/yaml passes to the API server, which differs from both YAML 1.1
and YAML 1.2 libraries. ``fixtures/yaml/scalars.jsonl`` has 4,090 recorded answers.
"""

from __future__ import annotations

import struct

from podplan.core.lazy_regex import compile_lazily
from podplan.core.truncation import truncate

Scalar = str | int | float | bool | None

TAG_PREFIX = "tag:yaml.org,2002:"
_SCALAR_TAGS = frozenset({"str", "int", "float", "bool", "null", "binary"})

# Only these, and text that begins like a number, can be anything but a string.
SCALAR_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"], True),
    **dict.fromkeys(["n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"], False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
NUMBER_FIRST_CHARACTERS = frozenset("+-.0123456789")
_NUMBER_LAST_CHARACTERS = frozenset("._0123456789abcdefABCDEF")

_INTEGER = compile_lazily(
    r"([-+]?)(?:0[bB]([01]+)|0[oO]([0-7]+)|0[xX]([0-9a-fA-F]+)|0([0-7]*)|([1-9][0-9]*))"
)
_BASES = (2, 8, 16, 8, 10)
_SIGN_AFTER_PREFIX = compile_lazily(r"0b([-+][01]{1,64})")  # go-yaml reads 0b+1 as 1
_FLOAT = compile_lazily(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_MAX_SHOWN_LENGTH = 40  # of a scalar, in a hint
_MAX_TAG_LENGTH = 41  # in a message
_MAX_DECIMALS = 19  # numbers with fewer digits certainly fit into 64 bits
_MAX_DIGITS = 64  # of a 64-bit integer, in base 2


def resolve_plain(text: str) -> Scalar:
    """Return the value of the plain scalar ``text``; .inf and .nan are floats, which JSON does not have."""
    value = _decode_plain(text)
    return _to_json_number(value) if isinstance(value, float) else value


def resolve_plain_key(text: str) -> str | None:
    """Return the JSON key of the plain scalar ``text``; None for null and values that Kubernetes rejects."""
    value = _decode_plain(text)
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if value < 2**63 else None
    return None if value is None else _format_float_key(value)


def resolve_tagged(tag: str, text: str) -> Scalar:
    """Return the value of ``text`` with the resolved tag ``tag``.

    Raises ValueError: with a sentence, for a tag that Kubernetes ignores or rejects, and a text that is not
    of its type.
    """
    tag_name = tag.removeprefix(TAG_PREFIX)
    if tag_name == tag or tag_name not in _SCALAR_TAGS:
        raise ValueError(f"tag {format_tag(tag)} is not known to Kubernetes; remove it, or quote a string")
    if tag_name == "str":
        return text
    if tag_name == "binary":
        return _decode_binary(text)
    value = _decode_plain(text)
    has_type = {
        "int": isinstance(value, int) and not isinstance(value, bool),
        "float": isinstance(value, int | float) and not isinstance(value, bool) and _fits_int64(value),
        "bool": isinstance(value, bool),
        "null": value is None,
    }[tag_name]
    if not has_type:
        raise ValueError(
            f"the value under {format_tag(tag)} is not of that type; remove the tag, or change the value"
        )
    return resolve_plain(text)


def format_tag(tag: str) -> str:
    """Return ``tag`` as it is written, truncated for a message."""
    tag = "!!" + tag.removeprefix(TAG_PREFIX) if tag.startswith(TAG_PREFIX) else tag
    return truncate(tag, _MAX_TAG_LENGTH)


_FILE_MODE = compile_lazily(r"0[0-7]{3}")


def explain_implicit_type(text: str) -> str:
    """Return a sentence if Kubernetes reads a plain scalar differently than it looks, else ""."""
    if text.isdecimal() and text[0] != "0":
        return ""
    value = resolve_plain(text)
    # 0755 and the like are file modes, which are meant as octal digits.
    if isinstance(value, str) or value is None or _FILE_MODE.fullmatch(text):
        return ""
    lowered = text.lower()
    if isinstance(value, bool):
        kind = "" if lowered in ("true", "false") else "boolean"
    elif "_" in text:
        kind = "number, without the underscores"
    elif lowered.lstrip("+-").startswith("0o") or _is_octal(text, value):
        kind = "number, as octal digits"
    elif "e" in lowered and "." not in text and "x" not in lowered:
        kind = "number, as an exponent"
    else:
        kind = ""
    if not kind:
        return ""
    if len(text) > _MAX_SHOWN_LENGTH:
        return f"this value is read as a {kind}; quote it if it is a string"
    shown_value = str(value).lower() if isinstance(value, bool) else value
    noun, _, detail = kind.partition(", ")
    detail = f" ({detail})" if detail else ""
    return (
        f'{text} is read as the {noun} {shown_value}{detail}; write "{text}" for the string, else'
        f" {shown_value}"
    )


def _fits_int64(value: float) -> bool:
    return isinstance(value, float) or value < 2**63


def _is_octal(text: str, value: float) -> bool:
    digits = text.lstrip("+-")
    return (
        digits.isdigit()
        and len(digits) > 1
        and digits[0] == "0"
        and int(digits.lstrip("0") or "0") != abs(value)
    )


def _decode_plain(text: str) -> Scalar:
    """Return the value as go-yaml reads it, before JSON: floats stay floats."""
    start = text[:1]
    if text in SCALAR_WORDS:
        return SCALAR_WORDS[text]
    if start not in NUMBER_FIRST_CHARACTERS or text[-1] not in _NUMBER_LAST_CHARACTERS:
        return text
    if start == ".":
        return _parse_float(text, text)
    plain = text.replace("_", "")
    value = _parse_integer(plain)
    return _parse_float(plain, text) if value is None else value


def _parse_integer(plain: str) -> int | None:
    if plain.isdecimal() and plain.isascii() and plain[0] != "0" and len(plain) <= _MAX_DIGITS:
        return int(plain) if int(plain) < 2**64 else None
    match = _INTEGER.fullmatch(plain)
    if match is None:
        signed_binary = _SIGN_AFTER_PREFIX.fullmatch(plain)
        return int(signed_binary[1], 2) if signed_binary and len(signed_binary[1]) < _MAX_DIGITS + 1 else None
    sign, *groups = match.groups()
    base, digits = next((b, g) for b, g in zip(_BASES, groups, strict=True) if g is not None)
    digits = digits.lstrip("0")
    if len(digits) > _MAX_DIGITS:
        return None
    value = int(digits or "0", base)
    if sign == "-":
        return -value if value <= 2**63 else None
    return value if value < (2**63 if sign else 2**64) else None


def _parse_float(plain: str, text: str) -> float | str:
    """Return the float ``plain``, or ``text`` if it is none or too large for one."""
    if not _FLOAT.fullmatch(plain):
        return text
    value = float(plain)
    return text if value in (float("inf"), float("-inf")) else value


def _to_json_number(value: float) -> int | float:
    """Return the number after a round trip through Go's JSON: 1.0 becomes 1."""
    if not value.is_integer() or abs(value) >= 1e21:
        return value
    if abs(value) < 2**53:
        return int(value)
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    return int(whole + fraction.ljust(int(exponent), "0")) if exponent else int(whole)


def _format_float_key(value: float) -> str:
    """Format ``value`` as a key: Go's shortest %g of the number rounded to 32 bits."""
    try:
        (narrow,) = struct.unpack("f", struct.pack("f", value))
    except OverflowError:
        narrow = float("inf") if value > 0 else float("-inf")
    if narrow != narrow:
        return ".nan"
    if narrow in (float("inf"), float("-inf")):
        return ".inf" if narrow > 0 else "-.inf"
    shortest = next(
        text
        for text in (f"{narrow:.{digits}e}" for digits in range(9))
        if struct.pack("f", float(text)) == struct.pack("f", narrow)
    )
    mantissa, _, exponent = shortest.partition("e")
    power = int(exponent)
    if -4 <= power < 6:
        decimals = max(len(mantissa.lstrip("-").replace(".", "")) - 1 - power, 0)
        return f"{float(shortest):.{decimals}f}"
    return f"{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _decode_binary(text: str) -> str:
    from base64 import b64decode

    try:
        return b64decode(text.replace("\n", ""), validate=True).decode()
    except ValueError:
        message = "the value under !!binary is not base64 of UTF-8 text; correct it, or write the text itself"
        raise ValueError(message) from None
