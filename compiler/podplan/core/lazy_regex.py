"""Regular expressions that are compiled on first use, because a run uses few of them."""

from __future__ import annotations

import re

from podplan.core.typing import Any, cast


def compile_lazily(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return an object with the methods of ``re.compile(text, flags)`` that compiles on first use."""
    return cast("re.Pattern[str]", _LazyPattern(text, flags))


class _LazyPattern:
    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        """Compile, and cache the method of the pattern as an attribute of this object."""
        attribute = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, attribute)
        return attribute
