"""semver('1.2.3') and its order: https://pkg.go.dev/k8s.io/apiserver/pkg/cel/library#SemverLib, https://semver.org."""

from __future__ import annotations

import re

from podplan.core.typing import Any
from podplan.lint.cel.functions import Overload, Tagged, succeeds, tagged

_TYPE = "Semver"
_NUMBER = "(?:0|[1-9][0-9]*)"
_IDENTIFIER = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_FORM = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_IDENTIFIER}(?:\.{_IDENTIFIER})*))?(?:\+([0-9A-Za-z.-]+))?\Z"
)
_LOOSE = re.compile(r"v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?([-+].*)?\Z", re.DOTALL)


def semver(text: str, normalize: bool = False) -> Tagged:
    """A version; normalizing drops a leading v and zeros, and adds the parts that are missing."""
    loose = _LOOSE.match(text) if normalize else None
    exact = text if loose is None else ".".join(str(int(loose[n] or 0)) for n in (1, 2, 3)) + (loose[4] or "")
    if len(text) > 256 or not _FORM.match(exact):
        raise ValueError("semver() wants a version such as '1.2.3'")
    return tagged(_TYPE, exact)


def _order(value: Tagged) -> tuple[Any, ...]:
    """What sorts versions: a release after its pre-releases, numbers before words, the build ignored."""
    found = _FORM.match(str(value[_TYPE]))
    assert found is not None
    before = (found[4] or "").split(".") if found[4] else []
    words = tuple((0, int(word), "") if word.isdigit() else (1, 0, word) for word in before)
    return (*(int(found[n]) for n in (1, 2, 3)), not before, words)


def _compare(left: Tagged, right: Tagged) -> int:
    return (_order(left) > _order(right)) - (_order(left) < _order(right))


OVERLOADS = (
    Overload("semver", ("string",), _TYPE, semver),
    Overload("semver", ("string", "bool"), _TYPE, semver),
    Overload("isSemver", ("string",), "bool", succeeds(semver)),
    Overload("isSemver", ("string", "bool"), "bool", succeeds(semver)),
    Overload("major", (_TYPE,), "int", lambda value: _order(value)[0], True),
    Overload("minor", (_TYPE,), "int", lambda value: _order(value)[1], True),
    Overload("patch", (_TYPE,), "int", lambda value: _order(value)[2], True),
    Overload("isLessThan", (_TYPE, _TYPE), "bool", lambda a, b: _compare(a, b) < 0, True),
    Overload("isGreaterThan", (_TYPE, _TYPE), "bool", lambda a, b: _compare(a, b) > 0, True),
    Overload("compareTo", (_TYPE, _TYPE), "int", _compare, True),
)
