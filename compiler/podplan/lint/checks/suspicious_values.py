"""Values that are probably mistakes: secrets as text, memory without a unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.typing import Any
from podplan.kubernetes import quantities
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.analysis.resources import get_resource_entries as resources
from podplan.lint.analysis.training import iter_env
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation
from podplan.redaction.detection import is_secret

SMALLEST_PLAUSIBLE_AMOUNT = 2**20 * quantities.UNITS_PER_ONE  # no container runs with less than 1Mi
_BYTE_RESOURCES = ("memory", "ephemeral-storage")


@check()
def secret_literal(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A variable of a container with a secret as text; value ``name``."""
    for number, name, entry in iter_env(target.data):
        if is_secret(name, get_text(entry, "value")):
            yield Violation(("env", number, "value"), {"name": name})


@check()
def ambiguous_unit(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Memory or storage of less than 1Mi in a Pod; values ``written`` and ``bytes``."""
    for path, value in _iter_byte_amounts(target.data):
        units = quantities.parse_quantity(value)
        if units is not None and 0 < units < SMALLEST_PLAUSIBLE_AMOUNT:
            number = f"{units / quantities.UNITS_PER_ONE:.6f}".rstrip("0").rstrip(".")
            yield Violation(path, {"written": value, "bytes": number, "what": path[-1]})


def _iter_byte_amounts(pod: Any) -> Iterator[tuple[Path, Any]]:
    """Yield the amounts of bytes that a Pod requests."""
    spec = get_mapping(pod, "spec")
    for list_key in ("initContainers", "containers"):
        for number, container in get_entries(spec, list_key):
            for section in ("requests", "limits"):
                for name, value in resources(container, section).items():
                    if name in _BYTE_RESOURCES:
                        yield ("spec", list_key, number, "resources", section, name), value
    for number, volume in get_entries(spec, "volumes"):
        if "sizeLimit" in get_mapping(volume, "emptyDir"):
            path = ("spec", "volumes", number, "emptyDir", "sizeLimit")
            yield path, get_mapping(volume, "emptyDir")["sizeLimit"]
