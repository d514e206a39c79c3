"""Regular expressions that are compiled when they are first used: a run uses few of all that there are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from podplan.core.typing import Any, cast

_compile = re.compile  # the real one, also while compiled_late lasts


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """What ``re.compile`` gives, as far as its methods go, without the time that compiling takes."""
    return cast("re.Pattern[str]", _Uncompiled(text, flags))


@contextmanager
def compiled_late() -> Iterator[None]:
    """While this lasts ``re.compile`` is ``pattern``, to import what compiles more than a run uses."""
    re.compile = pattern  # type: ignore[assignment]
    try:
        yield
    finally:
        re.compile = _compile


class _Uncompiled:
    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        """A method of the pattern, which is an attribute of this from now on."""
        found = getattr(_compile(self._text, self._flags), name)
        setattr(self, name, found)
        return found
