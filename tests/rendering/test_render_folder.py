"""podplan render -o DIR and --check: exact bytes, only files of podplan's own, no way out of the folder."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.command import ENVIRONMENTS, PROFILE
from tests.rendering.repository import HEADER, NAME, NS, Command, git, named, rendered, tree


def test_a_folder_is_as_rendered_once_it_is_written_and_in_git(folder: Path, podplan: Command) -> None:
    run = podplan("render", "jobs", "-o", "out", "--check")
    assert (run.code, run.out) == (1, f"out/{NAME}: missing; jobs/a.yaml renders it\n")
    assert run.err == "out is not as rendered: 1 missing; the same without --check writes it\n"
    assert not (folder / "out").exists()
    run = podplan("render", "jobs", "-o", "out")
    assert (run.code, run.out, run.err) == (0, "", "1 of 1 file written to out\n")
    run = podplan("render", "jobs", "-o", "out", "--check")
    assert (run.code, run.out) == (1, f"out/{NAME}: untracked; git does not know it yet; git add it\n")
    assert run.err == "out is not as rendered: 1 untracked\n"
    git(folder, "add", "out")
    run = podplan("render", "jobs", "-o", "out", "--check")
    assert (run.code, run.out, run.err) == (0, "", "1 file in out is as rendered\n")


def test_check_writes_nothing(folder: Path, podplan: Command) -> None:
    out = rendered(folder, podplan)
    (out / NAME).write_text(HEADER + "jobs/a.yaml\n")
    (out / "old.yaml").write_text(HEADER + "jobs/gone.yaml\n")
    (folder / "jobs" / "b.yaml").write_text(named("bert"))
    before = tree(folder)
    assert podplan("render", "jobs", "-o", "out", "--check").code == 1
    assert tree(folder) == before


def test_a_stale_file_is_shown_as_a_diff(folder: Path, podplan: Command) -> None:
    rendered(folder, podplan)
    (folder / "jobs" / "a.yaml").write_text(PROFILE.replace("replicas: 2", "replicas: 3"))
    run = podplan("render", "jobs", "-o", "out", "--check")
    assert run.code == 1
    assert run.out.splitlines() == [
        f"out/{NAME}: stale; jobs/a.yaml renders something else now",
        f"  --- out/{NAME}",
        "  +++ rendered now",
        "  @@ -8,3 +8,3 @@",
        "     - type: worker",
        "  -    replicas: 2",
        "  +    replicas: 3",
        "       template:",
    ]
    assert podplan("render", "jobs", "-o", "out").err == "1 of 1 file written to out\n"
    assert podplan("render", "jobs", "-o", "out", "--check").code == 0


def test_one_byte_is_a_difference(folder: Path, podplan: Command) -> None:
    file = rendered(folder, podplan) / NAME
    as_rendered = file.read_bytes()
    for edited in (as_rendered + b"\n", as_rendered + b"# mine\n", as_rendered.replace(b": 2", b":  2")):
        file.write_bytes(edited)
        assert "stale" in podplan("render", "jobs", "-o", "out", "--check").out
    file.write_bytes(as_rendered.replace(b"\n", b"\r\n"))
    assert (
        "it has not the line breaks that podplan writes"
        in podplan("render", "jobs", "-o", "out", "--check").out
    )
    assert podplan("render", "jobs", "-o", "out").code == 0
    assert file.read_bytes() == as_rendered


def test_what_its_source_no_longer_renders_goes(folder: Path, podplan: Command) -> None:
    (folder / "jobs" / "a.yaml").write_text(ENVIRONMENTS)
    (folder / "jobs" / "b.yaml").write_text(named("bert"))
    out = rendered(folder, podplan, "-e", "dev")
    (folder / "jobs" / "b.yaml").unlink()
    run = podplan("render", "jobs", "-o", "out", "-e", "dev", "--check")
    gone = "orphaned; jobs/b.yaml, which this was rendered from, is not there"
    assert (run.code, run.out) == (1, f"out/{NS}-bert.yaml: {gone}\n")
    run = podplan("render", "jobs", "-o", "out", "-e", "dev")
    assert run.err == "0 of 1 file written to out, 1 removed\n"
    assert [path.name for path in out.iterdir()] == [NAME]
    (folder / "jobs" / "a.yaml").write_text(
        ENVIRONMENTS.replace("dev:", "stage:").replace("resnet", "resnext")
    )
    run = podplan("render", "jobs", "-o", "out", "-e", "stage", "--check")
    assert (
        f"out/{NAME}: orphaned; jobs/a.yaml, which this was rendered from, no longer renders it:"
        ' there is no environment "dev"; it has stage, prod\n' in run.out
    )


def test_what_another_run_renders_stays(folder: Path, podplan: Command) -> None:
    """Of one source alone, or under one environment: the other files are for other calls to say."""
    (folder / "jobs" / "b.yaml").write_text(named("bert"))
    out = rendered(folder, podplan)
    assert podplan("render", "jobs/a.yaml", "-o", "out").err == "0 of 1 file written to out\n"
    assert podplan("render", "jobs/a.yaml", "-o", "out", "--check").code == 0
    assert len(list(out.iterdir())) == 2


def test_what_another_repository_renders_stays(folder: Path, tmp_path: Path, podplan: Command) -> None:
    """A folder of manifests alone: what a header names is somewhere else, so nobody knows that it is gone."""
    (folder / "jobs" / "b.yaml").write_text(named("bert"))
    deploy = tmp_path / "deploy"
    deploy.mkdir()
    git(deploy, "init", "--quiet")
    for name in ("a", "b"):
        assert podplan("render", f"jobs/{name}.yaml", "-o", "../deploy/out", "--gitops", "flux").code == 0
    assert {NAME, f"{NS}-bert.yaml"} < set(tree(deploy / "out"))
    git(deploy, "add", "--all")
    run = podplan("render", "jobs/a.yaml", "-o", "../deploy/out", "--gitops", "flux", "--check")
    assert (run.code, run.out) == (0, "")


def test_what_is_not_ours_stays(folder: Path, podplan: Command) -> None:
    out = rendered(folder, podplan)
    for name in ("mine.yaml", "README.md", "empty.yaml", os.fsdecode(b"\xff.yaml")):
        (out / name).write_text("kind: ConfigMap\n" * (name != "empty.yaml"))
    (out / "text.txt").write_text(HEADER + "jobs/gone.yaml\n")
    (out / "folder.yaml").mkdir()
    os.mkfifo(out / "pipe.yaml")
    before = tree(out)
    assert podplan("render", "jobs", "-o", "out", "--check").code == 0
    assert podplan("render", "jobs", "-o", "out").err == "0 of 1 file written to out\n"
    assert tree(out) == before


def test_a_hand_written_file_is_not_overwritten(folder: Path, podplan: Command) -> None:
    out = folder / "out"
    out.mkdir()
    (out / NAME).write_text("# mine\n")
    said = f"out/{NAME}: in the way; podplan did not write it, and jobs/a.yaml renders a file of this name"
    run = podplan("render", "jobs", "-o", "out", "--check")
    assert run.code == 1
    assert run.out.startswith(said)
    assert run.err == "out is not as rendered: 1 in the way\n"
    assert podplan("render", "jobs", "-o", "out").code == 2
    assert (out / NAME).read_text() == "# mine\n"


def test_a_folder_in_the_place_of_a_file(folder: Path, podplan: Command) -> None:
    (folder / "out" / NAME).mkdir(parents=True)
    assert "it is a folder" in podplan("render", "jobs", "-o", "out", "--check").out
    run = podplan("render", "jobs", "-o", "out")
    assert (run.code, run.err.startswith(f"podplan: cannot write out/{NAME}: it is a folder")) == (2, True)


def test_a_link_in_the_folder_is_never_followed(folder: Path, tmp_path: Path, podplan: Command) -> None:
    out = rendered(folder, podplan)
    victim = tmp_path / "victim.yaml"
    victim.write_bytes((out / NAME).read_bytes())
    (out / NAME).unlink()
    (out / NAME).symlink_to(victim)
    (out / "old.yaml").symlink_to(victim)
    victim.write_text(HEADER + "jobs/gone.yaml\n# of somebody else\n")
    said = "it is a link, and jobs/a.yaml renders a file of this name; move it away"
    run = podplan("render", "jobs", "-o", "out", "--check")
    assert run.out == f"out/{NAME}: in the way; {said}\n"
    assert "somebody else" not in run.out + run.err
    assert podplan("render", "jobs", "-o", "out").code == 2
    assert victim.read_text().endswith("# of somebody else\n")
    assert (out / "old.yaml").is_symlink()


@pytest.mark.parametrize("way", ["out", "linked/out"])
def test_a_folder_that_leads_out_of_the_repository(
    folder: Path, tmp_path: Path, podplan: Command, way: str
) -> None:
    outside = tmp_path / "outside"
    (outside / "out").mkdir(parents=True)
    (outside / NAME).write_text(HEADER + "jobs/a.yaml\nsecret\n")
    (folder / way.split("/")[0]).symlink_to(outside)
    before = tree(outside)
    for flags in (["--check"], []):
        run = podplan("render", "jobs", "-o", way, *flags)
        assert (run.code, run.out) == (2, "")
        assert run.err == f"podplan: {way}: leads out of the repository\n"
    assert tree(outside) == before


def test_a_link_within_the_repository_may_be_the_folder(folder: Path, podplan: Command) -> None:
    (folder / "real").mkdir()
    (folder / "out").symlink_to("real")
    assert podplan("render", "jobs", "-o", "out").code == 0
    assert (folder / "real" / NAME).is_file()
    git(folder, "add", "real")
    assert podplan("render", "jobs", "-o", "out", "--check").code == 0


@pytest.mark.parametrize("output", ["file", "file/below"])
@pytest.mark.parametrize("flags", [["--check"], []])
def test_a_file_is_no_folder(folder: Path, podplan: Command, output: str, flags: list[str]) -> None:
    (folder / "file").write_text("mine\n")
    run = podplan("render", "jobs", "-o", output, *flags)
    assert (run.code, run.out) == (2, "")
    assert run.err == f"podplan: cannot write {output}: file is not a folder\n"
    assert (folder / "file").read_text() == "mine\n"


@contextmanager
def somebody_else() -> Iterator[None]:
    """Where this process is root, it is nobody for a while: what may not be written is then true for it."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody can get at, unlike those of pytest."""
    top = Path(tempfile.mkdtemp())
    top.chmod(0o755)
    yield top
    for path in (top, *top.iterdir()):
        path.chmod(0o755)
    shutil.rmtree(top)


