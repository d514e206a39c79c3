"""Variables that a controller sets in the containers of a job."""

from __future__ import annotations

from podplan.core.provenance import Cause, Traced, attribute_to, present_causes
from podplan.core.typing import Any


def build_variable(name: str, value: Any, *causes: Cause) -> Traced:
    """A variable that is set because of ``causes``. An empty value is left out, as Go does."""
    is_empty = isinstance(value, str) and not value
    return attribute_to(
        present_causes(*causes), {"name": name} if is_empty else {"name": name, "value": value}
    )
