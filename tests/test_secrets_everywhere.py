"""A secret anywhere in a repository is in no output of any command, whether it succeeds or fails."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from podplan.cli.reports import FORMATS
from podplan.pipeline import PipelineSettings
from podplan.report.migration import format_migration
from podplan.tools.migrator import MigrationResult
from podplan.tools.migrator.equivalence import build_proofs
from podplan.yaml import parse_yaml
from tests.command import Run, podplan
from tests.editor import Editor
from tests.git import commit, git_in
from tests.secret_places import CR, PLACES, PROFILE, RUN
from tests.thoroughness import mark_long, mark_others

MARKER = "Zq7xMARKx9Qz"
OLD = "Wv3kMARKk5Vw"  # what stands there in the revision that is compared with


REPORTS = [f"--output={format_}=out/{format_}" for format_ in FORMATS]
# What these print when they succeed is a job, whole as it has to be.
PRINT_JOBS = ("render", "lower", "cmp generate", "import")
CHECK = ["check", "--exit-zero", *REPORTS, "."]
# In each place a secret is checked and given to one more of these, the next; with --thorough to all.
OTHERS = [
    ["check", "--diff", "--unsafe-fixes", "."],
    ["why", "job.yaml", "spec"],
    ["render", "-e", "all", "job.yaml"],
    ["cmp", "parameters"],
    ["cmp", "generate", "--manifests", "include"],
    ["fmt", "--diff", "."],
    ["diff", "--level", "cr", "--format", "json", "."],
    ["check", "job.yaml"],
    ["check", "--set", f"env.DB_PASSWORD={MARKER}", "--set", "env.DB_PASSWORD.x=1", "job.yaml"],
    ["check", "--changed-since", "HEAD", "."],
    ["baseline", "create", "--baseline", "out/baseline", "."],
    ["why", "--format", "json", "job.yaml", "spec"],
    ["why", "job.yaml", "spec.replicaSpecs[worker].template.spec.containers[0].env"],
    ["why", "job.yaml", "Pod/train-worker-0:spec.containers[0]"],
    ["render", "job.yaml"],
    ["lower", "job.yaml"],
    ["import", "job.yaml"],
    ["graph", "job.yaml"],
    ["graph", "--format", "mermaid", "job.yaml"],
    ["status", "--format", "json", "job.yaml"],
    ["status", "job.yaml"],
    ["fmt", "--check", "."],
    ["migrate", "--diff", "."],
    ["test", "."],
    *(["diff", "--format", format_, "."] for format_ in ("text", "markdown", "json")),
    ["diff", "--level", "source", "--format", "json", "."],
]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    (tmp_path / ".gitignore").write_text("out\n")
    return tmp_path


def plant(folder: Path, files: Mapping[str, str]) -> None:
    """Files with the marker, in a repository whose last commit has another one."""
    git = git_in(folder)
    for name, text in files.items():
        (folder / name).write_text(text.replace("MARK", OLD))
    git("init", "--quiet")
    commit(git, "before")
    for name, text in files.items():
        (folder / name).write_text(text.replace("MARK", MARKER))


def found_in(run: Run, words: list[str]) -> list[str]:
    """The lines with a marker."""
    is_job = run.code == 0 and " ".join(words).startswith(PRINT_JOBS)
    said = run.err if is_job else run.out + run.err
    return [line for line in said.splitlines() if MARKER in line or OLD in line]


@pytest.mark.parametrize("extent", mark_long(["few", "all"], short=["few"]))
@pytest.mark.parametrize("place", mark_others(PLACES, every=3))
def test_no_command_prints_a_secret(repository: Path, place: str, extent: str) -> None:
    plant(repository, PLACES[place])
    others = OTHERS if extent == "all" else [OTHERS[list(PLACES).index(place) % len(OTHERS)]]
    for words in [CHECK, *others]:
        assert not found_in(podplan(*words, cwd=repository), words), words
    for file in (repository / "out").iterdir():
        assert MARKER not in file.read_text(), file.name


@pytest.mark.long
def test_every_place_is_said_something_of(repository: Path) -> None:
    """Else nothing would be shown anyway."""
    for place, files in PLACES.items():
        for name, text in files.items():
            (repository / name).write_text(text.replace("MARK", MARKER))
        run = podplan("check", ".", cwd=repository)
        assert "***" in run.out or place.startswith("Secret"), (place, run.out)
        for name in files:
            (repository / name).unlink()


@pytest.mark.parametrize(
    "given",
    [
        {"name": "params.apiToken", "string": MARKER},
        {"name": "params.apiToken", "array": [MARKER]},
        {"name": "params.db", "map": {"dbPassword": MARKER, "x": "1"}},
        {"name": "params.db", "string": f'{{"dbPassword": "{MARKER}"'},
        {"name": "params.apiTokn", "string": MARKER},
    ],
    ids=str,
)
def test_no_secret_of_an_application_is_printed(repository: Path, given: dict[str, object]) -> None:
    params = "  params: {apiToken: {type: string, maxLength: 3}, db: {type: object, maxProperties: 1}}\n"
    (repository / "job.yaml").write_text(PROFILE + params + RUN)
    run = podplan(*("cmp", "generate"), cwd=repository, env={"ARGOCD_APP_PARAMETERS": json.dumps([given])})
    assert run.code != 0
    assert MARKER not in run.out + run.err


@pytest.mark.parametrize(
    "flag",
    [
        f"params.apiToken={MARKER}",
        f'params.db={{"dbPassword": "{MARKER}", "x": 1}}',
        f'params.db={{"dbPassword": "{MARKER}"',
        f"env.DB_PASSWORD.x={MARKER}",
        f"env.X=http://me:{MARKER}@host/",
        f"pod.spec.containers.hfToken={MARKER}",
    ],
)
@pytest.mark.parametrize(
    "command", mark_others(["check", "render", "lower", "why", "status", "graph"], every=3)
)
def test_no_secret_of_a_flag_is_printed(repository: Path, flag: str, command: str) -> None:
    params = "  params: {apiToken: {type: string, maxLength: 3}, db: {type: object, maxProperties: 1}}\n"
    (repository / "job.yaml").write_text(PROFILE + params + RUN + "  env: {DB_PASSWORD: a, oops: [1]}\n")
    words = [command, "--set", flag, "job.yaml", *(["spec"] if command == "why" else [])]
    assert not found_in(podplan(*words, cwd=repository), words)


@pytest.mark.parametrize("format_", ["text", "json"])
def test_a_cluster_has_other_secrets(repository: Path, format_: str) -> None:
    variables = "env: [{name: HF_TOKEN, value: MARK}, {name: X, value: 'http://me:MARK@h/'}]"
    text = CR.replace("]}\n", f"], {variables}, args: [--api-key, MARK]}}\n")
    (repository / "job.yaml").write_text(text.replace("MARK", MARKER))
    lowered = podplan("lower", "job.yaml", cwd=repository).out
    dump = lowered.replace(f"value: {MARKER}", f"value: {OLD}\n      extra: 1").replace(
        f":{MARKER}@", f":{OLD}@"
    )
    (repository / "dump.yaml").write_text(dump)
    words = ["lower", "--compare", "dump.yaml", "--format", format_, "job.yaml"]
    run = podplan(*words, cwd=repository)
    assert (run.code, run.err) == (1, "")
    assert "*** (another value)" in run.out
    assert MARKER not in run.out
    assert OLD not in run.out


def test_no_secret_of_its_source_is_in_what_is_said_of_a_rendered_cr(repository: Path) -> None:
    params = "  params: {apiToken: {type: string, default: MARK}}\n  env: {X: a, hfToken: MARK}\n"
    (repository / "job.yaml").write_text((PROFILE + RUN + params).replace("MARK", OLD))
    git_in(repository)("init", "--quiet")
    rendered = podplan("render", "job.yaml", cwd=repository).out
    (repository / "cr.yaml").write_text(rendered)
    for text in (PROFILE + RUN + params, PROFILE + RUN + params.replace("string,", "string, pattern: ^x,")):
        (repository / "job.yaml").write_text(text.replace("MARK", MARKER))
        run = podplan("check", "cr.yaml", cwd=repository)
        assert "GIT001" in run.out
        assert not found_in(run, ["check"])


def test_a_proof_of_migration_has_none() -> None:
    """Nothing that is migrated changes a variable; if it did, this is how the proof would say so."""
    cr = CR.replace("]}\n", "], env: [{name: HF_TOKEN, value: MARK}]}\n")
    before, after = (parse_yaml(cr.replace("MARK", one).encode(), "a.yaml") for one in (OLD, MARKER))
    said = format_migration(
        "a.yaml", MigrationResult("", (), ()), build_proofs(before, after, PipelineSettings(), {}), ""
    )
    assert 'env.HF_TOKEN.value: "***" → "*** (another value)"' in said
    assert MARKER not in said
    assert OLD not in said


@pytest.mark.parametrize("flag", [f"env.DB_PASSWORD {MARKER}", f"={MARKER}"])
def test_a_flag_that_is_none_is_not_repeated(repository: Path, flag: str) -> None:
    run = podplan("check", "--set", flag, ".", cwd=repository)
    assert run.code == 2
    assert not found_in(run, ["check"])


def test_an_editor_shows_none(tmp_path: Path) -> None:
    """But in what it writes into the file, and in the file itself."""
    text = (
        PROFILE
        + RUN
        + "  params: {apiToken: {type: integer, default: MARK}}\n  env: {X: $(T), hfToken: MARK}\n"
    )
    text = text.replace("MARK", MARKER)
    (tmp_path / "job.yaml").write_text(text)
    uri = (tmp_path / "job.yaml").as_uri()
    with Editor(tmp_path) as editor:
        editor.start()
        editor.open("job.yaml")
        said: list[object] = [editor.diagnostics("job.yaml")]
        lines = text.splitlines()
        for number, line in enumerate(lines):
            for column in range(0, len(line), 7):
                where = {"textDocument": {"uri": uri}, "position": {"line": number, "character": column}}
                for method in ("hover", "completion", "definition"):
                    said.append(editor.answer(f"textDocument/{method}", where))
        said.append(editor.answer("textDocument/documentSymbol", {"textDocument": {"uri": uri}}))
        editor.end()
    assert MARKER not in json.dumps(said)
