"""Documents that CRs refer to: how they are found, and that everything that depends on them knows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podplan import pipeline
from podplan.checker import check as checker
from podplan.cli.check_run import resolve_check_settings
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.kinds import registry
from podplan.kinds.spec import Reference, References
from podplan.workspace.loader import Loader
from podplan.workspace.references import DocumentIndex
from tests.caching.conftest import check, tree  # noqa: F401
from tests.caching.runs import Run
from tests.command import JOB
from tests.declared import FILES, TEMPLATE, TUNE_JOB, lay_out
from tests.editor import Editor
from tests.git import commit, git_in
from tests.golden_cases import podplan

MOVING = TEMPLATE.replace("tune:1.0.0", "tune:latest")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found(*rules: str) -> list[str]:
    result = json.loads(podplan("check", "--format", "json", "jobs").out)
    return [
        f"{one['file']}:{one['line']} {one['rule']}" for one in result["findings"] if one["rule"] in rules
    ]


def test_a_missing_document_is_reported_and_counted(folder: Path) -> None:
    (folder / "platform/template.yaml").unlink()
    result = json.loads(podplan("check", "--format", "json", "jobs").out)
    (one,) = [one for one in result["findings"] if one["rule"] == "CR901"]
    assert (one["file"], one["line"], one["column"]) == ("jobs/sweep.yaml", 4, 18)
    assert one["message"].startswith('TuneTemplate "big" in the namespace "team" is not in this repository')
    assert result["summary"]["lowered"] == 4
    assert (
        result["summary"]["notChecked"]["lowered objects: a document that the CR refers to is not known"] == 1
    )


def test_a_name_that_is_not_written_is_missing(folder: Path) -> None:
    (folder / "jobs/sweep.yaml").write_text(TUNE_JOB.replace("template: big", "template: 3"))
    assert found("CR901") == ["jobs/sweep.yaml:4 CR901"]


def test_two_documents_of_one_name_are_ambiguous(folder: Path) -> None:
    (folder / "platform/again.yaml").write_text(TEMPLATE)
    assert found("CR901", "CR902") == ["jobs/sweep.yaml:4 CR902"]


def test_the_namespace_decides(folder: Path) -> None:
    for namespace in ("team", "other"):
        text = TEMPLATE.replace("name: big", f"name: big, namespace: {namespace}")
        (folder / f"platform/{namespace}.yaml").write_text(text.replace("1.0.0", namespace))
    assert found("CR901", "CR902") == []
    assert "proxy:team" in podplan("lower", "jobs/sweep.yaml").out


def test_another_group_is_another_kind(folder: Path) -> None:
    (folder / "platform/template.yaml").write_text(TEMPLATE.replace("ml.example.com", "other.example.com"))
    assert found("CR901") == ["jobs/sweep.yaml:4 CR901"]


@pytest.mark.parametrize("form", ["list", "typed list", "json", "quoted"])
def test_documents_are_found_however_they_are_written(folder: Path, form: str) -> None:
    import yaml

    data = yaml.safe_load(TEMPLATE)
    if form == "typed list":
        head = {"apiVersion": data.pop("apiVersion"), "kind": data.pop("kind") + "List"}
        text = yaml.safe_dump({**head, "items": [data]})
    elif form == "list":
        text = yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [data]})
    else:
        text = (
            json.dumps(data)
            if form == "json"
            else TEMPLATE.replace("kind: TuneTemplate", '"kind" : "TuneTemplate"')
        )
    (folder / "platform/template.yaml").write_text(text)
    assert found("CR901", "CR902") == []


def test_nothing_outside_the_root_is_read(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "template.yaml"
    (folder / "platform/template.yaml").rename(outside)
    (folder / "platform/template.yaml").symlink_to(outside)
    assert found("CR901") == ["jobs/sweep.yaml:4 CR901"]


def test_excluded_files_are_not_looked_into(folder: Path) -> None:
    (folder / "podplan.toml").write_text('exclude = ["*template*"]\n')
    assert found("CR901") == ["jobs/sweep.yaml:4 CR901"]


def test_crs_without_references_look_nothing_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "jobs/plain.yaml").write_text("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n")
    monkeypatch.setattr(Loader, "_build_index", lambda *_: pytest.fail("the tree is searched"))
    assert podplan("check", "jobs/plain.yaml").code == 0


def test_the_tree_is_searched_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        (folder / f"jobs/{number}.yaml").write_text(TUNE_JOB.replace("sweep", f"job{number}"))
    built: list[str] = []
    build = Loader._build_index

    def counting(reader: Loader, root: str, places: Any) -> DocumentIndex:
        built.append(root)
        return build(reader, root, places)

    monkeypatch.setattr(Loader, "_build_index", counting)
    assert podplan("check", "jobs").code == 0
    assert len(built) == 1


@pytest.mark.parametrize("name", ["big", "bigger"])
def test_a_kind_of_the_registry_gets_its_references(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """What a TrainJob needs: the runtime comes with its place, or the job is not lowered."""
    reference = Reference("ml.example.com", "TuneTemplate", "", name, ("metadata", "name"))
    load, lower = registry.load_spec, registry.lower_cr
    given: list[References] = []

    def lowering(cr: TracedDocument, references: References, options: LoweringOptions) -> list[ReplicaGroup]:
        given.append(references)
        return lower(cr, references, options)

    monkeypatch.setattr(pipeline, "lower_cr", lowering)
    monkeypatch.setattr(
        pipeline, "load_spec", lambda kind: load(kind)._replace(list_references=lambda _: (reference,))
    )
    (folder / "jobs/known.yaml").write_text(JOB)
    result = json.loads(podplan("check", "--format", "json", "jobs/known.yaml").out)
    if name == "big":
        (references,) = given
        cursor = references["metadata", "name"]
        assert cursor.doc.source is not None
        assert (cursor.doc.source.file, cursor.value["metadata"]["name"]) == ("platform/template.yaml", "big")
        assert result["summary"]["lowered"] == 3
    else:
        assert given == []
        assert "CR901" in [one["rule"] for one in result["findings"]]
        assert result["summary"]["lowered"] == 0


# --- what depends on a referenced document


def test_a_changed_template_makes_a_cached_result_useless(tree: Path, check: Run) -> None:  # noqa: F811
    lay_out(tree)
    first, second = check(), check()
    assert (first.checked, second.checked) == (True, False)
    (tree / "platform/template.yaml").write_text(MOVING)
    third = check()
    assert third.checked
    assert third.out != second.out
    (tree / "platform/again.yaml").write_text(MOVING)
    assert check().checked


@pytest.mark.parametrize("changed", ["platform/template.yaml", "platform/mappings.yaml"])
def test_affected_by_knows_the_jobs(folder: Path, changed: str) -> None:
    (folder / "jobs/sweep.yaml").write_text(TUNE_JOB.replace("sweep", "x" * 60))
    assert ("jobs/sweep.yaml", "NAME001") in affected_by(changed)
    assert ("jobs/sweep.yaml", "NAME001") not in affected_by("jobs/etl.yaml")


def affected_by(changed: str) -> set[tuple[str, str]]:
    result = json.loads(podplan("check", "--format", "json", "--affected-by", changed).out)
    return {(one["file"], one["rule"]) for one in result["findings"]}


@pytest.mark.long
def test_workers_say_what_one_process_says(folder: Path) -> None:
    (folder / "platform/template.yaml").write_text(MOVING)
    for number in range(120):
        (folder / f"jobs/{number}.yaml").write_text(TUNE_JOB.replace("sweep", f"job{number}"))
    settings = resolve_check_settings(("jobs",)).settings
    one, two = (checker.check_files(["jobs"], settings, Loader(), workers=count) for count in (1, 2))
    assert one.findings == two.findings
    assert one.summary == two.summary
    assert one.dependencies == two.dependencies
    assert len([each for each in one.findings if each.rule == "IMG002"]) == 1


def test_diff_shows_the_pods_that_a_template_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git = git_in(tmp_path)
    git("init", "-q")
    lay_out(tmp_path)
    commit(git, "start")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "platform/template.yaml").write_text(MOVING)
    result = json.loads(podplan("diff", "--base", "HEAD", "--format", "json").out)
    assert "registry.example.com/tune:latest" in json.dumps(result)
    (tmp_path / "platform/template.yaml").unlink()
    result = json.loads(podplan("check", "--changed-since", "HEAD", "--format", "json").out)
    assert [one["rule"] for one in result["findings"]] == ["CR901"]


def test_an_edit_of_a_template_checks_the_job_again(folder: Path) -> None:
    with Editor(folder) as editor:
        editor.start()
        editor.open("platform/template.yaml")
        assert "IMG002" not in [one["code"] for one in editor.diagnostics("platform/template.yaml")]
        editor.change("platform/template.yaml", MOVING)
        (one,) = [one for one in editor.diagnostics("platform/template.yaml") if one["code"] == "IMG002"]
        assert one["range"]["start"]["line"] == 10
        (related,) = one["relatedInformation"]
        assert related["location"]["uri"] == editor.uri("jobs/sweep.yaml")


def test_a_secret_of_a_template_is_in_no_report(folder: Path) -> None:
    env = "      env:\n      - {name: API_TOKEN, value: hunter2hunter2, valueFrom: {}}\n"
    (folder / "platform/template.yaml").write_text(MOVING + env)
    for format_ in ("full", "json", "sarif", "github"):
        run = podplan("check", "--format", format_, "jobs")
        assert run.code == 1
        assert "template.yaml" in run.out
        assert "hunter2" not in run.out + run.err


def test_fields_of_a_mapping_are_completed(folder: Path) -> None:
    with Editor(folder) as editor:
        editor.start()
        editor.open("platform/mappings.yaml", "apiVersion: podplan/v1\nkind: WorkloadMapping\nspec:\n  re\n")
        result = editor.request("textDocument/completion", editor.at("platform/mappings.yaml", 3, 4))
        items = result["items"] if isinstance(result, dict) else result
        assert "replicaTypes" in [one["label"] for one in items]


def test_an_edit_of_a_mapping_checks_its_jobs_again(folder: Path) -> None:
    with Editor(folder) as editor:
        editor.start()
        editor.open("platform/mappings.yaml")
        assert editor.diagnostics("platform/mappings.yaml") == []
        text = FILES["platform/mappings.yaml"].replace("spec.tasks[*].template", "spec.task[*].template")
        editor.change("platform/mappings.yaml", text)
        assert [one["code"] for one in editor.diagnostics("platform/mappings.yaml")] == ["CR903"]
