"""podplan cmp as Argo CD runs it: by the plugin.yaml that we ship, in a copy of a repository.

tests/plugin_server.py stands in for Argo CD; what parameters may hold is in tests/test_cmp_parameters.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests import plugin_server as server
from tests.command import INVENTORY, JOB
from tests.plugin_server import DEADLINE, Copy, PluginError

BASE = """\
apiVersion: podplan/v1
kind: JobProfileBase
metadata: {name: torch}
spec:
  job: PyTorchTrainingJob
  image: registry.example.com/vision/train:1e31234
  run: [train.py, --epochs, "${{ params.epochs }}"]
  params: {epochs: {type: integer, default: 90, minimum: 1}}
"""
PROFILE = """\
# +argocd:skip-file-rendering
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: resnet}
spec:
  extends: [../../bases/torch.yaml]
  replicas: 2
  environments:
    dev: {replicas: 1}
    prod: {replicas: 4, namespace: ml}
"""
ALONE = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: alone}
spec: {job: GenericJob, image: "registry.example.com/a:1", run: {exec: ["y", "1e3", "0o17"]}, replicas: 1}
"""
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {resume: 'yes'}\n"
PROD = [{"name": "environment", "string": "prod"}]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with an Application in apps/train and a base beside it."""
    top = tmp_path / "repository"
    for name, text in {
        ".git/HEAD": "ref: refs/heads/main\n",
        "bases/torch.yaml": BASE,
        "apps/train/resnet.yaml": PROFILE,
    }.items():
        write(top / name, text)
    return top


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def handed(repository: Path, tmp_path: Path, **how: Any) -> Copy:
    return server.copy(repository, tmp_path / "tmp", **{"path": "apps/train", **how})


def only(tmp_path: Path, files: dict[str, str]) -> Copy:
    """A repository that is one Application."""
    for name, text in files.items():
        write(tmp_path / "repository" / name, text)
    return server.copy(tmp_path / "repository", tmp_path / "tmp")


def refusal(where: Copy, parameters: Any = None, **how: Any) -> str:
    """What the UI shows of an Application that is refused, without the command."""
    with pytest.raises(PluginError) as error:
        server.generate(where, parameters, **how)
    told = str(error.value)
    prefix = "`podplan cmp generate --gitops argocd` failed exit status "
    assert told.startswith(prefix)
    assert len(told.splitlines()) <= 15
    return told.removeprefix(prefix)


def jobs(where: Copy, parameters: Any = None, **how: Any) -> list[Any]:
    return server.objects(server.generate(where, parameters, **how).out)


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
            "metadata": {
                "name": "resnet",
                "namespace": "ml",
                "annotations": {"argocd.argoproj.io/sync-options": "Prune=confirm"},
            },
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


def test_findings_keep_everything_back(repository: Path, tmp_path: Path) -> None:
    """A good profile beside a bad one is not handed over alone: with prune, the other one's job would go."""
    write(repository / "apps/train/alone.yaml", ALONE)
    bad = PROFILE.replace("resnet", "broken").replace(
        "replicas: 4", "replicas: 4, restart: {policy: Sometimes}"
    )
    write(repository / "apps/train/broken.yaml", bad)
    told = refusal(handed(repository, tmp_path), PROD)
    assert told.startswith("1: 1 error")
    assert "\nerror PROF001 broken.yaml:10: " in told


HOST = ALONE.replace("replicas: 1", "replicas: 1, pod: {spec: {hostNetwork: true}}")


def test_policies_look_at_the_pods_that_there_will_be(repository: Path, tmp_path: Path) -> None:
    """Nobody else sees a host network before the controller makes the Pods."""
    write(repository / "apps/train/alone.yaml", HOST)
    where = handed(repository, tmp_path)
    first, second, *_ = refusal(where, PROD).splitlines()
    assert first.startswith("1: 1 error")
    assert second.startswith("error SEC001 alone.yaml:4: ")
    assert len(jobs(where, PROD, flags=["--fail-on", "never"])) == 2


@pytest.mark.parametrize("replicas", ["'${{ 1 + nothing }}'", "${{ 1 + nothing }}", "[", "1, replicas: 2"])
def test_what_gives_no_cr_is_kept_back_whatever_the_severity(
    repository: Path, tmp_path: Path, replicas: str
) -> None:
    """Handed over, the others would look like all that there is, and the job of this one would be pruned."""
    write(repository / "apps/train/alone.yaml", ALONE.replace("replicas: 1", f"replicas: {replicas}"))
    told = refusal_with(handed(repository, tmp_path), PROD, ["--fail-on", "never"])
    assert "alone.yaml did not give all of its CRs, and so nothing is handed over" in told


