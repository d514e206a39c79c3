"""docs/fixes.md is what the code does: after a safe fix each job does the same, or it did not run before."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import podplan
from podplan.core.findings import Finding
from podplan.lint.registry import load_policy_documents
from podplan.pipeline import PipelineSettings
from podplan.yaml import parse_yaml
from podplan.yaml.writer import emit_documents
from tests.command import podplan as run
from tests.fixed_jobs import Jobs, Texts, checked, jobs, settings_of, with_fix, without_variable, write
from tests.golden_cases import FIXTURES, mistake_cases

TOP = Path(__file__).parents[1]
PACKAGE = Path(podplan.__path__[0])
COMMENTS = ("LINT005",)
ROW = re.compile(r"^\| ([A-Z]+[0-9]{3}) \| (.+?) \| (safe|unsafe) \| (.+?) \| (.+?) \|$", re.MULTILINE)
SHOWN_SAFE = {"same objects", "same but the variable", "refused before", "same file"}
SHOWN_UNSAFE = {"other objects", "same but the variable", "–"}


class Row(NamedTuple):
    """A fix as the table has it."""

    rule: str
    fix: str
    safe: bool
    why: str
    shown: str


@cache
def table() -> list[Row]:
    text = (TOP / "docs" / "fixes.md").read_text()
    return [Row(rule, fix, safe == "safe", why, shown) for rule, fix, safe, why, shown in ROW.findall(text)]


class Repository(NamedTuple):
    """Files of a repository, and the tool that applies its CRs."""

    texts: Texts
    gitops: str = "none"


def job(kind: str, spec: str) -> str:
    head = f"apiVersion: batch.tensorstack.dev/v1beta1\nkind: {kind}\n"
    return f"{head}metadata: {{name: train, namespace: nlp}}\nspec:\n{spec}"


FLOW = "    template: {spec: {containers: [{name: python, image: 'a:1', CONTAINER}]}}\n"
BLOCK = """\
    template:
      spec:
        containers:
        - name: python
          image: a:1
CONTAINER"""


def torchrun(container: str) -> Repository:
    """A PyTorchTrainingJob with torchrun; the fields of its container may be lines."""
    spec = "  torchrunConfig: {enabled: true, procPerNode: '2'}\n"
    spec += "  replicaSpecs:\n  - type: worker\n    replicas: 2\n"
    template = (BLOCK if "\n" in container else FLOW).replace("CONTAINER", container)
    return Repository({"job.yaml": job("PyTorchTrainingJob", spec + template)})


COMMAND_IN_LINES = """\
          command:
          - torchrun
          - train.py
          args:
          - --epochs
          - '3'
"""


PROFILE = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: NAME}
spec:
  job: PyTorchTrainingJob
  launcher: torchrun
  image: a:1
"""
BASE = "apiVersion: podplan/v1\nkind: JobProfileBase\nmetadata: {name: b}\nspec:\n"
INVENTORY = """\
apiVersion: podplan/v1
kind: ClusterInventory
metadata: {name: a}
spec:
  hardware:
    small: {resources: {cpu: 8, memory: 64Gi, nvidia.com/gpu: 4}, shmm: 16Gi}
"""


def profile(spec: str, name: str = "a") -> str:
    return PROFILE.replace("NAME", name) + spec


