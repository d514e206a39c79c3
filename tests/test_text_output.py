"""What text output lists: mistakes, and infos on request; the formats for programs have everything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import podplan
from tests.test_documents_of_other_tools import JOB, write

NOT_CHECKED = "not checked: 13 × rules that need an inventory (podplan rules --needs inventory)"
SUMMARY = f"2 warnings and 2 infos in 1 file (1 object, 2 lowered); {NOT_CHECKED}"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    write(tmp_path, {"job.yaml": JOB.replace("train:1", "train:latest")})
    return tmp_path


def lines(top: Path, *flags: str) -> list[str]:
    return podplan("check", "--format", "concise", *flags, cwd=top).out.splitlines()


def severities(top: Path, *flags: str) -> list[str]:
    return [line.split()[1] for line in lines(top, "-q", *flags)]


def test_infos_are_counted_and_listed_on_request(top: Path) -> None:
    assert severities(top) == ["warning"] * 2
    assert severities(top, "-v") == severities(top, "--show", "info") == ["info", *["warning"] * 2, "info"]
    assert severities(top, "--show", "error") == []
    assert lines(top)[-1] == f"{SUMMARY}; -v lists the 2 infos"
    assert lines(top, "--show", "error")[-1] == f"{SUMMARY}; -v lists the 4 findings"
    assert lines(top, "-v")[-1] == SUMMARY


def test_many_kinds_that_are_not_checked_are_one_number(top: Path) -> None:
    kinds = "".join(
        f"---\napiVersion: example.com/v1\nkind: Kind{number}\nmetadata: {{name: a}}\n" for number in range(6)
    )
    write(top, {"others.yaml": kinds * 2, "one.yaml": "apiVersion: other.io/v1\nkind: One\n"})
    folded = "not checked: 13 × object of 7 other kinds (-v lists them), 13 × rules"
    assert folded in lines(top)[-1]
    assert "2 × Kind3 (example.com/v1), 2 × Kind4" in lines(top, "-v")[-1]
    assert (
        "not checked: 13 × object of 7 other kinds, " in podplan("check", "--format", "markdown", cwd=top).out
    )
    found = json.loads(podplan("check", "--format", "json", cwd=top).out)
    assert found["summary"]["notChecked"]["Kind3 (example.com/v1)"] == 2


def test_what_makes_the_run_fail_is_listed(top: Path) -> None:
    assert severities(top, "--fail-on", "info") == ["info", *["warning"] * 2, "info"]


def test_min_severity_is_for_every_format_and_not_for_the_exit_code(top: Path) -> None:
    assert severities(top, "-v", "--min-severity", "warning") == ["warning"] * 2
    flags = ("--min-severity", "error", "--fail-on", "warning", "--format", "json")
    run = podplan("check", *flags, cwd=top)
    assert (run.code, json.loads(run.out)["findings"], json.loads(run.out)["summary"]["leftOut"]) == (
        1,
        [],
        4,
    )


def test_formats_for_programs_have_infos(top: Path) -> None:
    run = podplan("check", "--format", "json", cwd=top)
    assert [one["severity"] for one in json.loads(run.out)["findings"]].count("info") == 2
    assert "LIFE010" in podplan("check", "--format", "sarif", cwd=top).out


def test_many_jobs_without_mistakes_are_one_line(tmp_path: Path) -> None:
    clean = JOB.replace("--nproc_per_node=4", "--nproc_per_node=8").replace(
        "            resources:",
        "            volumeMounts: [{name: shm, mountPath: /dev/shm}]\n            resources:",
    )
    clean += "          volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 8Gi}}]\n"
    write(tmp_path, {f"{n}.yaml": clean.replace("name: train}", f"name: train-{n}}}") for n in range(100)})
    run = podplan("check", cwd=tmp_path)
    assert run.out.count("\n") == 1
    assert run.out.startswith("200 infos in 100 files (100 objects, 200 lowered)")


def test_findings_about_one_value_are_folded(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB.replace("containers:", "hostNetwork: true\n          containers:")})
    out = podplan("check", cwd=tmp_path).out
    assert out.count("hostNetwork: true") == 1
    assert "\n   = also: error[SEC005 host-port]: " in out
    assert [one for one in severities(tmp_path) if one == "error"] == ["error", "error"]


@pytest.mark.parametrize("command", ["check", "diff", "fmt", "migrate", "explain"])
def test_no_color(command: str, tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB})
    topic = ["SEC001"] if command == "explain" else ["--base-tree", ".", "."] if command == "diff" else ["."]
    run = podplan(command, "--color", "always", "--no-color", *topic, cwd=tmp_path)
    assert "\x1b" not in run.out
    assert "Error" not in run.err


def test_exclude_adds_to_the_configuration(top: Path) -> None:
    write(top, {"podplan.toml": 'exclude = ["a*"]\n', "a.yaml": JOB, "b.yaml": JOB, "c/d.yaml": JOB})
    shown = [line.partition(":")[0] for line in lines(top, "-q", "--exclude", "b.yaml", "--exclude", "c")]
    assert set(shown) == {"job.yaml"}


COPIED = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train, namespace: nlp}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          containers:
          - {name: pytorch, image: "registry.example.com/train:latest"}
    Worker:
      replicas: 3
      template:
        spec:
          containers:
          - {name: pytorch, image: "registry.example.com/train:latest"}
"""


