"""podplan why: variables, paths without indexes, and answers of several variants."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import podplan

TORCHRUN = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: bert}
spec:
  job: PyTorchTrainingJob
  image: registry.example.com/bert@sha256:0000000000000000000000000000000000000000000000000000000000000000
  run: [train.py]
  launcher: torchrun
  processes: 8
  replicas: 4
"""
MATRIX = """\
  matrix: {axes: {seed: [1, 2, 3]}}
"""
GENERIC = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: GenericJob
metadata: {name: nodes}
spec:
  service:
    ports:
    - {name: http, port: 8080}
  replicaSpecs:
  - type: worker
    replicas: 3
    template:
      spec:
        containers:
        - name: main
          image: registry.example.com/node:1.0
          command: [node]
          args: ["--port=$(service.port[http])", "--of=$(replicas[worker])"]
          env: [{name: RANK, value: $(rank)}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "job.yaml").write_text(TORCHRUN)
    (tmp_path / "nodes.yaml").write_text(GENERIC)
    return tmp_path


def why(folder: Path, *arguments: str) -> str:
    run = podplan("why", *arguments, cwd=folder)
    assert run.code == 0, run.err
    return run.out


@pytest.mark.parametrize(
    ("name", "values", "formula"),
    [
        ("RANK", "0 to 31", "GROUP_RANK × LOCAL_WORLD_SIZE + LOCAL_RANK"),
        ("LOCAL_RANK", "0 to 7", "number of the process on its node"),
        ("WORLD_SIZE", "32", "nodes × processes per node"),
        ("GROUP_RANK", "0 to 3", "--node-rank under static"),
        ("MASTER_PORT", "known only when the job runs", "--master-port under static"),
    ],
)
def test_a_variable_that_torchrun_sets(folder: Path, name: str, values: str, formula: str) -> None:
    lines = why(folder, "job.yaml", name).splitlines()
    assert lines[0].endswith(f"  {name}, set by torchrun in each process that it starts")
    assert lines[1] == f"    {values}"
    assert lines[2].startswith(f"    = {formula}")
    assert any("job.yaml:9:14  spec.processes" in line for line in lines)
    assert any("job.yaml:10:13  spec.replicas" in line for line in lines)


def test_a_variable_that_a_launcher_sets_as_json(folder: Path) -> None:
    page = json.loads(why(folder, "job.yaml", "RANK", "--format", "json"))
    variable = page["processVariable"]
    assert (page["format"], page["steps"]) == (1, [])
    assert (variable["values"], variable["nodes"], variable["processesPerNode"]) == ("0 to 31", 4, 8)
    assert {place["path"] for place in variable["also"]} == {"/spec/replicas", "/spec/processes"}


def test_a_variable_of_the_container_that_the_launcher_overrides(folder: Path) -> None:
    (folder / "job.yaml").write_text(TORCHRUN + "  env: {RANK: '7'}\n")
    said = why(folder, "job.yaml", "RANK")
    assert 'overrides job.yaml:11:15  spec.env.RANK: {"name": "RANK", "value": "7"}' in said
    field = why(folder, "job.yaml", "spec.replicaSpecs.template.spec.containers.env[RANK].value")
    assert '    "7"\n' in field
    assert "RANK, set by torchrun in each process that it starts" in field


def test_a_variable_of_containers_in_all_replicas(folder: Path) -> None:
    assert why(folder, "nodes.yaml", "RANK").splitlines()[:2] == [
        "Pod/nodes-worker-{0..2}  spec.containers[main].env[RANK].value",
        '    "{0..2}"',
    ]


@pytest.mark.parametrize(
    "path",
    [
        "Pod/nodes-worker-1:spec.containers[main].env[RANK].value",
        "pod/nodes-worker-1:spec.containers.env[RANK].value",
        "pod/nodes-worker-1:env[RANK]",
        "pod/nodes-worker-1:RANK",
    ],
)
def test_spellings_of_one_variable_of_one_pod(folder: Path, path: str) -> None:
    said = why(folder, "nodes.yaml", path)
    assert said.startswith('Pod/nodes-worker-1  spec.containers[main].env[RANK].value\n    "1"\n')