def test_a_paused_job_is_looked_at_as_it_will_go_on(tmp_path: Path) -> None:
    where = only(tmp_path, {"alone.yaml": HOST.replace("replicas: 1", "replicas: 1, mode: pause")})
    assert "error SEC001 alone.yaml:4: " in refusal(where)


def test_jobs_and_manifests_are_looked_at_together(tmp_path: Path) -> None:
    """A Pod that Argo CD would apply as it is, and a ConfigMap that comes too late for a job."""
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
        "spec: {hostNetwork: true, containers: [{name: a, image: 'a:1'}]}\n"
    )
    late = CONFIG_MAP.replace(
        "{name: settings}", "{name: settings, annotations: {argocd.argoproj.io/sync-wave: '5'}}"
    )
    needing = ALONE.replace("replicas: 1", "replicas: 1, env: {A: {configMap: settings/resume}}")
    where = only(tmp_path, {"alone.yaml": needing, "late.yaml": late, "pod.yaml": pod})
    included = [{"name": "manifests", "string": "include"}]
    assert "error SEC001 pod.yaml:4: " in refusal(where, included)
    told = refusal_with(where, included, ["--select", "GIT008", "--fail-on", "warning"])
    assert (
        "warning GIT008 alone.yaml:3: GenericJob/alone is in sync wave 0 and needs ConfigMap/settings" in told
    )


def refusal_with(where: Copy, parameters: Any, flags: list[str]) -> str:
    """The same for a command with more flags."""
    with pytest.raises(PluginError) as error:
        server.generate(where, parameters, flags)
    return str(error.value)


def test_what_the_repository_says_of_rules_holds(tmp_path: Path) -> None:
    where = only(tmp_path, {"alone.yaml": HOST, "podplan.toml": 'ignore = ["SEC001"]\n'})
    assert len(jobs(where)) == 1


def test_whoever_installs_the_plugin_can_let_nothing_be_silenced(tmp_path: Path) -> None:
    silenced = f"# podplan: ignore-file[SEC001] -- the fabric needs it\n{HOST}"
    where = only(tmp_path, {"alone.yaml": silenced})
    assert len(jobs(where)) == 1
    with pytest.raises(PluginError, match="SEC001"):
        server.generate(where, flags=["--no-ignores"])


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
    found = jobs(where, every)
    assert [one["metadata"].get("namespace") for one in found] == [None, "ml"]
    write(repository / "apps/train/resnet.yaml", PROFILE.replace(", namespace: ml", ""))
    again = server.copy(repository, tmp_path / "again", path="apps/train")
    told = refusal(again, every)
    assert "resnet.yaml (dev) and from resnet.yaml (prod)" in told


