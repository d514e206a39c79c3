"""Objects of the kind Secret, of which only the name is shown."""

from __future__ import annotations

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any

_SECRET_KINDS = frozenset({"secret", "secretlist"})
# For text that does not parse: a kind with a few properties, or fields that only Secrets have. Real files
# have no more or longer properties, and searching for any number of them would take quadratic time.
_SECRET_MENTION = compile_lazily(
    r"""kind["']?\s{0,20}:\s{0,200}(?:[&!*]\S{0,200}\s{1,200}){0,4}["']?Secret|\bstringData\b"""
)


def has_secret_kind(data: Any) -> bool:
    """Whether an object is a Secret, or a list of them."""
    kind = data.get("kind") if isinstance(data, dict) else None
    return isinstance(kind, str) and kind.lower() in _SECRET_KINDS


def is_secret_object(data: Any) -> bool:
    """Whether a document, or one of the objects in a List, is a Secret."""
    if not isinstance(data, dict):
        return False
    entries = data.get("items")
    return has_secret_kind(data) or (isinstance(entries, list) and any(map(is_secret_object, entries)))


def mentions_secret_object(text: str) -> bool:
    """Whether a text that does not parse as a whole may contain a Secret."""
    return bool(_SECRET_MENTION.search(text))
