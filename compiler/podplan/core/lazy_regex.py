"""Regular expressions that are compiled when they are first used: a run uses few of all that there are."""

from __future__ import annotations

import re

from podplan.core.typing import Any, cast


def compile_lazily(text: str, flags: int = 0) -> re.Pattern[str]:
    """What ``re.compile`` gives, as far as its methods go, without the time that compiling takes."""
    return cast("re.Pattern[str]", _LazyPattern(text, flags))


class _LazyPattern:
    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        """A method of the pattern, which is an attribute of this from now on."""
        attribute = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, attribute)
        return attribute
