"""The libraries that Kubernetes adds to CEL, as tables of overloads with plain Python functions behind them.

Values of Kubernetes' own types (Quantity, IP, …) are maps of one entry named after the type, made by
``tagged``: the evaluator cannot hold types of ours, but it compares maps. The checker knows the real types,
so that ``quantity('1') + 1`` is refused as in Kubernetes.

Source: https://kubernetes.io/docs/reference/using-api/cel/ and
https://pkg.go.dev/k8s.io/apiserver/pkg/cel/library.
"""

from __future__ import annotations

from collections.abc import Callable

from podplan.core.typing import Any, NamedTuple

Tagged = dict[str, Any]


class Overload(NamedTuple):
    """One way to call a function.

    ``takes`` and ``gives`` are names of types: those of CEL (string, int, list, any, …) or of Kubernetes
    (Quantity, …). ``member`` is for ``a.name(b)``, where ``a`` is the first argument. ``does`` raises
    ValueError with a sentence; the evaluator makes an error of it.
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
    """Whether a value was made by ``tagged`` for the type."""
    return isinstance(value, dict) and type_ in value and len(value) == 1


def make_predicate(function: Callable[..., Any]) -> Callable[..., bool]:
    """The function that tells whether ``function`` takes its argument: isQuantity for quantity."""

    def is_valid(*arguments: Any) -> bool:
        try:
            function(*arguments)
        except ValueError:
            return False
        return True

    return is_valid
