"""What an Application says in secret, taken out of what is told of it: Argo CD shows and keeps that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.argocd.parameters import Value
from podplan.lint.checks._secrets import names_a_secret
from podplan.lint.checks._stars import hidden, without


def masked(text: str, params: Mapping[str, Value]) -> str:
    """``text`` with stars for the values of those params, or entries of them, whose names tell of secrets."""
    return without(text, hidden(_secrets(params)))


def _secrets(params: Mapping[str, Value]) -> Iterator[str]:
    for name, value in params.items():
        if isinstance(value, dict):
            secret = [below for key, below in value.items() if names_a_secret(name) or names_a_secret(key)]
        else:
            secret = ([value] if isinstance(value, str) else value) if names_a_secret(name) else []
        yield from secret
