"""podplan migrate: what it writes and says of each case, that it is done then, and what it leaves alone."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from podplan.pipeline import PipelineSettings
from podplan.tools.migrator import migrate_source
from podplan.tools.migrator.dialects import find_dialect_conversion
from podplan.tools.migrator.verification import find_regressions
from podplan.yaml import parse_yaml
from podplan.yaml.comments import iter_comments
from tests.command import BAD_JOB, JOB, podplan

CASES = sorted((Path(__file__).parents[1] / "fixtures" / "migrate").iterdir())
DROPPED = {"profile-dialect-with-pod": Counter({"# for now": 1})}


def texts(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case: Path, tmp_path: Path) -> None:
    shutil.copytree(case / "before", tmp_path / "jobs")
    run = podplan("migrate", "--isolated", ".", cwd=tmp_path / "jobs")
    assert f"{run.out}{run.err}exit {run.code}\n" == (case / "said.txt").read_text()
    assert texts(tmp_path / "jobs") == texts(case / "after")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nothing_is_left_to_do(case: Path) -> None:
    for path in (case / "after").iterdir():
        source = parse_yaml(path.read_bytes(), path.name)
        assert migrate_source(source).done_steps == ()
        assert migrate_source(source).text == source.text


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_comments_stay(case: Path) -> None:
    lost: Counter[str] = Counter()
    for path in (case / "before").iterdir():
        before, after = (
            Counter(one.text for one in iter_comments(source.text, source.documents))
            for source in (
                parse_yaml(path.read_bytes(), ""),
                parse_yaml((case / "after" / path.name).read_bytes(), ""),
            )
        )
        assert not after - before
        lost += before - after
    assert lost == DROPPED.get(case.name, Counter())


@pytest.mark.parametrize("flag", ["--check", "--diff"])
def test_only_told(flag: str, tmp_path: Path) -> None:
    shutil.copytree(CASES[0] / "before", tmp_path / "jobs")
    run = podplan("migrate", flag, ".", cwd=tmp_path / "jobs")
    assert run.code == 1
    assert "1 file would be migrated" in run.err
    assert texts(tmp_path / "jobs") == texts(CASES[0] / "before")
    assert ("+++ job.yaml" in run.out) == (flag == "--diff")


def test_what_is_up_to_date(folder: Path) -> None:
    run = podplan("migrate", folder)
    assert (run.code, run.out, run.err) == (0, "", "1 file up to date\n")


def test_no_job_here(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: b\n")
    assert podplan("migrate", tmp_path).code == 3


def test_standard_input_is_refused() -> None:
    assert podplan("migrate", "-").code == 2


def test_a_broken_file_is_left_alone(tmp_path: Path) -> None:
    text = JOB + "  a: [\n"
    (tmp_path / "a.yaml").write_text(text)
    run = podplan("migrate", tmp_path)
    assert run.code == 1
    assert "YAML001" in run.err
    assert (tmp_path / "a.yaml").read_text() == text


def test_a_file_that_would_check_worse(folder: Path) -> None:
    path = str(folder / "job.yaml")
    found = find_regressions([path], PipelineSettings(), (), {path: BAD_JOB})
    assert list(found) == [path]
    assert found[path].startswith("it would bring SCHEMA")
    assert find_regressions([path], PipelineSettings(), (), {path: JOB + "# a comment\n"}) == {}


def test_more_errors_are_not_worse_where_the_form_is_mended(folder: Path) -> None:
    path = folder / "job.yaml"
    path.write_text(BAD_JOB)
    assert (
        find_regressions(
            [str(path)], PipelineSettings(), (), {str(path): JOB.replace("replicas: 3", "replicas: 0")}
        )
        == {}
    )


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("{launcher: {image: a, command: [b]}}", "launcher.command has no place"),
        ("{worker: {replicas: 1, shm: 1}}", "worker.shm has no place"),
        ("{worker: &a {replicas: 1}}", "has an anchor"),
        ("{worker: {replicas: 1}, replicaSpecs: []}", "replicaSpecs of the other dialect"),
    ],
)
def test_a_dialect_that_stays(spec: str, why: str) -> None:
    text = f"apiVersion: batch.tensorstack.dev/v1beta1\nkind: ColossalAIJob\nspec: {spec}\n"
    found = migrate_source(parse_yaml(text.encode(), ""))
    assert found.text == text
    assert why in found.refused_steps[0].reason


MPI_JOB = """apiVersion: batch.tensorstack.dev/v1beta1
kind: MPIJob
metadata: {name: a}
spec: """


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("{mca: {pml: ob1}, replicaSpecs: [{type: worker}]}", "replicaSpecs of the other dialect"),
        ("{worker: {replicas: 1, slots: 1}}", "worker.slots has no place"),
        ("{worker: {processesPerWorker: 1, extraMPIArgs: [a]}}", "belong to two dialects"),
        ("{worker: {template: {spec: {containers: [{image: a}]}}}}", "has no name"),
        (
            "{worker: {template: {spec: {containers: [{name: mpi-worker}, {name: worker}]}}}}",
            "another container is called worker",
        ),
        (
            "{worker: {template: {spec: {containers: [{name: mpi-worker, ports: &p []}]}}}}",
            "has an anchor",
        ),
        ("{<<: {worker: {replicas: 1}}}", "a merge key"),
    ],
)
def test_an_mpi_job_that_stays(spec: str, why: str) -> None:
    text = f"{MPI_JOB}{spec}\n"
    found = migrate_source(parse_yaml(text.encode(), ""))
    assert found.text == text
    assert why in found.refused_steps[0].reason


def test_a_job_without_a_dialect_to_replace() -> None:
    assert find_dialect_conversion({"kind": "DeepSpeedJob", "spec": {"worker": {}}}) is None
