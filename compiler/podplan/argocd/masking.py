"""What an Application says in secret, taken out of what is told of it: Argo CD shows and keeps that."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from podplan.argocd.parameters import Value
from podplan.lint.checks._secrets import STARS, names_a_secret

_SHORTEST = 4  # what is shorter is no secret, and would be found in any text
_CUT = 300  # no message quotes more of a value; what it leaves out, it shows as an ellipsis


def masked(text: str, params: Mapping[str, Value]) -> str:
    """``text`` with stars for the values of those params, or entries of them, whose names tell of secrets."""
    for value in sorted(_secrets(params), key=len, reverse=True):
        for written in dict.fromkeys(
            (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
        ):
            text = text.replace(written, STARS)
            for length in range(min(len(written), _CUT) - 1, _SHORTEST - 1, -1):
                text = text.replace(f"{written[:length]}…", f"{STARS}…")
    return text


def _secrets(params: Mapping[str, Value]) -> Iterator[str]:
    for name, value in params.items():
        if isinstance(value, dict):
            hidden = [below for key, below in value.items() if names_a_secret(name) or names_a_secret(key)]
        else:
            hidden = ([value] if isinstance(value, str) else value) if names_a_secret(name) else []
        yield from (below for below in hidden if len(below) >= _SHORTEST)
