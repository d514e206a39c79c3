"""The runner of the tests: it refuses what lets text into a script, and reads logs and outputs as GitHub."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.github_runner import Command, Machine, Refused, parsed, run_steps, shown


def test_the_runner_refuses_what_would_let_text_into_a_script(tmp_path: Path) -> None:
    job = Machine(tmp_path, tmp_path, {"PATH": os.environ["PATH"]}, {"inputs.a": "$(touch OWNED)"})
    steps: list[dict[str, Any]] = [
        {"uses": "actions/checkout@v5"},
        {"run": "echo ${{ inputs.a }}"},
        {"run": "true", "env": {"A": "${{ github.event.pull_request.title }}"}},
        {"run": "true", "env": {"A": "${{ format('{0}', inputs.a) }}"}},
        {"run": "true", "if": "contains(inputs.a, 'x')"},
        {"run": "true", "shell": "python"},
        {"run": "echo A=B >> $GITHUB_ENV"},
    ]
    for step in steps:
        with pytest.raises(Refused):
            run_steps([step], job)
    steps = [
        {"id": "one", "run": 'echo "a=$A" >> $GITHUB_OUTPUT; exit 3', "env": {"A": "${{ inputs.a }}"}},
        {"run": "echo never"},
        {
            "run": "echo $A",
            "if": "always()",
            "env": {"A": "${{ steps.one.outputs.a }} ${{ steps.one.outcome }}"},
        },
    ]
    ran, _ = run_steps(steps, job)
    assert [step.outcome for step in ran] == ["failure", "skipped", "success"]
    assert ran[2].log == "$(touch OWNED) failure\n"
    assert not (tmp_path / "OWNED").exists()


def test_the_runner_reads_a_log_as_github_does() -> None:
    log = (
        "::notice title=a%2Cb,line=3::x%0Ay%25\n\u00a0 ::error::blanks before\nno ::error::command\n"
        "text ##[warning]old\r::unknown::x\n::stop-commands::t\n::error::not heard\n::t::\n::error::heard\n"
    )
    assert list(parsed(log)) == [
        Command("notice", {"title": "a,b", "line": "3"}, "x\ny%"),
        Command("error", {}, "blanks before"),
        Command("warning", {}, "old"),
        Command("error", {}, "heard"),
    ]


def test_the_runner_fails_a_step_whose_outputs_it_cannot_read(tmp_path: Path) -> None:
    job = Machine(tmp_path, tmp_path, {"PATH": os.environ["PATH"]})
    for text in ("nothing", "a<<END\\nx"):
        [ran], _ = run_steps([{"run": f'printf "{text}\\n" >> "$GITHUB_OUTPUT"'}], job)
        assert ran.outcome == "failure"
    assert len(shown([ran])) == 1
