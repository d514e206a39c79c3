"""Where the time of one `check` goes: `python -m benchmarks.stages FOLDER` prints seconds by stage as JSON.

The check that is timed is the real one: functions at the borders of the stages are replaced by ones that
look at the clock, and a stage within another counts for itself only.
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

# stage -> the functions it begins in, by the module that calls them, or the class that has them
BORDERS = {
    "read": ["podplan.workspace.file_loader.read", "podplan.workspace.read"],
    "extend": ["podplan.profile.resolve.resolve"],
    "compile": ["podplan.kinds.compilation.compile_profile"],
    "lower": ["podplan.kinds.registry.lower_cr"],
    "schema": [
        "podplan.pipeline.check_cr",
        "podplan.pipeline.check_form",
        "podplan.checker.files.check_form",
        "podplan.kubernetes.check",
    ],
    "policies": [
        "podplan.checker.jobs.apply",
        "podplan.lint.policy_runner.Variants.add",
        "podplan.lint.policy_runner.Variants.seen",
        "podplan.checker.jobs.lacking",
        "podplan.checker.cross_job_index.apply_to_all",
        "podplan.checker.cross_job_index.left",
    ],
    "report": [
        "podplan.lint.aggregation.Fold.add",
        "podplan.lint.aggregation.Fold.findings",
        "podplan.checker.jobs.findings",
        "podplan.checker.files.findings",
        "podplan.checker.check.findings",
        "podplan.checker.check.result",
        "podplan.cli.reporting.rendered",
    ],
}


class Clock:
    """CPU seconds by stage; ``stack`` has the stages that are under way."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = dict.fromkeys((*BORDERS, "other"), 0.0)
        self.stack = ["other"]
        self.since = process_time()

    def turn(self) -> None:
        """Books the time since the last turn on the stage that is under way."""
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
    clock.seconds["other"] = 0.0  # what was imported here
    # Fewer files than this are not shared; a clock sees its own process only.
    setattr(import_module("podplan.checker.pool"), "FEWEST", sys.maxsize)  # noqa: B010 - it is no name to type checkers
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
