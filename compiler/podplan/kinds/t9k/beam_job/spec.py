"""The KindSpec of BeamJob."""

from __future__ import annotations

from podplan.kinds.t9k.beam_job.validation import validate_cr
from podplan.kinds.t9k.spec import build_spec

SPEC = build_spec(
    __package__ or "",
    "beamjobs",
    option_prefix="beam",
    profile_fields=frozenset(("restart", "deadline", "retries", "cleanUp", "flink")),
    starter_fields={
        "cleanUp": "Workers",
        "flink": "{flinkVersion: 1.14.6, image: {name: 'registry.example.com/mirror/flink:1.14.6'}}",
    },
    validate_cr=validate_cr,
    traits=frozenset({"t9k-scheduler", "run-mode-ignored", "flink-cluster"}),
    run_mode_path=(),
)
