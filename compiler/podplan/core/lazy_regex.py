"""Regular expressions that are compiled when they are first used: a run uses few of all that there are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from podplan.core.typing import Any, cast

_real_compile = re.compile  # the real one, also while compiled_late lasts


def compile_lazily(text: str, flags: int = 0) -> re.Pattern[str]:
    """What ``re.compile`` gives, as far as its methods go, without the time that compiling takes."""
    return cast("re.Pattern[str]", _LazyPattern(text, flags))


@contextmanager
def defer_compilation() -> Iterator[None]:
    """While this lasts ``re.compile`` is ``pattern``, to import what compiles more than a run uses."""
    re.compile = compile_lazily  # type: ignore[assignment]
    try:
        yield
    finally:
        re.compile = _real_compile


class _LazyPattern:
    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        """A method of the pattern, which is an attribute of this from now on."""
        attribute = getattr(_real_compile(self._text, self._flags), name)
        setattr(self, name, attribute)
        return attribute
