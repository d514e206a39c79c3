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


@pytest.mark.parametrize(
    ("kind", "port_name", "counted", "from_port"),
    [
        ("PyTorchTrainingJob", "http", "WORLD_SIZE", ""),
        ("XGBoostTrainingJob", "xgboost-port", "WORLD_SIZE", "MASTER_PORT"),
        ("PyTorchJob", "pytorchjob-port", "WORLD_SIZE", "MASTER_PORT"),
        ("TFJob", "tfjob-port", "TF_CONFIG", "TF_CONFIG"),
        ("XGBoostJob", "xgboostjob-port", "WORLD_SIZE", "WORKER_PORT"),
        ("JAXJob", "jaxjob-port", "NUM_PROCESSES", "COORDINATOR_PORT"),
        ("PaddleJob", "master", "PADDLE_NNODES", "PADDLE_MASTER"),
    ],
)
def test_what_follows_from_replicas_and_ports_names_their_lines(
    tmp_path: Path, kind: str, port_name: str, counted: str, from_port: str
) -> None:
    profile = f"""\
apiVersion: podplan/v1
kind: JobProfile
metadata: {{name: train}}
spec:
  job: {kind}
  image: registry.example.com/train:1
  run: [train.py]
  replicas: 4
  ports: [{{name: {port_name}, port: 8080}}]
"""
    (tmp_path / "job.yaml").write_text(profile)
    assert "job.yaml:8:13  spec.replicas\n" in why(tmp_path, "job.yaml", counted)
    if from_port:
        assert f" spec.ports[{port_name}].port\n" in why(tmp_path, "job.yaml", from_port)


def test_variants_with_one_answer_are_one_block(folder: Path) -> None:
    (folder / "job.yaml").write_text(TORCHRUN + MATRIX)
    said = why(folder, "job.yaml", "spec.torchrunConfig.procPerNode")
    assert said.count("from job.yaml") == 1
    first = said.splitlines()[0]
    assert first.startswith("PyTorchTrainingJob/bert-seed-1, PyTorchTrainingJob/bert-seed-2, ")
    assert first.endswith("  spec.torchrunConfig.procPerNode  (3 variants)")


def test_instances_that_differ_in_the_names_of_their_crs_are_one_block(folder: Path) -> None:
    (folder / "job.yaml").write_text(f"{TORCHRUN}{MATRIX}  env: {{LOG: a}}\n")
    [block] = why(folder, "job.yaml", "LOG").split("\n\n")
    assert block.splitlines()[0].endswith("  (3 variants)")


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


def test_an_instance_names_its_environment(folder: Path) -> None:
    (folder / "job.yaml").write_text(TORCHRUN + MATRIX + "  environments: {dev: {}, prod: {replicas: 3}}\n")
    one = why(folder, "-i", "prod/seed-2", "job.yaml", "metadata.name")
    assert one == why(folder, "-e", "prod", "-i", "seed-2", "job.yaml", "metadata.name")
    assert '"bert-seed-2"' in one
    unknown = podplan("why", "-i", "prod/seed-9", "job.yaml", "RANK", cwd=folder)
    assert unknown.err.endswith("there are prod/seed-1, prod/seed-2, prod/seed-3\n")
    no_environment = podplan("why", "-i", "test/seed-1", "job.yaml", "RANK", cwd=folder)
    assert (no_environment.code, no_environment.out) == (2, "")
    assert "it has dev, prod" in no_environment.err


def test_a_variable_that_nobody_sets(folder: Path) -> None:
    run = podplan("why", "job.yaml", "RNAK", cwd=folder)
    assert run.code == 2
    assert (
        run.err
        == 'podplan: job.yaml: RNAK is no field of the CR and no variable of its Pods; did you mean "RANK"?\n'
    )


WORKERS_ONLY = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bare}
spec:
  ELASTIC
  pytorchReplicaSpecs:
    Worker:
      replicas: 3
      template:
        spec:
          containers:
          - {name: pytorch, image: "registry.example.com/train:1", command: [COMMAND]}
