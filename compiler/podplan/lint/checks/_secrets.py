"""Names and values that look like secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from podplan.findings import Path, value_at
from podplan.patterns import pattern
from podplan.typing import Any

# HF_TOKEN, WANDB_API_KEY, DB_PASSWORD; not PAD_TOKEN, MAX_TOKENS, SORT_KEY or AWS_ACCESS_KEY_ID.
_NAME = pattern(
    r"(?:.*[_-])?(?:(?<!PAD_)(?<!EOS_)(?<!BOS_)(?<!UNK_)(?<!CLS_)(?<!SEP_)(?<!MASK_)(?<!STOP_)(?<!END_)TOKEN"
    r"|PASS(?:WORD|WD|PHRASE)|SECRET|CREDENTIALS?"
    r"|(?:API|ACCESS|SECRET|PRIVATE|ACCOUNT|AUTH|ENCRYPTION|SIGNING|STORAGE|LICENSE)[_-]?KEY)",
    re.IGNORECASE,
)
_WITH_PASSWORD = pattern(r"[a-z0-9+.-]://[^/\s:@]*:[^/\s:@$]{3,}@", re.IGNORECASE)
_NOT_A_SECRET = pattern(
    r"true|false|none|null|yes|no|[0-9.]+|[<\[{(].*|/.*|[A-Z]:\\.*|\$.*|\S+\.(?:json|pem|key|crt|txt|ya?ml)",
    re.DOTALL | re.IGNORECASE,
)
_PIN = pattern("[0-9]{4,}")
# Whether a field of a mapping gives the value of what the mapping stands for.
_Told = Callable[[Any], bool]
_NAMED: dict[Any, _Told] = {
    "env": lambda field: field not in ("secret", "configMap", "field", "valueFrom"),
    "params": lambda field: field == "default",
    "values": lambda _: True,
}


@lru_cache(maxsize=1024)
def names_a_secret(name: str) -> bool:
    """Whether a variable or option of this name usually holds a secret."""
    return _NAME.fullmatch(name.lstrip("-")) is not None


def is_secret(name: str, value: str) -> bool:
    """Whether a variable holds a secret as text: not a path, a number, a reference or a placeholder."""
    if "://" in value and _WITH_PASSWORD.search(value):
        return True
    return len(value) >= 6 and may_be_secret(name, value)


def may_be_secret(name: str, value: str) -> bool:
    """The same of a value of any length: one that nobody is told of, but that is not shown either."""
    return names_a_secret(name) and not _NOT_A_SECRET.fullmatch(value)


# A value, the step that leads to it, and the node that it is in: most paths are asked for by nobody.
_Node = tuple[Any, Any, Any]


def _path(node: _Node) -> Path:
    steps = []
    _, step, above = node
    while above is not None:
        steps.append(step)
        _, step, above = above
    return tuple(reversed(steps))


def secret_variables(data: Any) -> Iterator[Path]:
    """The values of variables and params that look secret: entries with a name and a value, and mappings
    called env, params (what their fields give) and values."""
    nodes: list[_Node] = [(data, None, None)]
    while nodes:
        node, step, _ = here = nodes.pop()
        below: Iterable[tuple[Any, Any]] = ()
        if isinstance(node, list):
            below = enumerate(node)
        elif isinstance(node, dict):
            below = node.items()
            name, value = node.get("name"), node.get("value")
            if value is not None and isinstance(name, str) and _hides(name, value):
                yield (*_path(here), "value")
            if step in _NAMED:
                yield from ((*_path(here), *path) for path in _named(node, _NAMED[step]))
        for key, value in below:
            if isinstance(value, (dict, list)):
                nodes.append((value, key, here))


def _named(named: dict[Any, Any], told: _Told) -> Iterator[Path]:
    """What is secret of values by name; ``told`` says which fields of a mapping give its value."""
    for name, value in named.items():
        if isinstance(value, dict):
            for key, below in value.items():
                if told(key):
                    yield from ((name, key, *path) for path in _leaves((name, key), below))
        else:
            yield from ((name, *path) for path in _leaves((name,), value))


def _leaves(names: tuple[Any, ...], value: Any) -> Iterator[Path]:
    """The paths below ``value`` to what one of the names on the way there says is secret."""
    if isinstance(value, dict | list):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield from ((key, *path) for path in _leaves((*names, key), below))
    elif any(isinstance(name, str) and _hides(name, value) for name in names):
        yield ()


def _hides(name: str, value: Any) -> bool:
    """Whether a variable holds a secret; a number may be one too, which nobody is told of but is masked."""
    if isinstance(value, str) and is_secret(name, value):
        return True
    number = isinstance(value, str | int) and not isinstance(value, bool) and _PIN.fullmatch(str(value))
    return number is not None and number is not False and names_a_secret(name)


def secret_values(document: Any) -> Iterator[str]:
    """What is secret in a document: the values of its variables that look so, and all of a Secret."""
    for path in secret_variables(document):
        yield str(value_at(document, path))
    if isinstance(document, dict) and document.get("kind") == "Secret":
        parts = [part for key in ("data", "stringData") if isinstance(part := document.get(key), dict)]
        yield from (value for part in parts for value in part.values() if isinstance(value, str) and value)
