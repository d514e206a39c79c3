"""podplan graph on the command line: one job of several, formats, and when nothing is drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.drawing.jobs import PICTURES
from tests.golden_cases import FIXTURES, podplan


@pytest.fixture
def several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "cr.yaml").write_text((PICTURES / "several_jobs" / "cr.yaml").read_text())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("several")
def test_one_job_of_several() -> None:
    done = podplan("graph", "cr.yaml", "--job", "evaluate")
    assert done.code == 0
    assert "evaluate-judge-0" in done.out
    assert "pretrain" not in done.out


@pytest.mark.usefixtures("several")
def test_a_job_that_is_not_there() -> None:
    done = podplan("graph", "cr.yaml", "--job", "evalute")
    assert done.code == 2
    assert 'there is no job "evalute"; did you mean "evaluate"?' in done.err


def test_formats(several: Path) -> None:
    assert podplan("graph", "cr.yaml").out.startswith("<svg ")
    assert podplan("graph", "cr.yaml", "--format", "mermaid").out.startswith("flowchart LR\n")
    assert podplan("graph", "cr.yaml", "-o", "a.mmd").out == ""
    assert (several / "a.mmd").read_text().startswith("flowchart LR\n")
    podplan("graph", "cr.yaml", "-o", "b.mmd", "--format", "svg")
    assert (several / "b.mmd").read_text().startswith("<svg ")


@pytest.mark.parametrize("name", ["a.png", "a.PDF", "a.dot"])
def test_other_formats_are_refused(several: Path, name: str) -> None:
    done = podplan("graph", "cr.yaml", "-o", name)
    assert (done.code, done.out) == (2, "")
    assert "writes SVG (.svg) or Mermaid (.mmd), and no other format" in done.err
    assert not (several / name).exists()
    assert podplan("graph", "cr.yaml", "-o", name, "--format", "svg").code == 2


def test_jobs_with_errors_are_named_and_the_others_drawn(several: Path) -> None:
    (several / "bad.yaml").write_text(
        (several / "cr.yaml").read_text().replace("replicas: 5", "replicas: five")
    )
    done = podplan("graph", "bad.yaml", "-o", "bad.svg")
    assert done.code == 1
    assert "SCHEMA" in done.err
    assert "not drawn, because of the findings above: " in done.err
    assert "evaluate-judge-0" in (several / "bad.svg").read_text()
    failed = podplan("graph", "bad.yaml", "-o", "none.svg", "--job", "pretrain")
    assert failed.code == 1
    assert not (several / "none.svg").exists()


def test_nothing_to_draw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other.yaml").write_text("a: 1\n")
    monkeypatch.chdir(tmp_path)
    done = podplan("graph", "other.yaml")
    assert (done.code, done.out) == (3, "")
    assert "nothing to draw" in done.err


def test_environments_have_to_be_chosen() -> None:
    done = podplan("graph", str(FIXTURES / "gallery" / "jobs" / "resnet.yaml"))
    assert done.code == 2
    assert "has environments; say which: -e " in done.err