"""
TORCHRUN_LINE = "torchrun, --nproc_per_node=8, train.py"


def write_fixed(folder: Path, workers: int) -> None:
    """Write a job with a Master and workers, whose ranks the controller states."""
    head, worker = WORKERS_ONLY.replace("bare", "bert").replace("  ELASTIC\n", "").split("    Worker:\n")
    template = worker.replace("COMMAND", TORCHRUN_LINE)
    master = template.replace("replicas: 3", "replicas: 1")
    workers_text = template.replace("replicas: 3", f"replicas: {workers}")
    (folder / "fixed.yaml").write_text(f"{head}    Master:\n{master}    Worker:\n{workers_text}")


def write_bare(folder: Path, elastic: str = "", command: str = TORCHRUN_LINE) -> None:
    text = WORKERS_ONLY.replace("  ELASTIC\n", elastic).replace("COMMAND", command)
    (folder / "bare.yaml").write_text(text)


def list_pod_values(said: str) -> list[str]:
    return [line.strip() for line in said.splitlines() if line.startswith(("    Pod/", "    … "))]


def test_each_pod_has_ranks_of_its_own(folder: Path) -> None:
    write_fixed(folder, 3)
    master, workers = why(folder, "fixed.yaml", "RANK").split("\n\n")
    assert master.splitlines()[:2] == [
        "Pod/bert-master-0  RANK, set by torchrun in each process that it starts",
        "    0 to 7",
    ]
    assert workers.splitlines()[1] == "    8 to 31"
    assert list_pod_values(workers) == [
        "Pod/bert-worker-0: 8 to 15",
        "Pod/bert-worker-1: 16 to 23",
        "Pod/bert-worker-2: 24 to 31",
    ]
    one = why(folder, "fixed.yaml", "Pod/bert-worker-1:RANK").splitlines()
    assert (one[0].split()[0], one[1]) == ("Pod/bert-worker-1", "    16 to 23")
    assert not list_pod_values("\n".join(one))


def test_many_pods_are_folded(folder: Path) -> None:
    write_fixed(folder, 63)
    assert list_pod_values(why(folder, "fixed.yaml", "GROUP_RANK")) == [
        "Pod/bert-worker-0: 1",
        "Pod/bert-worker-1: 2",
        "Pod/bert-worker-2: 3",
        "… 63 Pods in all",
        "Pod/bert-worker-62: 63",
    ]
    some = why(folder, "fixed.yaml", "Pod/bert-worker-{10..11}:RANK")
    assert list_pod_values(some) == ["Pod/bert-worker-10: 88 to 95", "Pod/bert-worker-11: 96 to 103"]
    assert some.splitlines()[1] == "    88 to 103"


def test_variables_that_are_equal_in_all_pods_list_none(folder: Path) -> None:
    write_fixed(folder, 3)
    for name, value in {"LOCAL_RANK": "0 to 7", "WORLD_SIZE": "32", "MASTER_ADDR": "bert-master-0"}.items():
        said = why(folder, "fixed.yaml", name)
        assert said.splitlines()[1] == f"    {value}"
        assert not list_pod_values(said)


def test_ranks_that_the_rendezvous_assigns(folder: Path) -> None:
    write_bare(folder, "  elasticPolicy: {minReplicas: 2, maxReplicas: 4, rdzvBackend: c10d}\n")
    said = why(folder, "bare.yaml", "RANK")
    assert "    0 to 15 with 2 nodes, 0 to 31 with 4\n" in said
    assert "    which Pod gets which is decided when the nodes meet" in said
    assert "    16 with 2 nodes, 32 with 4\n" in why(folder, "bare.yaml", "WORLD_SIZE")
    page = json.loads(why(folder, "bare.yaml", "RANK", "--format", "json"))["processVariable"]
    assert (page["assignedAtRendezvous"], page["fewestNodes"], page["nodes"], page["byPod"]) == (
        True,
        2,
        4,
        [],
    )


def test_a_job_without_a_master(folder: Path) -> None:
    write_bare(folder)
    assert "    127.0.0.1 (the default of torchrun: nothing in this Pod sets another)\n" in why(
        folder, "bare.yaml", "MASTER_ADDR"
    )
    assert "all Pods are node 0: nothing gives them other numbers" in why(folder, "bare.yaml", "RANK")
    write_bare(folder, command="python, train.py")
    run = podplan("why", "bare.yaml", "MASTER_ADDR", cwd=folder)
    assert run.code == 2
    assert "nothing sets MASTER_ADDR in these Pods, neither the CR nor the controller" in run.err


def test_ranks_of_hosts_in_the_order_of_the_hostfile() -> None:
    fixtures = Path(__file__).parent.parent / "fixtures"
    said = why(fixtures, "colossalai_job_launcher/palm/profile.yaml", "RANK")
    expected = ["Pod/palm-worker-0: 0 to 7", "Pod/palm-worker-1: 8 to 15", "Pod/palm-worker-2: 16 to 23"]
    assert list_pod_values(said) == expected
    one = why(fixtures, "colossalai_job_launcher/palm/profile.yaml", "Pod/palm-worker-2:RANK")
    assert one.splitlines()[1] == "    16 to 23"
    mpi = why(fixtures, "mpi_job/launcher/cr.yaml", "OMPI_COMM_WORLD_RANK")
    assert list_pod_values(mpi) == ["Pod/horovod-worker-0: 0 to 3", "Pod/horovod-worker-1: 4 to 7"]


JOB_SET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: vit}
spec:
  replicatedJobs:
  - name: node
    replicas: 2
    template:
      spec:
        parallelism: 4
        completions: 4
        completionMode: Indexed
        template:
          spec:
            restartPolicy: Never
            containers:
            - name: main
              image: registry.example.com/train:1
              command: [torchrun, --nproc_per_node=4, train.py]
              resources: {limits: {nvidia.com/gpu: 8}}
"""


