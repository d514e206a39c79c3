"""The libraries that Kubernetes adds to CEL, as tables of overloads with plain Python functions behind them.

Values of Kubernetes' own types (Quantity, IP, …) are maps of one entry named after the type, built by
``tag_value``: the evaluator cannot represent other types, but it compares maps. The checker knows the real
types, so that ``quantity('1') + 1`` is refused as in Kubernetes.

Source: https://kubernetes.io/docs/reference/using-api/cel/ and
https://pkg.go.dev/k8s.io/apiserver/pkg/cel/library.
"""

from __future__ import annotations

from collections.abc import Callable

from podplan.core.typing import Any, NamedTuple

Tagged = dict[str, Any]


class Overload(NamedTuple):
    """One signature of a function.

    ``parameter_types`` and ``result_type`` are names of types: those of CEL (string, int, list, any, …) or of
    Kubernetes (Quantity, …). A function that ``is_member`` is called as a method of its first argument.
    ``implementation`` raises ValueError with a message, which becomes an error of the evaluator.
    """

    name: str
    parameter_types: tuple[str, ...]
    result_type: str
    implementation: Callable[..., Any]
    is_member: bool = False


def tag_value(type_: str, value: object) -> Tagged:
    """A value of one of Kubernetes' own types."""
    return {type_: value}


def is_tagged(type_: str, value: object) -> bool:
    """Whether a value was built by ``tag_value`` for the type."""
    return isinstance(value, dict) and type_ in value and len(value) == 1


def make_predicate(function: Callable[..., Any]) -> Callable[..., bool]:
    """Return the function that returns whether ``function`` accepts its argument: isQuantity for quantity."""

    def is_valid(*arguments: Any) -> bool:
        try:
            function(*arguments)
        except ValueError:
            return False
        return True

    return is_valid
