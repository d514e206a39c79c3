"""The constraints of a BeamJob that its schema cannot express: those of the Job that it creates."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.findings import Diagnostic
from podplan.core.typing import Any
from podplan.kinds.batch.validation import validate_job_spec

_STAGE = "the API server refuses the Job that the controller creates"


def validate_cr(_dialect: str, cr: Mapping[str, Any]) -> list[Diagnostic]:
    """Return the diagnostics of a CR that its schema cannot express."""
    template = cr["spec"].get("jobTemplate") if isinstance(cr.get("spec"), dict) else None
    spec = template.get("spec") if isinstance(template, dict) else None
    if not isinstance(spec, dict):
        return []
    return list(validate_job_spec(spec, ("spec", "jobTemplate", "spec"), _STAGE))
