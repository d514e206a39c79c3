"""Registration of checks: a decorator for the function, with the schema of its params."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from podplan.core.typing import Any, NamedTuple, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
Schema = Mapping[str, Any]


class RegisteredCheck(NamedTuple):
    """A registered check. ``params`` is the JSON Schema of its params, None if it has none.

    ``summarize`` belongs to a cross-job check: it returns the summary of a job, small and plain data, or
    None. ``keeper`` belongs to a check about all variants of a profile: its result collects them with
    ``add()``. ``aliases`` are former names, which custom policies may still have. A job with none of the
    features in ``requires`` (``features.list_features``) has no violation; without ``requires``, any may.
    """

    function: Callable[..., Any]
    params: Schema | None
    summarize: Callable[..., Any] | None
    keeper: Callable[[], Any] | None
    aliases: tuple[str, ...]
    requires: tuple[str, ...]


# Checks of imported modules, by name.
REGISTERED_CHECKS: dict[str, RegisteredCheck] = {}


def check(
    *,
    params: Schema | None = None,
    summarize: Callable[..., Any] | None = None,
    keeper: Callable[[], Any] | None = None,
    aliases: tuple[str, ...] = (),
    requires: tuple[str, ...] = (),
) -> Callable[[F], F]:
    """Register a function as the check with its name, with - for _."""

    def register(function: F) -> F:
        name = function.__name__.replace("_", "-")
        REGISTERED_CHECKS[name] = RegisteredCheck(function, params, summarize, keeper, aliases, requires)
        return function

    return register


def object_schema(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """Return the schema of params by name."""
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
