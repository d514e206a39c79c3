"""What a scalar of YAML means to Kubernetes.

Every value here is the JSON value that sigs.k8s.io/yaml hands to the API server, which is neither what
YAML 1.1 nor what YAML 1.2 libraries read (dependencies §1.3). ``fixtures/yaml/scalars.jsonl`` holds
4,090 answers of the real thing.
"""

from __future__ import annotations

import struct

from podplan.core.lazy_regex import pattern
from podplan.core.truncation import shortened

Scalar = str | int | float | bool | None

TAG_PREFIX = "tag:yaml.org,2002:"
_SCALAR_TAGS = frozenset({"str", "int", "float", "bool", "null", "binary"})

# Only these, and what begins like a number, can be anything but text.
WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"], True),
    **dict.fromkeys(["n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"], False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
NUMBER_STARTS = frozenset("+-.0123456789")

_INTEGER = pattern(r"([-+]?)(?:0[bB]([01]+)|0[oO]([0-7]+)|0[xX]([0-9a-fA-F]+)|0([0-7]*)|([1-9][0-9]*))")
_BASES = (2, 8, 16, 8, 10)
_SIGN_AFTER_PREFIX = pattern(r"0b([-+][01]{1,64})")  # an oddity of go-yaml: 0b+1 is 1
_FLOAT = pattern(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LONGEST_SHOWN = 40  # of a scalar, in a hint
_LONGEST_TAG = 41  # in a message
_MOST_DECIMALS = 19  # that surely fit into 64 bits are fewer than these
_MOST_DIGITS = 64  # of a 64-bit integer, in base 2


def resolve(text: str) -> Scalar:
    """The value of the plain scalar ``text``; .inf and .nan give floats, which JSON cannot hold."""
    value = _decode(text)
    return _json_number(value) if isinstance(value, float) else value


def key_text(text: str) -> str | None:
    """The JSON key that the plain scalar ``text`` becomes; None for null and what Kubernetes refuses."""
    value = _decode(text)
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if value < 2**63 else None
    return None if value is None else _float_key(value)


def tagged(tag: str, text: str) -> Scalar:
    """The value of ``text`` under the resolved tag ``tag``.

    Raises ValueError with a sentence for a tag that Kubernetes ignores or refuses, and for a text that
    is not of the tag's type.
    """
    short = tag.removeprefix(TAG_PREFIX)
    if short == tag or short not in _SCALAR_TAGS:
        raise ValueError(f"tag {shown(tag)} is not known to Kubernetes; remove it, or quote a string")
    if short == "str":
        return text
    if short == "binary":
        return _binary(text)
    value = _decode(text)
    fits = {
        "int": isinstance(value, int) and not isinstance(value, bool),
        "float": isinstance(value, int | float) and not isinstance(value, bool) and _fits_int64(value),
        "bool": isinstance(value, bool),
        "null": value is None,
    }[short]
    if not fits:
        raise ValueError(
            f"the value under {shown(tag)} is not of that type; remove the tag, or change the value"
        )
    return resolve(text)


def shown(tag: str) -> str:
    """``tag`` as people write it, cut where it is too long for a message."""
    tag = "!!" + tag.removeprefix(TAG_PREFIX) if tag.startswith(TAG_PREFIX) else tag
    return shortened(tag, _LONGEST_TAG)


_FILE_MODE = pattern(r"0[0-7]{3}")


def hint(text: str) -> str:
    """A sentence for a plain scalar that Kubernetes reads as something else than it looks, else ""."""
    if text.isdecimal() and text[0] != "0":
        return ""
    value = resolve(text)
    # 0755 and the like are modes of files, which people mean as octal digits.
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
    if len(text) > _LONGEST_SHOWN:
        return f"this value is read as a {kind}; quote it if it is a string"
    shown_value = str(value).lower() if isinstance(value, bool) else value
    noun, _, how = kind.partition(", ")
    how = f" ({how})" if how else ""
    return (
        f'{text} is read as the {noun} {shown_value}{how}; write "{text}" for the string, else {shown_value}'
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


def _decode(text: str) -> Scalar:
    """go-yaml's reading, before JSON: floats stay floats."""
    start = text[:1]
    if text in WORDS:
        return WORDS[text]
    if start not in NUMBER_STARTS:
        return text
    if start == ".":
        return _float(text, text)
    plain = text.replace("_", "")
    value = _integer(plain)
    return _float(plain, text) if value is None else value


def _integer(plain: str) -> int | None:
    match = _INTEGER.fullmatch(plain)
    if match is None:
        odd = _SIGN_AFTER_PREFIX.fullmatch(plain)
        return int(odd[1], 2) if odd and len(odd[1]) < _MOST_DIGITS + 1 else None
    sign, *groups = match.groups()
    base, digits = next((b, g) for b, g in zip(_BASES, groups, strict=True) if g is not None)
    digits = digits.lstrip("0")
    if len(digits) > _MOST_DIGITS:
        return None
    value = int(digits or "0", base)
    if sign == "-":
        return -value if value <= 2**63 else None
    return value if value < (2**63 if sign else 2**64) else None


def _float(plain: str, text: str) -> float | str:
    """The float ``plain``, or ``text`` where it is none or too large for one."""
    if not _FLOAT.fullmatch(plain):
        return text
    value = float(plain)
    return text if value in (float("inf"), float("-inf")) else value


def _json_number(value: float) -> int | float:
    """The number that is left when ``value`` went through JSON as Go writes it: 1.0 comes out as 1."""
    if not value.is_integer() or abs(value) >= 1e21:
        return value
    if abs(value) < 2**53:
        return int(value)
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    return int(whole + fraction.ljust(int(exponent), "0")) if exponent else int(whole)


def _float_key(value: float) -> str:
    """``value`` as a key: Go's shortest %g of the number rounded to 32 bits."""
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


def _binary(text: str) -> str:
    from base64 import b64decode

    try:
        return b64decode(text.replace("\n", ""), validate=True).decode()
    except ValueError:
        message = "the value under !!binary is not base64 of UTF-8 text; correct it, or write the text itself"
        raise ValueError(message) from None