def test_two_profiles_of_one_name(repository: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(repository / f"apps/train/{name}.yaml", ALONE)
    told = refusal(handed(repository, tmp_path), PROD)
    assert told == (
        "2: podplan: two objects are both GenericJob alone: from one.yaml and from two.yaml;"
        " give them different names or namespaces\n"
    )


def test_manifests_beside_profiles_are_somebodys_decision(repository: Path, tmp_path: Path) -> None:
    """Left out without a word, what is in the cluster already would be pruned."""
    write(repository / "apps/train/manifests/settings.yaml", CONFIG_MAP)
    write(repository / "apps/train/count.yaml", JOB)
    write(
        repository / "apps/train/kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n",
    )
    write(repository / "apps/train/local.yaml", "# +argocd:skip-file-rendering\n" + CONFIG_MAP)
    where = handed(repository, tmp_path)
    assert refusal(where, PROD) == (
        "2: podplan: count.yaml: GenericJob count and 1 more object are no profile; set the parameter"
        " manifests to include (apply them as they are) or to ignore\n"
    )
    ignored = [*PROD, {"name": "manifests", "string": "ignore"}]
    included = [*PROD, {"name": "manifests", "string": "include"}]
    assert [one["kind"] for one in jobs(where, ignored)] == ["PyTorchTrainingJob"]
    found = jobs(where, included)
    assert [one["kind"] for one in found] == ["PyTorchTrainingJob", "GenericJob", "ConfigMap"]
    assert found[2]["data"] == {"resume": "yes"}
    assert "annotations" not in found[1]["metadata"]


def test_included_manifests_are_checked_and_may_not_be_there_twice(repository: Path, tmp_path: Path) -> None:
    included = [*PROD, {"name": "manifests", "string": "include"}]
    write(repository / "apps/train/count.yaml", JOB.replace("replicas: 3", "replica: 3"))
    assert "error SCHEMA001 count.yaml:8: " in refusal(handed(repository, tmp_path), included)
    write(repository / "apps/train/count.yaml", CONFIG_MAP)
    write(repository / "apps/train/again.yaml", CONFIG_MAP)
    told = refusal(server.copy(repository, tmp_path / "again", path="apps/train"), included)
    assert told.startswith(
        "2: podplan: two objects are both ConfigMap settings: from again.yaml and from count"
    )


def test_committed_renders_are_no_second_objects(repository: Path, tmp_path: Path) -> None:
    render = (
        "# podplan: rendered from apps/train/resnet.yaml -e prod\napiVersion: batch.tensorstack.dev/v1beta1\n"
        "kind: PyTorchTrainingJob\nmetadata: {name: resnet, namespace: ml}\n"
    )
    write(repository / "apps/train/rendered/resnet.yaml", render)
    assert len(jobs(handed(repository, tmp_path), PROD)) == 1


def test_templates_of_helm_are_nobodys_profiles(repository: Path, tmp_path: Path) -> None:
    """They are passed over, as by podplan check; to be included, they would have to be YAML."""
    template = JOB.replace("count", "{{ .Release.Name }}").replace("replicas: 3", "{{- if .Values.x }}")
    write(repository / "apps/train/chart/templates/job.yaml", template)
    where = handed(repository, tmp_path)
    assert len(jobs(where, PROD)) == 1
    told = refusal(where, [*PROD, {"name": "manifests", "string": "include"}])
    assert told.startswith(
        "2: podplan: chart/templates/job.yaml:8: a template of Helm; a manifest that is to be"
    )


def test_only_crs_are_handed_over(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="the controller makes it"):
        server.generate(handed(repository, tmp_path), PROD, ["--emit", "lowered"])


def test_sync_options_on_request(repository: Path, tmp_path: Path) -> None:
    written = "metadata: {name: resnet, annotations: {argocd.argoproj.io/sync-options: 'Prune=false'}}"
    write(repository / "apps/train/resnet.yaml", PROFILE.replace("metadata: {name: resnet}", written))
    where = handed(repository, tmp_path)
    flags = ["--sync-option", "Delete=confirm", "--sync-option", "Prune=confirm"]
    [cr] = jobs(where, PROD, flags=flags)
    key = "argocd.argoproj.io/sync-options"
    assert cr["metadata"]["annotations"][key] == "Prune=false,Delete=confirm"
    with pytest.raises(PluginError, match="wants NAME=VALUE"):
        server.generate(where, PROD, ["--sync-option", "Prune"])


def test_modules_of_the_repository_are_not_run(repository: Path, tmp_path: Path) -> None:
    """Tried with python3 -m: a planted yaml.py ran (gitops-integrations §1.2)."""
    marker = tmp_path / "tmp" / "hijacked"
    planted = f"open({str(marker)!r}, 'w').close()\n"
    for name in (
        "yaml.py",
        "json.py",
        "click.py",
        "podplan/__init__.py",
        "sitecustomize.py",
        "usercustomize.py",
    ):
        write(repository / "apps/train" / name, planted)
    git = repository / "apps/train/git"
    write(git, f"#!/bin/sh\ntouch {marker}\n")
    git.chmod(0o755)
    where = handed(repository, tmp_path)
    assert jobs(where, PROD, deadline=DEADLINE)
    assert server.matches(where, DEADLINE)
    assert server.announcements(where, DEADLINE)
    assert not marker.exists()
    assert not os.access(where.folder / "git", os.X_OK)


def test_git_is_not_called(repository: Path, tmp_path: Path) -> None:
    """The operator may leave .git out, and its configuration is the repository's."""
    where = handed(repository, tmp_path)
    stub, marker = tmp_path / "tmp" / "bin" / "git", tmp_path / "tmp" / "called"
    write(stub, f"#!/bin/sh\ntouch {marker}\n")
    stub.chmod(0o755)
    path = f"{stub.parent}:{server.image_variables()['PATH']}"
    assert server.generate(where, PROD, deadline=DEADLINE, env={"PATH": path}).out
    assert not marker.exists()


def test_a_missing_base_is_named_with_the_setting_that_leaves_it_out(
    repository: Path, tmp_path: Path
) -> None:
    """As with --plugin-use-manifest-generate-paths and paths that do not name the folder of the base."""
    told = refusal(handed(repository, tmp_path, sent="apps"), PROD)
    assert "error PROF002 resnet.yaml:6: " in told
    assert "../../bases/torch.yaml" in told
    assert "argocd.argoproj.io/manifest-generate-paths" in told


def test_a_missing_inventory_may_have_been_left_out_as_well(tmp_path: Path) -> None:
    told = refusal(
        only(tmp_path, {"alone.yaml": ALONE.replace("replicas: 1", "replicas: 1, hardware: h100")})
    )
    assert "error PROF016 alone.yaml:4: " in told
    assert "argocd.argoproj.io/manifest-generate-paths" in told


def test_what_is_excluded_is_not_found(tmp_path: Path) -> None:
    where = only(tmp_path, {"a/alone.yaml": ALONE, "podplan.toml": 'exclude = ["a"]\n'})
    assert not server.matches(where)
    assert refusal(where).startswith("3: ")


def test_what_strangers_write_moves_no_cursor(tmp_path: Path) -> None:
    where = only(tmp_path, {"alone.yaml": ALONE})
    told = refusal(where, [{"name": "\x1b[2J\n::error::x", "string": ""}])
    assert told.startswith('2: podplan: unknown parameter "\\x1b[2J\\n::error::x"')


def test_a_stream_that_nobody_takes_is_no_success(tmp_path: Path) -> None:
    where = only(tmp_path, {"alone.yaml": ALONE})
    end, start = os.pipe()
    os.close(end)
    env = server.variables(where)
    program = [str(server.BIN / "podplan"), *server.plugin().generate[1:]]
    assert subprocess.call(program, cwd=where.folder, env=env, stdout=start) == 4
    os.close(start)


def test_a_copy_that_begins_lower_has_what_is_in_it(repository: Path, tmp_path: Path) -> None:
    write(repository / "apps/bases/torch.yaml", BASE)
    write(repository / "apps/train/resnet.yaml", PROFILE.replace("../../", "../"))
    assert jobs(handed(repository, tmp_path, sent="apps"), PROD)


def test_links_out_of_the_repository(repository: Path, tmp_path: Path) -> None:
    """Argo CD refuses such a repository; where it does not look, podplan does not follow them either."""
    secret = tmp_path / "secret.yaml"
    secret.write_text(ALONE)
    (repository / "apps/train/link.yaml").symlink_to(secret)
    with pytest.raises(server.Refused):
        handed(repository, tmp_path)
    (repository / "apps/train/link.yaml").unlink()
    where = handed(repository, tmp_path)
    (where.folder / "link.yaml").symlink_to(secret)
    assert "link.yaml: leads out of the repository" in refusal(where, PROD)
    (where.folder / "link.yaml").unlink()
    (where.folder / "resnet.yaml").write_text(
        PROFILE.replace("../../bases/torch.yaml", "../../../../../secret.yaml")
    )
    assert "leads out of the repository" in refusal(where, PROD)


SECRET = "hunter2-Zk3Vb9"


def test_no_secret_comes_into_the_ui(tmp_path: Path) -> None:
    text = ALONE.replace("replicas: 1", f"replicas: one, env: {{API_TOKEN: {SECRET}, HF_TOKEN: [{SECRET}]}}")
    secret = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: a}}\nstringData: {{a: [{SECRET}]}}\n"
    where = only(tmp_path, {"alone.yaml": text, "secret.yaml": secret})
    told = refusal(where, [{"name": "manifests", "string": "include"}])
    assert "error" in told
    assert SECRET not in told
    assert "alone.yaml:4: " in told


