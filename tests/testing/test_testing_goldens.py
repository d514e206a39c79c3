"""podplan test: golden renders of profiles, stale, orphaned, unreadable and updated."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command import podplan
from tests.testing.repository import PROFILE, edit


def test_a_golden_is_what_render_prints(folder: Path) -> None:
    rendered = [podplan("render", "-e", name, "jobs/a.yaml", cwd=folder).out for name in ("dev", "prod")]
    assert (folder / "jobs" / "a.golden.yaml").read_text() == "".join(rendered)


def test_a_stale_golden_is_told_with_its_line_and_a_diff_and_updated(folder: Path) -> None:
    golden = folder / "jobs" / "a.golden.yaml"
    before = golden.read_bytes()
    edit(folder / "jobs" / "a.yaml", "replicas: 4", "replicas: 5")
    run = podplan("test", "jobs", cwd=folder)
    assert run.code == 1
    line = before.decode().splitlines().index("    replicas: 4") + 1
    assert run.out.startswith(f"jobs/a.golden.yaml:{line}:1: golden: jobs/a.yaml renders something else now;")
    assert "\n    -    replicas: 4\n    +    replicas: 5\n" in run.out
    assert golden.read_bytes() == before
    assert podplan("test", "--update", cwd=folder).out.startswith("jobs/a.golden.yaml: written\n")
    assert "written" not in podplan("test", "--update", cwd=folder).out
    assert podplan("test", cwd=folder).code == 0


def test_a_diff_is_bounded(folder: Path) -> None:
    (folder / "jobs" / "a.golden.yaml").write_text("".join(f"# {number}\n" for number in range(500)))
    lines = podplan("test", "jobs", cwd=folder).out.splitlines()
    assert len(lines) == 1 + 20 + 1 + 1
    assert lines[-2].endswith("more lines")


def test_a_diff_shows_no_secret(folder: Path) -> None:
    edit(folder / "jobs" / "a.yaml", "  replicas: 4", "  env: {HF_TOKEN: hf_abcdefghijklmnop}\n  replicas: 4")
    assert podplan("test", "--update", cwd=folder).code == 0
    edit(folder / "jobs" / "a.yaml", "hf_abcdefghijklmnop", "hf_qrstuvwxyzabcdef")
    for _ in range(2):  # in the profile, and then only in the golden file
        run = podplan("test", cwd=folder)
        assert run.code == 1
        assert "there may be a secret" in run.out
        assert "hf_" not in run.out + run.err
        (folder / "jobs" / "a.yaml").write_text(PROFILE)


def test_a_profile_that_does_not_render_fails_and_keeps_its_golden(folder: Path) -> None:
    before = (folder / "jobs" / "a.golden.yaml").read_bytes()
    edit(folder / "jobs" / "a.yaml", "run: [train.py]", 'run: [train.py, "${{ params.x }}"]')
    run = podplan("test", "--update", "jobs", cwd=folder)
    assert run.code == 1
    assert run.out.startswith("jobs/a.yaml:7:19: PROF009: jobs/a.yaml does not render: "), run.out
    assert (folder / "jobs" / "a.golden.yaml").read_bytes() == before


def test_a_golden_without_its_profile_fails(folder: Path) -> None:
    (folder / "jobs" / "a.yaml").rename(folder / "jobs" / "b.yaml")
    run = podplan("test", "jobs", cwd=folder)
    assert run.code == 1
    assert "jobs/a.golden.yaml:1:1: golden: there is no jobs/a.yaml that renders this" in run.out


def bad_folder(path: Path) -> None:
    path.mkdir()


def bad_link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def bad_way(path: Path) -> None:
    path.symlink_to("nowhere.yaml")


def bad_pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("made", "said", "updated"),
    [
        (bad_folder, "is a directory", "cannot write jobs/b.golden.yaml: it is not a regular file"),
        (bad_link, "leads out of the repository", "it cannot be read: leads out of the repository;"),
        (bad_way, "no such file or directory", ""),
        (bad_pipe, "not a regular file", "cannot write jobs/b.golden.yaml: it is not a regular file"),
    ],
)
def test_a_golden_that_cannot_be_read_fails_and_the_others_are_tested(
    made: Callable[[Path], None], said: str, updated: str, folder: Path
) -> None:
    """One of them ended the run, and it was not always said which."""
    for name in "bc":
        (folder / f"jobs/{name}.yaml").write_text(PROFILE.replace("resnet", name))
    made(folder / "jobs/b.golden.yaml")
    (folder / "jobs/c.golden.yaml").write_text("a: 1\n")
    run = podplan("test", cwd=folder)
    assert (run.code, run.err) == (1, "")
    assert f"jobs/b.golden.yaml:1:1: golden: it cannot be read: {said}; delete it" in run.out
    assert "jobs/c.golden.yaml:1:1: golden: jobs/c.yaml renders something else now" in run.out
    assert "5 tests, 2 failures, 1 of 1 policies tested, 3 of 3 profiles tested" in run.out
    run = podplan("test", "--update", cwd=folder)
    assert run.code == bool(updated)
    assert f"jobs/b.golden.yaml:1:1: golden: {updated}" in run.out or not updated
    assert "jobs/c.golden.yaml: written" in run.out


def test_a_golden_or_profile_beyond_a_limit_fails_and_the_others_are_tested(folder: Path) -> None:
    (folder / "jobs/b.golden.yaml").write_text("#" * 10_000)
    (folder / "jobs/b.yaml").write_text(PROFILE.replace("resnet", "b"))
    (folder / "jobs/c.golden.yaml").write_text("")
    (folder / "jobs/c.yaml").write_text(PROFILE + "#" * 10_000)
    run = podplan("test", cwd=folder, env={"PODPLAN_LIMITS": "file-bytes=9000"})
    assert run.code == 4
    assert "jobs/b.golden.yaml:1:1: golden: jobs/b.golden.yaml has 10,000 bytes" in run.out
    assert "jobs/c.yaml:1:1: golden: jobs/c.yaml has 10,2" in run.out
    assert "5 tests, 2 failures" in run.out
    assert "the limit file-bytes is 9000" in run.err


def test_a_golden_whose_profile_cannot_be_read_any_more_fails(folder: Path) -> None:
    """It was passed over, so that the run was clean."""
    edit(folder / "jobs/a.yaml", "  replicas: 4\n", "  replicas: [4\n")
    run = podplan("test", cwd=folder)
    assert run.code == 1
    assert "golden: jobs/a.yaml does not render to jobs/a.golden.yaml: " in run.out
    (folder / "jobs/a.yaml").write_text("a: 1\n")
    run = podplan("test", cwd=folder)
    assert run.code == 1
    assert "jobs/a.yaml does not render to jobs/a.golden.yaml: it holds no profile" in run.out
    (folder / "jobs/a.golden.yaml").write_text("a: 1\n")  # of another tool
    assert podplan("test", cwd=folder).code == 0


def test_what_stands_in_a_golden_file_ends_no_run(folder: Path) -> None:
    """Beyond a bound, or a profile of its own: there is no diff then."""
    for text in ("a: [" + "[" * 1_000, PROFILE.replace("replicas: 4", "extends: [../../b.yaml]")):
        (folder / "jobs/a.golden.yaml").write_text(text)
        run = podplan("test", cwd=folder)
        assert (run.code, run.err) == (1, "")
        assert "(no diff, for there may be a secret in it)" in run.out


def test_goldens_are_no_second_objects(folder: Path) -> None:
    with_it = podplan("check", "--format", "json", cwd=folder)
    lowered = podplan("lower", "-e", "prod", ".", cwd=folder)
    (folder / "jobs" / "a.golden.yaml").unlink()
    assert with_it == podplan("check", "--format", "json", cwd=folder)
    assert lowered == podplan("lower", "-e", "prod", ".", cwd=folder)
    assert lowered.code == 0