def test_a_folder_that_may_not_be_written(open_folder: Path, folder: Path, podplan: Command) -> None:
    shutil.copytree(folder / "jobs", open_folder / "jobs")
    os.chdir(open_folder)
    assert podplan("render", "jobs", "-o", "out").code == 0, "and all is imported that nobody may not read"
    (open_folder / "jobs" / "a.yaml").write_text(PROFILE.replace("replicas: 2", "replicas: 3"))
    before = tree(open_folder)
    for path in (open_folder / "out", open_folder):
        path.chmod(0o555)
    with somebody_else():
        for output in ("out", "new"):
            run = podplan("render", "jobs", "-o", output)
            assert (run.code, run.out) == (2, "")
            assert run.err == f"podplan: cannot write {output}/{NAME}: permission denied\n"
    assert tree(open_folder) == before


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (
            [named(f"b-{NS}-c", namespace="a"), named("c", namespace=f"a-{NS}-b")],
            f"two results would be the file a-{NS}-b-{NS}-c.yaml: from jobs/0.yaml and from jobs/1.yaml",
        ),
        (
            [named("resnet"), named("ResNet")],
            f"the file {NS}-ResNet.yaml, which some systems do not tell from {NS}-resnet.yaml: from",
        ),
        ([named("../../etc/cron")], "jobs/0.yaml renders a CR that no file can be named after: "),
        ([named("a/b")], "jobs/0.yaml renders a CR that no file can be named after: "),
        ([named('"a\\u0000b"')], "jobs/0.yaml renders a CR that no file can be named after: "),
        ([named("x", namespace="../x")], "jobs/0.yaml renders a CR that no file can be named after: "),
        ([named("x" * 300)], "jobs/0.yaml renders a CR that no file can be named after: "),
    ],
)
def test_names_that_no_file_can_have(folder: Path, podplan: Command, texts: list[str], said: str) -> None:
    shutil.rmtree(folder / "jobs")
    (folder / "jobs").mkdir()
    for number, text in enumerate(texts):
        (folder / "jobs" / f"{number}.yaml").write_text(text)
    before = tree(folder.parent)
    for flags in ([], ["--check"]):
        run = podplan("render", "jobs", "-o", "out", "--fail-on", "never", *flags)
        assert (run.code, run.out) == (2, "")
        assert said in run.err
    assert tree(folder.parent) == before