# What the examples and fixtures lack, among it repositories in which a fix for one job is none for another.
MORE = {
    "torchrun in the command": torchrun("command: [torchrun, train.py]"),
    "torchrun in the command, options in args": torchrun(
        "command: [torchrun, train.py], args: [--epochs, '3']"
    ),
    "torchrun with options in the command": torchrun(
        "command: [torchrun, --nproc_per_node=8, train.py], args: [--epochs, '3']"
    ),
    "python in the command": torchrun("command: [python, -u, train.py], args: [--epochs, '3']"),
    "python with a module in the command": torchrun("command: [python3, -m, pkg.train]"),
    "torch.distributed.run in the command": torchrun(
        "command: [python, -m, torch.distributed.run, train.py], args: [--epochs, '3']"
    ),
    "a command in block style": torchrun(COMMAND_IN_LINES),
    "a lone command in block style": torchrun(
        "          command:\n          - /usr/bin/python3\n          - train.py   # the script\n"
    ),
    "empty args": torchrun("command: [torchrun, train.py], args: []"),
    "args that may be a script": torchrun("command: [python, train.py], args: [fast]"),
    "args with a script of their own": torchrun("command: [python, prepare.py], args: [train.py]"),
    "args with a module of their own": torchrun("command: [python, prepare.py], args: [-m, train]"),
    "a shell in the command": torchrun("command: [bash, -c, torchrun train.py]"),
    "a shell in the command, options in args": torchrun("command: [bash, train.sh], args: [--epochs, '3']"),
    "a program in the command of python": torchrun("command: [python, -c, print()]"),
    "a job of deepspeed that says nothing else": Repository(
        {
            "job.yaml": job(
                "DeepSpeedJob",
                "  worker: {template: {spec: {containers: [{name: worker, image: 'a:1',"
                " command: [deepspeed, train.py]}]}}}\n",
            )
        }
    ),
    "a variable in args": torchrun("args: [train.py, --rank=$(RANK)], env: [{name: RANK, value: '0'}]"),
    "a variable in another one": torchrun(
        "args: [train.py], env: [{name: RANK, value: '0'}, {name: ID, value: run-$(RANK)}]"
    ),
    "a variable in a probe": torchrun(
        "args: [train.py], env: [{name: RANK, value: '0'}], livenessProbe: {exec: {command: [test, '$RANK']}}"
    ),
    "a variable of nobody else": torchrun(
        "args: [train.py, --ranker], env: [{name: RANK, value: '0'}, {name: PET_NNODES, value: '1'}]"
    ),
    "a field that is required": Repository(
        {"job.yaml": torchrun("args: [train.py]").texts["job.yaml"].replace("image:", "imag:")}
    ),
    "a base that repeats another": Repository(
        {
            "a.yaml": profile("  extends: [b.yaml, c.yaml]\n  run: [a.py]\n"),
            "q.yaml": profile("  extends: [c.yaml]\n  run: [a.py]\n", "q"),
            "b.yaml": BASE + "  replicas: 3\n  retries: 2\n",
            "c.yaml": BASE + "  replicas: 3\n  deadline: 24h\n",
        }
    ),
    "a value that hides one of a base": Repository(
        {
            "a.yaml": profile(
                "  extends: [b.yaml]\n  run: [a.py, '${{ params.x }}']\n  replicas: 2\n"
                "  params: {x: {type: integer, default: 1}}\n"
                "  environments:\n    prod: {replicas: 2, values: {x: 1}}\n"
            ),
            "b.yaml": BASE + "  environments:\n    prod: {replicas: 5, values: {x: 5}}\n",
        }
    ),
    "a profile that another one extends": Repository(
        {
            "a.yaml": profile("  run: [a.py]\n  replicas: 2\n  environments:\n    prod: {replicas: 2}\n"),
            "q.yaml": "apiVersion: podplan/v1\nkind: JobProfile\nmetadata: {name: q}\n"
            "spec: {extends: [a.yaml], replicas: 3}\n",
        }
    ),
    "a base that declares a param": Repository(
        {
            "a.yaml": profile("  extends: [b.yaml]\n  run: [a.py]\n  replicas: 2\n"),
            "b.yaml": BASE + "  replicas: 3\n  params: {x: {type: integer, default: 1}}\n",
        }
    ),
    "a request beyond the limit of one environment": Repository(
        {
            "a.yaml": profile(
                "  run: [a.py]\n  resources: {requests: {memory: 64Gi}, limits: {memory: 128Gi}}\n"
                "  environments:\n    prod: {}\n    dev: {resources: {limits: {memory: 32Gi}}}\n"
            )
        }
    ),
    "a request beyond the limit of one profile": Repository(
        {
            "a.yaml": profile("  extends: [b.yaml]\n  run: [a.py]\n  resources: {limits: {memory: 32Gi}}\n"),
            "q.yaml": profile("  extends: [b.yaml]\n  run: [a.py]\n", "q"),
            "b.yaml": BASE + "  resources: {requests: {memory: 64Gi}, limits: {memory: 128Gi}}\n",
        }
    ),
    "a variable of a base": Repository(
        {
            "a.yaml": profile("  extends: [b.yaml]\n  run: [a.py]\n"),
            "q.yaml": profile("  extends: [b.yaml]\n  run: [a.py]\n", "q").replace("torchrun", "python"),
            "b.yaml": BASE + "  env: {LOCAL_RANK: '0'}\n",
        }
    ),
    "a launcher by the matrix of an environment": Repository(
        {
            "a.yaml": profile(
                "  run: [a.py]\n  environments:\n    prod:\n      env: {LOCAL_RANK: '0'}\n"
                "      matrix: {axes: {kind: [torchrun, python]}}\n"
            ).replace("launcher: torchrun", 'launcher: "${{ matrix.kind }}"')
        }
    ),
    "a slip in an inventory": Repository(
        {
            "inventory.yaml": INVENTORY,
            "a.yaml": profile("  run: [a.py]\n  hardware: small\n"),
        }
    ),
    "a slip in a base": Repository(
        {
            "a.yaml": profile("  extends: [b.yaml]\n  run: [a.py]\n"),
            "b.yaml": BASE + "  replicass: 4\n",
        }
    ),
    "a slip in a profile": Repository({"a.yaml": profile("  run: [a.py]\n  deadlin: 24h\n")}),
    "a comment that ignores nothing": Repository(
        {"a.yaml": profile("  run: [a.py]\n  replicas: 2  # podplan: ignore[SEC018, IMG003] -- it is so\n")}
    ),
}


