"""What podplan cmp keeps back, and what it does with manifests beside profiles."""

from __future__ import annotations

from pathlib import Path

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
    refusal_with,
    write,
)
from tests.command import JOB
from tests.plugin_server import PluginError


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
    assert "alone.yaml did not compile to all of its CRs, so nothing is printed" in told


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
        "warning GIT008 alone.yaml:3: GenericJob/alone is in sync wave 0 but needs ConfigMap/settings" in told
    )


def test_what_the_repository_says_of_rules_holds(tmp_path: Path) -> None:
    where = only(tmp_path, {"alone.yaml": HOST, "podplan.toml": 'ignore = ["SEC001"]\n'})
    assert len(jobs(where)) == 1


def test_whoever_installs_the_plugin_can_let_nothing_be_silenced(tmp_path: Path) -> None:
    silenced = f"# podplan: ignore-file[SEC001] -- the fabric needs it\n{HOST}"
    where = only(tmp_path, {"alone.yaml": silenced})
    assert len(jobs(where)) == 1
    with pytest.raises(PluginError, match="SEC001"):
        server.generate(where, flags=["--no-ignores"])


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
    write(repository / "apps/train/skipped.yaml", "# +argocd:skip-file-rendering\n" + CONFIG_MAP)
    local = "{name: a, annotations: {config.kubernetes.io/local-config: 'true'}}"
    write(repository / "apps/train/local.yaml", CONFIG_MAP.replace("{name: settings}", local))
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


def test_one_object_in_two_versions_is_there_twice(tmp_path: Path) -> None:
    """The API server knows no version in a name."""
    claims = [
        f"apiVersion: example.com/{version}\nkind: Widget\nmetadata: {{name: a}}\n"
        for version in ("v1", "v2")
    ]
    where = only(tmp_path, {"alone.yaml": ALONE, "a.yaml": claims[0], "b.yaml": claims[1]})
    told = refusal(where, [{"name": "manifests", "string": "include"}])
    assert told.startswith("2: podplan: two objects are both Widget a: from a.yaml and from b.yaml")


def test_the_namespace_of_the_destination_is_that_of_what_has_none(tmp_path: Path) -> None:
    """Argo CD fills it in, and would apply only one of the two."""
    there = ALONE.replace("{name: alone}", "{name: alone, namespace: ml}")
    where = only(tmp_path, {"a.yaml": ALONE, "b.yaml": there})
    assert refusal(where).startswith(
        "2: podplan: two objects are both GenericJob alone: from a.yaml and from b"
    )
    assert len(jobs(where, env={"ARGOCD_APP_NAMESPACE": "other"})) == 2


def test_what_argo_cd_would_take_apart_is_refused(tmp_path: Path) -> None:
    """It looks for items and not at the kind; nobody has checked the Pod in there."""
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {hostNetwork: true}}"
    widget = f"apiVersion: example.com/v1\nkind: Widget\nmetadata: {{name: a}}\nitems: [{pod}]\n"
    where = only(tmp_path, {"alone.yaml": ALONE, "widget.yaml": widget})
    told = refusal(where, [{"name": "manifests", "string": "include"}])
    assert told.startswith("2: podplan: widget.yaml: Widget has a list called items, and Argo CD applies")
    where = server.copy(tmp_path / "repository", tmp_path / "list")
    (where.folder / "widget.yaml").write_text(f"apiVersion: v1\nkind: List\nitems: [{pod}]\n")
    assert "error SEC001 widget.yaml" in refusal(where, [{"name": "manifests", "string": "include"}])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (CONFIG_MAP.replace("kind:", "Kind:"), "no kind"),
        (CONFIG_MAP.replace("apiVersion:", "apiversion:"), "no apiVersion"),
        (JOB.replace("kind:", "Kind:"), "no kind"),
    ],
)
def test_a_manifest_that_is_misspelt_is_not_left_out(tmp_path: Path, text: str, told: str) -> None:
    """The cluster may have it, and would lose it."""
    where = only(tmp_path, {"alone.yaml": ALONE, "misspelt.yaml": text})
    assert f"has {told}, and Argo CD applies" in refusal(where, [{"name": "manifests", "string": "include"}])
    assert "set the parameter manifests to" in refusal(where)
    assert len(jobs(where, [{"name": "manifests", "string": "ignore"}])) == 1


@pytest.mark.parametrize("version", ["podplam/v1", "Podplan", ""])
def test_a_profile_of_another_group_is_not_left_out(tmp_path: Path, version: str) -> None:
    text = ALONE.replace("podplan/v1", f"'{version}'").replace("name: alone", "name: other")
    where = only(tmp_path, {"alone.yaml": ALONE, "other.yaml": text})
    told = refusal(where, [{"name": "manifests", "string": "ignore"}])
    if version == "podplam/v1":  # else it is a finding of the check
        assert told == "2: podplan: other.yaml: a JobProfile must have the apiVersion podplan/v1\n"
    assert told.startswith(("1: ", "2: "))
    assert "other.yaml" in told
    assert "podplan/v1" in told


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


def test_protection_from_pruning_is_on_request(repository: Path, tmp_path: Path) -> None:
    """By the flag, for all repositories, or by the configuration of one."""
    key = "argocd.argoproj.io/sync-options"
    [cr] = jobs(handed(repository, tmp_path), PROD, flags=["--gitops", "argocd"])
    assert cr["metadata"]["annotations"] == {key: "Prune=confirm"}
    write(repository / "podplan.toml", '[gitops]\ntool = "argocd"\n')
    assert jobs(server.copy(repository, tmp_path / "again", path="apps/train"), PROD) == [cr]


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
