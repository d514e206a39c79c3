"""The hooks of .pre-commit-hooks.yaml, installed and called by the real pre-commit and prek.

They are installed from this checkout, without the network: from the wheels of what podplan needs. What is
marked long is run by `make thorough`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.command import BAD_JOB, JOB
from tests.github_action import ROOT, wheels

TOOLS = Path(sys.executable).parent
SHIPPED = (
    *("pyproject.toml", "README.md", "LICENSE", "NOTICE", ".pre-commit-hooks.yaml"),
    *("compiler", "policies", "schemas"),
)
HOOKS = ("podplan-check", "podplan-fmt", "podplan-render-check")
AUTHOR = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com"}
COMMITTER = {name.replace("AUTHOR", "COMMITTER"): value for name, value in AUTHOR.items()}


class Said(NamedTuple):
    """How a program ended, and what it printed."""

    code: int
    text: str


def call(*command: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> Said:
    done = subprocess.run(
        [os.fsencode(part) for part in command],
        cwd=cwd,
        env={**os.environ, **AUTHOR, **COMMITTER, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=False,
    )
    text = done.stdout.decode(errors="surrogateescape")
    assert "Traceback" not in text, text
    return Said(done.returncode, text)


def git(folder: Path, *arguments: str) -> str:
    said = call("git", *arguments, cwd=folder)
    assert said.code == 0, said.text
    return said.text


@pytest.fixture(scope="session")
def podplan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This checkout as a repository that hooks are installed from, with the tag that the page names."""
    top = tmp_path_factory.mktemp("hooks") / "podplan"
    top.mkdir()
    for name in SHIPPED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, top / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, top / name)
    git(top, "init", "--quiet", "--initial-branch=main")
    git(top, "add", "--all")
    git(top, "commit", "--quiet", "--message=podplan")
    git(top, "tag", "v0.1.0")
    return top


@pytest.fixture(scope="session")
def offline(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which hooks are installed from the wheels alone, once for all tests."""
    kept = tmp_path_factory.mktemp("kept")
    return {
        "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}",
        "PRE_COMMIT_HOME": str(kept / "pre-commit"),
        "PREK_HOME": str(kept / "prek"),
        "PRE_COMMIT_COLOR": "never",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels()),
        "PIP_NO_COMPILE": "1",
        "UV_OFFLINE": "1",
        "UV_NO_INDEX": "1",
        "UV_FIND_LINKS": str(wheels()),
        "UV_CACHE_DIR": str(kept / "uv"),
    }


BASE = """\
apiVersion: podplan/v1
kind: JobProfileBase
spec:
  job: PyTorchTrainingJob
  image: registry.example.com/vision/train:2.3.1
  hardware: h100x8
"""
TRAIN = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: resnet}
spec:
  extends: [base.yaml]
  run: [train.py]
  replicas: 2
  environments:
    dev: {replicas: 1}
    prod: {}
"""
CLUSTER = """\
apiVersion: podplan/v1
kind: ClusterInventory
metadata: {name: research}
spec:
  hardware:
    h100x8: {gpus: {nvidia.com/gpu: 8}, cpu: 96, memory: 1800Gi}
"""
PAGE = (ROOT / "docs" / "pre-commit.md").read_text()
CONFIG, ARGUMENTS, OF_A_TEAM = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
[TOML] = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
CONSOLES = re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def started(top: Path, podplan: Path) -> None:
    """A repository as the page has it, with a profile, its base, the inventory, and nothing committed."""
    (top / "jobs").mkdir(parents=True)
    for name, text in (("jobs/base.yaml", BASE), ("jobs/train.yaml", TRAIN), ("cluster.yaml", CLUSTER)):
        (top / name).write_text(text)
    config = CONFIG.replace("https://github.com/example/podplan", str(podplan))
    (top / ".pre-commit-config.yaml").write_text(config)
    (top / "podplan.toml").write_text(TOML)
    git(top, "init", "--quiet", "--initial-branch=main")


@pytest.fixture
def repository(tmp_path: Path, podplan: Path) -> Path:
    top = tmp_path / "training jobs"
    started(top, podplan)
    return top


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory, podplan: Path, offline: Mapping[str, str]) -> Path:
    """A repository with all rendered and committed, and the hooks in place."""
    top = tmp_path_factory.mktemp("template") / "repository"
    started(top, podplan)
    assert call("podplan", "render", "--update", cwd=top, env=offline).code == 0
    git(top, "add", "--all")
    git(top, "commit", "--quiet", "--message=all")
    assert call("pre-commit", "install", cwd=top, env=offline).code == 0
    return top


