"""podplan import of streams and lists."""

from __future__ import annotations

from pathlib import Path

from podplan.workspace.documents import classify_documents as items_of
from podplan.yaml import parse_yaml
from tests.command import JOB, podplan

LIST = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJobList
items:
- metadata: {name: one}
  spec: {replicaSpecs: [{type: worker, replica: 2, template: TEMPLATE}]}
- apiVersion: batch.tensorstack.dev/v1beta1
  kind: GenericJob
  metadata: {name: two}
  spec: {replicaSpecs: [{type: worker, replicas: 2, template: TEMPLATE}]}
""".replace("TEMPLATE", "{spec: {containers: [{name: main, image: 'i:1'}]}}")
LIST_OF_JOBS = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: GenericJobList
items:
- metadata: {name: one}
  spec: {replicaSpecs: [{type: a, template: {spec: {containers: [{name: m, image: "i:1"}]}}}]}
"""
REFUSED_JOB = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: GenericJob
metadata: {name: refused}
spec:
  replicaSpecs: {}
"""
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"


def test_import_of_a_stream_prints_what_it_can_import_and_tells_the_rest(folder: Path) -> None:
    alone = podplan("import", "job.yaml", cwd=folder)
    assert (alone.code, alone.err) == (0, "")
    (folder / "stream.yaml").write_text("---\n".join((REFUSED_JOB, JOB, CONFIG_MAP, "# nothing\n", "- a\n")))
    run = podplan("import", "stream.yaml", cwd=folder)
    assert run.out == alone.out
    assert run.code == 1
    told = run.err.splitlines()
    assert [line.partition(" ")[0] for line in told] == [
        "stream.yaml:5:",
        "stream.yaml:31:",
        "stream.yaml:37:",
    ]
    assert all(line.endswith("; it is not imported") for line in told)
    assert "a ConfigMap is no training job" in told[1]


def test_import_writes_no_file_where_nothing_can_be_imported(folder: Path) -> None:
    (folder / "refused.yaml").write_text(REFUSED_JOB)
    run = podplan("import", "refused.yaml", "-o", "profile.yaml", cwd=folder)
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


BAD_JOB = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata: {name: bad}
spec:
  torchrunConfig: {enabled: true, procPerNode: 1}
  replicaSpecs:
  - type: worker
    replica: 3
    template:
      spec:
        containers:
        - name: pytorch
          env: [{name: A_TOKEN, value: [HUNTER]}]
"""


def test_a_cr_that_podplan_refuses_is_not_imported(folder: Path) -> None:
    """Its profile would be refused, too."""
    (folder / "bad.yaml").write_text(BAD_JOB)
    run = podplan("import", "bad.yaml", "-o", "profile.yaml", cwd=folder)
    assert (run.code, run.out) == (1, "")
    assert not (folder / "profile.yaml").exists()
    assert run.err.splitlines() == [
        'bad.yaml:5: SCHEMA002 procPerNode must be a string, not an integer; write "1", in quotes;'
        " it is not imported",
        'bad.yaml:12: SCHEMA003 required field "image" is missing in container "pytorch"; it is not imported',
        "bad.yaml:13: SCHEMA002 value must be a string, not a list; it is not imported",
    ]


def test_of_many_errors_the_first_are_told(folder: Path) -> None:
    text = BAD_JOB.partition("env:")[0] + "env: [" + 9 * "{name: A, value: [a]}, " + "]\n"
    (folder / "bad.yaml").write_text(text)
    told = podplan("import", "bad.yaml", cwd=folder).err.splitlines()
    assert len(told) == 6
    assert told[-1] == "bad.yaml: and 6 more errors: podplan check shows them all"


def test_what_the_api_server_drops_is_left_out_and_told(folder: Path) -> None:
    (folder / "job.yaml").write_text(JOB.replace("replicas: 3", "replica: 3"))
    run = podplan("import", "job.yaml", "-o", "profile.yaml", cwd=folder)
    said = 'unknown field "replica"; did you mean "replicas"?; it is left out, as the API server drops it'
    assert (run.code, run.err) == (0, f"job.yaml:1: {said}\n")
    assert podplan("render", "profile.yaml", cwd=folder).code == 0


def test_metadata_that_no_profile_may_have_is_refused(folder: Path) -> None:
    (folder / "job.yaml").write_text(JOB.replace("name: count", "name: [count]"))
    run = podplan("import", "job.yaml", cwd=folder)
    assert run.code == 1
    assert run.err.endswith("; it is not imported\n")


def test_a_list_and_a_stream_come_back(folder: Path) -> None:
    template = "template: {spec: {containers: [{name: main, image: 'i:1'}]}}"
    items = "".join(
        f"- metadata: {{name: job-{number}}}\n  spec: {{replicaSpecs: [{{type: a, {template}}}]}}\n"
        for number in range(3)
    )
    listed = f"apiVersion: batch.tensorstack.dev/v1beta1\nkind: GenericJobList\nitems:\n{items}"
    (folder / "list.yaml").write_text(f"{listed}---\n{JOB}")
    assert podplan("import", "list.yaml", "-o", "profiles.yaml", cwd=folder).code == 0
    rendered = parse_yaml(podplan("render", "profiles.yaml", cwd=folder).out.encode(), "rendered.yaml")
    wanted = parse_yaml((folder / "list.yaml").read_bytes(), "list.yaml")
    assert [item.doc.data for item in items_of(rendered)] == [item.doc.data for item in items_of(wanted)]


def test_import_reports_each_error(folder: Path) -> None:
    (folder / "wrong.yaml").write_text(
        "apiVersion: batch.tensorstack.dev/v1beta1\nkind: PyTorchTrainingJob\nmetadata: {name: y}\nspec:\n"
        "  torchrunConfig: {enabled: 'true', procPerNode: 1}\n"
        "  replicaSpecs: [{type: worker, template: {spec: {containers: [{name: m, image: 'i:1'}]}}}]\n"
    )
    run = podplan("import", "wrong.yaml", cwd=folder)
    assert (run.code, run.out) == (1, "")
    places = [line.partition(" ")[0] for line in run.err.splitlines()]
    assert places == ["wrong.yaml:3:", "wrong.yaml:5:", "wrong.yaml:5:"]
    assert all(line.endswith("; it is not imported") for line in run.err.splitlines())
