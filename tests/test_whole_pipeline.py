"""What holds of every run over whatever somebody made of a file, from the command line to the report."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from podplan.cli.lsp import resolve_file_settings
from podplan.cli.reports import FORMATS
from podplan.pipeline import PipelineSettings
from podplan.yaml import parse_yaml
from podplan.yaml.positions import LINE_BREAK
from tests.command import INVENTORY, PROFILE, Run
from tests.fuzz.mutating import mutated
from tests.fuzz.targets import CRS, FINDINGS, OURS, PROFILES, YAML, Seeds, both, files
from tests.golden_cases import podplan
from tests.lowered_objects import Object, lower
from tests.run_invariants import check_fixes, check_places, check_reports, checked
from tests.strategies import FEW, crs
from tests.test_lowering_invariants import workers
from tests.thoroughness import examples

FILE = "job.yaml"
short = settings(
    max_examples=examples(40),
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


WORDS = [word.encode() for word in (*YAML, *OURS)]


@cache
def begun(seeds: Seeds) -> tuple[list[bytes], list[bytes]]:
    """Files to begin with, and all of their lines."""
    found = sorted(set(seeds()))
    return found, [line for seed in found for line in seed.split(b"\n")]


def changed(seeds: Seeds, most: int) -> st.SearchStrategy[bytes]:
    """One of the files, as it is or changed in up to ``most`` places."""

    def made(number: int) -> bytes:
        chance = Random(number)
        files, lines = begun(seeds)
        text = chance.choice(files)
        for _ in range(chance.randint(0, most)):
            text = mutated(text, 20_000, chance.randrange(2**32), WORDS, lines, lambda data, _: data)
        return text

    return st.integers(0, 2**64).map(made)


ALL = both(PROFILES, CRS, FINDINGS)
FIXED = both(files("fixes/*.yaml"), FINDINGS)
somewhat_broken = changed(ALL, 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A repository with an inventory, in which one stands."""
    top = tmp_path_factory.mktemp("pipeline")
    (top / ".git").mkdir()
    (top / "inventory.yaml").write_text(INVENTORY)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(top)
        yield top


@pytest.fixture(scope="module")
def asked(folder: Path) -> PipelineSettings:
    """What podplan check asks for, on one day."""
    found = resolve_file_settings(str(folder / FILE)).settings
    return found._replace(lint_config=found.lint_config._replace(today="2026-01-01"))


def text_of(content: bytes) -> str:
    return content.decode(errors="replace")


COMMANDS = (
    *(f"check {FILE} --today 2026-01-01 --format {name}" for name in FORMATS),
    f"check {FILE} --diff --unsafe-fixes --today 2026-01-01",
    f"render {FILE} -e all",
    f"lower {FILE} -e all --fold",
    f"lower {FILE} -e all",
    f"why {FILE} spec",
    f"status {FILE} -e all",
    f"graph {FILE} -e all",
    f"graph {FILE} -e all --format mermaid",
    f"fmt {FILE} --diff",
    f"migrate {FILE} --diff",
    f"import {FILE}",
)


def honest(said: Run) -> None:
    assert said.code in (0, 1, 2, 3, 4)
    assert "Traceback" not in said.out + said.err
    assert "internal error in" not in said.out + said.err, said.out + said.err
    if said.code >= 2:
        assert said.err.strip(), "nobody says why"


@short
@given(somewhat_broken, st.data())
def test_no_command_breaks_and_each_says_the_same_twice(
    folder: Path, content: bytes, data: st.DataObject
) -> None:
    (folder / FILE).write_bytes(content)
    for command in data.draw(st.lists(st.sampled_from(COMMANDS), min_size=3, max_size=3, unique=True)):
        first = podplan(*command.split())
        honest(first)
        assert podplan(*command.split()) == first
    assert (folder / FILE).read_bytes() == content


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_over_some_files(folder: Path, command: str) -> None:
    for content in Random(command).sample(begun(ALL)[0], 4):
        (folder / FILE).write_bytes(content)
        honest(podplan(*command.split()))


@short
@given(somewhat_broken)
def test_every_place_of_every_finding_exists(asked: PipelineSettings, content: bytes) -> None:
    text = text_of(content)
    result = checked({FILE: text}, asked)
    check_places(result, {FILE: text})
    check_reports(result)