def of_folder(folder: Path) -> Texts:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.stem != "findings"]
    return {str(path.relative_to(folder)): path.read_bytes().decode("utf-8", "replace") for path in files}


def repositories() -> Iterator[tuple[str, Repository]]:
    for path in sorted((FIXTURES / "fixes").glob("*.yaml")):
        yield f"fixes/{path.stem}", Repository({"job.yaml": path.read_bytes().decode()})
    others = [path for path in (FIXTURES / "findings").iterdir() if path.is_dir() and path.name != "policies"]
    for folder in (*sorted(others), *mistake_cases()):
        yield f"findings/{folder.name}", Repository(of_folder(folder))
    for data in load_policy_documents():
        for example in data["examples"] if "fix" in data else ():
            if example["verdict"] == "bad":
                texts = {"example.yaml": emit_documents(example.get("objects") or [example["object"]])}
                texts |= {name: emit_documents([one]) for name, one in example.get("files", {}).items()}
                tool = example.get("gitops", "none")
                yield f"{data['id']} {example['name']}", Repository(texts, tool)
    yield from MORE.items()


CASES = dict(repositories())


class Made(NamedTuple):
    """A fix that was made by itself: what it is of, and what became of the jobs of the repository."""

    case: str
    finding: Finding
    shown: frozenset[str]

    @property
    def safe(self) -> bool:
        assert self.finding.fix is not None
        return self.finding.fix.safe

    @property
    def row(self) -> Row:
        """The row of the table for it."""
        rows = [row for row in table() if row.rule == self.finding.rule]
        wanted = {
            "CR004": "move the words"
            if self.finding.fix and self.finding.fix.title.startswith("move")
            else "remove the command",
            "CR009": "PET_" if self.finding.message.startswith("PET_") else "launcher",
        }.get(self.finding.rule, "")
        return next(row for row in rows if wanted in row.fix)


def made(case: str, folder: Path) -> Iterator[Made]:
    """Each fix of a repository, made by itself in a copy of it below ``folder``, which is where we are."""
    repository = CASES[case]
    settings = settings_of(repository.gitops)
    (folder / ".git").mkdir(exist_ok=True)
    write(folder, repository.texts)
    result = checked(settings)
    fixable = [one for one in result.fixable_findings if one.fix is not None and one.fix.edits]
    before = jobs(settings) if fixable else {}
    for finding in fixable:
        write(folder, with_fix(result.original_texts, finding))
        yield Made(case, finding, _shown(finding, before, settings, result.original_texts))
        write(folder, repository.texts)


