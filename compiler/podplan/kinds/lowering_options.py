"""Which facts are settings: those of lowering that have a value, which the configuration may replace."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from podplan.core.lazy_regex import pattern
from podplan.core.provenance import Fact
from podplan.core.typing import Any
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.behaviors import job_status, termination

# Words that a setting must have, or what it is about is lost.
NEEDED = {
    "pod.name": "index",
    "service.name": "index",
    "deepspeed.command": "deepspeed",
    "deepspeed.env-file": "value",
    "deepspeed.hostfile-line": "host",
    "colossalai.hostfile-line": "host",
}
_NAMES = ("base", "job")

WORD = pattern(r"\{([a-z]+(?:-[a-z]+)*)\}")


@cache
def settings() -> dict[str, Fact]:
    """The settings of lowering by their id, in order of the id."""
    found = [fact for fact in known() if fact.value is not None and not fact.id.startswith("profile.")]
    return {fact.id: fact for fact in sorted(found, key=lambda fact: fact.id)}


@cache
def of_status() -> frozenset[str]:
    """The ids of the facts about what controllers report, which change nothing that is lowered."""
    values = (*vars(termination).values(), *vars(job_status).values())
    return frozenset(fact.id for fact in values if isinstance(fact, Fact))


def without_setting() -> list[Fact]:
    """The facts of lowering that are not documented and that no setting changes, in order of their id."""
    found = [fact for fact in known() if fact.value is None and fact.basis != "documented"]
    return sorted(found, key=lambda fact: fact.id)


def unknown_word(fact: Fact, value: Any) -> str | None:
    """The first word in braces that a setting does not fill in; None where all are known."""
    if not fact.words:
        return None
    words = (word for text in _texts(value) for word in WORD.findall(text))
    return next((word for word in words if word not in fact.words), None)


def lacking(fact: Fact, value: Any) -> str | None:
    """What a setting must have and has not, in words; None where nothing is lacking."""
    needed = NEEDED.get(fact.id, "")
    if needed == "index" and not str(value).endswith("{index}"):
        return "end in {index}, or all replicas have one name"
    if needed and f"{{{needed}}}" not in str(value):
        return f"have {{{needed}}} in it"
    is_name = isinstance(fact.value, str) and any(f"{{{word}}}" in fact.value for word in _NAMES)
    if is_name and not any(f"{{{word}}}" in str(value) for word in _NAMES):
        return "have {base} or {job} in it, or all jobs have one name"
    return None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for below in value.values() if isinstance(value, dict) else value:
            yield from _texts(below)


def known() -> Iterator[Fact]:
    """The facts about what is lowered and about what becomes of it, also those that stand in tables."""
    for value in (*vars(behaviors).values(), *vars(termination).values(), *vars(job_status).values()):
        if isinstance(value, Fact):
            yield value
        elif isinstance(value, dict) and all(isinstance(below, Fact) for below in value.values()):
            yield from value.values()
