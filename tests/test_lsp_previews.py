"""``podplan/lower`` and ``podplan/graph``: what the editor shows beside a document follows its text."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from podplan.integrations.lsp.documents import MAX_CHECKED_CHARACTERS
from podplan.integrations.lsp.field_effects import MAX_PLANS
from podplan.integrations.lsp.params import INVALID_PARAMS, REQUEST_FAILED
from tests.editor import Editor, Message

PROJECT = Path(__file__).parent.parent / "fixtures" / "lsp" / "project"
PROFILE, CR, BASE, INVENTORY = (
    "jobs/bert.yaml",
    "jobs/count.yaml",
    "bases/training.yaml",
    "clusters/main.yaml",
)


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Editor]:
    folder = tmp_path / "work"
    shutil.copytree(PROJECT, folder)
    (folder / ".git").mkdir()
    with Editor(folder) as editor:
        editor.start()
        yield editor


def about(editor: Editor, name: str, **more: object) -> Message:
    return {"textDocument": {"uri": editor.uri(name)}, **more}


def test_every_variant_is_lowered_below_its_name(editor: Editor) -> None:
    editor.open(PROFILE)
    result = editor.request("podplan/lower", about(editor, PROFILE))
    headings = [line for line in result["text"].splitlines() if line.startswith("# ===")]
    assert headings == ["# === PyTorchTrainingJob/bert, as written", "# === PyTorchTrainingJob/bert, dev"]
    assert result["variants"] == ["as written", "dev"]
    names = [one["metadata"]["name"] for one in yaml.safe_load_all(result["text"]) if one["kind"] == "Pod"]
    assert names == ["bert-worker-0", "bert-worker-{1..31}", "bert-worker-0"]


def test_one_variant_is_lowered_on_request(editor: Editor) -> None:
    editor.open(PROFILE)
    result = editor.request("podplan/lower", about(editor, PROFILE, variant="dev"))
    assert "as written" not in result["text"]
    assert result["variants"] == ["as written", "dev"]


def test_the_text_follows_an_edit_that_is_not_saved(editor: Editor) -> None:
    editor.open(CR)
    assert "{0..2}" in editor.request("podplan/lower", about(editor, CR))["text"]
    text = (PROJECT / CR).read_text().replace("replicas: 3", "replicas: 7")
    editor.change(CR, text)
    result = editor.request("podplan/lower", about(editor, CR))
    assert "{0..6}" in result["text"]
    assert result["variants"] == []
    assert "7 Pods" in editor.request("podplan/graph", about(editor, CR))["svg"]


def test_a_base_is_lowered_as_the_profiles_that_extend_it(editor: Editor) -> None:
    editor.open(BASE)
    assert "PyTorchTrainingJob/bert" in editor.request("podplan/lower", about(editor, BASE))["text"]


def test_the_picture_is_an_svg_without_scripts_and_links(editor: Editor) -> None:
    editor.open(PROFILE)
    svg = editor.request("podplan/graph", about(editor, PROFILE))["svg"]
    root = ElementTree.fromstring(svg)
    assert {node.tag.rpartition("}")[2] for node in root.iter()}.isdisjoint({"script", "a", "image", "use"})
    assert "prefers-color-scheme:dark" in svg


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        (INVENTORY, None, "no JobProfile and no training job"),
        (CR, "kind: [", "no JobProfile and no training job"),
        (CR, (PROJECT / CR).read_text().replace("replicas: 3", "replicas: many"), "errors that prevent"),
        (CR, "#" * (MAX_CHECKED_CHARACTERS + 1), "too long"),
    ],
)
@pytest.mark.parametrize("method", ["podplan/lower", "podplan/graph"])
def test_a_reason_is_the_response_where_there_is_nothing_to_show(
    editor: Editor, method: str, name: str, text: str | None, reason: str
) -> None:
    editor.open(name, text)
    error = editor.answer(method, about(editor, name))["error"]
    assert error["code"] == REQUEST_FAILED
    assert reason in error["message"]


def test_what_cannot_be_asked(editor: Editor) -> None:
    assert editor.answer("podplan/lower", about(editor, CR))["error"]["code"] == REQUEST_FAILED
    editor.open(PROFILE)
    unknown = editor.answer("podplan/lower", about(editor, PROFILE, variant="prod"))["error"]
    assert unknown == {"code": REQUEST_FAILED, "message": "prod is not lowered; the findings say why"}
    assert (
        editor.answer("podplan/lower", about(editor, PROFILE, variant=1))["error"]["code"] == INVALID_PARAMS
    )


def test_a_variant_with_errors_is_named_above_the_others(editor: Editor) -> None:
    editor.open(PROFILE, (PROJECT / PROFILE).read_text().replace("replicas: 1,", "replicas: [],"))
    result = editor.request("podplan/lower", about(editor, PROFILE))
    assert result["text"].startswith(
        "# not lowered because of errors: dev\n---\n# === PyTorchTrainingJob/bert"
    )
    assert result["variants"] == ["as written"]


def test_many_variants_are_truncated_with_a_note(editor: Editor) -> None:
    matrix = f"  matrix: {{maxInstances: 99, axes: {{shard: {list(range(MAX_PLANS + 1))}}}}}\n"
    editor.open(PROFILE, (PROJECT / PROFILE).read_text() + matrix)
    result = editor.request("podplan/lower", about(editor, PROFILE))
    assert result["text"].startswith(f"# the first {MAX_PLANS} variants; ")
    assert result["variants"] == [f"shard-{number}" for number in range(MAX_PLANS)]
