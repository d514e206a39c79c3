"""podplan import of streams and lists."""

from __future__ import annotations

from pathlib import Path

from tests.command import JOB, podplan

LIST = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJobList
items:
- metadata: {name: one}
  spec: {replicaSpecs: [{type: worker, replica: 2}]}
- apiVersion: batch.tensorstack.dev/v1beta1
  kind: GenericJob
  metadata: {name: two}
  spec: {replicaSpecs: [{type: worker, replicas: 2}]}
"""
LIST_OF_JOBS = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: GenericJobList
items:
- metadata: {name: one}
  spec: {replicaSpecs: [{type: a, template: {spec: {containers: [{name: m, image: "i:1"}]}}}]}
"""
MPI_JOB = "apiVersion: batch.tensorstack.dev/v1beta1\nkind: MPIJob\nmetadata: {name: mpi}\nspec: {}\n"
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"


def test_import_of_a_stream_prints_what_it_can_import_and_tells_the_rest(folder: Path) -> None:
    alone = podplan("import", "job.yaml", cwd=folder)
    assert (alone.code, alone.err) == (0, "")
    (folder / "stream.yaml").write_text("---\n".join((MPI_JOB, JOB, CONFIG_MAP, "# nothing\n", "- a\n")))
    run = podplan("import", "stream.yaml", cwd=folder)
    assert run.out == alone.out
    assert run.code == 1
    told = run.err.splitlines()
    assert [line.partition(" ")[0] for line in told] == [
        "stream.yaml:1:",
        "stream.yaml:30:",
        "stream.yaml:36:",
    ]
    assert all(line.endswith("; it is not imported") for line in told)
    assert "a ConfigMap is no training job" in told[1]


def test_import_writes_no_file_where_nothing_can_be_imported(folder: Path) -> None:
    (folder / "mpi.yaml").write_text(MPI_JOB)
    run = podplan("import", "mpi.yaml", "-o", "profile.yaml", cwd=folder)
    assert (run.code, run.out) == (1, "")
    assert not (folder / "profile.yaml").exists()


def test_an_entry_of_a_list_of_one_kind_is_of_that_kind(folder: Path) -> None:
    (folder / "list.yaml").write_text(LIST)
    imported = podplan("import", "list.yaml", cwd=folder).out
    assert imported.count("kind: JobProfile\n") == 2
    assert "job: PyTorchTrainingJob\n" in imported
    assert "job: GenericJob\n" in imported
    found = podplan("check", "--format", "concise", "list.yaml", cwd=folder).out
    assert 'list.yaml:5:40: error SCHEMA001 unknown field "replica"; did you mean "replicas"?' in found
    (folder / "one.yaml").write_text(LIST_OF_JOBS)
    assert "one.yaml:2:7  kind" in podplan("why", "one.yaml", "kind", cwd=folder).out
