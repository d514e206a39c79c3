"""Whatever the files of a repository say: nothing outside is read, no file is run, nobody is called."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import pytest

import podplan as package
from tests.command import JOB, PROFILE
from tests.golden_cases import podplan as here
from tests.thoroughness import mark_others

OUTSIDE = "apiVersion: podplan/v1\nkind: JobProfileBase\nmetadata: {name: outside}\nspec: {image: stolen}\n"
POLICY = "id: ORG001\nname: stolen\n"
SOURCES = Path(package.__path__[0]).parent
HERE = Path(__file__).parent.parent
# Where Python and what is installed lie: code that podplan is made of, and data of its own.
INSTALLED = (sys.prefix, sys.base_prefix, *sys.path, str(SOURCES), str(HERE))
KNOWN = {os.path.realpath(path) for path in INSTALLED if path}


class Tree:
    """A repository, a folder outside it that must not be read, and a home with a kubeconfig."""

    def __init__(self, folder: Path) -> None:
        self.top = folder / "repository"
        self.outside = folder / "outside"
        self.home = folder / "home"
        for path in (self.top / ".git", self.top / "jobs", self.outside, self.home / ".kube"):
            path.mkdir(parents=True)
        for name in ("base.yaml", "inventory.yaml", "PROFILE.yaml"):
            (self.outside / name).write_text(OUTSIDE)
        (self.outside / "podplan.toml").write_text('ignore = ["ALL"]\n')
        (self.outside / "ORG001.yaml").write_text(POLICY)
        (self.home / ".kube" / "config").write_text("apiVersion: v1\nkind: Config\n")
        (self.top / "jobs" / "job.yaml").write_text(JOB)

    def run(self, *arguments: str) -> tuple[int, str, list[tuple[str, str]]]:
        """The exit code, all output, and what was done, of ``podplan arguments`` in the repository."""
        out = self.home / "seen.json"
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "KUBECONFIG": str(self.home / ".kube" / "config"),
            "PYTHONPATH": f"{SOURCES}{os.pathsep}{HERE}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = [sys.executable, str(HERE / "tests" / "audit_events.py"), str(out), *arguments]
        done = subprocess.run(command, cwd=self.top, env=env, capture_output=True, timeout=60, check=False)
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        seen = [(event, what) for event, what in json.loads(out.read_text())]
        return done.returncode, (done.stdout + done.stderr).decode(), seen

    def strays(self, seen: list[tuple[str, str]]) -> list[str]:
        """The files that were opened, or folders listed, outside of the repository and of Python."""
        fine = (str(self.top.resolve()), str((self.home / ".cache" / "podplan").resolve()), *KNOWN)
        touched = {what for event, what in seen if event in ("open", "os.listdir", "os.scandir")}
        return sorted(path for path in touched if not any(_below(path, folder) for folder in fine))


def _below(path: str, folder: str) -> bool:
    return os.path.commonpath((path, folder)) == folder


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


# How documents may name what lies outside; {outside} is the folder that must not be read.
DOCUMENTS = {
    "extends ..": PROFILE + "  extends: [../../outside/base.yaml]\n",
    "extends absolute": PROFILE + '  extends: ["{outside}/base.yaml"]\n',
    "extends a link": PROFILE + "  extends: [link.yaml]\n",
    "extends in a linked folder": PROFILE + "  extends: [linked/base.yaml]\n",
    "extends in other case": PROFILE + "  extends: [../../OUTSIDE/../outside/profile.yaml]\n",
    "extends a URL": PROFILE + '  extends: ["https://example.com/base.yaml"]\n',
    "extends file:": PROFILE + '  extends: ["file://{outside}/base.yaml"]\n',
    "extends a device": PROFILE + "  extends: [/dev/zero]\n",
    "extends a linked device": PROFILE + "  extends: [zero.yaml]\n",
    "extends a pipe": PROFILE + "  extends: [pipe.yaml]\n",
    "extends an archive": PROFILE + "  extends: [base.zip/base.yaml]\n",
    "extends the home": PROFILE + '  extends: ["~/.kube/config"]\n',
    "extends a variable": PROFILE + '  extends: ["$HOME/.kube/config"]\n',
    "params refer": PROFILE + '  params: {a: {$ref: "https://example.com/a.json", default: 1}}\n',
    "rendered": "# podplan: rendered from ../outside/PROFILE.yaml\n" + JOB,
    "schema": "# yaml-language-server: $schema=https://example.com/a.json\n" + JOB,
}
SETTINGS = {
    "inventory ..": 'inventory = "../outside/inventory.yaml"\n',
    "inventory absolute": 'inventory = "{outside}/inventory.yaml"\n',
    "extend ..": 'extend = "../outside/podplan.toml"\n',
    "extend a link": 'extend = "jobs/linked/podplan.toml"\n',
    "policies ..": 'policies = ["../outside"]\n',
    "policies absolute": 'policies = ["{outside}/ORG001.yaml"]\n',
    "policies a link": 'policies = ["jobs/linked"]\n',
    "policy refers": 'policies = ["policies"]\n',
}
REFERRING = """\
id: ORG001
name: a-b
severity: error
basis: documented
summary: A.
why: B.
scope: {level: cr}
schema: {$ref: "file://{outside}/base.yaml"}
message: c
examples:
- {name: none, verdict: bad, object: {apiVersion: v1, kind: Pod}}
"""


def lead_out(tree: Tree) -> None:
    """Links, a pipe and an archive among the jobs."""
    jobs = tree.top / "jobs"
    (jobs / "link.yaml").symlink_to(tree.outside / "base.yaml")
    (jobs / "linked").symlink_to(tree.outside)
    (jobs / "zero.yaml").symlink_to("/dev/zero")
    os.mkfifo(jobs / "pipe.yaml")
    (jobs / "base.zip").write_bytes(b"PK\x05\x06" + bytes(18))


def test_no_document_leads_outside_the_root(tree: Tree) -> None:
    lead_out(tree)
    for number, text in enumerate(DOCUMENTS.values()):
        said = text.replace("{outside}", str(tree.outside)).replace("name: resnet", f"name: resnet-{number}")
        (tree.top / "jobs" / f"{number}.yaml").write_text(said)
    code, said, seen = tree.run("check", ".")
    assert tree.strays(seen) == []
    assert code == 1, said
    refused = [number for number, name in enumerate(DOCUMENTS) if name not in ("schema", "rendered")]
    assert [number for number in refused if f"jobs/{number}.yaml:" not in said] == []
    assert "stolen" not in said


@pytest.mark.parametrize("name", mark_others(SETTINGS, every=3))
def test_no_setting_leads_outside_the_root(name: str, tree: Tree) -> None:
    lead_out(tree)
    (tree.top / "policies").mkdir()
    (tree.top / "policies" / "ORG001.yaml").write_text(REFERRING.replace("{outside}", str(tree.outside)))
    (tree.top / "podplan.toml").write_text(SETTINGS[name].replace("{outside}", str(tree.outside)))
    code, said, seen = tree.run("check", ".")
    assert tree.strays(seen) == []
    assert code in (1, 2), said
    assert "stolen" not in said


@pytest.mark.parametrize("command", ["check", "render", "lower", "fmt", "migrate", "test", "graph"])
@pytest.mark.parametrize("target", ["outside", "other"])
def test_a_path_that_a_link_leads_out_of_the_repository_is_refused(
    command: str, target: str, tree: Tree
) -> None:
    """A folder that a workflow names, and that a pull request replaces; ``other`` is another repository."""
    if target == "other":
        (tree.outside / ".git").mkdir()
    (tree.outside / "train").mkdir()
    (tree.outside / "train" / "job.yaml").write_text(JOB.replace("busybox", "stolen"))
    (tree.top / "linked").symlink_to(tree.outside)
    with chdir(tree.top):
        runs = [here(command, path) for path in ("linked", "linked/train", "linked/train/job.yaml")]
    assert [run.code for run in runs] == [2, 2, 2]
    assert "stolen" not in "".join(run.out + run.err for run in runs)
    assert all("leads out of the repository" in run.err for run in runs)


NAMED = [
    ("check", "jobs", "--config"),
    ("rules", "--config"),
    ("check", "jobs", "--inventory"),
    ("check", "jobs", "--baseline"),
    ("baseline", "show", "--baseline"),
    ("lower", "jobs/job.yaml", "--compare"),
    ("import",),
    ("status",),
    ("why", "jobs/job.yaml", "spec", "--config"),
]


@pytest.mark.parametrize("command", mark_others(NAMED, every=3), ids=" ".join)
def test_no_link_leads_out_to_a_file_that_a_flag_names(command: tuple[str, ...], tree: Tree) -> None:
    """A workflow names a file of the repository, and a pull request puts a link in its place."""
    (tree.outside / "file").write_text("stolen = 'stolen'\nstolen: stolen\n")
    (tree.top / "linked").symlink_to(tree.outside)
    (tree.top / "link").symlink_to(tree.outside / "file")
    for path in ("linked/file", "link"):
        code, said, seen = tree.run(*command, path)
        assert tree.strays(seen) == []
        assert (code, "leads out of the repository" in said, "stolen" in said) == (2, True, False), said


def test_a_file_outside_that_somebody_names_is_read(tree: Tree) -> None:
    (tree.outside / "other.toml").write_text('fail-on = "never"\n')
    (tree.outside / "dump.yaml").write_text("apiVersion: v1\nkind: List\nitems: []\n")
    with chdir(tree.top):
        assert (
            "../outside/other.toml"
            in here("check", "jobs", "--config", "../outside/other.toml", "--show-settings").out
        )
        assert "holds no Pod" in here("lower", "jobs/job.yaml", "--compare", "../outside/dump.yaml").err


WRITING = [
    ("check", "jobs", "--output", "json=linked/out.json"),
    ("graph", "jobs/job.yaml", "-o", "linked/out.svg"),
    ("import", "jobs/job.yaml", "-o", "linked/out.yaml"),
    ("baseline", "create", "jobs", "--baseline", "linked/out.json"),
    ("init", "linked/new"),
]


@pytest.mark.parametrize("command", WRITING, ids=lambda command: command[0])
def test_nothing_is_written_where_a_link_leads_out(command: tuple[str, ...], tree: Tree) -> None:
    before = sorted(path.name for path in tree.outside.iterdir())
    (tree.top / "linked").symlink_to(tree.outside)
    with chdir(tree.top):
        run = here(*command)
    assert (run.code, "leads out of the repository" in run.err) == (2, True)
    assert sorted(path.name for path in tree.outside.iterdir()) == before


@pytest.mark.parametrize(
    "command",
    [
        ("render", "jobs/profile.yaml", "-o", ".git/hooks", "--isolated"),
        ("check", "jobs", "--output", "json=.git/config", "--isolated"),
        ("baseline", "create", "jobs"),
    ],
    ids=" ".join,
)
def test_nothing_is_written_into_the_folder_of_git(command: tuple[str, ...], tree: Tree) -> None:
    (tree.top / "podplan.toml").write_text('baseline = ".git/config"\n')
    (tree.top / "jobs" / "profile.yaml").write_text(PROFILE)
    with chdir(tree.top):
        run = here(*command)
    assert (run.code, list((tree.top / ".git").iterdir())) == (2, []), run.err
    assert "is in .git, where only git writes" in run.err


COMMANDS = [
    ("check", ".", "--format", "sarif"),
    ("render", "jobs"),
    ("lower", "jobs"),
    ("graph", "jobs/job.yaml"),
    ("why", "jobs/job.yaml", "spec.replicaSpecs"),
    ("fmt", "--check", "."),
    ("migrate", "--check", "."),
    ("import", "jobs/job.yaml"),
    ("rules",),
    ("explain", "NET001"),
    ("test", "."),
    ("baseline", "."),
]


@pytest.mark.parametrize("command", mark_others(COMMANDS, every=3), ids=lambda command: command[0])
def test_no_command_calls_anybody_or_looks_at_the_home(command: tuple[str, ...], tree: Tree) -> None:
    (tree.top / "jobs" / "profile.yaml").write_text(PROFILE + '  workingDir: "/${{ metadata.name }}"\n')
    (tree.top / "podplan.toml").write_text('policies = ["policies"]\n')
    (tree.top / "policies").mkdir()
    _, said, seen = tree.run(*command)
    assert tree.strays(seen) == []
    calls = {event for event, _ in seen} & {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"}
    assert not calls, said
    assert not [event for event, _ in seen if event.startswith(("socket.", "urllib.", "http."))]
    assert not [event for event, _ in seen if event.startswith(("pickle", "ctypes"))]


PLANTED = (
    "yaml.py",
    "json.py",
    "click.py",
    "jinja2.py",
    "jsonschema_rs.py",
    "re.py",
    "tomllib.py",
    "conftest.py",
)


def test_no_file_of_the_tree_is_run(tree: Tree) -> None:
    """As the command that users have, and with what Python and its tools look for in a folder."""
    mark = tree.home / "ran"
    evil = f"open({str(mark)!r}, 'w').close()\n"
    for name in (*PLANTED, "sitecustomize.py", "usercustomize.py", "podplan.py", "setup.py", "evil.pth"):
        (tree.top / name).write_text(evil)
    for name in ("podplan", "podplan/cli", "evil-1.dist-info"):
        (tree.top / name).mkdir()
    (tree.top / "podplan" / "__init__.py").write_text(evil)
    (tree.top / "podplan" / "__main__.py").write_text(evil)
    (tree.top / "evil-1.dist-info" / "entry_points.txt").write_text("[podplan.policies]\nevil = conftest\n")
    (tree.top / "pyproject.toml").write_text('[tool.podplan]\npolicies = ["conftest.py"]\n')
    script = Path(sys.executable).parent / "podplan"
    assert script.is_file(), "podplan is not installed beside this Python"
    for command in ("check", "render", "rules", "fmt", "test"):
        run = subprocess.run([script, command], cwd=tree.top, capture_output=True, timeout=60, check=False)
        assert b"Traceback" not in run.stderr
        assert not mark.exists(), command


def test_python_that_is_told_so_runs_no_file_of_the_tree(tree: Tree) -> None:
    """Without -I Python looks in the folder that one stands in, before podplan has begun."""
    mark = tree.home / "ran"
    for name in (*PLANTED, "functools.py", "types.py", "podplan.py"):
        (tree.top / name).write_text(f"open({str(mark)!r}, 'w').close()\n")
    for options, ran in ((["-I"], False), ([], True)):
        command = [sys.executable, *options, "-m", "podplan", "rules"]
        run = subprocess.run(command, cwd=tree.top, capture_output=True, timeout=60, check=False)
        assert mark.exists() == ran, run.stderr
    assert "python -I -m podplan" in (HERE / "SECURITY.md").read_text()


def test_the_hook_sees_what_is_done(tree: Tree) -> None:
    """The tests above would see nothing if the hook did not work."""
    tree.run("check", str(tree.outside / "base.yaml"))
    _, _, seen = tree.run("check", str(tree.outside / "base.yaml"))
    assert str(tree.outside / "base.yaml") in tree.strays(seen)