def test_a_destination_without_the_kind_is_warned_of(tmp_path: Path) -> None:
    where = only(tmp_path, {"alone.yaml": ALONE})
    told = server.generate(
        where, env={"KUBE_API_VERSIONS": "v1,v1/Pod,apps/v1", "KUBE_VERSION": "v1.99.1"}
    ).err
    assert "the destination does not know batch.tensorstack.dev/v1beta1" in told
    assert "the destination runs Kubernetes 1.99, which is not known here" in told


MATRIX = f"{{maxInstances: 900, axes: {{a: {list(range(900))}}}}}"
SLOW = ALONE.replace("run: ", f'env: {{A: "${{{{ matrix.a }}}}"}}, matrix: {MATRIX}, run: ')
LONG = {f"{number}.yaml": SLOW.replace("alone", f"a{number}") for number in range(8)}


def test_a_deadline_of_argo_cd_in_the_middle(tmp_path: Path) -> None:
    """SIGTERM ends it with a sentence, at once and without a word of the stream."""
    where = only(tmp_path, LONG)
    before = time.monotonic()
    told = refusal(where, deadline=1.5)
    assert time.monotonic() - before < 1.5 + server.GRACE
    assert told == "143: podplan: Argo CD ended this before all was rendered, and nothing is handed over\n"


def test_a_deadline_of_the_plugin(tmp_path: Path) -> None:
    where = only(tmp_path, LONG)
    with pytest.raises(PluginError, match="exit status 4: podplan: this took longer than 1 second"):
        server.generate(where, flags=["--deadline", "1"], deadline=DEADLINE)
