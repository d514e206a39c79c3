"""Times the stages of one `check`: `python -m benchmarks.stages FOLDER` prints seconds by stage as JSON.

The real check is timed: functions at the boundaries of stages are wrapped with a clock, and a nested stage is
not counted for the outer one.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from importlib import import_module
from pkgutil import resolve_name
from time import process_time
from typing import Any

# stage -> the functions that it begins in, by the module that calls them, or their class
BORDERS = {
    "read": ["podplan.workspace.file_loader.parse_yaml", "podplan.workspace.source_reader.parse_yaml"],
    "extend": ["podplan.profile.resolve.resolve_profile"],
    "compile": ["podplan.kinds.compilation.compile_profile"],
    "lower": ["podplan.kinds.registry.lower_cr"],
    "schema": [
        "podplan.pipeline.validate_cr",
        "podplan.pipeline.validate_profile_document",
        "podplan.checker.files.validate_profile_document",
        "podplan.kubernetes.validate_object",
    ],
    "policies": [
        "podplan.checker.jobs.apply_policies",
        "podplan.lint.policy_runner.Variants.add",
        "podplan.lint.policy_runner.Variants.seen",
        "podplan.checker.jobs.find_undecidable_policies",
        "podplan.checker.cross_job_index.apply_cross_job_policies",
        "podplan.checker.cross_job_index.summarize_job",
    ],
    "report": [
        "podplan.lint.aggregation.Fold.add",
        "podplan.lint.aggregation.Fold.findings",
        "podplan.checker.jobs.aggregate_findings",
        "podplan.checker.files.aggregate_findings",
        "podplan.checker.check.aggregate_findings",
        "podplan.checker.check.build_result",
        "podplan.cli.reports.render_report",
    ],
}


class Clock:
    """CPU seconds by stage; ``stack`` has the active stages."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = dict.fromkeys((*BORDERS, "other"), 0.0)
        self.stack = ["other"]
        self.since = process_time()

    def turn(self) -> None:
        """Attribute the time since the last call to the active stage."""
        now = process_time()
        self.seconds[self.stack[-1]] += now - self.since
        self.since = now

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.turn()
            self.stack.append(stage)
            made = function(*args, **kwargs)
            result = list(made) if isinstance(made, Iterator) else made
            self.turn()
            self.stack.pop()
            return result

        return call


def main(folder: str) -> None:
    clock = Clock()
    from podplan.cli import main as check

    for stage, names in BORDERS.items():
        for name in names:
            module_or_class, _, function = name.rpartition(".")
            where = resolve_name(module_or_class)
            setattr(where, function, clock.timed(stage, getattr(where, function)))
    clock.turn()
    clock.seconds["other"] = 0.0  # the imports of this script
    # Disable worker processes: the clock sees only its own process.
    setattr(import_module("podplan.checker.pool"), "MIN_FILES_FOR_WORKERS", sys.maxsize)  # noqa: B010 - it is no name to type checkers
    sys.argv = ["podplan", "check", folder]
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        try:
            check()
        except SystemExit as end:
            if end.code not in (None, 0, 1):
                raise
    clock.turn()
    print(json.dumps(clock.seconds))


if __name__ == "__main__":
    main(sys.argv[1])
