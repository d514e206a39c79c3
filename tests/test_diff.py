"""podplan diff: what it prints for the cases below fixtures/diff, and what holds for any two trees."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from podplan.cli.diff import compare_paths
from podplan.kubernetes import DEFAULT_VERSION
from podplan.redaction.redactor import DIFFERENT_VALUE_NOTE
from podplan.report import diff_json, diff_markdown, diff_text
from podplan.schema.catalog import build_schema
from podplan.tools.diff import Diff
from podplan.tools.diff.model import Count, Difference, JobChange
from tests.git import commit, git_in

FIXTURES = Path(__file__).parents[1] / "fixtures"
CASES = sorted(path for path in (FIXTURES / "diff").iterdir() if path.is_dir())
# Whose other levels are held, too.
AT_LEVELS = ("image_in_a_base", "secrets", "two_kinds")
SCHEMA = jsonschema.Draft202012Validator(
    build_schema("Diff", DEFAULT_VERSION)
)  # a schema: see tests/test_schema.py
SECRETS = ("not-for-anybody", "hf_abcdefgh", "correct-horse", "sk-abcdef")


def repository(case: Path, folder: Path, base: str = "base", head: str = "head") -> None:
    """A repository whose last commit has one side of a case, and whose work tree has the other."""
    git = git_in(folder)
    git("init", "-q", "-b", "main")
    shutil.copytree(case / base, folder, dirs_exist_ok=True, copy_function=shutil.copyfile)
    commit(git, "base")
    for path in folder.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(case / head, folder, dirs_exist_ok=True, copy_function=shutil.copyfile)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(
    case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_regression: FileRegressionFixture
) -> None:
    repository(case, tmp_path)
    monkeypatch.chdir(tmp_path)
    found = compare_paths(())
    texts = {
        "diff.txt": diff_text.render(found),
        "diff.md": diff_markdown.render(found),
        "diff.json": diff_json.render(found),
    }
    if case.name in AT_LEVELS:
        for level in ("source", "cr"):
            texts[f"diff.{level}.txt"] = diff_text.render(compare_paths((), level=level))
    for name, text in texts.items():
        file_regression.check(text, fullpath=case / name, encoding="utf-8", newline="")
        assert not [word for word in SECRETS if word in text]
    SCHEMA.validate(json.loads(texts["diff.json"]))


def between(one: Path, other: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Diff:
    """Two folders compared, from where the second one is seen as the repository."""
    for side, name in ((one, "before"), (other, "after")):
        shutil.copytree(side, folder / name)
        (folder / name / ".git").mkdir()
    monkeypatch.chdir(folder)
    return compare_paths(("after",), base_tree="before")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_difference_mirrored_is_that_of_the_mirrored(
    case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, back = tmp_path / "there", tmp_path / "back"
    forth = between(case / "base", case / "head", there, monkeypatch)
    other = between(case / "head", case / "base", back, monkeypatch)
    assert Counter(map(_mirrored, map(_told, forth.changes))) == Counter(map(_told, other.changes))
    assert Counter(_job_mirrored(job) for job in forth.jobs) == Counter(map(_job, other.jobs))
    assert forth.impact.gpus == Count(*reversed(other.impact.gpus))
    assert forth.impact.pods == Count(*reversed(other.impact.pods))


def _told(change: Difference) -> tuple[Any, ...]:
    sides = (repr(_unsaid(side)) for side in (change.before, change.after))
    return change.kind, change.part, change.objects, len(change.jobs), *sides


def _unsaid(value: Any) -> Any:
    if isinstance(value, list):
        return [word for word in value if word != DIFFERENT_VALUE_NOTE.strip()]
    return value.removesuffix(DIFFERENT_VALUE_NOTE) if isinstance(value, str) else value


def _mirrored(told: tuple[Any, ...]) -> tuple[Any, ...]:
    return *told[:4], told[5], told[4]


def _job(job: JobChange) -> tuple[Any, ...]:
    names = (job.name, job.was or job.name)
    return job.what, job.effect, job.kind, *names, job.pods, job.gpus


def _job_mirrored(job: JobChange) -> tuple[Any, ...]:
    others = {"created": "removed", "removed": "created", "broken": "mended", "mended": "broken"}
    told = _job(job)
    counts = (Count(*reversed(count)) for count in (job.pods, job.gpus))
    return others.get(job.what, job.what), told[1], told[2], told[4], told[3], *counts


@pytest.mark.parametrize(
    ("folder", "level"), [("diff", "lowered"), ("gallery", "lowered"), ("gallery", "source"), ("lsp", "cr")]
)
def test_equal_trees_differ_in_nothing(
    folder: str, level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(FIXTURES / folder, tmp_path / "tree")
    monkeypatch.chdir(tmp_path / "tree")
    git_in(tmp_path / "tree")("init", "-q")
    inventories = [path for path in Path().rglob("*.yaml") if b"ClusterInventory" in path.read_bytes()]
    for path in inventories[1:]:
        path.unlink()
    found = compare_paths((".",), base_tree=".", level=level)
    assert found.is_empty
    assert not any(count.more for count in (found.impact.pods, found.impact.gpus))
    assert "no change" in diff_text.render(found)
    assert "no change" in diff_markdown.render(found)


EDITED = FIXTURES / "diff" / "edited_by_hand"


def notes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *edits: tuple[str, str, str], **flags: Any
) -> list[str]:
    """The notes on one side of a case whose files are edited, beside it as it was."""
    for side in ("before", "after"):
        shutil.copytree(EDITED / "base", folder / side)
        (folder / side / ".git").mkdir()
    for file, old, new in edits:
        text = (folder / file).read_text()
        assert old in text
        (folder / file).write_text(text.replace(old, new))
    monkeypatch.chdir(folder)
    return list(compare_paths(("after",), base_tree="before", **flags).notes)


ONE = "rendered/bert.yaml differs from what bert.yaml renders: only the profile is compared"
FOUR, SIX = "replicas: 4", "replicas: 6"
PARAM = (
    "after/bert.yaml",
    FOUR,
    'replicas: "${{ params.count }}"\n  params: {count: {type: integer, default: 4}}',
)
SET = ("after/rendered/bert.yaml", "from bert.yaml", "from bert.yaml --set params.count=6")


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ([], []),
        ([("after/rendered/bert.yaml", FOUR, SIX)], [f"{ONE}; run podplan render again"]),
        ([("before/rendered/bert.yaml", FOUR, SIX)], [f"before the change, {ONE}"]),
        (
            [("before/rendered/bert.yaml", FOUR, SIX), ("after/rendered/bert.yaml", FOUR, SIX)],
            [f"{ONE}; run podplan render again"],
        ),
        ([("after/bert.yaml", FOUR, SIX), ("after/rendered/bert.yaml", FOUR, SIX)], []),
        ([("after/rendered/bert.yaml", "name: bert", "name: gpt")], [f"{ONE}; run podplan render again"]),
        # With other flags than those of the comparison.
        ([PARAM, SET, ("after/rendered/bert.yaml", FOUR, SIX)], []),
        ([PARAM, SET], [f"{ONE}; run podplan render again"]),
        # Of a broken profile it is told that it is broken, and of a job without one that it is another.
        ([("after/bert.yaml", "run: [pretrain.py]", 'run: ["${{ params.nope }}"]')], ["broken"]),
        ([("after/rendered/bert.yaml", "bert.yaml\n", "none.yaml\n")], ["twice"]),
    ],
)
def test_rendered_files_that_differ_from_their_profiles(
    edits: list[tuple[str, str, str]], said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = notes(tmp_path, monkeypatch, *edits)
    if said in (["broken"], ["twice"]):
        assert not any("differ" in note for note in found)
        assert found
    else:
        assert found == said


def test_a_rendered_file_beside_a_profile_that_is_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes(tmp_path, monkeypatch, ("after/rendered/bert.yaml", FOUR, SIX))
    found = compare_paths(("after/rendered",), base_tree="before/rendered")
    assert found.notes == (f"{ONE.replace('rendered/bert', 'bert', 1)}; run podplan render again",)


def test_jobs_whose_name_is_no_text_are_called_by_their_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = git_in(tmp_path)
    git("init", "-q", "-b", "main")
    (tmp_path / "README").write_text("")
    commit(git, "base")
    job = "apiVersion: batch.tensorstack.dev/v1beta1\nkind: GenericJob\nmetadata: {name: y}\nspec: {}\n"
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(job)
    monkeypatch.chdir(tmp_path)
    found = compare_paths(())
    assert [(one.what, one.name) for one in found.jobs] == [("broken", "a.yaml"), ("broken", "b.yaml")]
    assert not [note for note in found.notes if "written 2 times" in note]