def _shown(
    finding: Finding, before: Jobs, settings: PipelineSettings, texts: Mapping[str, str]
) -> frozenset[str]:
    if finding.rule in COMMENTS:
        was = [each.data for each in parse_yaml(texts[finding.location.file].encode(), "f").documents]
        now = [each.data for each in parse_yaml(Path(finding.location.file).read_bytes(), "f").documents]
        return frozenset({"same file" if was == now else "another file"})
    after = jobs(settings)
    name = finding.message.partition(" ")[0] if finding.rule == "CR009" else ""
    shown = set()
    for key, one in before.items():
        other = after.get(key)
        if other is not None and other.objects == one.objects:
            shown.add("same objects")
        elif one.refused:
            shown.add("refused before")
        elif name and other and without_variable(other.objects, name) == without_variable(one.objects, name):
            shown.add("same but the variable")
        else:
            shown.add("other objects")
    return frozenset(shown)


@pytest.fixture(scope="module")
def all_made(tmp_path_factory: pytest.TempPathFactory) -> list[Made]:
    found: list[Made] = []
    with pytest.MonkeyPatch.context() as patch:
        for case in CASES:
            folder = tmp_path_factory.mktemp("repository")
            patch.chdir(folder)
            found += made(case, folder)
    return found


@pytest.mark.long
def test_after_a_safe_fix_a_job_does_the_same_or_it_did_not_run_before(all_made: list[Made]) -> None:
    wrong = [one for one in all_made if one.safe and one.shown - _allowed(one.row)]
    assert [(one.case, one.finding.rule, one.finding.message, one.shown) for one in wrong] == []


def _allowed(row: Row) -> set[str]:
    return {"same objects", "refused before"} | ({row.shown} if row.safe else set())


@pytest.mark.long
def test_each_row_of_the_table_is_shown(all_made: list[Made]) -> None:
    shown: dict[Row, set[str]] = {row: set() for row in table()}
    for one in all_made:
        if one.safe == one.row.safe:
            shown[one.row] |= one.shown
    for row, seen in shown.items():
        assert row.shown in (SHOWN_SAFE if row.safe else SHOWN_UNSAFE), row
        assert seen, f"no case makes the fix: {row}"
        assert row.shown in seen or row.shown == "–", f"{row} is not shown by {seen}"


@pytest.mark.long
def test_a_fix_is_what_the_table_says_but_for_its_exceptions(all_made: list[Made]) -> None:
    """A fix that is not what its row says has another fate by what the row says after a semicolon, or is in a
    file that other jobs use."""
    for one in all_made:
        if one.safe != one.row.safe:
            files = {edit.file for edit in one.finding.fix.edits} if one.finding.fix else set()
            in_shared = any(
                "JobProfileBase" in text or "ClusterInventory" in text or "q.yaml" in CASES[one.case].texts
                for file, text in CASES[one.case].texts.items()
                if file in files
            )
            other = "safe" if one.safe else "unsafe"
            assert in_shared or f"; {other} " in one.row.why, (
                one.case,
                one.finding.rule,
                one.finding.message,
            )


@pytest.mark.long
def test_the_table_has_each_fix_there_is(all_made: list[Made]) -> None:
    of_policies = {data["id"] for data in load_policy_documents() if "fix" in data}
    told = {row.rule for row in table()}
    assert {one.finding.rule for one in all_made} == told
    assert of_policies <= told
    assert told - of_policies == {
        "LINT005", "PROF001", "SCHEMA001", "SCHEMA002", "SCHEMA004", "SCHEMA009", "SCHEMA011",
    }  # fmt: skip
    unsafe = {
        data["id"] for data in load_policy_documents() if "fix" in data and data["fix"].get("safe") is False
    }
    assert unsafe == of_policies - {row.rule for row in table() if row.safe}


# The modules that may say how to repair something; a new one belongs into the table.
SOURCES = {
    "kinds/common/structural_template.py", "kubernetes/resources.py", "kubernetes/messages.py",
    "lint/policy_runner.py", "schema/messages.py",
    "tools/migrator/__init__.py", "tools/migrator/profiles.py", "tools/migrator/old_spellings.py",
}  # fmt: skip


def test_no_other_module_makes_fixes() -> None:
    found = set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        if "DocumentFix" not in text:
            continue
        tree = ast.parse(text)
        imported = any(
            isinstance(node, ast.ImportFrom)
            and node.module == "podplan.core.findings"
            and any(alias.name == "DocumentFix" for alias in node.names)
            for node in ast.walk(tree)
        )
        calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
        if imported and any(
            isinstance(call.func, ast.Name) and call.func.id == "DocumentFix" for call in calls
        ):
            found.add(str(path.relative_to(PACKAGE)))
    assert found == SOURCES


