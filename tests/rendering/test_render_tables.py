"""podplan render --update and --check: what the tables [[render]] of podplan.toml say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import ENVIRONMENTS
from tests.rendering.repository import HEADER, NAME, NS, Command, git, named, tree

TABLES = """\
[[render]]
paths = ["jobs"]
env = ["prod"]
output = "rendered/prod"

[[render]]
paths = ["jobs"]
env = ["dev"]
output = "rendered/dev"
"""


@pytest.fixture
def configured(folder: Path) -> Path:
    (folder / "jobs" / "a.yaml").write_text(ENVIRONMENTS)
    (folder / "podplan.toml").write_text(TABLES)
    return folder


def test_the_configuration_says_where_rendered_files_are(configured: Path, podplan: Command) -> None:
    run = podplan("render", "--check")
    assert run.code == 1
    assert run.out.splitlines() == [
        f"rendered/prod/{NAME}: missing; jobs/a.yaml -e prod renders it",
        f"rendered/dev/{NAME}: missing; jobs/a.yaml -e dev renders it",
    ]
    assert "rendered/dev is not as rendered: 1 missing; podplan render --update writes it\n" in run.err
    assert podplan("render", "--update").code == 0
    git(configured, "add", "--all")
    assert podplan("render", "--check").code == 0
    (configured / "rendered" / "dev" / NAME).unlink()
    assert podplan("render", "--check", "-e", "prod").code == 0
    assert podplan("render", "--check", "-e", "dev").code == 1
    run = podplan("render", "--update", "-e", "dev")
    assert run.err == "1 of 1 file written to rendered/dev\n"


def test_paths_of_a_table_are_seen_from_its_file(configured: Path, podplan: Command) -> None:
    (configured / "team").mkdir()
    (configured / "team" / "podplan.toml").write_text(TABLES.replace('"jobs"', '"../jobs"'))
    assert podplan("render", "--update", "--config", "team/podplan.toml").code == 0
    text = (configured / "team" / "rendered" / "prod" / NAME).read_text()
    assert text.startswith(f"{HEADER}jobs/a.yaml -e prod\n")
    assert not (configured / "rendered").exists()


def test_a_table_says_all_that_is_in_its_folder(configured: Path, podplan: Command) -> None:
    assert podplan("render", "--update").code == 0
    assert podplan("render", "jobs", "-e", "dev", "-o", "rendered/prod").code == 0
    (configured / "jobs" / "b.yaml").write_text(named("bert"))
    assert podplan("render", "jobs/b.yaml", "-o", "rendered/dev").code == 0
    (configured / "podplan.toml").write_text(TABLES.replace('"jobs"', '"jobs/a.yaml"'))
    run = podplan("render", "--check", "-e", "dev")
    gone = "podplan.toml:6 has nothing that renders it"
    assert f"rendered/dev/{NS}-bert.yaml: orphaned; {gone}\n" in run.out


@pytest.mark.parametrize("flags", [[], ["jobs", "-o", "rendered/prod", "-e", "prod"]])
def test_a_profile_that_cannot_be_read_is_not_gone(
    configured: Path, tmp_path: Path, podplan: Command, flags: list[str]
) -> None:
    """As YAML of no profile it would be passed over, and what it rendered would be taken away."""
    assert podplan("render", "--update").code == 0
    (configured / "jobs" / "b.yaml").write_text(named("bert"))
    (tmp_path / "a.yaml").write_text(ENVIRONMENTS)
    profile = configured / "jobs" / "a.yaml"
    profile.write_bytes(ENVIRONMENTS.encode("utf-16"))
    before = tree(configured)
    run = podplan("render", *(flags or ["--update"]))
    assert (run.code, tree(configured)) == (1, before)
    assert "this file is UTF-16; save it as UTF-8" in run.err
    told = f"jobs/a.yaml cannot be read, so rendered/prod/{NAME} has nothing to be made from: "
    profile.unlink()
    profile.symlink_to(tmp_path / "a.yaml")
    run = podplan("render", *(flags or ["--check"]))
    assert (run.code, f"{told}leads out of the repository\n" in run.err) == (2, True)
    assert "jobs/a.yaml, which this was rendered from, cannot be read" in podplan("check").out


def test_two_tables_may_share_a_folder(configured: Path, podplan: Command) -> None:
    (configured / "jobs" / "b.yaml").write_text(ENVIRONMENTS.replace("resnet", "bert"))
    tables = TABLES.replace("rendered/dev", "rendered/../rendered/prod").replace(
        '["jobs"]', '["jobs/a.yaml"]', 1
    )
    (configured / "podplan.toml").write_text(tables.replace('["jobs"]', '["jobs/b.yaml"]'))
    assert podplan("render", "--update").err == "2 of 2 files written to rendered/prod\n"
    git(configured, "add", "--all")
    assert podplan("render", "--check").code == 0
    run = podplan("render", "--update", "-e", "dev")
    assert run.err == "0 of 2 files written to rendered/prod\n", "what the other table put there stays"


def test_tables_that_overlap(configured: Path, podplan: Command) -> None:
    (configured / "podplan.toml").write_text(TABLES.replace("dev", "prod"))
    run = podplan("render", "--check")
    assert run.code == 2
    assert f"jobs/a.yaml -e prod is rendered into {NAME} twice; [[render]] tables overlap" in run.err


def test_a_wrong_request_of_a_table_has_its_place(configured: Path, podplan: Command) -> None:
    (configured / "podplan.toml").write_text(TABLES.replace('"dev"', '"stage"'))
    run = podplan("render", "--check")
    assert run.code == 2
    assert 'podplan: podplan.toml:6: jobs/a.yaml: there is no environment "stage"' in run.err
    (configured / "podplan.toml").write_text('[[render]]\npaths = ["jobs"]\noutput = "rendered"\n')
    run = podplan("render", "--check")
    said = "jobs/a.yaml has environments; say which: -e dev or -e prod (in [[render]]: env)"
    assert (run.code, run.err) == (2, f"podplan: podplan.toml:1: {said}\n")


def test_all_environments_are_each_of_them(configured: Path, podplan: Command) -> None:
    job = ENVIRONMENTS.replace("dev: {", "dev: {namespace: dev, ")
    (configured / "jobs" / "a.yaml").write_text(job)
    (configured / "podplan.toml").write_text('[[render]]\nenv = ["all"]\noutput = "rendered"\n')
    for flags in ((), ("-e", "prod"), ("-e", "all")):
        assert podplan("render", "--update", *flags).code == 0
    assert sorted(tree(configured / "rendered")) == [f"dev-{NAME}", NAME]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--check", "--update"], "--check changes nothing, and --update does"),
        (["--update", "-o", "out"], "--update is for the folders of [[render]]"),
        (["--check", "jobs"], "paths want -o DIR"),
        (
            ["--check", "--isolated"],
            "no [[render]] in the configuration says where rendered files are; write one, name another"
            " configuration with --config FILE, or render with -o DIR",
        ),
        (["--check", "-e", "stage"], "no [[render]] is of this environment; there are prod, dev"),
    ],
)
def test_a_wrong_request(configured: Path, podplan: Command, arguments: list[str], said: str) -> None:
    before = tree(configured)
    run = podplan("render", *arguments)
    assert (run.code, run.out) == (2, "")
    assert said in run.err
    assert tree(configured) == before


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('output = "../out"', 'podplan.toml:1: render: "../out" leads out of the repository'),
        (
            'output = "out"\npaths = ["../jobs"]',
            'podplan.toml:1: render: "../jobs" leads out of the repository',
        ),
        ('output = "linked"', 'podplan.toml:1: render: "linked" leads out of the repository'),
        ('paths = ["jobs"]', "podplan.toml:1: "),
        ('output = "out"\nenvironment = "prod"', 'podplan.toml:3: unknown field "environment"'),
        ('output = ""', "podplan.toml:2: "),
        *(
            (f'output = "{output}"', f'podplan.toml:1: render: "{output}" is in .git, where only git writes')
            for output in (".git", ".git/hooks", "jobs/../.GIT/hooks", "hooks", "submodule/.git/a")
        ),
    ],
)
def test_a_wrong_table(configured: Path, tmp_path: Path, podplan: Command, table: str, said: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (configured / "linked").symlink_to(tmp_path / "elsewhere")
    (configured / "hooks").symlink_to(configured / ".git" / "hooks")
    (configured / "submodule" / ".git").mkdir(parents=True)
    (configured / "podplan.toml").write_text(f"[[render]]\n{table}\n")
    run = podplan("render", "--update")
    assert run.code == 2
    assert said in run.err


def test_a_table_that_nothing_is_rendered_for(configured: Path, podplan: Command) -> None:
    """The last profile is gone: that a folder is to become empty is for a person to say."""
    assert podplan("render", "--update").code == 0
    (configured / "jobs" / "a.yaml").write_text("kind: ConfigMap\n")
    before = tree(configured)
    for flag in ("--check", "--update"):
        run = podplan("render", flag)
        assert run.code == 3
        said = (
            "no JobProfile here, so nothing to render; if that is meant, remove this table and rendered/prod"
        )
        assert run.err == f"podplan: podplan.toml:1: {said}\n"
    (configured / "jobs" / "a.yaml").unlink()
    (configured / "jobs").rmdir()
    run = podplan("render", "--check")
    assert (run.code, "podplan.toml:1: jobs: no such file or folder" in run.err) == (3, True)
    assert tree(configured) == {name: text for name, text in before.items() if name != "jobs/a.yaml"}
