"""podplan check --changed-since and --base: what counts as changed, and rules about what a change does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import command
from tests.changing_repository import JOB, edit, lines, put, report, repository, shallow
from tests.git import Git, commit
from tests.golden_cases import podplan
from tests.thoroughness import mark_others

INVENTORY = "apiVersion: podplan/v1\nkind: ClusterInventory\nmetadata: {name: a}\nspec: {}\n"
ALL = ["jobs/own.yaml IMG002", "jobs/text.yaml IMG002", "jobs/vision.yaml IMG002"]


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    git = repository(tmp_path)
    monkeypatch.chdir(tmp_path)
    return git


@pytest.mark.usefixtures("git")
def test_nothing_changed() -> None:
    said = report("--changed-since", "HEAD")
    assert said["findings"] == []
    assert said["summary"]["leftOut"] == 3


def test_what_changed_with_what_depends_on_it(git: Git, tmp_path: Path) -> None:
    git("switch", "-q", "-c", "topic")
    edit(tmp_path, "bases/vision.yaml", "torchrun", "python")
    commit(git, "second")
    assert lines("--changed-since", "main") == ["jobs/vision.yaml GIT003", "jobs/vision.yaml IMG002"]
    edit(tmp_path, "jobs/own.yaml", "replicas: 2", "replicas: 2 # two")
    assert "jobs/own.yaml IMG002" in lines("--changed-since", "main"), "what is not committed counts too"
    put(tmp_path, "jobs/new.yaml", JOB.format(name="new", base="../bases/all.yaml"))
    assert "jobs/new.yaml IMG002" in lines("--changed-since", "main"), "and so does what git does not know"


def test_what_main_did_meanwhile_is_not_of_this_change(git: Git, tmp_path: Path) -> None:
    git("switch", "-q", "-c", "topic")
    git("switch", "-q", "main")
    edit(tmp_path, "jobs/own.yaml", "replicas: 2", "replicas: 3")
    commit(git, "on main")
    git("switch", "-q", "topic")
    assert lines("--changed-since", "main") == []
    assert lines("--changed-since", "main..") != []


def test_a_renamed_base_affects_what_named_it(git: Git, tmp_path: Path) -> None:
    git("mv", "bases/vision.yaml", "bases/sight.yaml")
    assert lines("--changed-since", "HEAD") == ["jobs/vision.yaml PROF002"]
    edit(tmp_path, "jobs/vision.yaml", "vision.yaml", "sight.yaml")
    assert lines("--changed-since", "HEAD") == ["jobs/vision.yaml IMG002"]


def test_an_inventory_that_is_gone_affects_all(git: Git, tmp_path: Path) -> None:
    put(tmp_path, "clusters/a.yaml", INVENTORY)
    put(tmp_path, "notes.yaml", "a: 1\n")
    commit(git, "with an inventory")
    (tmp_path / "notes.yaml").unlink()
    assert lines("--changed-since", "HEAD") == []
    (tmp_path / "clusters/a.yaml").unlink()
    assert lines("--changed-since", "HEAD") == ALL


def test_configuration_that_is_gone_affects_all(git: Git, tmp_path: Path) -> None:
    put(tmp_path, "podplan.toml", 'k8s-version = "1.33"\n')
    commit(git, "with a configuration")
    (tmp_path / "podplan.toml").unlink()
    assert lines("--changed-since", "HEAD") == ALL


def test_paths_say_what_is_checked_and_the_base_stands_where_one_stands(
    git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(tmp_path, "bases/all.yaml", "deadline: 24h", "deadline: 12h")
    commit(git, "second")
    monkeypatch.chdir(tmp_path / "jobs")
    assert lines("--changed-since", "HEAD~1", "text.yaml") == ["text.yaml IMG002"]
    assert lines("--changed-since", "HEAD~1", str(tmp_path / "jobs" / "vision.yaml"))[0].endswith(
        "jobs/vision.yaml IMG002"
    )
    assert lines("--changed-since", "HEAD~1", "own.yaml") == []


def test_from_outside_of_the_repository(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(tmp_path, "jobs/own.yaml", "[train.py]", "[train.py, --fast]")
    monkeypatch.chdir(tmp_path.parent)
    found = [f"{tmp_path.name}/jobs/own.yaml {rule}" for rule in ("GIT003", "IMG002")]
    assert sorted(lines("--changed-since", "HEAD", tmp_path.name)) == found
    assert lines("--new-since", "HEAD", f"{tmp_path.name}/jobs") == found[:1]
    said = podplan("diff", "--format", "json", tmp_path.name)
    assert '"changed"' in said.out
    assert '"created"' not in said.out.replace('"created": 0', "")
    del git


@pytest.mark.long
def test_same_in_every_format_and_the_exit_code_goes_by_it(git: Git, tmp_path: Path) -> None:
    put(tmp_path, "jobs/broken.yaml", JOB.format(name="broken", base="../bases/none.yaml"))
    commit(git, "broken")
    assert podplan("check", "--changed-since", "HEAD~1").code == 1
    assert podplan("check", "--changed-since", "HEAD").code == 0
    for format_ in ("full", "concise", "markdown", "argocd", "github"):
        said = podplan("check", "--changed-since", "HEAD", "--format", format_)
        assert said.code == 0
        assert " left out" in said.out
        assert "PROF002" not in said.out
    for format_ in ("sarif", "gitlab", "junit", "rdjson", "jsonl"):
        assert "PROF002" not in podplan("check", "--changed-since", "HEAD", "--format", format_).out


def test_a_shallow_clone_and_an_unknown_revision_say_what_to_do(git: Git, tmp_path: Path) -> None:
    edit(tmp_path, "jobs/own.yaml", "replicas: 2", "replicas: 3")
    commit(git, "second")
    shallow(tmp_path, tmp_path / "clone")
    said = command.podplan("check", "--changed-since", "HEAD~1", cwd=tmp_path / "clone")
    assert (said.code, said.out) == (2, "")
    assert "shallow clone" in said.err
    assert "fetch-depth: 2" in said.err
    said = command.podplan("check", "--changed-since", "nowhere", cwd=tmp_path)
    assert said.code == 2
    assert 'no revision "nowhere"' in said.err


def test_outside_a_repository(tmp_path: Path) -> None:
    put(tmp_path, "job.yaml", command.JOB)
    said = command.podplan("check", "--base", "HEAD", "job.yaml", cwd=tmp_path)
    assert said.code == 2
    assert "not a git repository" in said.err


def test_a_change_that_nothing_takes_up_is_told_where_it_is_written(git: Git, tmp_path: Path) -> None:
    for job in ("text", "vision"):
        edit(tmp_path, f"jobs/{job}.yaml", "  image: registry.example.com/train:latest\n", "")
    commit(git, "the image of the base")
    edit(tmp_path, "bases/all.yaml", "train:1.4", "train:1.5")
    told = [line for line in lines("--base", "HEAD") if "GIT003" in line]
    assert told == ["bases/all.yaml GIT003", "bases/all.yaml GIT003"], "of text and of vision"
    commit(git, "third")
    assert "bases/all.yaml GIT003" not in lines("--base", "HEAD")


def test_what_a_job_takes_up_is_no_finding(git: Git, tmp_path: Path) -> None:
    edit(tmp_path, "bases/all.yaml", "deadline: 24h", "deadline: 12h")
    edit(tmp_path, "jobs/own.yaml", "namespace: ml", "namespace: ml, labels: {team: a}")
    assert [line for line in lines("--base", "HEAD") if "GIT" in line] == []
    edit(tmp_path, "jobs/own.yaml", "name: own", "name: own-2")
    edit(tmp_path, "jobs/own.yaml", "[train.py]", "[train.py, --fast]")
    assert [line for line in lines("--base", "HEAD") if "GIT" in line] == [], "a new name is a new job"
    del git


def test_a_hand_written_cr_that_became_a_profile_is_the_same_object(git: Git, tmp_path: Path) -> None:
    (tmp_path / "jobs/own.yaml").write_text(podplan("render", "jobs/own.yaml").out.partition("\n")[2])
    commit(git, "by hand")
    put(
        tmp_path,
        "jobs/own.yaml",
        (tmp_path / "jobs/text.yaml").read_text().replace("name: text", "name: own"),
    )
    edit(tmp_path, "jobs/own.yaml", "[train.py]", "[train.py, --fast]")
    assert [line for line in lines("--base", "HEAD") if "GIT" in line] == ["jobs/own.yaml GIT003"]


def test_a_job_that_moves_into_what_is_checked_is_the_same_object(git: Git, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    git("mv", "jobs/own.yaml", "new/own.yaml")
    edit(tmp_path, "new/own.yaml", "replicas: 2", "replicas: 4")
    for path in ("new", "new/own.yaml", "."):
        assert "new/own.yaml GIT003" in lines("--base", "main", path)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("jobs/own.yaml", "replicas: 2", "replica: 2"),
        ("jobs/own.yaml", "  image:", "  imagee:"),
        ("jobs/own.yaml", "run: [train.py]", "run: {scripts: train.py}"),
        ("bases/vision.yaml", "launcher: torchrun", "launcher: torch"),
    ],
)
def test_what_a_faulty_profile_lacks_is_no_change(
    git: Git, tmp_path: Path, file: str, old: str, new: str
) -> None:
    edit(tmp_path, file, old, new)
    assert [line for line in lines("--base", "HEAD") if "GIT" in line] == []
    assert podplan("render", file.replace("bases", "jobs")).code == 1
    del git


def test_a_cr_that_is_refused_changes_nothing_and_one_with_a_field_too_many_does(
    git: Git, tmp_path: Path
) -> None:
    rendered = podplan("render", "jobs/own.yaml").out.splitlines(keepends=True)
    by_hand = "".join(line for line in rendered if not line.startswith("#"))
    (tmp_path / "jobs/own.yaml").write_text(by_hand)
    commit(git, "by hand")
    edit(tmp_path, "jobs/own.yaml", "replicas: 2", "replicaCount: 2")
    assert "jobs/own.yaml GIT003" in lines("--base", "HEAD"), "the field is dropped, and so it is one replica"
    edit(tmp_path, "jobs/own.yaml", " image:", " imagee:")
    assert [line for line in lines("--base", "HEAD") if "GIT" in line] == []


def test_a_value_that_may_be_secret_is_not_shown(git: Git, tmp_path: Path) -> None:
    edit(tmp_path, "jobs/own.yaml", "  replicas: 2\n", "  replicas: 2\n  env: {API_TOKEN: hunter2}\n")
    commit(git, "second")
    edit(tmp_path, "jobs/own.yaml", "hunter2", "hunter3")
    said = podplan("check", "--base", "HEAD", "--format", "json", "--select", "GIT003").out
    assert "another value" in said
    assert "hunter" not in said


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("env: {LR: '0.1'}", "env: {LR: '0.2'}", 'env[LR] of J changes from "0.1" to "0.2" under'),
        (
            "run: [a.py, --lr=0.1]",
            "run: [a.py, --lr=0.2]",
            'args of J changes from "--lr=0.1" to "--lr=0.2" under',
        ),
        ("run: [a.py, -x]", "run: [a.py, -x, -y]", 'args of J changes from "… -x" to "… -x -y" under'),
        ("run: [a.py]", "run: [b.py, -y]", 'args of J changes from "a.py" to "b.py -y" under'),
        ("env: {A: '1'}", "env: {A: '1', B: '2'}", 'env of J changes from "A" to "A B" under'),
        ("env: {}", "env: {A: '1'}", 'env of J changes from nothing to "A" under'),
        (
            f"run: {{exec: [bash, -c, '{'x' * 90}; a']}}",
            f"run: {{exec: [bash, -c, '{'x' * 90}; b']}}",
            f'args of J changes from "…{"x" * 18}; a" to "…{"x" * 18}; b" under',
        ),
    ],
)
def test_a_value_that_is_known_is_shown(git: Git, tmp_path: Path, before: str, after: str, said: str) -> None:
    text = (tmp_path / "jobs/own.yaml").read_text().replace("  run: [train.py]\n", "")
    put(tmp_path, "jobs/own.yaml", f"{text}  launcher: torchrun\n  {before}\n")
    commit(git, "second")
    edit(tmp_path, "jobs/own.yaml", before, after)
    [found] = [one for one in report("--base", "HEAD")["findings"] if one["rule"] == "GIT003"]
    assert found["message"].replace("PyTorchTrainingJob/own", "J").startswith(said)


@pytest.mark.parametrize(
    ("before", "after"),
    mark_others(
        [
            ("env: {API_TOKEN: hunter2}", "env: {API_TOKEN: hunter3}"),
            ("env: {API_TOKEN: hunter2}", "env: {API_TOKEN: hunter2, B: '1'}"),
            ("env: {API_TOKEN: hunter2}", "env: {B: '1'}"),
            ("run: [a.py, --api-key=hunter2]", "run: [a.py, --api-key=hunter3]"),
            ("run: [a.py, --api-key, hunter2]", "run: [a.py, --api-key, hunter3]"),
            ("run: [a.py, --api-key, hunter2]", "run: [a.py]"),
            ("run: [a.py]", "run: [a.py, --api-key, hunter2]"),
            ("run: {exec: [bash, -c, 'TOKEN=hunter2 a']}", "run: {exec: [bash, -c, 'TOKEN=hunter3 b']}"),
            ("env: {URL: 'redis://me:hunter2@a'}", "env: {URL: 'redis://me:hunter3@a'}"),
            (
                "env: {API_TOKEN: hunter2}\n  run: [a.py, --user=hunter2]",
                "env: {API_TOKEN: hunter3}\n  run: [a.py, --user=hunter3]",
            ),
        ],
        every=3,
        columns=2,
    ),
)
def test_no_secret_is_shown_of_a_change(git: Git, tmp_path: Path, before: str, after: str) -> None:
    text = (tmp_path / "jobs/own.yaml").read_text().replace("  run: [train.py]\n", "")
    put(tmp_path, "jobs/own.yaml", f"{text}  {before}\n")
    commit(git, "second")
    put(tmp_path, "jobs/own.yaml", f"{text}  {after}\n")
    for format_ in ("full", "json", "sarif"):
        said = podplan("check", "--base", "HEAD", "--format", format_, "--select", "GIT003").out
        assert "under the same name" in said
        messages = [line for line in said.splitlines() if "under the same name" in line]
        assert "hunter" not in "".join(messages)


def test_without_a_base_the_rules_are_counted_where_a_tool_is_known(git: Git, tmp_path: Path) -> None:
    assert "rules that need a base" not in report()["summary"]["notChecked"]
    put(tmp_path, "podplan.toml", '[gitops]\ntool = "argocd"\n')
    assert report()["summary"]["notChecked"]["rules that need a base"] == 2
    assert "rules that need a base" not in report("--base", "HEAD")["summary"]["notChecked"]
    del git


def test_the_base_is_read_with_its_own_configuration(git: Git, tmp_path: Path) -> None:
    put(tmp_path, "podplan.toml", "k8s-version = 3\n")
    commit(git, "broken configuration")
    put(tmp_path, "podplan.toml", 'k8s-version = "1.33"\n')
    said = podplan("check", "--new-since", "HEAD")
    assert said.code == 0, "it mends the configuration, and so it is checked"
    assert said.err.startswith("podplan: at HEAD: podplan.toml:1")
