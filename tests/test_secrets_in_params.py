"""Params that are named like secrets, and variables whose value is no text: neither is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import podplan

PROFILE = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: train}
spec:
  job: PyTorchTrainingJob
  image: a:1
  resources: {limits: {cpu: 1, memory: 1Gi}}
  run: {exec: [bash, -c, "torchrun --nproc_per_node=${{ params.password }} x.py"]}
"""
PARAM = "  params: {password: {type: string, default: HUNTER}}\n"
BASE = "apiVersion: podplan/v1\nkind: JobProfileBase\nspec:\n"


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        (PARAM, "TORCH001"),
        (PARAM.replace("string,", "string, pattern: ^x,"), "PROF006"),
        (PARAM.replace("string", "integer"), "PROF006"),
        (PARAM.replace("string,", "string, minLength: 100,"), "PROF006"),
        (PARAM + "  environments: {dev: {values: {password: HUNTING}}}\n", "TORCH001"),
        (PARAM.replace("HUNTER", "[HUNTER, {a: HUNTING}]"), "PROF006"),
        ("  env: {DB_PASSWORD: {valu: HUNTER}}\n" + PARAM, "PROF001"),
        ("  env: {DB_PASSWORD: [HUNTER]}\n" + PARAM, "PROF001"),
        ("  env: {DB_PASSWORD: {valu: {more: [HUNTING]}}}\n" + PARAM, "PROF001"),
    ],
)
@pytest.mark.parametrize("format_", ["full", "json", "sarif"])
def test_a_value_is_not_shown(folder: Path, more: str, rule: str, format_: str) -> None:
    (folder / "job.yaml").write_text(PROFILE + more)
    run = podplan("check", "--format", format_, "job.yaml", cwd=folder)
    assert rule in run.out
    assert "HUNT" not in run.out + run.err


@pytest.mark.parametrize(
    ("base", "said"),
    [(PARAM, 'not "***"'), (PARAM.replace("string,", "string, pattern: ^x,"), 'is "***", and must match')],
    ids=("used", "refused"),
)
def test_the_param_of_a_base_is_not_shown(folder: Path, base: str, said: str) -> None:
    (folder / "base.yaml").write_text(BASE + base)
    (folder / "job.yaml").write_text(PROFILE + "  extends: [base.yaml]\n")
    run = podplan("check", ".", cwd=folder)
    assert said in run.out
    assert "HUNT" not in run.out + run.err


@pytest.mark.parametrize(
    ("sets", "code"),
    [
        (["env.DB_PASSWORD=HUNTER", "env.DB_PASSWORD.x=1"], 2),
        (["env.DB_PASSWORD=HUNTER", "env.DB_PASSWORD=HUNTING"], 2),
        (["params.password=HUNTER"], 1),
        (["params.password=HUNTER" + 500 * "x"], 1),
        (["params.password=7"], 1),
        (["env.API_KEY=HUNTER", "params.password=HUNTING"], 1),
    ],
    ids=str,
)
@pytest.mark.parametrize("command", ["check", "render"])
def test_what_a_flag_gives_is_not_shown(folder: Path, sets: list[str], code: int, command: str) -> None:
    """Of the number 7 nothing is hidden: it is refused as too small."""
    params = PARAM.replace("string, default: HUNTER", "string, minLength: 900")
    (folder / "job.yaml").write_text(PROFILE + params + "  env: {DB_PASSWORD: {secret: a/b}}\n")
    flags = [part for one in sets for part in ("--set", one)]
    run = podplan(command, *flags, "job.yaml", cwd=folder)
    assert run.code == code, run.out + run.err
    assert "HUNT" not in run.out + run.err
    assert ("***" in run.out + run.err) == ("password=7" not in sets[0])


@pytest.mark.parametrize("format_", ["text", "json"])
@pytest.mark.parametrize(
    ("path", "sets"),
    [
        ("spec.replicaSpecs[worker].template.spec.containers[0].command", []),
        ("spec.replicaSpecs[worker].template.spec.containers[0]", []),
        ("spec.replicaSpecs[worker].template.spec.containers[0].env[DB_PASSWORD].value", []),
        (
            "spec.replicaSpecs[worker].template.spec.containers[0].env[DB_PASSWORD].value",
            ["--set", "env.DB_PASSWORD=HUNTED"],
        ),
    ],
)
def test_why_tells_where_it_comes_from_and_not_what_it_is(
    folder: Path, path: str, sets: list[str], format_: str
) -> None:
    (folder / "job.yaml").write_text(PROFILE + PARAM + "  env: {DB_PASSWORD: HUNTING}\n")
    run = podplan("why", *sets, "--format", format_, "job.yaml", path, cwd=folder)
    assert run.code == 0, run.out + run.err
    assert "***" in run.out
    assert "HUNT" not in run.out + run.err
