"""What `make bench` measures: the same inputs every time, with nothing wrong in them, and an honest table."""

from __future__ import annotations

import sys
from pathlib import Path
from pkgutil import resolve_name

import pytest

from benchmarks import inputs, page
from benchmarks.measuring import Failed, measure, once, summed_up
from benchmarks.plan import SECTIONS, run
from benchmarks.scale import SMOKE
from benchmarks.stages import BORDERS
from benchmarks.table import Row, Section, markdown, printed
from tests.command import podplan


def test_one_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    folders = [inputs.crs(tmp_path / name, 8) for name in ("a", "b")]
    first, second = ([path.read_bytes() for path in sorted(folder.glob("*.yaml"))] for folder in folders)
    assert first == second
    assert len(set(first)) == 8


def test_what_is_measured_is_a_repository_with_nothing_wrong(tmp_path: Path) -> None:
    crs = podplan("check", inputs.crs(tmp_path / "crs", 8))
    profiles = podplan(
        "check", inputs.profiles(tmp_path / "profiles", 8), inputs.sweep(tmp_path / "sweep", 2, 2)
    )
    alone = podplan("check", inputs.profiles(tmp_path / "alone", 8, with_base=False))
    for done in (crs, profiles, alone):
        assert done.code == 0, done.out
        assert "no findings" in done.out
    assert "8 objects" in crs.out
    assert "20 objects" in profiles.out


@pytest.mark.long
def test_a_loud_repository_has_three_findings_a_job_or_more(tmp_path: Path) -> None:
    run = podplan("check", inputs.crs(tmp_path, 100, quiet=False))
    assert "325 infos" in run.out


def test_the_borders_of_the_stages_are_functions_that_are_there() -> None:
    for name in (name for names in BORDERS.values() for name in names):
        assert callable(resolve_name(name))


def test_the_cost_of_a_command_is_the_median_and_the_largest_peak() -> None:
    cost = summed_up([(3.0, 10.0), (1.0, 30.0), (2.0, 20.0)])
    assert (cost.cpu, cost.peak_mb, cost.runs) == (2.0, 30.0, 3)
    costs = measure({"same": (sys.executable, "-c", "pass")}, 2)
    assert 0 < costs["same"].cpu < 60
    assert costs["same"].peak_mb > 1


def test_a_command_that_fails_is_no_figure() -> None:
    with pytest.raises(Failed, match=r"exit code 3 of .*: too many$"):
        once((sys.executable, "-c", "import sys; sys.stderr.write('odd\\ntoo many\\n'); sys.exit(3)"))


def test_a_section_that_fails_says_so_and_the_others_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(folder: Path, _: object) -> Section:
        raise Failed(f"no room in {folder.name}")

    def works(_: Path, __: object) -> Section:
        return Section("Works", [Row("a", 1.0, "1 ×", "≤ 1 ×", most=1.0)])

    monkeypatch.setitem(SECTIONS, "cold", fails)
    monkeypatch.setitem(SECTIONS, "cache", works)
    failed, worked = run(tmp_path, SMOKE, ["cold", "cache"])
    assert failed.failure == "no room in cold"
    assert "FAILED: no room in cold" in printed(failed)
    assert "Not measured: no room in cold" in markdown([failed])
    assert printed(worked) == "Works\n  a  1 ×    ≤ 1 ×"


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        (Row("a", 1.2, "1.2 ×", "≤ 1.2 ×", most=1.2), "met"),
        (Row("a", 1.21, "1.2 ×", "≤ 1.2 ×", most=1.2), "not met"),
        (Row("a", 2.0, "2 ×", "≥ 2 ×", least=2.0), "met"),
        (Row("a", 1.99, "2 ×", "≥ 2 ×", least=2.0), "not met"),
        (Row("a", 1.0, "1 ×"), ""),
    ],
)
def test_a_target_is_met_or_not(row: Row, verdict: str) -> None:
    assert row.verdict == verdict


def test_the_table_says_what_is_not_met(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = Row("one file", 9.5, "9.5 ×", "≤ 9 ×", most=9, peak_mb=20.4)
    section = Section("Cold", [row], "A note.")
    assert "one file  9.5 ×  20 MB  ≤ 9 ×  not met" in printed(section)
    assert "| one file | 9.5 × | 20 MB | ≤ 9 × | not met |" in markdown([section])
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")
    (tmp_path / "page.md").write_text(
        "Before\n<!-- figures -->\nstale\n<!-- end -->\nAfter\n", encoding="utf-8"
    )
    page.write(["a machine", "a system"], [section])
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert text.startswith("Before\n<!-- figures -->\nMeasured on: a machine; a system.\n\n### Targets\n")
    assert "0 of 1 are met.\n\n### Cold\n" in text
    assert text.endswith("A note.\n<!-- end -->\nAfter\n")
    assert "stale" not in text


def test_one_section_is_replaced_and_the_others_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cold = Section("Cold", [Row("one file", 9.5, "9.5 ×", "≤ 9 ×", most=9)], "A note.")
    warm = Section("Warm", [Row("again", 1, "1 ×", "≤ 2 ×", most=2), Row("other", 1, "1 ×")])
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")
    (tmp_path / "page.md").write_text("<!-- figures -->\n<!-- end -->\n", encoding="utf-8")
    page.write(["a machine"], [cold, warm])
    faster = cold._replace(rows=[Row("one file", 8.5, "8.5 ×", "≤ 9 ×", most=9)])
    new = Section("New", [Row("big", 600, "600 MB", "≤ 500 MB", most=500)])
    page.write_some([faster, new])
    changed = (tmp_path / "page.md").read_text(encoding="utf-8")
    page.write(["a machine"], [faster, warm, new])
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == changed


def test_inputs_of_the_section_about_memory_are_small_files_of_many_jobs(tmp_path: Path) -> None:
    wide = podplan("check", inputs.sweeps(tmp_path / "sweeps", 2, 3, 4))
    assert "6 objects" in wide.out
    many = podplan("check", inputs.in_environments(tmp_path / "many", 2, 3))
    assert "8 objects" in many.out
    assert wide.code == many.code == 0
