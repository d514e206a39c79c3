"""Jobs that others wrote and judged: mistakes are reported at their lines, clean jobs give infos alone."""

from __future__ import annotations

import json
import shutil
from contextlib import chdir
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
import yaml
from yaml import CSafeLoader

from tests.golden_cases import podplan
from tests.rows import each_row

AUDIT = Path(__file__).parent.parent / "fixtures" / "audit"
SETS = sorted(path.parent for path in AUDIT.glob("*/mistakes.yaml"))
MOST_NOT_FOUND = 0.05


class Mistake(NamedTuple):
    """A job with one mistake, the lines at which a report of it is right, and why podplan has none."""

    file: Path
    lines: frozenset[int]
    not_found: str


@cache
def load(folder: Path, name: str) -> list[dict[str, Any]]:
    """The entries of mistakes.yaml or clean.yaml, each with the path of its job."""
    text = (folder / f"{name}.yaml").read_text("utf-8")
    entries: list[dict[str, Any]] = yaml.load(text, CSafeLoader)
    return [{**entry, "file": folder / name / Path(entry["file"]).name} for entry in entries]


@cache
def load_mistakes(folder: Path) -> list[Mistake]:
    return [
        Mistake(
            entry["file"],
            frozenset([entry["line"], *entry.get("lines", [])]),
            entry.get("not_found", ""),
        )
        for entry in load(folder, "mistakes")
    ]


def name_of(entry: Mistake | Path) -> str:
    """The set and the job of a test."""
    file = entry.file if isinstance(entry, Mistake) else entry
    return f"{file.parent.parent.name}/{file.stem}"


def report(file: Path) -> list[dict[str, Any]]:
    """The warnings and errors of podplan for one file by itself."""
    # Below this repository, each check would read all fixtures in search of an inventory.
    with TemporaryDirectory() as folder, chdir(folder):
        shutil.copy(file, folder)
        run = podplan("check", "--isolated", "--no-cache", "--format", "json", file.name)
    assert run.code in (0, 1), run.err
    return [one for one in json.loads(run.out)["findings"] if one["severity"] != "info"]


def is_at(finding: dict[str, Any], mistake: Mistake) -> bool:
    """Whether a finding, or a place that it points at as well, lies on a line of a mistake."""
    lines = {finding["line"], *(one["line"] for one in finding.get("related", []))}
    return not mistake.lines.isdisjoint(lines)


@each_row("mistake", [one for folder in SETS for one in load_mistakes(folder)], ids=name_of, every=4)
def test_mistakes(mistake: Mistake) -> None:
    findings = report(mistake.file)
    is_found = any(is_at(finding, mistake) for finding in findings)
    if mistake.not_found:
        assert not is_found, "it is found now: remove not_found"
    else:
        assert is_found, [(one["rule"], one["line"], one["message"]) for one in findings]


@each_row("file", [one["file"] for folder in SETS for one in load(folder, "clean")], ids=name_of, every=4)
def test_clean_jobs(file: Path) -> None:
    assert [(one["rule"], one["line"], one["message"]) for one in report(file)] == []


@pytest.mark.parametrize("folder", SETS, ids=lambda folder: folder.name)
def test_few_mistakes_are_not_found(folder: Path) -> None:
    mistakes = load_mistakes(folder)
    not_found = [one for one in mistakes if one.not_found]
    assert len(not_found) <= MOST_NOT_FOUND * len(mistakes)


@pytest.mark.parametrize("folder", SETS, ids=lambda folder: folder.name)
def test_each_job_is_judged_once(folder: Path) -> None:
    for name in ("mistakes", "clean"):
        judged = [entry["file"] for entry in load(folder, name)]
        assert sorted(judged) == sorted((folder / name).glob("*.yaml"))


FIGURES = {
    "sixth": ("73 of its 93", 90, 91, 42),
    "seventh": ("53 of its 73", 73, 73, 42),
    "eighth": ("60 of its 72", 72, 72, 44),
    "ninth": ("72 of its 89", 89, 89, 43),
    "tenth": ("98 of its 130", 127, 130, 52),
    "eleventh": ("63 of its 76", 76, 76, 46),
    "twelfth": ("74 of its 91", 88, 91, 45),
    "thirteenth": ("64 of its 82", 80, 82, 43),
}


@pytest.mark.parametrize("name", FIGURES)
def test_the_figures_of_a_set(name: str) -> None:
    blind, found, mistakes, clean = FIGURES[name]
    judged = load_mistakes(AUDIT / name)
    counted = len([one for one in judged if not one.not_found]), len(judged), len(load(AUDIT / name, "clean"))
    assert counted == (found, mistakes, clean)
    about = (AUDIT / "README.md").read_text("utf-8").partition(f"\n`{name}` is by")[2].partition("\n\n`")[0]
    assert f"{blind} mistakes" in " ".join(about.split())
    assert f"it finds {found} of {mistakes}." in " ".join(about.split())


def test_the_first_set_is_there() -> None:
    assert "first" in [folder.name for folder in SETS]