def fixed(folder: Path, monkeypatch: pytest.MonkeyPatch, case: str, *flags: str) -> Texts:
    """The files of a repository after ``podplan check --fix-only``."""
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    write(folder, CASES[case].texts)
    done = run("check", "--fix-only", *flags, ".", cwd=folder)
    assert done.code == 0, done.err
    return of_folder(folder)


@pytest.mark.parametrize(
    ("case", "line"),
    [
        ("torchrun in the command", "args: [train.py]}"),
        ("torchrun in the command, options in args", ", args: [train.py, --epochs, '3']}"),
        (
            "torchrun with options in the command",
            "args: [\"--nproc_per_node=8\", train.py, --epochs, '3']}",
        ),
        ("python in the command", ", args: [train.py, --epochs, '3']}"),
        ("python with a module in the command", ", args: [-m, pkg.train]}"),
        ("torch.distributed.run in the command", ", args: [train.py, --epochs, '3']}"),
        ("a command in block style", "          args:\n          - train.py\n          - --epochs\n"),
        ("a lone command in block style", "          args:\n          - train.py   # the script\n"),
        ("empty args", ", args: [train.py]}"),
        ("args with a script of their own", ", args: [train.py]}"),
        ("args with a module of their own", ", args: [-m, train]}"),
    ],
)
def test_the_script_of_an_ignored_command_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, line: str
) -> None:
    text = fixed(tmp_path, monkeypatch, case)["job.yaml"]
    assert line in text
    assert "command:" not in text
    said = run("check", "--select", "CR004,TORCH001", ".", cwd=tmp_path)
    assert said.out.startswith("no findings"), said.out


@pytest.mark.parametrize(
    "case",
    [
        "args that may be a script",
        "a shell in the command",
        "a shell in the command, options in args",
        "a program in the command of python",
        "a job of deepspeed that says nothing else",
        "a variable in args",
        "a variable in another one",
        "a variable in a probe",
        "a base that repeats another",
        "a value that hides one of a base",
        "a profile that another one extends",
        "a base that declares a param",
        "a request beyond the limit of one environment",
        "a request beyond the limit of one profile",
        "a variable of a base",
        "a launcher by the matrix of an environment",
        "a slip in an inventory",
        "a slip in a base",
    ],
)
def test_what_would_change_a_job_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    assert fixed(tmp_path, monkeypatch, case) == CASES[case].texts


@pytest.mark.parametrize("flags", [("-e", "prod"), ("--set", "replicas=4")])
def test_what_some_variants_say_is_not_safe_for_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    text = profile("  run: [a.py]\n  env: {LOCAL_RANK: '0'}\n  environments:\n    prod: {}\n    dev: {}\n")
    monkeypatch.setitem(CASES, "variants", Repository({"a.yaml": text}))
    assert fixed(tmp_path, monkeypatch, "variants", *flags)["a.yaml"] == text
    assert "LOCAL_RANK" not in fixed(tmp_path / "all", monkeypatch, "variants")["a.yaml"]


def test_a_policy_of_an_organisation_cannot_call_a_fix_safe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = """\
id: ORG001
name: no-rank
severity: warning
basis: documented
summary: Detects variables that the controller sets.
why: The controller sets them, and one of the values wins.
scope: {level: lowered, kinds: [Pod]}
check: reserved-env
params: {names: [WORLD_SIZE]}
message: '{name} is set to {written}, and the controller sets it to {value}'
fix: {title: 'leave {name} away', safe: true}
examples:
- {name: none, verdict: bad, object: {apiVersion: v1, kind: Pod}}
"""
    text = torchrun("args: [train.py], env: [{name: WORLD_SIZE, value: '4'}]").texts["job.yaml"]
    text = text.replace("enabled: true", "enabled: false").replace("args", "command")
    config = 'policies = ["rules"]\nselect = ["ORG001"]\n'
    repository = Repository({"job.yaml": text, "rules/own.yaml": own, "podplan.toml": config})
    monkeypatch.setitem(CASES, "own", repository)
    assert fixed(tmp_path, monkeypatch, "own")["job.yaml"] == text
    assert "WORLD_SIZE" not in fixed(tmp_path / "all", monkeypatch, "own", "--unsafe-fixes")["job.yaml"]
