"""Silenced findings on the command line: in formats and exit codes, and which day it is."""

from __future__ import annotations

import json
from pathlib import Path

from tests.command import podplan
from tests.suppressing.job import JOB, WHY


def test_formats_and_exit_codes(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB + f"# podplan: ignore-file[SEC] until=2030-01-01 {WHY}\n")
    flags = ("check", "--select", "SEC001,SEC002", "--today", "2027-03-01")
    full = podplan(*flags, "job.yaml", cwd=tmp_path)
    assert (full.code, full.out) == (
        0,
        "no findings in 1 file, 3 suppressed (1 object, 3 lowered); suppressions judged as of 2027-03-01\n",
    )
    report = json.loads(podplan(*flags, "--format", "json", "job.yaml", cwd=tmp_path).out)
    assert [(one["rule"], one["suppressed"], one["reason"]) for one in report["findings"]] == [
        ("SEC001", True, "our own nodes"),
        ("SEC002", True, "our own nodes"),
        ("SEC001", True, "our own nodes"),
    ]
    assert (report["summary"]["errors"], report["summary"]["suppressed"]) == (0, 3)
    assert report["summary"]["today"] == "2027-03-01"
    assert podplan(*flags, "--no-ignores", "job.yaml", cwd=tmp_path).code == 1
    assert podplan(*flags[:-1], "2030-01-02", "job.yaml", cwd=tmp_path).code == 1
    assert podplan(*flags[:-1], "soon", "job.yaml", cwd=tmp_path).code == 2
    by_the_clock = podplan(*flags[:-2], "job.yaml", cwd=tmp_path).out
    assert "; suppressions judged as of 20" in by_the_clock


def test_lower_and_render_never_look_at_the_clock(tmp_path: Path) -> None:
    text = JOB.replace(
        "    replicas: 2\n",
        "    replicas: 2\n    extra: 1  # podplan: ignore[SCHEMA001] until=2001-01-01 -- ours\n",
    )
    (tmp_path / "job.yaml").write_text(text)
    assert podplan("check", "job.yaml", cwd=tmp_path).code == 1
    assert podplan("lower", "job.yaml", cwd=tmp_path).code == 0
    (tmp_path / "podplan.toml").write_text("today = 2001-01-02\n")
    assert podplan("lower", "job.yaml", cwd=tmp_path).code == 1, "the committed file says which day it is"
