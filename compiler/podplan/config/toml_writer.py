"""TOML writer for plain data; the only one."""

from __future__ import annotations

import json
from collections.abc import Mapping

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any

_BARE = compile_lazily(r"[A-Za-z0-9_-]+")


def format_toml(value: Any) -> str:
    """Format a value as TOML, on one line."""
    if isinstance(value, Mapping):
        return (
            "{" + ", ".join(f"{format_key(key)} = {format_toml(below)}" for key, below in value.items()) + "}"
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(format_toml(below) for below in value) + "]"
    return _format_text(value) if isinstance(value, str) else json.dumps(value)


def format_key(key: str) -> str:
    """Format a key, quoted if necessary."""
    return key if _BARE.fullmatch(key) else _format_text(key)


def _format_text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
