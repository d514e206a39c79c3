"""Where the cache lies: what says so, and that it is never in what is checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from podplan.cli import check_cache
from tests.caching.runs import Run
from tests.command import podplan


def test_where_the_cache_is(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tree.parent / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tree.parent / "xdg"))
    assert check_cache.select_folder(str(tree.parent / "flag"), ["jobs"]) == str(tree.parent / "flag")
    assert check_cache.select_folder("", ["jobs"]) == str(tree.parent / "cache")
    monkeypatch.delenv(check_cache.FOLDER_VARIABLE)
    assert check_cache.select_folder("", ["jobs"]) == str(tree.parent / "xdg" / "podplan")
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert check_cache.select_folder("", ["jobs"]) == str(home / ".cache" / "podplan")
    monkeypatch.setenv(check_cache.DISABLE_VARIABLE, "1")
    assert check_cache.select_folder("", ["jobs"]) == ""


def test_nothing_in_the_repository_is_believed(tree: Path, check: Run) -> None:
    for folder in (tree, tree / ".cache", tree / "jobs" / ".." / ".cache"):
        assert check_cache.select_folder(str(folder), ["jobs"]) == ""
    (tree.parent / "link").symlink_to(tree / ".cache")
    assert check_cache.select_folder(str(tree.parent / "link"), ["jobs"]) == ""
    assert check(cached=str(tree / ".cache")).checked
    assert not (tree / ".cache").exists()


def test_nothing_in_an_archive_is_believed(
    tree: Path, check: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nobody knows where it begins: beside what is checked, and below where one stands, may be of it."""
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    (tree / ".git").rmdir()
    for folder in (tree / "cache", tree / "jobs" / "cache", tree / "jobs" / ".." / ".cache" / "podplan"):
        assert check_cache.select_folder(str(folder), ["jobs"]) == ""
    assert check_cache.select_folder(str(tmp_path / "cache"), ["jobs"]) == str(tmp_path / "cache")
    assert check(cached=str(tree / "cache")).checked
    assert not (tree / "cache").exists()
    monkeypatch.delenv(check_cache.FOLDER_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tree))
    assert check_cache.select_folder("", ["jobs"]) == ""
    monkeypatch.chdir("/")
    assert check_cache.select_folder(str(tree / "cache"), [str(tree / "jobs")]) == ""
    assert check_cache.select_folder(str(tmp_path / "cache"), [str(tree / "jobs")]) == str(tmp_path / "cache")


def test_a_home_is_no_archive(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who can write there has other ways than a cache."""
    (tree / ".git").rmdir()
    monkeypatch.setenv("HOME", str(tree))
    monkeypatch.delenv(check_cache.FOLDER_VARIABLE)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert check_cache.select_folder("", ["jobs"]) == str(tree / ".cache" / "podplan")


def test_configuration_does_not_say_where(tree: Path) -> None:
    (tree / "podplan.toml").write_text('cache-dir = "/tmp/elsewhere"\n')
    said = podplan("check", "jobs", cwd=tree)
    assert said.code == 2
    assert "cache-dir" in said.err
