"""lower -o and graph of variants: environments that share names, and one picture for a matrix."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import podplan

PROFILE = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: bert}
spec:
  job: GenericJob
  image: registry.example.com/bert:1.0
  run: [train.py]
"""
ENVIRONMENTS = "  environments: {dev: {replicas: 1}, prod: {replicas: 2}}\n"
MATRIX = """\
  env: {SEED: "${{ matrix.seed }}"}
  matrix: {axes: {seed: [1, 2, 3]}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "bert.yaml").write_text(PROFILE + ENVIRONMENTS)
    return tmp_path


def test_lowered_objects_in_a_file_per_job_and_environment(folder: Path) -> None:
    said = podplan("lower", "-e", "all", "bert.yaml", "-o", "out", cwd=folder)
    assert (said.code, said.out, said.err) == (0, "", "podplan: out: 2 files, 2 changed\n")
    for environment in ("dev", "prod"):
        text = podplan("lower", "-e", environment, "bert.yaml", cwd=folder).out
        assert (folder / "out" / environment / "bert.yaml").read_text() == text
    again = podplan("lower", "-e", "all", "bert.yaml", "-o", "out", cwd=folder)
    assert again.err == "podplan: out: 2 files, 0 changed\n"


def test_jobs_with_one_name_are_in_files_of_their_own(folder: Path) -> None:
    for namespace in ("a", "b"):
        text = PROFILE.replace("{name: bert}", f"{{name: bert, namespace: {namespace}}}")
        (folder / f"{namespace}.yaml").write_text(text)
    assert podplan("lower", "a.yaml", "b.yaml", "-o", "out", cwd=folder).code == 0
    assert (folder / "out" / "bert.yaml").exists()
    assert (folder / "out" / "b" / "genericjob" / "bert.yaml").exists()


@pytest.mark.parametrize("flag", ["--compare", "--from"])
def test_an_output_folder_is_not_for_comparisons(folder: Path, flag: str) -> None:
    assert podplan("lower", "-o", "out", flag, "x.yaml", cwd=folder).code == 2


def test_nothing_is_written_if_a_job_has_errors(folder: Path) -> None:
    (folder / "wrong.yaml").write_text(PROFILE.replace("run: [train.py]", "replicas: many"))
    assert podplan("lower", "wrong.yaml", "-o", "out", cwd=folder).code == 1
    assert not (folder / "out").exists()


def test_a_matrix_is_one_picture(folder: Path) -> None:
    (folder / "bert.yaml").write_text(PROFILE + MATRIX)
    drawn = podplan("graph", "--format", "mermaid", "bert.yaml", cwd=folder).out
    assert drawn.count("subgraph j") == 1
    assert "× 3: seed-1 … seed-3" in drawn
    assert "× 3: seed-1 … seed-3" in podplan("graph", "bert.yaml", cwd=folder).out


def test_variants_that_differ_are_pictures_of_their_own(folder: Path) -> None:
    drawn = podplan("graph", "-e", "dev", "-e", "prod", "--format", "mermaid", "bert.yaml", cwd=folder).out
    assert drawn.count("subgraph j") == 2
    (folder / "two.yaml").write_text(PROFILE.replace("bert", "two"))
    (folder / "three.yaml").write_text(PROFILE.replace("bert", "three"))
    drawn = podplan("graph", "--format", "mermaid", "two.yaml", "three.yaml", cwd=folder).out
    assert drawn.count("subgraph j") == 2


@pytest.mark.parametrize("arguments", [(), ("--format", "svg"), ("--format", "mermaid")])
def test_a_picture_is_never_of_another_format_than_its_name(folder: Path, arguments: tuple[str, ...]) -> None:
    said = podplan("graph", "-e", "dev", *arguments, "bert.yaml", "-o", "x.png", cwd=folder)
    assert said.code == 2
    assert not (folder / "x.png").exists()
