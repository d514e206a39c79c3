"""Secret values in what is compared: stars take their place before anything is told."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from podplan.findings import value_at
from podplan.lint.checks._secrets import is_secret, may_be_secret, secret_variables
from podplan.lint.checks._stars import STARS
from podplan.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from podplan.diff.trees import Whole

LEAST = 4  # characters: a shorter value stands in too many words, and is hidden where it is a variable's
_ASSIGNED = re.compile(r"(?:^|[\s;\"'])-{0,2}([A-Za-z_][\w-]*)[=\s]\s*([^\s;\"']+)")
# A variable in a list, or in the env of a profile: env[TOKEN].value, env.TOKEN
_VARIABLE = re.compile(r"\benv(?:\[([^\]]+)\]\.value|\.([^.\[\]]+))$")


def secrets_of(job: Whole) -> Iterator[str]:
    """The texts that look secret, or are in a Secret, in a profile, its CR and its lowered objects."""
    docs = [job.cr.data, job.profile.data if job.profile is not None else None]
    docs += [group.doc.data for group in job.groups if group.doc.data["kind"] in ("Secret", "ConfigMap")]
    return (value for data in docs for value in _secrets(data) if len(value) >= LEAST)


def _secrets(data: Any) -> Iterator[str]:
    for path in secret_variables(data):
        yield str(value_at(data, path))
    if isinstance(data, dict) and data.get("kind") == "Secret":
        for part in ("data", "stringData"):
            below = data.get(part)
            yield from (str(value) for value in (below.values() if isinstance(below, dict) else ()))
    yield from _spoken(data)


def _spoken(data: Any) -> Iterator[str]:
    """Values that command lines give to names of secrets: --api-key=…, [--api-key, …], export TOKEN=…."""
    if isinstance(data, dict):
        for value in data.values():
            yield from _spoken(value)
    elif isinstance(data, list):
        words = [word if isinstance(word, str) else "" for word in data]
        for option, value in pairwise(words):
            if option.startswith("-") and is_secret(option.lstrip("-"), value):
                yield value
        for value in data:
            yield from _spoken(value)
    elif isinstance(data, str) and len(data) < 100_000:
        for name, value in _ASSIGNED.findall(data):
            if is_secret(name, value):
                yield value


def hidden(part: str, value: Any) -> Any:
    """The value at a path as people write it; stars for a variable whose name says that it is secret."""
    variable = _VARIABLE.search(part)
    name = variable.group(1) or variable.group(2) if variable is not None else ""
    return STARS if isinstance(value, str) and may_be_secret(name, value) else value


def masked(value: Any, secrets: Sequence[str], kind: str = "", path: tuple[str | int, ...] = ()) -> Any:
    """``value`` without what is secret; what stands in the data of a Secret always is."""
    if kind == "Secret" and path[:1] in (("data",), ("stringData",)):
        return _starred(value)
    if isinstance(value, dict):
        if isinstance(value.get("name"), str) and "value" in value:
            value = {**value, "value": hidden(f"env.{value['name']}", value["value"])}
        return {
            key: masked(
                hidden(f"env.{key}", below) if path[-1:] == ("env",) else below, secrets, kind, (*path, key)
            )
            for key, below in value.items()
        }
    if isinstance(value, list):
        return [masked(below, secrets, kind, (*path, number)) for number, below in enumerate(value)]
    if isinstance(value, int) and not isinstance(value, bool):
        return STARS if str(value) in set(secrets) else value
    if isinstance(value, str):
        for secret in secrets:
            if secret in value:
                value = value.replace(secret, STARS)
    return value


def _starred(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _starred(below) for key, below in value.items()}
    return STARS if isinstance(value, str | int) else value
