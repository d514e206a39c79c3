"""Something goes wrong at a step of a run: nothing is lost or half-written, and the exit code is honest.

A step is anything that a run does to a file (tests/fault_injection.py). Each command has every fault once, at
a random step: some commands in `make test`, all in `make thorough`; `make faults` has them at every step.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.command import BAD_JOB, INVENTORY, JOB, PROFILE
from tests.fault_injection import CHANGED, FAULTS, OTHERS, SIGNALS, End, Faulty, faulty
from tests.thoroughness import mark_long

UGLY = "kind: JobProfile\napiVersion: podplan/v1\nspec: {job: GenericJob, image: a}\nmetadata: {name: a}\n"
FILES = {
    "jobs/bad.yaml": BAD_JOB,
    "jobs/good.yaml": JOB.replace("name: count", "name: good"),
    "jobs/worse.yaml": BAD_JOB.replace("name: count", "name: counts"),
    "jobs/profile.yaml": PROFILE,
    "jobs/ugly.yaml": UGLY,
    "inventory.yaml": INVENTORY,
    "podplan.toml": 'preset = "default"\n',
    "report.json": "{}\n",
    "known.json": '{"format": 1, "findings": []}\n',
}
WRITING = {
    "fix": "check --fix --unsafe-fixes jobs",
    "fmt": "fmt jobs",
    "render": "render jobs/profile.yaml -o out",
    "report": "check jobs --output json=report.json --output sarif=out/report.sarif",
    "baseline": "baseline create jobs --baseline known.json",
    "import": "import jobs/good.yaml -o new/profile.yaml",
    "graph": "graph jobs/profile.yaml -o picture.svg",
}
READING = {
    "check": "check .",
    "lower": "lower jobs/profile.yaml",
    "why": "why jobs/profile.yaml spec.replicaSpecs",
    "status": "status jobs/profile.yaml",
    "test": "test .",
}
COMMANDS = WRITING | READING
SOURCES = [name for name in FILES if not name.endswith(".json")]
HONEST = (0, 1, 2, 3, 4)
Tree = dict[str, bytes]


@pytest.fixture(scope="module")
def runs() -> Iterator[Faulty]:
    with faulty() as found:
        yield found


def made(folder: Path) -> Path:
    """A repository with the files in it."""
    (folder / ".git").mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def tree(folder: Path) -> Tree:
    """What is in the files of a folder, those behind links left out."""
    found = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def check_honest(end: End, fault: str) -> None:
    """The exit code says what happened, in words where there are any to say."""
    assert "Traceback" not in end.out + end.err, end.err
    assert "internal error" not in end.err, end.err
    if fault in SIGNALS and end.code not in HONEST:  # a signal that comes at the very end changes nothing
        assert end.code in (-SIGNALS[fault], 128 + SIGNALS[fault])
        return
    assert end.code in HONEST, (end.code, end.err)
    if end.code >= 2:
        assert end.err.startswith("podplan: "), end.err


def check_whole(now: Tree, before: Tree, after: Tree, fault: str) -> None:
    """Every file is as it was or as it is to be, and nothing else is there."""
    for name, content in now.items():
        if fault == "kill" and ".podplan-" in name:
            continue  # what was being written; nobody could take it away
        assert ".podplan-" not in name, f"{name} was left lying about"
        if (
            fault not in SIGNALS
            and name not in SOURCES
            and content not in (before.get(name), after.get(name))
        ):
            check_complete(name, content)  # of other sources, or without an inventory, it is another report
            continue
        known = [there[name] for there in (before, after) if name in there]
        meddled = fault == "changes" and content.endswith(CHANGED.encode())
        assert meddled or content in known, f"{name} is neither as it was nor as it is to be"
    if fault not in OTHERS:
        assert before.keys() <= now.keys(), f"{before.keys() - now.keys()} are lost"


def check_complete(name: str, content: bytes) -> None:
    """A file that podplan made, up to its end."""
    assert content.endswith(b"\n")
    if name.endswith((".json", ".sarif")):
        json.loads(content.removesuffix(CHANGED.encode()))


def check_again(name: str, again: End, clean: End, now: Tree, after: Tree) -> None:
    """Once nothing goes wrong any more, the same run brings what it would have brought."""
    kept = {name: content for name, content in now.items() if ".podplan-" not in name}
    assert kept == after
    if name != "import":  # which does not overwrite what it wrote
        assert again.code == clean.code


def steps(count: int, few: bool, writes: bool, seed: str) -> list[int]:
    """All steps, or one of them: of a command that writes one of the last, where the writing is."""
    if not few:
        return list(range(count))
    return [Random(seed).randrange(max(count - 4, 0) if writes else 0, count)]


@pytest.mark.parametrize("name", mark_long(COMMANDS, short=()))
def test_whatever_goes_wrong_at_a_step(
    runs: Faulty, name: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    few = not pytestconfig.getoption("every_step")
    arguments = COMMANDS[name].split()
    before = tree(made(tmp_path / "whole"))
    clean = runs.run(tmp_path / "whole", arguments)
    after = tree(tmp_path / "whole")
    check_honest(clean, "")
    assert (before != after) == (name in WRITING)
    for fault in FAULTS:
        for step in steps(clean.steps, few, name in WRITING, name + fault):
            folder = made(tmp_path / f"{fault}-{step}")
            end = runs.run(folder, arguments, fault, step)
            check_honest(end, fault)
            check_whole(tree(folder), before, after, fault)
            if fault in ("kill", "term", "full"):
                again = runs.run(folder, arguments)
                check_again(name, again, clean, tree(folder), after)


@pytest.mark.long
def test_the_faults_happen(runs: Faulty, tmp_path: Path) -> None:
    """Each of them, at a step that matters, brings another end than none."""
    arguments = WRITING["fmt"].split()
    clean = runs.run(made(tmp_path / "clean"), arguments)
    for fault in FAULTS:
        ends = [
            runs.run(made(tmp_path / f"{fault}-{step}"), arguments, fault, step)
            for step in range(clean.steps - 6, clean.steps)
        ]
        assert any(end.code != clean.code for end in ends), fault


def with_cache(folder: Path) -> Path:
    """A folder with a repository of as many jobs as the cache is for."""
    (folder / "repository" / ".git").mkdir(parents=True)
    for number in range(12):
        text = BAD_JOB.replace("name: count", f"name: count-{number}")
        (folder / "repository" / f"{number}.yaml").write_text(text)
    return folder


@pytest.mark.long
@pytest.mark.parametrize("cache", ["empty", "filled"])
def test_whatever_goes_wrong_with_the_cache(
    runs: Faulty, cache: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """The verdict is the same, then and afterwards; of a cache that fails, nobody hears."""
    few = not pytestconfig.getoption("every_step")
    arguments = ["check", "repository", "--cache-dir", "cache"]
    clean = runs.run(with_cache(tmp_path / "clean"), arguments)
    assert len(list((tmp_path / "clean" / "cache").iterdir())) == 1
    again = runs.run(tmp_path / "clean", arguments)
    assert again[:3] == clean[:3]
    assert again.steps != clean.steps
    filled = cache == "filled"
    last = again.steps if filled else clean.steps
    for fault in FAULTS:
        for step in range(last) if not few else [max(last - 1 - len(fault) % 4, 0)]:
            folder = with_cache(tmp_path / f"{fault}-{step}")
            if filled:
                runs.run(folder, arguments)
            before = tree(folder / "repository")
            check_honest(runs.run(folder, arguments, fault, step), fault)
            if tree(folder / "repository") == before:
                for _ in range(2):
                    assert runs.run(folder, arguments)[:3] == clean[:3], (fault, step)
