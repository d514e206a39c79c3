"""Lowering options: the behaviors with a value, which the configuration may replace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import Behavior
from podplan.core.typing import Any
from podplan.kinds.registry import FAMILIES, Family

# Placeholders that an option must contain; without them the text is the same for all replicas, or incomplete.
REQUIRED_WORDS = {
    "pod.name": "index",
    "service.name": "index",
    "deepspeed.command": "deepspeed",
    "deepspeed.env-file": "value",
    "deepspeed.hostfile-line": "host",
    "colossalai.hostfile-line": "host",
}
_NAME_WORDS = ("base", "job")
_COMPILE_MODULE = "podplan.kinds.common.behaviors"

WORD_PATTERN = compile_lazily(r"\{([a-z]+(?:-[a-z]+)*)\}")


@cache
def list_lowering_options() -> dict[str, Behavior]:
    """Return the lowering options by id, sorted."""
    options = [
        fact for fact in iter_behaviors() if fact.value is not None and not fact.id.startswith("profile.")
    ]
    return {fact.id: fact for fact in sorted(options, key=lambda fact: fact.id)}


@cache
def list_status_behavior_ids() -> frozenset[str]:
    """Return the ids of the behaviors about status, which do not affect lowered objects."""
    return frozenset(
        fact.id for family in FAMILIES for fact in _iter_in_modules(family.status_behavior_modules)
    )


def list_fixed_behaviors() -> list[Behavior]:
    """Return the uncertain behaviors of lowering that are no options, sorted by id."""
    fixed_behaviors = [
        fact for fact in iter_behaviors() if fact.value is None and fact.basis in ("anchored", "assumed")
    ]
    return sorted(fixed_behaviors, key=lambda fact: fact.id)


def find_unknown_word(behavior: Behavior, value: Any) -> str | None:
    """Return the first unknown placeholder in the value of an option, or None."""
    if not behavior.placeholders:
        return None
    words = (word for text in _iter_texts(value) for word in WORD_PATTERN.findall(text))
    return next((word for word in words if word not in behavior.placeholders), None)


def explain_missing_word(behavior: Behavior, value: Any) -> str | None:
    """Return a sentence about what the value of an option lacks, or None."""
    required_word = REQUIRED_WORDS.get(behavior.id, "")
    if required_word == "index" and not str(value).endswith("{index}"):
        return "end in {index}, or all replicas have one name"
    if required_word and f"{{{required_word}}}" not in str(value):
        return f"have {{{required_word}}} in it"
    is_name = isinstance(behavior.value, str) and any(f"{{{word}}}" in behavior.value for word in _NAME_WORDS)
    if is_name and not any(f"{{{word}}}" in str(value) for word in _NAME_WORDS):
        return "have {base} or {job} in it, or all jobs have one name"
    return None


def _iter_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for nested in value.values() if isinstance(value, dict) else value:
            yield from _iter_texts(nested)


def iter_behaviors() -> Iterator[Behavior]:
    """Yield the behaviors of all families and of compiling, each once, including those in tables."""
    names = (name for family in FAMILIES for name in _list_modules(family))
    yield from {fact.id: fact for fact in _iter_in_modules((*names, _COMPILE_MODULE))}.values()


def _list_modules(family: Family) -> list[str]:
    kind_modules = (f"{package}.behaviors" for package in family.packages.values())
    return [
        *family.behavior_modules,
        *(name for name in kind_modules if find_spec(name) is not None),
        *family.status_behavior_modules,
    ]


def _iter_in_modules(names: Iterable[str]) -> Iterator[Behavior]:
    for name in names:
        for value in vars(import_module(name)).values():
            if isinstance(value, Behavior):
                yield value
            elif isinstance(value, dict) and all(isinstance(below, Behavior) for below in value.values()):
                yield from value.values()
