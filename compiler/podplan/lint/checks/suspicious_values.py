"""Values that say something else than their writer meant: secrets as text, memory without its unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.typing import Any
from podplan.kubernetes import quantities
from podplan.kubernetes.accessors import entries, mapping, text
from podplan.lint.analysis.resources import entries as resources
from podplan.lint.analysis.training import env
from podplan.lint.target import Hit, Subject
from podplan.redaction.detection import is_secret

LEAST = 2**20 * quantities.ONE  # no container lives on less than 1Mi
_BYTES = ("memory", "ephemeral-storage")


def secret_literal(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A variable of a container that holds a secret as text; value ``name``."""
    for number, name, entry in env(subject.data):
        if is_secret(name, text(entry, "value")):
            yield Hit(("env", number, "value"), {"name": name})


def ambiguous_unit(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Memory or storage of less than 1Mi in a Pod; values ``written`` and ``bytes``."""
    for path, value in _amounts(subject.data):
        units = quantities.parse(value)
        if units is not None and 0 < units < LEAST:
            number = f"{units / quantities.ONE:.6f}".rstrip("0").rstrip(".")
            yield Hit(path, {"written": value, "bytes": number, "what": path[-1]})


def _amounts(pod: Any) -> Iterator[tuple[Path, Any]]:
    """The amounts of bytes that a Pod asks for."""
    spec = mapping(pod, "spec")
    for listed in ("initContainers", "containers"):
        for number, container in entries(spec, listed):
            for section in ("requests", "limits"):
                for name, value in resources(container, section).items():
                    if name in _BYTES:
                        yield ("spec", listed, number, "resources", section, name), value
    for number, volume in entries(spec, "volumes"):
        if "sizeLimit" in mapping(volume, "emptyDir"):
            path = ("spec", "volumes", number, "emptyDir", "sizeLimit")
            yield path, mapping(volume, "emptyDir")["sizeLimit"]
