"""Environments, variants and rendered files on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.command import ENVIRONMENTS, JOB, PROFILE, podplan


def test_render_needs_an_environment_where_there_are_some(folder: Path) -> None:
    (folder / "job.yaml").write_text(ENVIRONMENTS)
    run = podplan("render", "job.yaml", cwd=folder)
    assert run.code == 2
    assert "has environments; say which: -e dev or -e prod\n" in run.err
    rendered = podplan("render", "-e", "prod", "job.yaml", cwd=folder)
    assert rendered.code == 0
    assert rendered.out.startswith("---\n# podplan: rendered from job.yaml -e prod\n")
    assert "replicas: 4" in rendered.out


def test_two_results_with_one_name_are_exit_2(folder: Path) -> None:
    (folder / "a.yaml").write_text(PROFILE)
    (folder / "b.yaml").write_text(PROFILE)
    run = podplan("render", ".", cwd=folder)
    assert (run.code, run.out) == (2, "")
    assert "two results are both PyTorchTrainingJob resnet: from a.yaml and from b.yaml" in run.err


def test_rendered_files_are_compared_with_what_their_source_renders(folder: Path) -> None:
    (folder / "job.yaml").write_text(ENVIRONMENTS)
    (folder / ".git").mkdir()
    assert podplan("render", "-e", "prod", "-o", "out", "job.yaml", cwd=folder).code == 0
    rendered = folder / "out" / "pytorchtrainingjob-resnet.yaml"
    run = podplan("check", "--format", "json", "out", "job.yaml", cwd=folder)
    summary = json.loads(run.out)["summary"]
    assert (run.code, summary["objects"]) == (0, 3), (
        "as written, dev and prod; the rendered file is no fourth"
    )
    rendered.write_text(rendered.read_text().replace("replicas: 4", "replicas: 5"))
    run = podplan("check", "--format", "concise", "out", cwd=folder)
    assert run.code == 1
    assert "resnet.yaml:9:15: error GIT001 job.yaml renders something else now" in run.out
    (folder / "job.yaml").unlink()
    run = podplan("check", "--format", "concise", "out", cwd=folder)
    assert "job.yaml, which this was rendered from, is not there" in run.out


BROKEN_ENVIRONMENTS = (
    PROFILE
    + """\
  environments:
    dev: {namespace: dev, replicsa: 3}
    prod: {namespace: prod, roles: [{name: nope, replicas: 2}]}
    stage: {namespace: stage}
"""
)


@pytest.mark.parametrize("command", ["render", "lower"])
@pytest.mark.parametrize(
    ("profile", "flags"),
    [
        (BROKEN_ENVIRONMENTS, ("-e", "all")),
        (BROKEN_ENVIRONMENTS, ("-e", "prod")),
        (ENVIRONMENTS + "  extends: [nowhere.yaml]\n", ("-e", "dev")),
        (ENVIRONMENTS + "  params: {lr: {type: number}}\n", ("-e", "all")),
    ],
)
def test_a_variant_that_fails_is_never_left_out(
    folder: Path, command: str, profile: str, flags: tuple[str, ...]
) -> None:
    (folder / "a.yaml").write_text(PROFILE.replace("resnet", "fine"))
    (folder / "b.yaml").write_text(profile)
    run = podplan(command, "a.yaml", "b.yaml", *flags, cwd=folder)
    assert run.code == 1
    assert "b.yaml:" in run.err
    if command == "render":
        assert run.out == ""
    else:
        names = {one["metadata"]["name"].partition("-")[0] for one in yaml.safe_load_all(run.out)}
        assert names == {"fine"}
        assert run.err.endswith("not lowered, because of the findings above: JobProfile/resnet of b.yaml\n")


def test_the_profile_as_written_is_no_second_result(folder: Path) -> None:
    (folder / "c.yaml").write_text(PROFILE + "  environments: {dev: {namespace: dev}, prod: {}}\n")
    run = podplan("render", "-e", "all", "c.yaml", cwd=folder)
    assert (run.code, run.out.count("kind: PyTorchTrainingJob")) == (0, 2)


def test_a_profile_without_environments_is_taken_as_written(folder: Path) -> None:
    (folder / "p.yaml").write_text(PROFILE)
    assert podplan("render", "-e", "dev", "p.yaml", cwd=folder).code == 0
    assert podplan("check", "-e", "dev", "p.yaml", cwd=folder).code == 0


def test_a_flag_that_fits_nothing_is_a_wrong_request(folder: Path) -> None:
    (folder / "p.yaml").write_text(ENVIRONMENTS)
    for command in ("check", "render", "lower"):
        run = podplan(command, "p.yaml", "-e", "nope", cwd=folder)
        assert (run.code, run.out) == (2, "")
        assert 'there is no environment "nope"; it has dev, prod\n' in run.err
        assert podplan(command, "p.yaml", "-e", "dev", "--set", "nope=9", cwd=folder).code == 2


def test_a_fault_of_one_environment_is_not_one_of_all(folder: Path) -> None:
    (folder / "p.yaml").write_text(BROKEN_ENVIRONMENTS)
    run = podplan("check", "p.yaml", cwd=folder)
    assert run.code == 1
    assert "instances" not in run.out
    assert "1 × CR: the profile has errors" in run.out


def test_a_paused_job_is_checked_as_it_goes_on(folder: Path) -> None:
    pause = "spec:\n  runMode: {pause: {enabled: true}}\n  replicaSpecs"
    paused = JOB.replace("spec:\n  replicaSpecs", pause)
    (folder / "job.yaml").write_text(paused.replace("memory: 1Gi}", "memory: 1Gi}, requests: {cpu: 2}"))
    run = podplan("check", "--format", "concise", "job.yaml", cwd=folder)
    assert "request of cpu must be at most its limit 1, not 2" in run.out


def test_rendered_files_alone_are_checked_themselves(folder: Path) -> None:
    (folder / "p.yaml").write_text(PROFILE + "  resources: {limits: {cpu: 1}, requests: {cpu: 2}}\n")
    (folder / ".git").mkdir()
    assert podplan("render", "--fail-on", "never", "-o", "out", "p.yaml", cwd=folder).code == 0
    for paths in (("out",), ("p.yaml",), ("p.yaml", "out")):
        run = podplan("check", "--format", "concise", "--select", "SCHEMA", *paths, cwd=folder)
        assert run.code == 1
        assert run.out.count("request of cpu must be at most its limit 1, not 2") == 1


def test_a_finding_about_a_value_from_a_flag_is_at_the_line_that_takes_it(tmp_path: Path) -> None:
    profile = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: a}
spec:
  job: PyTorchTrainingJob
  image: registry.example.com/train:1
  params: {nodes: {type: string, default: x}}
  run: {command: [torchrun, "--nnodes=${{ params.nodes }}", train.py]}
  replicas: 2
"""
    (tmp_path / "p.yaml").write_text(profile)
    run = podplan("check", "--format", "concise", "--set", "params.nodes=many", "p.yaml", cwd=tmp_path)
    assert run.code == 1
    assert "p.yaml:8:29: error TORCH001 " in run.out
    assert '--nnodes must be N or MIN:MAX, not "many"' in run.out
