"""The dialects of CRs that migrate replaces, and how each is converted."""

from __future__ import annotations

from collections.abc import Callable

from podplan.core.typing import Any, NamedTuple
from podplan.kinds.registry import find_kind, load_spec
from podplan.tools.migrator import colossalai_dialect, mpi_dialect
from podplan.yaml.tree import CstNode


class DialectConversion(NamedTuple):
    """A dialect with ``old_fields`` of the spec, which become ``new_fields``.

    ``convert`` takes the mapping of the spec and its data, and raises FixRefused if that is impossible.
    """

    old_fields: tuple[str, ...]
    new_fields: tuple[str, ...]
    convert: Callable[[CstNode, dict[str, Any]], CstNode]

    def list_old_fields(self, spec: dict[str, Any]) -> list[str]:
        """Return the fields of the old dialect that a spec has."""
        return [name for name in self.old_fields if spec.get(name) is not None]


_CONVERSIONS = {
    "launcher": DialectConversion(
        colossalai_dialect.OLD_FIELDS,
        colossalai_dialect.NEW_FIELDS,
        colossalai_dialect.convert_to_replica_specs,
    ),
    "worker": DialectConversion(
        mpi_dialect.OLD_FIELDS, mpi_dialect.NEW_FIELDS, mpi_dialect.convert_to_replica_specs
    ),
}


def find_dialect_conversion(cr: Any) -> DialectConversion | None:
    """Return how a CR in a dialect that migrate replaces is converted; None for any other."""
    kind = find_kind(cr.get("apiVersion"), cr.get("kind")) if isinstance(cr, dict) else None
    dialects = load_spec(kind).superseded_dialects if kind is not None else ()
    conversion = _CONVERSIONS[dialects[0]] if dialects else None
    spec = cr.get("spec")
    if conversion is None or not isinstance(spec, dict) or not conversion.list_old_fields(spec):
        return None
    return conversion
