"""podplan cmp as Argo CD runs it: by the plugin.yaml that we ship, in a copy of a repository.

tests/plugin_server.py stands in for Argo CD; what parameters may hold is in tests/test_cmp_parameters.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import plugin_server as server
from tests.applications import (
    ALONE,
    CONFIG_MAP,
    PROD,
    PROFILE,
    handed,
    jobs,
    only,
    refusal,
    write,
)
from tests.command import INVENTORY, JOB
from tests.plugin_server import DEADLINE


def test_an_application_from_end_to_end(repository: Path, tmp_path: Path) -> None:
    """Discovered, its parameters announced, and its CR handed over as it was compiled."""
    where = handed(repository, tmp_path)
    assert server.matches(where, DEADLINE)
    named = {one["name"]: one for one in server.announcements(where, DEADLINE)}
    assert list(named) == ["environment", "profiles", "inventory", "manifests", "params.epochs"]
    assert named["params.epochs"]["itemType"] == "number"
    assert named["params.epochs"]["string"] == "90"
    assert "dev, prod" in named["environment"]["tooltip"]
    answer = server.generate(where, PROD, deadline=DEADLINE)
    assert server.objects(answer.out) == [
        {
            "apiVersion": "batch.tensorstack.dev/v1beta1",
            "kind": "PyTorchTrainingJob",
            "metadata": {"name": "resnet", "namespace": "ml"},
            "spec": {
                "replicaSpecs": [
                    {
                        "type": "worker",
                        "replicas": 4,
                        "template": {
                            "spec": {
                                "containers": [
                                    {
                                        "name": "pytorch",
                                        "image": "registry.example.com/vision/train:1e31234",
                                        "command": ["python", "train.py", "--epochs", "90"],
                                    }
                                ]
                            }
                        },
                    }
                ]
            },
        }
    ]
    assert "does not know" not in answer.err


def test_commands_run_as_the_user_of_the_plugin(repository: Path, tmp_path: Path) -> None:
    """999 in `make integration`; no file of a copy can be run, or written by anybody else."""
    where = handed(repository, tmp_path)
    assert server.run(["id", "-u"], where, server.variables(where), DEADLINE).out == f"{server.UID}\n"
    modes = {path.stat().st_mode & 0o777 for path in where.root.rglob("*") if path.is_file()}
    assert modes == {0o644}


def test_without_git_and_in_part_the_copy_is_the_same(repository: Path, tmp_path: Path) -> None:
    """.git may be left out; then the path of the Application says where the repository begins."""
    dev = [{"name": "environment", "string": "dev"}]
    whole = handed(repository, tmp_path)
    bare = server.copy(repository, tmp_path / "bare", path="apps/train", git=False)
    assert server.generate(whole, dev).out == server.generate(bare, dev).out


def test_a_folder_without_profiles_is_a_no_and_no_fault(tmp_path: Path) -> None:
    where = only(
        tmp_path, {"cm.yaml": CONFIG_MAP, "job.yaml": JOB, "values.yaml": "{{ .Values.x }}: [", "a.md": ""}
    )
    assert not server.matches(where)
    assert server.announcements(where)[0]["name"] == "environment"
    assert refusal(where) == "3: podplan: no JobProfile here, and so nothing to apply\n"
    answer = server.generate(where, flags=["--allow-empty"])
    assert answer.out == ""


def test_folders_of_other_tools_are_theirs(tmp_path: Path) -> None:
    """Argo CD asks plugins about every folder, before it looks for a chart or a kustomization itself."""
    for name in ("Chart.yaml", "kustomization.yaml"):
        where = only(tmp_path / name, {name: "a: b\n", "jobs/alone.yaml": ALONE})
        assert not server.matches(where)
        assert jobs(where)
    where = only(tmp_path / "links", {"a/templates/job.yaml": f"{{{{- if .Values.x }}}}\n{ALONE}"})
    (where.folder / "nowhere.yaml").symlink_to("there-is-none.yaml")
    assert not server.matches(where)


def test_a_profile_that_is_too_big_is_found(tmp_path: Path) -> None:
    where = only(tmp_path, {"alone.yaml": ALONE + "#" * 9_000_000})
    assert server.matches(where)
    assert refusal(where).startswith("4: podplan: alone.yaml has 9,000,")


@pytest.mark.parametrize("text", [PROFILE + "  - [", PROFILE.replace("JobProfile", "JobProfil")])
def test_a_broken_profile_is_a_yes_so_that_generate_can_say_what_is_wrong(tmp_path: Path, text: str) -> None:
    """A no would have Argo CD apply the file as it is."""
    where = only(tmp_path, {"resnet.yaml": text})
    assert server.matches(where)
    assert "error " in refusal(where)


def test_profiles_without_environments_need_no_parameters(tmp_path: Path) -> None:
    """ARGOCD_APP_PARAMETERS is null, and not set at all for an Application that does not name the plugin."""
    where = only(tmp_path, {"alone.yaml": ALONE})
    [cr] = jobs(where, None)
    template = cr["spec"]["replicaSpecs"][0]["template"]
    assert template["spec"]["containers"][0]["command"] == ["y", "1e3", "0o17"]
    env = server.variables(where)
    del env["ARGOCD_APP_PARAMETERS"]
    bare = server.run(server.plugin().generate, where, env)
    assert (bare.code, server.objects(bare.out)) == (0, [cr])
    assert server.generate(where, []).out == bare.out


def test_typed_params_arrive_as_what_they_are(tmp_path: Path) -> None:
    """Argo CD has only text; what looks like a shell, YAML or a flag stays text."""
    hostile = "$(id)`id`; --- \n- x: y\n${{ params.i }}'\"::error::\u2028"
    params = (
        "{i: {type: integer}, f: {type: number}, b: {type: boolean}, s: {type: string}, t: {type: string},"
        " l: {type: array, items: {type: integer}}, m: {type: object}}"
    )
    names = "ifbstlm"
    env = ", ".join(f'V_{name.upper()}: "${{{{ params.{name} | tojson }}}}"' for name in names)
    text = (
        "apiVersion: podplan/v1\nkind: JobProfile\nmetadata: {name: alone}\nspec:\n  job: GenericJob\n"
        f"  image: a:1\n  run: {{exec: [a]}}\n  replicas: 1\n  params: {params}\n  env: {{{env}}}\n"
    )
    values = {"i": "3", "f": "1e-4", "b": "true", "s": "007", "t": hostile.replace("${{ params.i }}", "")}
    parameters: list[Any] = [{"name": f"params.{name}", "string": value} for name, value in values.items()]
    parameters += [
        {"name": "params.l", "array": ["1", "2"]},
        {"name": "params.m", "map": {"a": "1", "-x": ""}},
    ]
    where = only(tmp_path, {"alone.yaml": text})
    [cr] = jobs(where, parameters)
    [container] = cr["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"]
    got = {entry["name"]: json.loads(entry["value"]) for entry in container["env"]}
    assert got == {
        "V_I": 3,
        "V_F": 0.0001,
        "V_B": True,
        "V_S": "007",
        "V_T": values["t"],
        "V_L": [1, 2],
        "V_M": {"a": "1", "-x": ""},
    }
    told = refusal(where, [{"name": "params.t", "string": hostile}, *parameters[:4], *parameters[5:]])
    assert "may not hold an expression" in told
    told = refusal(where, [*parameters[1:], {"name": "params.i", "string": "three"}])
    assert (
        'alone.yaml:4: parameter params.i=three: the param "i" is "three", and must be of type integer'
        in told
    )
    told = refusal(where, [*parameters[:5], {"name": "params.l", "string": "1,2"}, parameters[6]])
    assert (
        told == "2: podplan: alone.yaml: parameter params.l=1,2: this is no JSON; write one such as [1, 2]\n"
    )


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        (
            None,
            "2: podplan: resnet.yaml has environments: set the parameter environment to dev, prod or all\n",
        ),
        (
            [{"name": "environment", "string": "prd"}],
            '2: podplan: resnet.yaml has no environment "prd"; did you mean "prod"?\n',
        ),
        (
            [{"name": "enviroment", "string": "prod"}],
            '2: podplan: unknown parameter "enviroment"; did you mean "environment"?\n',
        ),
        (
            [*PROD, {"name": "params.epoch", "string": "1"}],
            '2: podplan: unknown parameter "params.epoch"; did you mean "params.epochs"?\n',
        ),
        (
            [*PROD, {"name": "profiles", "array": ["../../../../etc/passwd"]}],
            '2: podplan: the parameter "profiles" names "../../../../etc/passwd", and there is no such; '
            "there is resnet, resnet.yaml\n",
        ),
        (
            [*PROD, {"name": "inventory", "string": "/../../../etc/passwd"}],
            '2: podplan: the parameter "inventory" is "/../../../etc/passwd", which leads out of the'
            " repository\n",
        ),
    ],
)
def test_parameters_that_cannot_be_followed(
    repository: Path, tmp_path: Path, parameters: Any, told: str
) -> None:
    assert refusal(handed(repository, tmp_path), parameters) == told


def test_an_inventory_is_named_from_the_folder_or_from_the_top(repository: Path, tmp_path: Path) -> None:
    for name in ("clusters/a.yaml", "clusters/b.yaml"):
        write(repository / name, INVENTORY)
    where = handed(repository, tmp_path)
    for path in ("../../clusters/a.yaml", "/clusters/b.yaml"):
        assert jobs(where, [*PROD, {"name": "inventory", "string": path}])


def test_all_environments_have_names_of_their_own_or_are_refused(repository: Path, tmp_path: Path) -> None:
    every = [{"name": "environment", "string": "all"}]
    where = handed(repository, tmp_path)
    found = jobs(where, every, env={"ARGOCD_APP_NAMESPACE": "ml-dev"})
    assert [one["metadata"].get("namespace") for one in found] == [None, "ml"]
    assert "resnet.yaml (dev) and from resnet.yaml (prod)" in refusal(where, every), "ml is the destination"
    write(repository / "apps/train/resnet.yaml", PROFILE.replace(", namespace: ml", ""))
    again = server.copy(repository, tmp_path / "again", path="apps/train")
    told = refusal(again, every)
    assert "resnet.yaml (dev) and from resnet.yaml (prod)" in told
