"""Objects of the kind Secret, of which nothing but the name is shown."""

from __future__ import annotations

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any

_SECRET_KINDS = frozenset({"secret", "secretlist"})
# For text that is not data: a kind with a few properties, or what only Secrets have. More properties, or some
# that are longer, nobody writes, and to look for any number of them would take the square of the text.
_SECRET_MENTION = compile_lazily(
    r"""kind["']?\s{0,20}:\s{0,200}(?:[&!*]\S{0,200}\s{1,200}){0,4}["']?Secret|\bstringData\b"""
)


def has_secret_kind(data: Any) -> bool:
    """Whether an object is a Secret, or a list of them."""
    kind = data.get("kind") if isinstance(data, dict) else None
    return isinstance(kind, str) and kind.lower() in _SECRET_KINDS


def is_secret_object(data: Any) -> bool:
    """Whether a document, or one of the objects in it if it is a list, is a Secret."""
    if not isinstance(data, dict):
        return False
    entries = data.get("items")
    return has_secret_kind(data) or (isinstance(entries, list) and any(map(is_secret_object, entries)))


def mentions_secret_object(text: str) -> bool:
    """Whether a text that is not data as a whole may hold a Secret."""
    return bool(_SECRET_MENTION.search(text))