@pytest.fixture
def committed(template: Path, tmp_path: Path) -> Path:
    return shutil.copytree(template, tmp_path / "training jobs")


def commit(folder: Path, env: Mapping[str, str], *paths: str) -> Said:
    """What ``git commit`` does and says after everything was added."""
    git(folder, "add", "--all", *paths)
    return call("git", "commit", "--message=change", cwd=folder, env=env)


def outcome(said: Said) -> dict[str, str]:
    """What the lines of pre-commit say of each hook: Passed, Failed or Skipped."""
    return dict(
        re.findall(r"^(podplan [a-z -]*?)\.+(?:\(.*\))?(Passed|Failed|Skipped)$", said.text, re.MULTILINE)
    )


CHECK, FMT, RENDER = "podplan check", "podplan fmt", "podplan render --check"


@pytest.mark.long
def test_the_page_goes_as_it_is_told(repository: Path, offline: Mapping[str, str]) -> None:
    for block in CONSOLES:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            done = call("sh", "-c", command, cwd=repository, env=offline)
            assert done.code == 0, done.text
            assert printed in done.text
    assert outcome(commit(repository, offline)) == {FMT: "Passed", CHECK: "Passed", RENDER: "Passed"}


@pytest.mark.long
def test_the_manifest_and_the_configuration_are_valid(repository: Path, offline: Mapping[str, str]) -> None:
    config, manifest = ".pre-commit-config.yaml", ROOT / ".pre-commit-hooks.yaml"
    for tool in ("pre-commit", "prek"):
        assert call(tool, "validate-manifest", manifest, cwd=repository, env=offline).code == 0
        assert call(tool, "validate-config", config, cwd=repository, env=offline).code == 0
    assert tuple(re.findall(r"^- id: (.*)$", manifest.read_text(), re.MULTILINE)) == HOOKS


ODD = ("-v.yaml", "--config=x.yaml", "--check.podplan.yaml", "a b.yaml", "$(touch x).yaml")
BYTES = os.fsdecode(b"\xff.yaml")


def hook(name: str, folder: Path, env: Mapping[str, str]) -> Said:
    """What one hook says of all that is changed."""
    git(folder, "add", "--all")
    return call("pre-commit", "run", name, cwd=folder, env=env)


@pytest.mark.long
@pytest.mark.parametrize(("tool", "names"), [("pre-commit", ODD), ("prek", (*ODD, BYTES))])
def test_try_repo(
    repository: Path, podplan: Path, offline: Mapping[str, str], tool: str, names: tuple[str, ...]
) -> None:
    """All files, so many that they come in batches, with names that a shell or a parser could trip over."""
    for number, name in enumerate((*names, *(f"jobs/{number}.yaml" for number in range(40)))):
        (repository / name).write_text(JOB.replace("name: count", f"name: count-{number}"))
    assert call("podplan", "render", "--update", cwd=repository, env=offline).code == 0
    git(repository, "add", "--all")
    done = call(tool, "try-repo", podplan, "--all-files", cwd=repository, env=offline)
    assert outcome(done) == {CHECK: "Passed", FMT: "Passed", RENDER: "Passed"}, done.text
    assert done.code == 0
    assert not (repository / "x").exists()


@pytest.mark.long
def test_a_broken_file_is_found_whatever_it_is_called(committed: Path, offline: Mapping[str, str]) -> None:
    for name in ODD:
        (committed / name).write_text(BAD_JOB)
    done = hook("podplan-check", committed, offline)
    assert (done.code, outcome(done)) == (1, {CHECK: "Failed"})
    assert 'unknown field "replica"; did you mean "replicas"?' in done.text
    for name in ODD:
        assert f"--> {name}:" in done.text
    assert not (committed / "x").exists()


@pytest.mark.long
def test_a_name_that_is_no_text_is_not_passed_over(committed: Path, offline: Mapping[str, str]) -> None:
    """pre-commit itself gives up on it, and the commit does not come to be; prek hands it on."""
    (committed / BYTES).write_text(BAD_JOB)
    done = hook("podplan-check", committed, offline)
    assert done.code != 0
    assert outcome(done).get(CHECK, "Failed") == "Failed"


