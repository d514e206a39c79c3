"""podplan import DIR: profiles with common bases, which render to the CRs that they come from."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from podplan.yaml import parse_yaml
from tests.command import podplan

CR = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata: {{name: {team}-{number}, namespace: {team}, labels: {{run: "{number}"}}}}
spec:
  torchrunConfig: {{enabled: true, maxRestarts: 3, procPerNode: "{gpus}"}}
  runPolicy: {{backoffLimit: {retries}}}
  replicaSpecs:
  - type: worker
    replicas: {replicas}  # agreed with the owners of the queue
    template:
      spec:
        containers:
        - name: pytorch
          image: registry.example.com/{team}/train:{tag}
          args: [train.py, --seed, "{number}"]
          env:
          - {{name: NCCL_DEBUG, value: WARN}}
          - {{name: TEAM, value: {team}}}
          - {{name: SEED, value: "{number}"}}
          resources: {{limits: {{cpu: 32, nvidia.com/gpu: {gpus}}}}}
"""


def write_crs(folder: Path, count: int) -> dict[str, str]:
    """Write CRs of three teams, each into its folder, and return their texts by the path of the profile."""
    chance = random.Random(7)
    texts = {}
    for number in range(count):
        team = chance.choice(("nlp", "speech", "vision"))
        text = CR.format(
            team=team,
            number=number,
            gpus=4 if team == "speech" else 8,
            retries=chance.choice((3, 3, 3, 5)),
            replicas=chance.choice((1, 2, 4)),
            tag=chance.choice(("1.0", "1.0", "1.0", "1.1")),
        )
        (folder / "crs" / team).mkdir(parents=True, exist_ok=True)
        (folder / "crs" / team / f"{number}.yaml").write_text(text)
        texts[f"{team}/{team}-{number}.yaml"] = text
    return texts


def test_every_cr_comes_back_equal_and_bases_have_what_is_common(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    texts = write_crs(tmp_path, 60)
    said = podplan("import", "crs", "-o", "out", cwd=tmp_path)
    assert (said.code, said.out) == (0, "")
    assert said.err == (
        "podplan: out: 60 profiles and 4 bases, which 60 profiles extend; all render to their CRs\n"
    )
    rendered = podplan("render", "out", cwd=tmp_path)
    assert rendered.code == 0, rendered.err
    made = [document.data for document in parse_yaml(rendered.out.encode(), "x").documents]
    expected = [parse_yaml(text.encode(), "x").documents[0].data for text in texts.values()]
    by_name = {cr["metadata"]["name"]: cr for cr in made}
    assert by_name == {cr["metadata"]["name"]: cr for cr in expected}
    for path in texts:
        assert "replicas: " in (text := (tmp_path / "out" / path).read_text())
        assert "# agreed with the owners of the queue" in text
        assert "NCCL_DEBUG" not in text
        assert "TEAM" not in text
    profiles = sum(len((tmp_path / "out" / path).read_text()) for path in texts)
    assert 2 * profiles < sum(map(len, texts.values()))
    assert "launcher: torchrun" in (tmp_path / "out/bases/pytorchtrainingjob.yaml").read_text()
    assert "TEAM: nlp" in (tmp_path / "out/bases/pytorchtrainingjob-nlp.yaml").read_text()


def test_variables_keep_their_order(tmp_path: Path) -> None:
    """A base has only the first variables in common: its entries come before those of the profile."""
    (tmp_path / ".git").mkdir()
    write_crs(tmp_path, 2)
    for path in (tmp_path / "crs").rglob("*.yaml"):
        text = path.read_text().replace("- {name: TEAM", "- {name: ONLY, value: x}\n          - {name: TEAM")
        path.write_text(text.replace("ONLY", f"ONLY_{path.stem}"))
    assert podplan("import", "crs", "-o", "out", cwd=tmp_path).code == 0
    bases = "".join(path.read_text() for path in (tmp_path / "out" / "bases").iterdir())
    assert "NCCL_DEBUG" in bases
    assert "TEAM" not in bases


def test_one_job_has_no_base(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write_crs(tmp_path, 1)
    assert podplan("import", "crs", "-o", "out", cwd=tmp_path).code == 0
    [file] = (path for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert "extends" not in file.read_text()


def test_what_cannot_be_imported_is_named_and_the_rest_is_written(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write_crs(tmp_path, 4)
    (tmp_path / "crs" / "wrong.yaml").write_text(
        CR.format(team="a", number=9, gpus=8, retries=3, replicas="many", tag=1)
    )
    said = podplan("import", "crs", "-o", "out", cwd=tmp_path)
    assert said.code == 1
    assert "crs/wrong.yaml:9:" in said.err
    assert said.err.endswith("all render to their CRs; 1 not imported\n")
    assert not list((tmp_path / "out").rglob("a-9.yaml"))


def test_a_file_that_cannot_be_read_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write_crs(tmp_path, 2)
    text = CR.format(team="a", number=9, gpus=8, retries=3, replicas=1, tag=1)
    (tmp_path / "crs" / "broken.yaml").write_text(text + "  - : [\n")
    (tmp_path / "crs" / "latin.yaml").write_bytes(text.encode() + b"# \xe9\n")
    said = podplan("import", "crs", "-o", "out", cwd=tmp_path)
    assert said.code == 1
    assert "crs/broken.yaml:" in said.err
    assert "crs/latin.yaml:" in said.err
    assert said.err.endswith("which 2 profiles extend; all render to their CRs; 2 not imported\n")


def test_runtimes_beside_jobs_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write_crs(tmp_path, 2)
    runtime = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: torch}\n"
    (tmp_path / "crs" / "runtime.yaml").write_text(
        runtime + "spec: {template: {spec: {replicatedJobs: []}}}\n"
    )
    said = podplan("import", "crs", "-o", "out", cwd=tmp_path)
    assert said.code == 0
    assert said.err.endswith("all render to their CRs; passed over: 1 × TrainingRuntime\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("crs",), 2, "podplan: crs is a folder; name a folder for the profiles with -o DIR\n"),
        (("crs", "-o", "crs"), 2, "podplan: crs exists already; podplan import does not overwrite it\n"),
        (("empty", "-o", "out"), 3, "podplan: empty: no training job here, so nothing to import\n"),
    ],
)
def test_wrong_requests(tmp_path: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "empty").mkdir()
    write_crs(tmp_path, 1)
    said = podplan("import", *arguments, cwd=tmp_path)
    assert (said.code, said.err) == (code, message)


def test_jobs_with_one_name_get_files_of_their_own(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    text = CR.format(team="nlp", number=1, gpus=8, retries=3, replicas=1, tag=1)
    (tmp_path / "crs").mkdir()
    (tmp_path / "crs" / "all.yaml").write_text(
        f"{text}---\n{text.replace('namespace: nlp', 'namespace: other')}"
    )
    assert podplan("import", "crs", "-o", "out", cwd=tmp_path).code == 0
    names = sorted(path.name for path in (tmp_path / "out").iterdir() if path.is_file())
    assert names == ["nlp-1.yaml", "other-nlp-1.yaml"]