def test_a_path_without_an_index_that_several_entries_fit(folder: Path) -> None:
    (folder / "nodes.yaml").write_text(
        GENERIC + "        - {name: sidecar, image: registry.example.com/log:1.0}\n"
    )
    run = podplan("why", "nodes.yaml", "pod/nodes-worker-1:spec.containers.image", cwd=folder)
    assert run.code == 2
    assert '2 entries of spec.containers have "image"; name one: [main], [sidecar]' in run.err
    assert '    ["node"]\n' in why(folder, "nodes.yaml", "pod/nodes-worker-1:spec.containers.command")


@pytest.mark.parametrize(
    ("index", "line"),
    [(0, "7:26  spec.service.ports[http].port"), (1, "10:15  spec.replicaSpecs[worker].replicas")],
)
def test_a_substituted_value_names_the_line_that_it_is_read_from(folder: Path, index: int, line: str) -> None:
    said = why(folder, "nodes.yaml", f"pod/nodes-worker-0:spec.containers.args[{index}]")
    assert f"    worked out with nodes.yaml:{line}\n" in said


def test_variants_with_one_answer_are_one_block(folder: Path) -> None:
    (folder / "job.yaml").write_text(TORCHRUN + MATRIX)
    said = why(folder, "job.yaml", "spec.torchrunConfig.procPerNode")
    assert said.count("from job.yaml") == 1
    first = said.splitlines()[0]
    assert first.startswith("PyTorchTrainingJob/bert-seed-1, PyTorchTrainingJob/bert-seed-2, ")
    assert first.endswith("  spec.torchrunConfig.procPerNode  (3 variants)")


def test_variants_with_answers_of_their_own_are_named(folder: Path) -> None:
    (folder / "job.yaml").write_text(TORCHRUN + MATRIX)
    blocks = why(folder, "job.yaml", "metadata.name").split("\n\n")
    assert [block.splitlines()[0].rpartition("  ")[2] for block in blocks] == [
        "(variant seed-1)",
        "(variant seed-2)",
        "(variant seed-3)",
    ]
    page = json.loads(why(folder, "job.yaml", "metadata.name", "--format", "json"))
    assert [page["steps"][0]["value"], *(one["steps"][0]["value"] for one in page["others"])] == [
        "bert-seed-1",
        "bert-seed-2",
        "bert-seed-3",
    ]


def test_many_different_answers_are_counted(folder: Path) -> None:
    (folder / "job.yaml").write_text(
        TORCHRUN + "  matrix: {axes: {seed: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}, maxInstances: 12}\n"
    )
    assert why(folder, "job.yaml", "metadata.name").endswith(
        "\n… and 2 more; name an object or an environment to see fewer\n"
    )


def test_one_instance_of_a_matrix(folder: Path) -> None:
    (folder / "job.yaml").write_text(TORCHRUN + MATRIX)
    one = why(folder, "-i", "seed-2", "job.yaml", "metadata.name")
    assert '"bert-seed-2"' in one
    assert "bert-seed-1" not in one
    unknown = podplan("why", "--instance", "seed-9", "job.yaml", "RANK", cwd=folder)
    assert (unknown.code, unknown.err) == (
        2,
        'podplan: job.yaml has no instance "seed-9"; there are seed-1, seed-2, seed-3\n',
    )
    no_matrix = podplan("why", "-i", "seed-9", "nodes.yaml", "RANK", cwd=folder)
    assert no_matrix.err.endswith("there are none, since it has no matrix\n")


def test_a_variable_that_nobody_sets(folder: Path) -> None:
    run = podplan("why", "job.yaml", "RNAK", cwd=folder)
    assert run.code == 2
    assert (
        run.err
        == 'podplan: job.yaml: RNAK is no field of the CR and no variable of its Pods; did you mean "RANK"?\n'
    )
