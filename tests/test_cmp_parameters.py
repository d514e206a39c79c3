"""What Argo CD tells a plugin, read without one: parameters, the destination, and where a copy begins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from podplan import kubernetes
from podplan.core.errors import UsageError
from podplan.integrations.argocd.application import ApplicationProfile, read_application
from podplan.integrations.argocd.destination import DestinationVersion, find_unserved_kinds, select_version
from podplan.integrations.argocd.generator import find_copy_root, resolve_inventory_path
from podplan.integrations.argocd.parameter_schema import build_parameter_schemas
from podplan.integrations.argocd.parameters import PluginParameters, parse_parameters
from podplan.integrations.argocd.selection import select_profiles
from podplan.integrations.argocd.sync_options import add_sync_options, require_sync_options
from podplan.workspace.files import find_root, is_in_repository, use_as_root
from podplan.workspace.loader import Loader


@pytest.mark.parametrize("text", [None, "", "null", "[]"])
def test_no_parameters(text: str | None) -> None:
    assert parse_parameters(text) == PluginParameters()


def test_every_sort_of_parameter() -> None:
    text = json.dumps(
        [
            {"name": "environment", "string": "prod"},
            {"name": "profiles", "array": ["a", "b", "a"]},
            {"name": "inventory", "string": "", "array": None},
            {"name": "manifests", "string": "include"},
            {"name": "params.lr", "string": "1e-4"},
            {"name": "params.a.b", "map": {"x": "1"}},
        ]
    )
    assert parse_parameters(text) == PluginParameters(
        "prod", ("a", "b"), "", "include", {"lr": "1e-4", "a.b": {"x": "1"}}
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "ARGOCD_APP_PARAMETERS is no JSON; "),
        ("[" * 100_000, "ARGOCD_APP_PARAMETERS is no JSON; "),
        ('{"a": 1}', "ARGOCD_APP_PARAMETERS is no list of parameters, such as "),
        ("[1]", "ARGOCD_APP_PARAMETERS has a parameter without a name; "),
        ('[{"string": "a"}]', "ARGOCD_APP_PARAMETERS has a parameter without a name; "),
        ('[{"name": ["a"], "string": "a"}]', "ARGOCD_APP_PARAMETERS has a parameter without a name; "),
        (
            '[{"name": "environment"}]',
            'the parameter "environment" needs exactly one of string:, array: and map:',
        ),
        (
            '[{"name": "a", "string": "a", "array": []}]',
            'the parameter "a" needs exactly one of string:, array: and map:',
        ),
        (
            '[{"name": "environment", "string": 3}]',
            'the parameter "environment" holds something else than text',
        ),
        (
            '[{"name": "profiles", "array": ["a", 3]}]',
            'the parameter "profiles" holds something else than text',
        ),
        (
            '[{"name": "params.a", "map": {"a": {}}}]',
            'the parameter "params.a" holds something else than text',
        ),
        ('[{"name": "profiles", "string": "a"}]', 'the parameter "profiles" wants array:, not string:'),
        ('[{"name": "environment", "map": {}}]', 'the parameter "environment" wants string:, not map:'),
        (
            '[{"name": "Environment", "string": "a"}]',
            'unknown parameter "Environment"; did you mean "environment"?',
        ),
        ('[{"name": "params.", "string": "a"}]', 'unknown parameter "params."; did you mean "params.NAME"?'),
        ('[{"name": "zzz", "string": "a"}]', 'unknown parameter "zzz"; there is environment, inventory, '),
        (
            '[{"name": "environment", "string": "a"}, {"name": "environment", "string": "b"}]',
            'the parameter "environment" is given twice; leave out one',
        ),
        (
            '[{"name": "manifests", "string": "yes"}]',
            'the parameter "manifests" is "yes", and must be one of include, ignore',
        ),
    ],
)
def test_what_is_not_understood_is_no_default(text: str, told: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_parameters(text)
    assert str(error.value).startswith(told)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=9), below, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["environment", "profiles", "inventory", "manifests", "params.a"]) | st.text(
    max_size=9
)
ENTRIES = st.fixed_dictionaries({"name": NAMES}, optional={"string": JSON, "array": JSON, "map": JSON})


@examples(st.lists(ENTRIES | JSON, max_size=4) | JSON)
def test_any_json_is_understood_or_refused_in_a_sentence(data: Any) -> None:
    told, found = "", PluginParameters()
    try:
        found = parse_parameters(json.dumps(data))
    except UsageError as error:
        told = str(error)
    assert len(told) < 300
    assert isinstance(found.environment, str)
    assert all(isinstance(name, str) for name in found.profiles)


PROFILE = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: NAME}
spec:
  job: GenericJob
  image: a:1
  params: PARAMS
"""


