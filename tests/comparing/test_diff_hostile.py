"""Text of files in reports of podplan diff: it is no markup and no command, has room, and is no secret."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from podplan.cli.diff import compare_paths
from podplan.report import diff_markdown, diff_text
from tests.comparing.repository import PROFILE, job
from tests.git import Git, commit


@pytest.mark.usefixtures("git")
@pytest.mark.parametrize(
    "text",
    [
        "````\\n# a heading",
        "</details><img src=x>",
        "@everybody",
        "::error file=x::y",
        "\\e[31mred",
        "| a | b |",
    ],
)
def test_no_text_of_files_is_markup(tmp_path: Path, text: str) -> None:
    (tmp_path / "two.yaml").write_text(job("two").replace("hello", f'"{text}"'))
    found = diff_markdown.render(compare_paths(()))
    fence = re.search(r"^(`{3,})diff$", found, re.MULTILINE)
    assert fence is not None
    body = found.partition(f"{fence[1]}diff\n")[2].partition(f"\n{fence[1]}\n")[0]
    assert fence[1] not in body
    outside = found.replace(body, "")
    for markup in ("# a heading", "<img", "@everybody", "::error"):
        assert markup not in outside
    assert not any(line.startswith("::") for line in found.splitlines())
    assert "\x1b" not in found


def test_no_text_of_files_is_a_command_of_a_workflow(git: Git, tmp_path: Path) -> None:
    script = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: |\n"
    script += "    ::error::y\n    ##[group]\n    two\n"
    (tmp_path / "map.yaml").write_text(script)
    commit(git, "script")
    (tmp_path / "map.yaml").write_text(script.replace("two", "three"))
    (tmp_path / "::error file=x::y.yaml").write_text(job("three"))
    found = diff_text.render(compare_paths(()))
    assert "| ## [group]" in found
    assert not [line for line in found.splitlines() if line.lstrip().startswith("::")]


@pytest.mark.usefixtures("git")
def test_names_of_files_and_jobs_are_no_markup_either(tmp_path: Path) -> None:
    (tmp_path / "@all <b> `x` [y](z) | w.yaml").write_text(job("three"))
    found = diff_markdown.render(compare_paths(()))
    row = next(line for line in found.splitlines() if "three" in line)
    assert row.count(" | ") == 4
    assert not {"@all", "<b>", "`x`", "[y]"} & set(re.findall(r"@all|<b>|`x`|\[y\]", row))


def test_a_comment_has_room_for_it(git: Git, tmp_path: Path) -> None:
    words = [f"word-{number}-{'x' * 60}" for number in range(400)]
    env = ", ".join(f"{{name: V{number}, value: {word}}}" for number, word in enumerate(words))
    for number in range(60):
        (tmp_path / f"job-{number}.yaml").write_text(job(f"job-{number}"))
    (tmp_path / "two.yaml").write_text(job("two").replace("args: [echo, hello]", f"env: [{env}]"))
    commit(git, "long")
    (tmp_path / "two.yaml").write_text(
        (tmp_path / "two.yaml").read_text().replace("word-", "another-").replace("1.36", "1.37")
    )
    for number in range(60):
        text = job(f"job-{number}").replace("replicas: 2", f"wrong{number}: 2")
        (tmp_path / f"job-{number}.yaml").write_text(text)
    found = compare_paths(())
    text = diff_markdown.render(found)
    assert len(text) <= diff_markdown.MAX_CHARACTERS
    assert "more changes have no room here" in text
    assert "more have no room here" in text
    assert text.endswith(
        "</details>\n\n> 60 jobs are excluded from the totals because they have errors before or after the"
        " change\n"
    )
    small = diff_markdown.render(found, max_length=5_000)
    assert len(small) <= 5_000


def test_short_values_of_secret_variables_are_hidden_where_they_are(git: Git, tmp_path: Path) -> None:
    env = 'env: [{name: DB_PASSWORD, value: "1"}, {name: LEVEL, value: abc}], args:'
    (tmp_path / "two.yaml").write_text(job("two").replace("args:", env))
    (tmp_path / "profile.yaml").write_text(PROFILE + '  env: {DB_PASSWORD: "1", LEVEL: abc}\n')
    commit(git, "a variable")
    for name in ("two.yaml", "profile.yaml"):
        text = (tmp_path / name).read_text()
        (tmp_path / name).write_text(text.replace('"1"', "xyz").replace("abc", "xyzz"))
    for level in ("source", "cr", "lowered"):
        shown = diff_text.render(compare_paths((), level=level))
        assert "xyzz" in shown
        assert not re.search(r"\bxyz\b", shown)
    (tmp_path / "two.yaml").write_text(job("two").replace("args:", env.replace('"1"', "xyz")))
    commit(git, "another")
    (tmp_path / "two.yaml").write_text(job("two"))
    assert not re.search(r"\bxyz\b", diff_text.render(compare_paths(())))
