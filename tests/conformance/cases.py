"""A case: a folder with a CR, and case.yaml with the expected behavior of its Pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from podplan.lint.example_objects import apply_patch

CASES = Path(__file__).parent / "cases"
LONGEST = 180


class Expectation(NamedTuple):
    """The expected result; a part that is not given is not compared."""

    exit: int | str | Mapping[str, int | str | None] | None = None
    world: int | None = None
    log: Mapping[str, list[str]] = {}
    lines: Mapping[str, int] = {}
    restarts: Mapping[str, int] = {}
    phase: str | None = None


class Run(NamedTuple):
    """One job of a case: its CR, the runtime to which that refers, and the actions on its Pods."""

    name: str
    cr: Mapping[str, Any]
    runtime: Mapping[str, Any] | None
    seconds: float
    until: tuple[str, ...]
    absent: tuple[str, ...]
    late: Mapping[str, float]
    exec: tuple[Mapping[str, Any], ...]
    options: tuple[str, ...]
    image: Mapping[str, str]
    finds: tuple[str, ...]
    silent: tuple[str, ...]
    expect: Expectation

    @property
    def documents(self) -> list[Mapping[str, Any]]:
        """What cr.yaml has when podplan reads it."""
        return [self.cr, *([self.runtime] if self.runtime else [])]


class Case(NamedTuple):
    """A case: the sentence that it proves, and the jobs that prove it."""

    name: str
    folder: Path
    proves: str
    needs: tuple[str, ...]
    short: bool
    policy: str | None
    claim: str | None
    runs: tuple[Run, ...]


def cases(pattern: str = "") -> Iterator[Case]:
    """Yield all cases whose name contains the pattern, by name."""
    for path in sorted(CASES.glob("*/*/case.yaml")):
        if pattern in f"{path.parent.parent.name}/{path.parent.name}":
            yield read(path.parent)


def read(folder: Path) -> Case:
    """Load the case of a folder. Raises KeyError or TypeError: if its form differs from README.md."""
    data = yaml.load((folder / "case.yaml").read_text(), yaml.CSafeLoader)
    policy = data.pop("policy", None)
    case = Case(
        f"{folder.parent.name}/{folder.name}",
        folder,
        data.pop("proves"),
        tuple(data.pop("needs", ())),
        data.pop("short", False),
        policy,
        data.pop("claim", None),
        (),
    )
    runs = data.pop("runs", None) or [{}]
    return case._replace(runs=tuple(_run(folder, policy, data | run) for run in runs))


def _run(folder: Path, policy: str | None, data: Mapping[str, Any]) -> Run:
    data = dict(data)
    name = data.pop("name", "")
    cr = yaml.load((folder / data.pop("cr", "cr.yaml")).read_text(), yaml.CSafeLoader)
    path = folder / "runtime.yaml"
    runtime = yaml.load(path.read_text(), yaml.CSafeLoader) if path.exists() else None
    patch = data.pop("patchRuntime", {})
    verdict = {"bad": "finds", "mended": "silent"}.get(name)
    rules = {"finds": (), "silent": ()} | ({verdict: (policy,)} if policy and verdict else {})
    run = Run(
        name,
        apply_patch(cr, data.pop("patch", {})),
        apply_patch(runtime, patch) if runtime else None,
        data.pop("seconds"),
        tuple(data.pop("until", ())),
        tuple(data.pop("absent", ())),
        data.pop("late", {}),
        tuple(data.pop("exec", ())),
        tuple(data.pop("options", ())),
        data.pop("image", {}),
        tuple(data.pop("finds", rules["finds"])),
        tuple(data.pop("silent", rules["silent"])),
        Expectation(**data.pop("expect")),
    )
    if data or (patch and runtime is None) or run.seconds > LONGEST:
        raise KeyError(f"{folder}: {', '.join(data) or 'too long'}")
    return run
