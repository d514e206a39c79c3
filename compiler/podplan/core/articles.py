"""The indefinite article of a name in a sentence."""

from __future__ import annotations

# Letters whose own names begin with a vowel, such as M of MPIJob.
_SPELT_WITH_VOWEL = frozenset("AEFHILMNORSX")


def add_article(name: str) -> str:
    """Return a name with a or an before it; capitals at its start are spelt, as in MPIJob or XGBoostJob."""
    is_spelt = name[:2].isupper() and len(name) > 1
    has_vowel = name[:1] in _SPELT_WITH_VOWEL if is_spelt else name[:1].lower() in tuple("aeio")
    return f"{'an' if has_vowel else 'a'} {name}"
