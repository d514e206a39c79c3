from __future__ import annotations

import pytest

from podplan.workspace.globs import matches_glob


@pytest.mark.parametrize(
    ("pattern", "path", "wanted"),
    [
        ("a.yaml", "a.yaml", True),
        ("a.yaml", "b/c/a.yaml", True),
        ("/a.yaml", "b/a.yaml", False),
        ("/a.yaml", "a.yaml", True),
        ("*.yaml", "b/a.yaml", True),
        ("b/*.yaml", "b/a.yaml", True),
        ("b/*.yaml", "b/c/a.yaml", False),
        ("b/**/*.yaml", "b/c/d/a.yaml", True),
        ("b/**/*.yaml", "b/a.yaml", True),
        ("b", "b/c/a.yaml", True),
        ("b/", "a/b/c.yaml", True),
        ("b/c", "a/b/c/d.yaml", False),
        ("**/b/c", "a/b/c/d.yaml", True),
        ("b/**", "b/a.yaml", True),
        ("b/**", "bb/a.yaml", False),
        ("**", "a.yaml", True),
        ("a?[bc]", "axc", True),
        ("A.yaml", "a.yaml", False),
        ("", "a.yaml", False),
        ("/", "a.yaml", False),
    ],
)
def test_matches(pattern: str, path: str, wanted: bool) -> None:
    assert matches_glob(path, pattern) is wanted


def test_many_stars_cost_little() -> None:
    assert not matches_glob("/".join(["a"] * 200), "/".join(["**", "*a*a*a*a*"] * 50) + "/b")