def profiles(folder: Path, **params: str) -> list[ApplicationProfile]:
    """Profiles by name with their params."""
    for name, declared in params.items():
        (folder / f"{name}.yaml").write_text(PROFILE.replace("NAME", name).replace("PARAMS", declared))
    return read_application(str(folder), (), Loader()).profiles


def test_values_go_to_the_profiles_that_declare_them(tmp_path: Path) -> None:
    both = profiles(tmp_path, a="{x: {type: integer}}", b="{x: {type: string}, a.z: {type: string}}")
    asked = PluginParameters(params={"x": "1", "a.z": "2"})
    assert [one.sets for one in select_profiles(both, asked)] == [
        {"params.x": "1"},
        {"params.x": "1", "params.a\\.z": "2"},
    ]
    [only] = select_profiles(both, PluginParameters(profiles=("a",), params={"x": "1"}))
    assert only.profile.name == "a"
    with pytest.raises(UsageError, match=r'unknown parameter "params\.a\.z"; there is params\.x'):
        select_profiles(both, PluginParameters(profiles=("a",), params={"a.z": "1"}))


def test_lists_and_maps_are_of_the_declared_types(tmp_path: Path) -> None:
    declared = (
        "{l: {type: array, items: {type: integer}}, s: {type: array}, one: {type: integer},"
        " m: {type: object, properties: {a: {type: boolean}}, additionalProperties: {type: number}}}"
    )
    those = profiles(tmp_path, a=declared)
    asked = PluginParameters(params={"l": ["1", "x"], "s": ["1", "true"], "m": {"a": "true", "b": "1e-4"}})
    [one] = select_profiles(those, asked)
    assert {key: json.loads(text) for key, text in one.sets.items()} == {
        "params.l": [1, "x"],
        "params.s": ["1", "true"],
        "params.m": {"a": True, "b": 0.0001},
    }
    with pytest.raises(UsageError, match=r'"params\.one" is a list, and a wants integer'):
        select_profiles(those, PluginParameters(params={"one": ["1"]}))
    with pytest.raises(UsageError, match=r'"params\.l" is a map, and a wants array'):
        select_profiles(those, PluginParameters(params={"l": {"a": "1"}}))


def test_announcements_are_typed(tmp_path: Path) -> None:
    declared = (
        "{lr: {type: number, default: 0.1, minimum: 0, description: learning rate}, fast: {type: boolean},"
        " size: {type: string, enum: [small, large], default: small}, seeds: {type: array, default: [1, 2]},"
        " extra: {type: object, default: {a: 1}}, any: {title: Anything}}"
    )
    those = profiles(tmp_path, a=declared, b="{lr: {type: number}}")
    found = {one["name"]: one for one in build_parameter_schemas(those)}
    general = [name for name in found if not name.startswith("params.")]
    assert general == ["environment", "profiles", "inventory", "manifests"]
    assert found["params.lr"] == {
        "name": "params.lr",
        "title": "lr",
        "tooltip": "learning rate, number, at least 0; of a, b",
        "required": True,
        "itemType": "number",
        "string": "0.1",
    }
    assert found["params.fast"]["itemType"] == "boolean"
    assert found["params.size"]["tooltip"] == "one of small, large; of a"
    assert (found["params.size"]["string"], found["params.size"]["required"]) == ("small", False)
    assert (found["params.seeds"]["collectionType"], found["params.seeds"]["array"]) == ("array", ["1", "2"])
    assert (found["params.extra"]["collectionType"], found["params.extra"]["map"]) == ("map", {"a": "1"})
    assert found["params.any"]["title"] == "Anything"


@pytest.mark.parametrize(
    "declared", ["3", "[a]", "{a: 3}", "{a: {type: [integer, string], enum: 3, title: 4}}"]
)
def test_announcements_of_any_form_are_made(tmp_path: Path, declared: str) -> None:
    """Whatever is wrong with params is said by generate, and not where they are shown."""
    for one in build_parameter_schemas(profiles(tmp_path, a=declared)):
        assert isinstance(one["title"], str)
        assert one.get("string", "") is not None


KNOWN = kubernetes.supported_versions()


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("", "1.0"),
        ("1.29", "1.29"),
        ("v1.29.4+eks-1", "1.29"),
        ("1.30+", "1.30"),
        ("v1.2", KNOWN[0]),
        ("1.999", KNOWN[-1]),
        ("1.9999", "1.0"),
        ("2.1", "1.0"),
        ("\x1b[31m", "1.0"),
    ],
)
def test_the_kubernetes_of_the_destination(said: str, expected: str) -> None:
    found = select_version(said, KNOWN, "1.0")
    assert found.version == expected
    assert bool(found.warning) is (bool(said) and expected not in said)


