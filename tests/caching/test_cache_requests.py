"""Another request is another run: other flags, another folder, day, version, Python or code."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from podplan.cli import check_cache
from tests.caching.runs import Run


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize(
    "flags", [{"k8s_version": "1.30"}, {"select": ("SEC",)}, {"format_": "sarif"}, {"fail_on": "info"}]
)
def test_another_request_is_another_run(check: Run, flags: dict[str, Any]) -> None:
    check()
    asked = check(**flags)
    assert asked.checked
    assert (asked.code, asked.out) == ((again := check(**flags)).code, again.out)
    assert not again.checked


def test_another_folder_version_day_or_limit_is_another_run(
    tree: Path, check: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    check()
    with monkeypatch.context() as patch:
        patch.setattr(check_cache, "__version__", "9.9.9")
        assert check().checked
    with monkeypatch.context() as patch:
        patch.setattr("time.gmtime", lambda: (2031, 1, 2, 3, 4, 5, 0, 2, 0))
        assert check().checked
    with monkeypatch.context() as patch:
        patch.setenv("PODPLAN_LIMITS", "documents=9999")
        assert check().checked
    with monkeypatch.context() as patch:
        patch.chdir(tree / "jobs")
        assert check(".").checked
    assert not check().checked


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize(
    ("name", "value"), [("version", "3.99.0"), ("getfilesystemencoding", lambda: "iso8859-1")]
)
def test_another_python_or_encoding_of_names_is_another_run(
    check: Run, monkeypatch: pytest.MonkeyPatch, name: str, value: Any
) -> None:
    check()
    monkeypatch.setattr(check_cache.sys, name, value)  # type: ignore[attr-defined]
    assert check().checked


@pytest.mark.usefixtures("tree")
def test_an_extra_that_is_installed_is_another_run(check: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """cel_expr_python is a package without a file of its own."""
    check()
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name.startswith("cel") else find(name)
    )
    assert check().checked


@pytest.mark.usefixtures("tree")
def test_other_code_is_another_run(check: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    check()
    files = check_cache._iter_file_signatures
    monkeypatch.setattr(
        check_cache, "_iter_file_signatures", lambda top: ([*one[:2], one[2] + 1] for one in files(top))
    )
    assert check().checked


def test_code_that_is_gone_was_not_there(tmp_path: Path) -> None:
    """The lock of an editor is a link to nothing, and another version may be installed meanwhile."""
    (tmp_path / "a.py").write_text("")
    (tmp_path / ".#a.py").symlink_to("somebody@somewhere:1")
    assert [path for path, *_ in check_cache._iter_file_signatures(str(tmp_path))] == [str(tmp_path / "a.py")]
    assert list(check_cache._iter_file_signatures(str(tmp_path / "gone"))) == []
