"""What podplan cmp hands over is what podplan render writes, for every kind, as kubectl reads both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podplan.kinds.registry import COMPILED_KINDS
from podplan.workspace.documents import classify_documents
from podplan.yaml import parse_yaml
from tests import golden_cases
from tests import plugin_server as server
from tests.golden_cases import Case

NAMELESS = golden_cases.FIXTURES / "pytorch_training_job/generate_name"
CASES = [case for case in golden_cases.cases() if case.input == "profile.yaml" and case.folder != NAMELESS]
PLAIN = ["--fail-on", "never"]
# No variable holds a NUL, so no parameter does; and none may hold an expression.
TRICKY = [
    text
    for text in json.loads((golden_cases.FIXTURES / "yaml/tricky.json").read_text(encoding="utf-8"))
    if "\0" not in text and "${{" not in text
]


def parameters(case: Case) -> list[dict[str, str]]:
    """The flags of a case as an Application would give them."""
    words = iter(case.arguments_of_render)
    given = []
    for word in words:
        if word == "-e":
            given.append({"name": "environment", "string": next(words)})
        else:
            assert word == "--set"
            name, _, value = next(words).partition("=")
            given.append({"name": name, "string": value})
    if (case.folder / "runtimes").exists():  # objects of the platform
        given.append({"name": "manifests", "string": "ignore"})
    return given


def handed_over(case: Case, tmp_path: Path) -> str:
    golden_cases.copy(case.inputs, case.folder, tmp_path / case.id)
    where = server.copy(tmp_path / case.id, tmp_path / "copies" / case.id)
    return server.generate(where, parameters(case), PLAIN).out


def test_every_kind_is_handed_over_as_it_is_rendered(tmp_path: Path) -> None:
    """All streams at once: a kubectl takes a tenth of a second, however many objects it is given."""
    out = "".join(handed_over(case, tmp_path) for case in CASES)
    rendered = [
        item.doc.data
        for case in CASES
        for item in classify_documents(parse_yaml((case.folder / "cr.yaml").read_bytes(), case.id))
    ]
    assert server.objects(out) == rendered
    assert {one["kind"] for one in rendered} == {kind.kind for kind in COMPILED_KINDS.values()}


def test_a_name_that_only_the_api_server_would_give_is_none_to_apply(tmp_path: Path) -> None:
    with pytest.raises(server.PluginError, match="generateName is for kubectl create"):
        handed_over(Case(NAMELESS), tmp_path)


def test_texts_that_yaml_takes_for_something_else(tmp_path: Path) -> None:
    """Some 100 of them as parameters: through JSON, expressions, YAML, and the decoder of Argo CD."""
    names = [f"s{number}" for number in range(len(TRICKY))]
    env: dict[str, Any] = {name.upper(): f"${{{{ params.{name} }}}}" for name in names}
    profile = {
        "apiVersion": "podplan/v1",
        "kind": "JobProfile",
        "metadata": {"name": "tricky"},
        "spec": {
            "job": "GenericJob",
            "image": "a:1",
            "run": {"exec": ["a"]},
            "replicas": 1,
            "params": {name: {"type": "string"} for name in names},
            "env": env,
        },
    }
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository/tricky.yaml").write_text(json.dumps(profile))
    where = server.copy(tmp_path / "repository", tmp_path / "tmp")
    given = [{"name": f"params.{name}", "string": text} for name, text in zip(names, TRICKY, strict=True)]
    [cr] = server.objects(server.generate(where, given, PLAIN).out)
    [container] = cr["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"]
    assert [entry["value"] for entry in container["env"]] == TRICKY
