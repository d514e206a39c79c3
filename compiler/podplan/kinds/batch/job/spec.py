"""What the rest of podplan may ask about Jobs."""

from __future__ import annotations

from podplan.kinds.batch.validation import validate_job
from podplan.kinds.spec import KindSpec

# No trait: a Job may be anything, and only what holds for each Pod is checked of it.
SPEC = KindSpec(
    plural="jobs",
    option_prefix="job",
    validate_cr=validate_job,
    owner_label="batch.kubernetes.io/job-name",
)