def test_nothing_is_said_of_a_known_version() -> None:
    assert select_version("1.31", KNOWN, "1.0") == DestinationVersion("1.31")


CR = {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "GenericJob"}


@pytest.mark.parametrize(
    ("served", "told"),
    [
        ("", []),
        ("v1,v1/Pod,batch.tensorstack.dev/v1beta1,batch.tensorstack.dev/v1beta1/GenericJob", []),
        ("v1,batch.tensorstack.dev/v1beta1", []),
        ("batch.tensorstack.dev/v1beta1/GenericJob", []),
        (
            "v1,v1/Pod,batch/v1/Job",
            [
                "the destination does not know batch.tensorstack.dev/v1beta1: install the controller of"
                " GenericJob there first"
            ],
        ),
        (
            "v1/Pod,batch.tensorstack.dev/v1beta1",
            [
                "the destination knows batch.tensorstack.dev/v1beta1, but no GenericJob in it: its controller"
                " is older"
            ],
        ),
    ],
)
def test_kinds_that_the_destination_lacks(served: str, told: list[str]) -> None:
    assert find_unserved_kinds(served, [CR, CR, {"apiVersion": "v1", "kind": "Secret"}]) == told


@pytest.mark.parametrize(
    ("folder", "source", "root"),
    [
        ("/tmp/_cmp_server/u/apps/train", "apps/train", "/tmp/_cmp_server/u"),
        ("/tmp/_cmp_server/u/train", "apps/train", "/tmp/_cmp_server/u"),
        ("/tmp/_cmp_server/u", "apps/train", "/tmp/_cmp_server/u"),
        ("/tmp/_cmp_server/u", ".", "/tmp/_cmp_server/u"),
        ("/tmp/_cmp_server/u", "", "/tmp/_cmp_server/u"),
        ("/tmp/_cmp_server/u/a/a", "./a/a/", "/tmp/_cmp_server/u"),
        ("/tmp/_cmp_server/u/a", "b", "/tmp/_cmp_server/u/a"),
    ],
)
def test_where_a_copy_begins(folder: str, source: str, root: str) -> None:
    assert find_copy_root(folder, source) == root


def test_a_copy_without_git_has_a_root(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    below = str(tmp_path / "a" / "b")
    assert find_root(below) == below
    with use_as_root(str(tmp_path)):
        assert find_root(below) == str(tmp_path)
        assert not is_in_repository(below)
    assert find_root(below) == below


def test_an_inventory_is_below_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "apps").mkdir()
    monkeypatch.chdir(tmp_path / "apps")
    assert resolve_inventory_path("../a.yaml", ".", str(tmp_path)) == "../a.yaml"
    assert resolve_inventory_path("/clusters/a.yaml", ".", str(tmp_path)) == "../clusters/a.yaml"
    (tmp_path / "link").symlink_to("/etc")
    for path in ("../../a.yaml", "/../a.yaml", "../link/passwd"):
        with pytest.raises(UsageError, match="leads out of the repository"):
            resolve_inventory_path(path, ".", str(tmp_path))
    with pytest.raises(UsageError, match="null character"):
        resolve_inventory_path("a\0b", ".", str(tmp_path))


KEY = "argocd.argoproj.io/sync-options"


@pytest.mark.parametrize(
    ("written", "options", "expected"),
    [
        (None, ["Delete=confirm"], "Delete=confirm"),
        (
            "Prune=false, Replace=true",
            ["Prune=confirm", "Delete=confirm"],
            "Prune=false,Replace=true,Delete=confirm",
        ),
        ("Prune=false", [], "Prune=false"),
        ("", ["A=b", "A=b"], "A=b"),
    ],
)
def test_sync_options(written: str | None, options: list[str], expected: str) -> None:
    annotations = {} if written is None else {"annotations": {KEY: written}}
    data = {"kind": "GenericJob", "metadata": {"name": "a", **annotations}}
    before = json.dumps(data)
    assert add_sync_options(data, options)["metadata"]["annotations"][KEY] == expected
    assert json.dumps(data) == before


@pytest.mark.parametrize("option", ["Prune", "Prune=", "=x", "Prune=confirm,Force=true", "a b=c", ""])
def test_no_sync_option(option: str) -> None:
    with pytest.raises(UsageError, match="wants NAME=VALUE"):
        require_sync_options([option])