def test_two_variants_of_one_name(folder: Path, podplan: Command) -> None:
    (folder / "jobs" / "a.yaml").write_text(ENVIRONMENTS)
    run = podplan("render", "jobs", "-o", "out", "-e", "all")
    assert run.code == 2
    assert "two results are both PyTorchTrainingJob resnet: from jobs/a.yaml (dev)" in run.err
    assert "with -e NAME, each to a folder of its own with -o DIR, or give them different names" in run.err
    assert not (folder / "out").exists()
    for environment in ("dev", "prod"):
        assert podplan("render", "jobs", "-o", f"out/{environment}", "-e", environment).code == 0
    assert len(tree(folder / "out")) == 2


def test_a_job_without_a_name_is_called_after_what_its_name_begins_with(
    folder: Path, podplan: Command
) -> None:
    (folder / "jobs" / "a.yaml").write_text(PROFILE.replace("{name: resnet}", "{generateName: resnet-}"))
    assert podplan("render", "jobs", "-o", "out").code == 0
    assert list(tree(folder / "out")) == [f"{NS}-resnet-.yaml"]


def test_a_profile_does_not_lie_among_what_is_rendered(podplan: Command) -> None:
    for output in ("jobs", ".", "jobs/.."):
        run = podplan("render", "jobs", "-o", output)
        assert run.code == 2
        assert f"jobs/a.yaml is in {output}, which is for rendered files alone" in run.err