def list_blocks(folder: Path, text: str) -> list[str]:
    """The blocks of a rule, with each place that it names."""
    write(folder, {"job.yaml": text})
    out = podplan("check", "--select", "IMG002", cwd=folder).out
    return [block for block in out.split("\n\n") if "IMG002" in block]


def test_a_mistake_in_two_replica_types_is_one_block(tmp_path: Path) -> None:
    [block] = list_blocks(tmp_path, COPIED)
    assert "--> job.yaml:11:36\n" in block
    assert block.endswith("= also at job.yaml:17:36 (Pod/train-worker-{0..2})")
    assert "2 warnings in 1 file" in podplan("check", "--select", "IMG002", cwd=tmp_path).out
    assert (
        len(podplan("check", "--select", "IMG002", "--format", "concise", cwd=tmp_path).out.split("IMG002"))
        == 3
    )


def test_mistakes_with_different_values_are_two_blocks(tmp_path: Path) -> None:
    text = COPIED.replace('train:latest"}', 'train:1", resources: {limits: {memory: 16Gb}}}', 1)
    write(
        tmp_path,
        {"job.yaml": text.replace('train:latest"}', 'train:1", resources: {limits: {memory: 8Gb}}}')},
    )
    assert podplan("check", cwd=tmp_path).out.count("error[SCHEMA006") == 2
    write(
        tmp_path,
        {"job.yaml": text.replace('train:latest"}', 'train:1", resources: {limits: {memory: 16Gb}}}')},
    )
    assert podplan("check", cwd=tmp_path).out.count("error[SCHEMA006") == 1


def test_mistakes_in_two_objects_are_two_blocks(tmp_path: Path) -> None:
    other = COPIED.replace("name: train,", "name: other,")
    assert len(list_blocks(tmp_path, f"{COPIED}---\n{other}")) == 2


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--select", "IMG002", "--ignore", "IMG002"],
            "--select IMG002 has no effect: --ignore ignores IMG002",
        ),
        (
            ["--extend-select", "IMG", "--ignore", "IMG"],
            "--extend-select IMG has no effect: --ignore ignores IMG",
        ),
        (["--select", "IMG002", "--ignore", "IMG"], ""),
        (["--select", "IMG", "--ignore", "IMG002"], ""),
        (["--select", "YAML001", "--ignore", "YAML001"], ""),  # it cannot be turned off
    ],
)
def test_a_selection_that_is_ignored_is_named(tmp_path: Path, flags: list[str], message: str) -> None:
    write(tmp_path, {"job.yaml": COPIED})
    said = podplan("check", *flags, cwd=tmp_path).err.partition(", which")[0]
    assert said.removeprefix("podplan: ") == message


def test_the_configuration_that_ignores_a_selection_is_named(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": COPIED, "podplan.toml": 'ignore = ["IMG002"]\n'})
    run = podplan("check", "--select", "IMG002", cwd=tmp_path)
    assert run.err.startswith("podplan: --select IMG002 has no effect: podplan.toml:1 ignores IMG002, ")
    assert podplan("check", cwd=tmp_path).err == ""


def test_many_repetitions_are_counted(tmp_path: Path) -> None:
    containers = "".join(
        f'          - {{name: side-{number}, image: "a/log:1", imagePullPolicy: Sometimes}}\n'
        for number in range(9)
    )
    write(tmp_path, {"job.yaml": COPIED.replace("    Worker:\n", f"{containers}    Worker:\n")})
    out = podplan("check", "--select", "SCHEMA004", cwd=tmp_path).out
    assert out.count("error[SCHEMA004") == 1
    assert out.count("= also at job.yaml:") == 5
    assert "= also at 3 more places, which --format concise lists\n" in out