@pytest.mark.long
def test_a_broken_profile_is_not_committed(committed: Path, offline: Mapping[str, str]) -> None:
    (committed / "jobs" / "train.yaml").write_text(TRAIN.replace("replicas: 2", "replicas: two"))
    done = commit(committed, offline)
    assert (done.code, outcome(done)) == (1, {FMT: "Passed", CHECK: "Failed", RENDER: "Failed"})
    assert "--> jobs/train.yaml:7:13" in done.text
    assert git(committed, "status", "--porcelain") == "M  jobs/train.yaml\n"


@pytest.mark.long
@pytest.mark.parametrize(
    ("file", "before", "after", "said"),
    [
        ("jobs/base.yaml", "h100x8", "h200x8", "--> jobs/base.yaml:6:13"),
        ("cluster.yaml", "h100x8:", "a100x8:", "--> jobs/base.yaml:6:13"),
        (
            "podplan.toml",
            "[[",
            'preset = "strict"\n\n[severity]\nSEC017 = "error"\n\n[[',
            "error[SEC017 seccomp-profile]",
        ),
    ],
)
def test_what_a_profile_depends_on_has_it_checked(
    committed: Path, offline: Mapping[str, str], file: str, before: str, after: str, said: str
) -> None:
    path = committed / file
    path.write_text(path.read_text().replace(before, after))
    done = hook("podplan-check", committed, offline)
    assert (done.code, outcome(done)) == (1, {CHECK: "Failed"})
    assert said in done.text


@pytest.mark.long
def test_fmt_writes_and_then_passes(committed: Path, offline: Mapping[str, str]) -> None:
    train = committed / "jobs" / "train.yaml"
    train.write_text(TRAIN.replace("{name: resnet}", "{name:   resnet}"))
    done = hook("podplan-fmt", committed, offline)
    assert (done.code, outcome(done)) == (1, {FMT: "Failed"})
    assert "files were modified by this hook" in done.text
    assert train.read_text() == TRAIN
    train.write_text(TRAIN + "# a comment\n")
    assert hook("podplan-fmt", committed, offline).code == 0


@pytest.mark.long
def test_what_is_rendered_has_to_be_committed_too(committed: Path, offline: Mapping[str, str]) -> None:
    (committed / "jobs" / "train.yaml").write_text(TRAIN.replace("replicas: 2", "replicas: 4"))
    done = hook("podplan-render-check", committed, offline)
    assert (done.code, outcome(done)) == (1, {RENDER: "Failed"})
    assert "+    replicas: 4" in done.text
    assert "podplan render --update writes it" in done.text
    (committed / "jobs" / "other.yaml").write_text(TRAIN.replace("resnet", "bert"))
    assert call("podplan", "render", "--update", cwd=committed, env=offline).code == 0
    done = commit(committed, offline, "jobs")
    assert (done.code, outcome(done)) == (1, {FMT: "Passed", CHECK: "Failed", RENDER: "Failed"})
    assert "error[GIT001 stale-render]" in done.text
    assert "rendered/prod/pytorchtrainingjob-bert.yaml: untracked" in done.text
    done = commit(committed, offline)
    assert (done.code, outcome(done)) == (0, {FMT: "Passed", CHECK: "Passed", RENDER: "Passed"})
    (committed / "jobs" / "other.yaml").unlink()
    done = commit(committed, offline)
    assert (done.code, outcome(done)) == (1, {FMT: "Skipped", CHECK: "Skipped", RENDER: "Failed"})
    assert "rendered/prod/pytorchtrainingjob-bert.yaml: orphaned; jobs/other.yaml" in done.text


@pytest.mark.long
def test_a_commit_of_some_paths_is_judged_without_the_others(
    committed: Path, offline: Mapping[str, str]
) -> None:
    """git makes an index of its own for it, and what is rendered is in git, but not in this commit."""
    (committed / "jobs" / "other.yaml").write_text(TRAIN.replace("resnet", "bert"))
    assert call("podplan", "render", "--update", cwd=committed, env=offline).code == 0
    git(committed, "add", "--all")
    done = call("git", "commit", "--message=some", "jobs", cwd=committed, env=offline)
    assert (done.code, outcome(done)[RENDER]) == (1, "Failed")
    assert "rendered/prod/pytorchtrainingjob-bert.yaml: untracked" in done.text
    assert commit(committed, offline).code == 0


