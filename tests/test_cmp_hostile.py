"""podplan cmp in repositories of strangers, in copies that lack something, and when it is ended."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests import plugin_server as server
from tests.applications import (
    ALONE,
    BASE,
    PROD,
    PROFILE,
    handed,
    jobs,
    only,
    refusal,
    write,
)
from tests.plugin_server import DEADLINE, PluginError


def test_modules_of_the_repository_are_not_run(repository: Path, tmp_path: Path) -> None:
    """Tried with python3 -m: a planted yaml.py ran.

    Source: docs/evidence/gitops-argocd.md#modules-in-the-folder-of-an-application.
    """
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
    where = handed(repository, tmp_path, sent="apps")
    told = refusal(where, [*PROD, {"name": "params.epochs", "string": "3"}])
    assert "error PROF002 resnet.yaml:6: " in told
    assert "../../bases/torch.yaml" in told
    assert "argocd.argoproj.io/manifest-generate-paths" in told


def test_a_missing_inventory_may_have_been_left_out_as_well(tmp_path: Path) -> None:
    told = refusal(
        only(tmp_path, {"alone.yaml": ALONE.replace("replicas: 1", "replicas: 1, hardware: h100")})
    )
    assert "error PROF016 alone.yaml:4: " in told
    assert "argocd.argoproj.io/manifest-generate-paths" in told


def test_discovery_knows_where_a_copy_without_git_begins(tmp_path: Path) -> None:
    """As generate does: links lead to what is inside, and the configuration is that of the top."""
    write(tmp_path / "repository/jobs/alone.yaml", ALONE)
    (tmp_path / "repository/app/prod").mkdir(parents=True)
    (tmp_path / "repository/app/prod/link.yaml").symlink_to("../../jobs/alone.yaml")
    where = server.copy(tmp_path / "repository", tmp_path / "tmp", path="app")
    assert len(jobs(where)) == 1
    assert server.matches(where)
    write(where.root / "podplan.toml", 'exclude = ["link.yaml"]\n')
    assert refusal(where).startswith("3: ")
    assert not server.matches(where)


@pytest.mark.parametrize("text", ["", "a = 1\n" * 2_000_000, "exclude = 3\n", "\0"])
def test_discovery_answers_whatever_the_configuration_is(tmp_path: Path, text: str) -> None:
    """A fault would have Argo CD apply the profile as it is; what is wrong, generate says."""
    assert server.matches(only(tmp_path, {"alone.yaml": ALONE, "podplan.toml": text}))


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


def test_no_secret_of_the_parameters_comes_into_the_ui(tmp_path: Path) -> None:
    declared = (
        "{token: {type: string, maxLength: 3}, apiKey: {type: integer}, hub_token: {type: array},"
        " env: {type: object, additionalProperties: {type: integer}}}"
    )
    where = only(tmp_path, {"alone.yaml": ALONE.replace("replicas: 1", f"replicas: 1, params: {declared}")})
    wrong = [
        {"name": "params.token", "string": SECRET + '"' + 200 * "é"},
        {"name": "params.apiKey", "string": SECRET},
        {"name": "params.env", "map": {"HF_TOKEN": SECRET, "WORLD": "all"}},
    ]
    told = refusal(where, wrong)
    assert told.count("error PROF006") == 3
    assert '"HF_TOKEN": "***", "WORLD": "all"' in told
    assert SECRET[:6] not in told
    told = refusal(where, [{"name": "params.hub_token", "string": SECRET}])
    assert told.startswith("2: podplan: alone.yaml: parameter params.hub_token=***: this is no JSON; write")


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


@pytest.mark.long
def test_a_deadline_of_argo_cd_in_the_middle(tmp_path: Path) -> None:
    """SIGTERM ends it with a sentence, at once and without a word of the stream.

    Where the machine is so busy that the first deadline comes before Python has started, there is another.
    """
    where = only(tmp_path, LONG)
    env = server.variables(where)
    for deadline in (1.5, 8.0):
        before = time.monotonic()
        answer = server.run(server.plugin().generate, where, env, deadline)
        assert time.monotonic() - before < deadline + server.GRACE
        assert answer.out == ""
        assert answer.code != 0
        if answer.err:
            break
    assert (
        answer.err
        == "podplan: Argo CD stopped podplan before everything was rendered, so nothing is printed\n"
    )
    assert answer.code == 143


@pytest.mark.long
def test_a_deadline_of_the_plugin(tmp_path: Path) -> None:
    where = only(tmp_path, LONG)
    with pytest.raises(PluginError, match="exit status 4: podplan: this took longer than 1 second"):
        server.generate(where, flags=["--deadline", "1"], deadline=DEADLINE)


@pytest.mark.long
def test_a_repository_that_wants_all_the_memory(tmp_path: Path) -> None:
    """The container is ended with all its renders when it has no more; this render alone gives up."""
    values = "a:\n" + "- {x: y, z: 1}\n" * 200_000
    where = only(tmp_path, {"alone.yaml": ALONE, "values.yaml": values})
    with pytest.raises(PluginError, match="exit status 4: podplan: 100 MiB of memory were not enough"):
        server.generate(where, flags=["--memory", "100"], deadline=DEADLINE)
    shown = server.run(
        [*server.plugin().parameters, "--memory", "100"], where, server.variables(where), DEADLINE
    )
    assert shown.code == 0
    assert "too little memory" in shown.err
    assert '"environment"' in shown.out
