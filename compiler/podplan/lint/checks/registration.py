"""Registers checks: a decorator of the function, with the schema of its params."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from podplan.core.typing import Any, NamedTuple, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
Schema = Mapping[str, Any]


class RegisteredCheck(NamedTuple):
    """A check: ``params`` is the JSON Schema of its params, None where it has none.

    ``summarize`` belongs to a cross-job check: it returns the summary of a job, small and plain data, or
    None. ``keeper`` belongs to a check about all variants of a profile: its result collects them with
    ``add()``. ``aliases`` are former names, which custom policies may still have.
    """

    function: Callable[..., Any]
    params: Schema | None
    summarize: Callable[..., Any] | None
    keeper: Callable[[], Any] | None
    aliases: tuple[str, ...]


# By name, those of the modules that are imported.
REGISTERED_CHECKS: dict[str, RegisteredCheck] = {}


def check(
    *,
    params: Schema | None = None,
    summarize: Callable[..., Any] | None = None,
    keeper: Callable[[], Any] | None = None,
    aliases: tuple[str, ...] = (),
) -> Callable[[F], F]:
    """Registers a function as the check of its name, with - for _."""

    def register(function: F) -> F:
        name = function.__name__.replace("_", "-")
        REGISTERED_CHECKS[name] = RegisteredCheck(function, params, summarize, keeper, aliases)
        return function

    return register


def object_schema(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """The schema of params by name."""
    return {
        "type": "object",
        "required": list(required),
        "properties": {**required, **(optional or {})},
        "additionalProperties": False,
    }


COUNT: Schema = {"type": "integer", "minimum": 0, "maximum": 1000000}
BOOLEAN: Schema = {"type": "boolean"}
STRING: Schema = {"type": "string"}
STRINGS: Schema = {"type": "array", "items": STRING}