@pytest.mark.long
def test_a_merge_of_what_fits_into_what_does_not(committed: Path, offline: Mapping[str, str]) -> None:
    """Both branches are right, git merges them without a conflict, and the new job has the old base."""
    git(committed, "switch", "--quiet", "--create=new")
    (committed / "jobs" / "other.yaml").write_text(TRAIN.replace("resnet", "bert"))
    assert call("podplan", "render", "--update", cwd=committed, env=offline).code == 0
    assert commit(committed, offline).code == 0
    git(committed, "switch", "--quiet", "main")
    base = committed / "jobs" / "base.yaml"
    base.write_text(BASE.replace("2.3.1", "2.4.0"))
    assert call("podplan", "render", "--update", cwd=committed, env=offline).code == 0
    assert commit(committed, offline).code == 0
    done = call("git", "merge", "--no-edit", "new", cwd=committed, env=offline)
    assert (done.code, outcome(done)[RENDER]) == (1, "Failed")
    assert "rendered/prod/pytorchtrainingjob-bert.yaml: stale" in done.text
    assert "podplan render --update writes it, git add takes it along" in done.text
    assert call("podplan", "render", "--update", cwd=committed, env=offline).code == 0
    assert commit(committed, offline).code == 0


@pytest.mark.long
def test_a_message_is_no_reason_to_run(committed: Path, offline: Mapping[str, str]) -> None:
    """Others' hooks look at the message of a commit; these look at files, once."""
    installed = call("pre-commit", "install", "--hook-type=commit-msg", cwd=committed, env=offline)
    assert installed.code == 0
    (committed / "notes.txt").write_text("a\n")
    assert commit(committed, offline).text.count(RENDER) == 1


@pytest.mark.long
def test_a_configuration_in_a_folder(committed: Path, offline: Mapping[str, str]) -> None:
    config = committed / ".pre-commit-config.yaml"
    (committed / "team").mkdir()
    for name in ("jobs", "podplan.toml", "rendered"):
        (committed / name).rename(committed / "team" / name)
    done = commit(committed, offline)
    assert outcome(done)[RENDER] == "Failed"
    assert "no [[render]] in the configuration says where rendered files are; write one, name" in done.text
    toml = committed / "team" / "podplan.toml"
    toml.write_text('preset = "strict"\n' + TOML + '\n[severity]\nSEC017 = "error"\n')
    of_all = "  - id: podplan-check\n  - id: podplan-render-check.*\n"
    config.write_text(re.sub(of_all, OF_A_TEAM, config.read_text()))
    done = commit(committed, offline)
    assert "error[SEC017 seccomp-profile]" in done.text
    toml.write_text(TOML)
    done = commit(committed, offline)
    assert "team/rendered/prod/pytorchtrainingjob-resnet.yaml: stale" in done.text
    flags = ("render", "--update", "--config", "team/podplan.toml")
    assert call("podplan", *flags, cwd=committed, env=offline).code == 0
    assert commit(committed, offline).code == 0


@pytest.mark.long
def test_what_is_not_ours_passes(committed: Path, offline: Mapping[str, str]) -> None:
    (committed / "chart.yaml").write_text("replicas: {{ .Values.replicas }}\n")
    (committed / "values.yml").write_text("a: 1\n")
    for name, title in (("podplan-check", CHECK), ("podplan-fmt", FMT)):
        assert outcome(hook(name, committed, offline)) == {title: "Passed"}


@pytest.mark.long
def test_a_branch_in_ci(committed: Path, offline: Mapping[str, str]) -> None:
    """What was committed past the hooks is found between two revisions."""
    [command] = re.findall(r"`(pre-commit run --from-ref [^`]*)`", PAGE)
    (committed / "jobs" / "train.yaml").write_text(TRAIN.replace("replicas: 2", "replicas: two"))
    git(committed, "commit", "--quiet", "--all", "--no-verify", "--message=past the hooks")
    done = call(*command.replace("origin/main", "HEAD~1").split(), cwd=committed, env=offline)
    assert (done.code, outcome(done)) == (1, {FMT: "Passed", CHECK: "Failed", RENDER: "Failed"})


@pytest.mark.long
def test_flags_of_the_page(committed: Path, offline: Mapping[str, str]) -> None:
    """A warning alone passes, and with the flags that the page shows it does not."""
    (committed / "warning.yaml").write_text(JOB.replace("busybox:1.36", "busybox:latest"))
    assert outcome(hook("podplan-check", committed, offline)) == {CHECK: "Passed"}
    config = committed / ".pre-commit-config.yaml"
    config.write_text(config.read_text().replace("  - id: podplan-check\n", ARGUMENTS))
    done = hook("podplan-check", committed, offline)
    assert outcome(done) == {CHECK: "Failed"}
    assert "warning[IMG002" in done.text
