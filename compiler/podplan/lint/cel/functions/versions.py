"""semver('1.2.3') and its order: https://pkg.go.dev/k8s.io/apiserver/pkg/cel/library#SemverLib, https://semver.org."""

from __future__ import annotations

import re

from podplan.core.typing import Any
from podplan.lint.cel.functions import Overload, Tagged, make_predicate, tag_value

_TYPE_NAME = "Semver"
_NUMBER = "(?:0|[1-9][0-9]*)"
_IDENTIFIER = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_SEMVER_PATTERN = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_IDENTIFIER}(?:\.{_IDENTIFIER})*))?(?:\+([0-9A-Za-z.-]+))?\Z"
)
_LOOSE_PATTERN = re.compile(r"v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?([-+].*)?\Z", re.DOTALL)


def parse_semver(text: str, normalize: bool = False) -> Tagged:
    """A version; normalizing drops a leading v and zeros, and adds the parts that are missing."""
    loose = _LOOSE_PATTERN.match(text) if normalize else None
    exact = text if loose is None else ".".join(str(int(loose[n] or 0)) for n in (1, 2, 3)) + (loose[4] or "")
    if len(text) > 256 or not _SEMVER_PATTERN.match(exact):
        raise ValueError("semver() wants a version such as '1.2.3'")
    return tag_value(_TYPE_NAME, exact)


def _sort_key(value: Tagged) -> tuple[Any, ...]:
    """What sorts versions: a release after its pre-releases, numbers before words, the build ignored."""
    match = _SEMVER_PATTERN.match(str(value[_TYPE_NAME]))
    assert match is not None
    prerelease = (match[4] or "").split(".") if match[4] else []
    identifiers = tuple((0, int(word), "") if word.isdigit() else (1, 0, word) for word in prerelease)
    return (*(int(match[n]) for n in (1, 2, 3)), not prerelease, identifiers)


def _compare(left: Tagged, right: Tagged) -> int:
    return (_sort_key(left) > _sort_key(right)) - (_sort_key(left) < _sort_key(right))


OVERLOADS = (
    Overload("semver", ("string",), _TYPE_NAME, parse_semver),
    Overload("semver", ("string", "bool"), _TYPE_NAME, parse_semver),
    Overload("isSemver", ("string",), "bool", make_predicate(parse_semver)),
    Overload("isSemver", ("string", "bool"), "bool", make_predicate(parse_semver)),
    Overload("major", (_TYPE_NAME,), "int", lambda value: _sort_key(value)[0], True),
    Overload("minor", (_TYPE_NAME,), "int", lambda value: _sort_key(value)[1], True),
    Overload("patch", (_TYPE_NAME,), "int", lambda value: _sort_key(value)[2], True),
    Overload("isLessThan", (_TYPE_NAME, _TYPE_NAME), "bool", lambda a, b: _compare(a, b) < 0, True),
    Overload("isGreaterThan", (_TYPE_NAME, _TYPE_NAME), "bool", lambda a, b: _compare(a, b) > 0, True),
    Overload("compareTo", (_TYPE_NAME, _TYPE_NAME), "int", _compare, True),
)
