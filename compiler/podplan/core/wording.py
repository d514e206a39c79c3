"""Words that depend on the number or the name beside them."""

from __future__ import annotations

# Letters whose own names begin with a vowel, such as M of MPIJob.
_SPELT_WITH_VOWEL = frozenset("AEFHILMNORSX")


def format_count(number: int, singular: str, plural: str = "") -> str:
    """Return "1 file", "3 files" or "2 processes"."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def add_article(name: str) -> str:
    """Return a name with a or an before it; capitals at its start are spelt, as in MPIJob or XGBoostJob."""
    is_spelt = name[:2].isupper() and len(name) > 1
    has_vowel = name[:1] in _SPELT_WITH_VOWEL if is_spelt else name[:1].lower() in tuple("aeio")
    return f"{'an' if has_vowel else 'a'} {name}"


def join_words(words: list[str], conjunction: str = "and") -> str:
    """Join words as in ``a, b and c``."""
    return f" {conjunction} ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else "".join(words)