def test_a_pod_is_traced_through_its_own_job(folder: Path) -> None:
    (folder / "set.yaml").write_text(JOB_SET)
    key = "pod/vit-node-1-0:metadata.labels[jobset.sigs.k8s.io/job-key]"
    first, *steps = json.loads(why(folder, "--format", "json", "set.yaml", key))["steps"]
    assert (steps[0]["document"], steps[0]["value"]) == ("Job/vit-node-1", first["value"])
    assert "from Job/vit-node-1 " in why(folder, "set.yaml", "pod/vit-node-1-1:spec.subdomain")
    assert "from Job/vit-node-0 " in why(folder, "set.yaml", "pod/vit-node-0-1:spec.subdomain")
    assert "from Job/vit-node-{0..1} " in why(folder, "set.yaml", "JOB_COMPLETION_INDEX")


def test_names_as_findings_and_kubectl_print_them(folder: Path) -> None:
    (folder / "set.yaml").write_text(JOB_SET)
    findings = podplan("check", "set.yaml", cwd=folder).out
    shown = "Pod/vit-node-{0..1}-{0..3} /spec/containers/0"
    assert f"   = lowered: {shown}\n" in findings
    shown += "/command/1"
    for question in (
        shown,
        "Pod/vit-node-{0..1}-{0..3}:spec.containers.command[1]",
        "Pod/vit-node-1-2:spec.containers.command[1]",
        "Pod/vit-node-1-2-x8b2c:spec.containers.command[1]",
    ):
        assert '\n    "--nproc_per_node=4"\n' in why(folder, "set.yaml", question)
    wrong = podplan("why", "set.yaml", "Pod/vit-node-1-4-x8b2c:RANK", cwd=folder)
    assert wrong.code == 2
    assert "lowers to no Pod/vit-node-1-4-x8b2c" in wrong.err


def test_a_name_with_the_suffix_of_the_uid(folder: Path) -> None:
    said = why(folder, "nodes.yaml", "Pod/nodes-472c7-worker-1:RANK")
    assert '\n    "1"\n' in said


def test_a_printed_range_that_covers_two_groups(folder: Path) -> None:
    write_bare(folder)
    said = why(folder, "bare.yaml", "Pod/bare-worker-{0..2}:spec.containers.command[0]")
    assert said.startswith("Pod/bare-worker-0, Pod/bare-worker-{1..2}  spec.containers[pytorch].command[0]")


def test_an_overridden_variable_has_the_value_of_the_pod(tmp_path: Path) -> None:
    """The operator sets RANK to the index of each Pod, and torchrun overrides it in its processes."""
    file = tmp_path / "llama.yaml"
    file.write_text(LLAMA)
    for path, value in (
        ("RANK", "{1..4}"),
        ("pod/llama-worker-1:RANK", "2"),
        ("pod/llama-worker-3:RANK", "4"),
    ):
        run = podplan("why", str(file), path)
        assert f'spec.pytorchReplicaSpecs.Worker: {{"name": "RANK", "value": "{value}"}}' in run.out
    page = json.loads(podplan("why", str(file), "pod/llama-worker-1:RANK", "--format", "json").out)
    assert page["processVariable"]["overrides"][0]["value"] == {"name": "RANK", "value": "2"}


def test_the_name_of_an_object_without_its_kind(tmp_path: Path) -> None:
    file = tmp_path / "llama.yaml"
    file.write_text(LLAMA)
    for path, meant in (
        ("llama-worker-1", "Pod/llama-worker-1"),
        ("llama-worker-1:RANK", "Pod/llama-worker-1:RANK"),
        ("llama-worker-{1..2}", "Pod/llama-worker-{1..2}"),
        ("llama", "PyTorchJob/llama"),
    ):
        run = podplan("why", str(file), path)
        assert (run.code, run.out) == (2, "")
        assert run.err.endswith(f"{path} is no field of the CR; did you mean {meant}?\n")
        assert podplan("why", str(file), meant).code == 0
    assert "did you mean" not in podplan("why", str(file), "llama-worker-9").err


LLAMA = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  nprocPerNode: "2"
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template: &pod
        spec: {containers: [{name: pytorch, image: "r.example.com/t:1", command: [torchrun, train.py]}]}
    Worker:
      replicas: 4
      template: *pod
"""


@pytest.mark.parametrize("entry", ['{name: EMPTY, value: ""}', "{name: EMPTY}", "{name: EMPTY, value: null}"])
def test_a_variable_without_a_value_is_an_empty_text(tmp_path: Path, entry: str) -> None:
    container = f"{{name: pytorch, image: 'a:1', env: [{entry}]}}"
    (tmp_path / "job.yaml").write_text(
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: bert}\n"
        f"spec: {{pytorchReplicaSpecs: {{Master: {{template: {{spec: {{containers: [{container}]}}}}}}}}}}\n"
    )
    assert '\n    ""\n' in podplan("why", "job.yaml", "EMPTY", cwd=tmp_path).out
    shown = json.loads(podplan("why", "job.yaml", "EMPTY", "--format", "json", cwd=tmp_path).out)
    assert shown["steps"][0]["value"] == ""