def test_nothing_is_written_unless_all_can_be(folder: Path, podplan: Command) -> None:
    (folder / "jobs" / "b.yaml").write_text(named("bert").replace("replicas: 2", "replicsa: 2"))
    run = podplan("render", "jobs", "-o", "out")
    assert run.code == 1
    assert not (folder / "out").exists()
    (folder / "jobs" / "b.yaml").write_text(named("bert"))
    (folder / "out" / NAME).mkdir(parents=True)
    assert podplan("render", "jobs", "-o", "out").code == 2
    assert tree(folder / "out") == {}


def test_no_secret_is_in_a_diff(folder: Path, podplan: Command) -> None:
    secret = PROFILE + "  env: {API_TOKEN: hunter2-hunter2, LR: '0.1'}\n"
    (folder / "jobs" / "a.yaml").write_text(secret)
    rendered(folder, podplan)
    for now in (secret.replace("0.1", "0.2"), PROFILE):
        (folder / "jobs" / "a.yaml").write_text(now)
        run = podplan("render", "jobs", "-o", "out", "--check")
        assert (
            "stale; jobs/a.yaml renders something else now\n  (no diff, for there may be a secret" in run.out
        )
        assert "hunter2" not in run.out + run.err


def test_a_diff_is_short_and_moves_no_cursor(folder: Path, podplan: Command) -> None:
    file = rendered(folder, podplan) / NAME
    text = file.read_text()
    file.write_text(text.replace("spec:\n", "spec:\n  # \u202egnirts\n", 1))
    run = podplan("render", "jobs", "-o", "out", "--check")
    assert "\u202e" not in run.out
    assert "  -  # \\u202egnirts\n" in run.out
    file.write_text(text + "# more\n" * 1_000)
    run = podplan("render", "jobs", "-o", "out", "--check")
    assert len(run.out.splitlines()) < 30
    assert "... and " in run.out
    file.write_text(text + "# more\n" * 3_000)
    assert (
        "(no diff, for there are more than 2,000 lines)"
        in podplan("render", "jobs", "-o", "out", "--check").out
    )


def test_flux_is_given_a_list_of_the_files(folder: Path, podplan: Command) -> None:
    (folder / "jobs" / "b.yaml").write_text(named("bert"))
    out = rendered(folder, podplan, "--gitops", "flux")
    (out / "mine.yaml").write_text("kind: ConfigMap\n")
    listed = out / "kustomization.yaml"
    assert listed.read_text().splitlines()[-3:] == ["resources:", f"- {NS}-bert.yaml", f"- {NS}-resnet.yaml"]
    assert podplan("render", "jobs", "-o", "out", "--gitops", "flux", "--check").code == 0
    (folder / "jobs" / "c.yaml").write_text(named("clip"))
    run = podplan("render", "jobs/c.yaml", "-o", "out", "--gitops", "flux")
    assert run.err == "2 of 2 files written to out\n"
    assert len(listed.read_text().split("resources:\n")[1].splitlines()) == 3, "what other runs made is kept"
    run = podplan("render", "jobs", "-o", "out", "--check")
    assert "out/kustomization.yaml: orphaned; " in run.out, "without Flux nobody asks for it"
    assert podplan("render", "jobs", "-o", "out").err == "3 of 3 files written to out, 1 removed\n"
    listed.write_text("resources: [mine.yaml]\n")
    run = podplan("render", "jobs", "-o", "out", "--gitops", "flux")
    assert run.code == 2
    assert "kustomization.yaml: podplan did not write it, and podplan writes a file of this name" in run.err