@short
@given(somewhat_broken)
def test_places_are_the_same_in_every_format(folder: Path, content: bytes) -> None:
    """Formats with a line and a column give those of the JSON form, and all of them are in the file."""
    (folder / FILE).write_bytes(content)
    wanted = json.loads(podplan("check", FILE, "--today", "2026-01-01", "--format", "json").out)
    places = [(one["line"], one["column"]) for one in wanted["findings"] if not one["suppressed"]]
    concise = podplan(
        "check", FILE, "--today", "2026-01-01", "--format", "concise", "--show", "info"
    ).out.splitlines()
    told = [line.split(":")[1:3] for line in concise if line.startswith(f"{FILE}:")]
    assert [(int(line), int(column)) for line, column in told] == places
    text = LINE_BREAK.split(text_of(content))
    assert all(line <= len(text) and column <= len(text[line - 1]) + 1 for line, column in places)
    sarif = json.loads(podplan("check", FILE, "--today", "2026-01-01", "--format", "sarif").out)
    regions = [
        (region["startLine"], region["startColumn"])
        for one in sarif["runs"][0]["results"]
        if not one.get("suppressions")
        for region in (one["locations"][0]["physicalLocation"]["region"],)
    ]
    # SARIF leaves out what is no place in a text: columns of a whole file.
    assert set(regions) <= set(places)


@settings(short, max_examples=examples(60))
@given(changed(FIXED, 2))
def test_fixes_hold(asked: PipelineSettings, content: bytes) -> None:
    check_fixes({FILE: text_of(content)}, asked)


@settings(short, max_examples=examples(60))
@given(changed(PROFILES, 1))
def test_what_is_rendered_reads_as_what_was_compiled(folder: Path, content: bytes) -> None:
    """Rendered CRs are checked as such: they are up to date, whatever is in them."""
    (folder / FILE).write_bytes(content)
    out = podplan("render", FILE, "-e", "all")
    if out.code == 0:
        source = parse_yaml(out.out.encode(), "rendered.yaml")
        assert source.diagnostics == []
        (folder / "rendered.yaml").write_text(out.out, encoding="utf-8")
        said = podplan("check", "rendered.yaml", FILE, "--select", "GIT", "--format", "json")
        (folder / "rendered.yaml").unlink()
        assert [one["rule"] for one in json.loads(said.out)["findings"] if one["rule"] == "GIT001"] == []


@settings(short, max_examples=examples(30))
@given(crs(FEW), st.integers(1, 3))
def test_more_replicas_never_give_fewer_objects(cr: Object, more: int) -> None:
    greater = copy.deepcopy(cr)
    for entry in workers(greater):
        entry["replicas"] = entry.get("replicas", 1) + more
    counts = [sum(group.replicas for group in lower(one)) for one in (cr, greater)]
    assert counts[0] <= counts[1]


@settings(short, max_examples=examples(20))
@given(somewhat_broken)
def test_the_difference_of_equal_trees_is_empty(folder: Path, content: bytes) -> None:
    for name in ("one", "other"):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / FILE).write_bytes(content)
    said = podplan("diff", "--base-tree", "one", "other", "--exit-code", "--format", "json")
    honest(said)
    if said.code < 2:
        assert said.code == 0, said.out
        counts = json.loads(said.out)["impact"]["jobs"]
        assert not any(counts.values()), counts


ODD = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6)
SPECIAL = st.sampled_from(
    ["\nspec: {}", "a\r\n---\nb", "\x85", "\u2028", "\ufeff", "'", "\\", "$'", "# x", "\x1b", "🚀"]
)


@settings(short, max_examples=examples(25))
@given(st.lists(st.one_of(ODD, SPECIAL), min_size=1, max_size=3).map("".join))
def test_nothing_ends_the_comment_of_a_rendered_cr(folder: Path, text: str) -> None:
    """Neither a name nor a value: the comment is one line, and says what was rendered with what."""
    name = f"{text.replace('/', '-')}.yaml"
    (folder / "odd").mkdir(exist_ok=True)
    (folder / "odd" / name).write_text(PROFILE)
    out = podplan("render", f"odd/{name}", "--set", f"workingDir={text}")
    rendered = folder / "odd" / "rendered.yaml"
    rendered.write_text(out.out, encoding="utf-8")
    said = podplan("check", "odd/rendered.yaml", "--select", "GIT001", "--format", "json")
    (folder / "odd" / name).unlink()
    if out.code == 0:
        comment = LINE_BREAK.split(out.out)[1]
        assert comment.startswith("# podplan: rendered from ")
        assert out.out.split("\n")[2].startswith("apiVersion: ")
        assert json.loads(said.out)["findings"] == []
    rendered.unlink()
