"""Files that hold a Secret: what is said of their text must not repeat any of it.

Where such a file is broken, nobody can tell which part of it is secret, so no message quotes a value.
"""

from __future__ import annotations

from podplan.patterns import pattern
from podplan.typing import Any

_KINDS = frozenset({"secret", "secretlist"})
# For text that is not data: a kind with a few properties, or what only Secrets have. More properties, or some
# that are longer, nobody writes, and to look for any number of them would take the square of the text.
_LOOKS_SECRET = pattern(
    r"""kind["']?\s{0,20}:\s{0,200}(?:[&!*]\S{0,200}\s{1,200}){0,4}["']?Secret|\bstringData\b"""
)
# What is said in place of the messages that may quote a tag, the name of an alias or part of a scalar.
_UNQUOTED = {
    "YAML001": "the text is not YAML from here on; quote the value if it is plain text",
    "YAML004": "the tag here is not known to Kubernetes, or the value is not of its type; remove the tag",
    "YAML006": 'an alias leads nowhere, or into itself; define its anchor before it, or quote the "*"',
    "YAML007": "JSON cannot hold this value; write a number, or quote it",
    "YAML008": "a key here is not a string; write a word, or quote the key",
    "YAML009": "a character here is not allowed in YAML; remove it, or save the file as UTF-8",
    "YAML010": "this value is not read as a string; quote it if it is one",
}


def is_secret(data: Any) -> bool:
    """Whether a document, or one of the objects in it if it is a list, is a Secret."""
    if not isinstance(data, dict):
        return False
    kind, entries = data.get("kind"), data.get("items")
    if isinstance(kind, str) and kind.lower() in _KINDS:
        return True
    return isinstance(entries, list) and any(map(is_secret, entries))


def looks_secret(text: str) -> bool:
    """Whether a text that is not data as a whole may hold a Secret."""
    return bool(_LOOKS_SECRET.search(text))


def unquoted(rule: str, message: str) -> str:
    """``message`` of a fault of ``rule``, or one in its place that quotes no value."""
    return _UNQUOTED.get(rule, message)
