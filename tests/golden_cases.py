"""The cases below fixtures/, and a function that runs podplan on one of them as a user does."""

from __future__ import annotations

import io
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from podplan.cli import main
from podplan.cli.lower import command as lower_command
from podplan.cli.plan_loader import LoadedPlans, load_job_plans
from podplan.pipeline import JobPlan
from tests.command import Run

FIXTURES = Path(__file__).parents[1] / "fixtures"
KINDS = (
    "generic_job",
    "pytorch_training_job",
    "deepspeed_job",
    "colossalai_job_launcher",
    "colossalai_job_replicas",
    "pytorch_job",
    "tf_job",
    "xgboost_job",
    "jax_job",
    "paddle_job",
    "mpi_job",
    "tensorflow_training_job",
    "xgboost_training_job",
    "mpi_job_replicas",
    "mpi_job_worker",
    "mpi_job_processes",
    "beam_job",
    "mpi_operator_job",
    "train_job",
    "jobset_job",
    "batch_job",
)
GOLDENS = ("cr.yaml", "lowered.yaml", "folded.yaml", "findings.txt", "why.txt")
REPORTS = {"full": "findings.txt", "concise": "concise.txt", "json": "findings.json"}
LOWERING_FLAGS = {"--uid": 2, "--resumed": 1}  # the number of words of each


class Case(NamedTuple):
    """A folder of a kind: with a profile, or a hand-written CR."""

    folder: Path

    @property
    def id(self) -> str:
        return f"{self.folder.parent.name}/{self.folder.name}"

    @property
    def input(self) -> str:
        return "profile.yaml" if (self.folder / "profile.yaml").exists() else "cr.yaml"

    @property
    def goldens(self) -> list[str]:
        """Return the golden files of the case. Folded text and ``why`` are tested if their files exist."""
        wanted = {
            "cr.yaml": self.input == "profile.yaml",
            "folded.yaml": (self.folder / "folded.yaml").exists(),
            "why.txt": (self.folder / "why").exists(),
        }
        return [golden for golden in GOLDENS if wanted.get(golden, True)]

    @property
    def inputs(self) -> list[Path]:
        """Return the input files, below the folder."""
        files = (path for path in sorted(self.folder.rglob("*")) if path.is_file())
        return [path for path in files if path.relative_to(self.folder).as_posix() not in self.goldens]

    @property
    def arguments(self) -> list[str]:
        """Return the flags of the case, for the commands that lower."""
        file = self.folder / "arguments"
        return shlex.split(file.read_text()) if file.exists() else []

    @property
    def arguments_of_render(self) -> list[str]:
        """Return the flags without those that only lowering has."""
        words, kept = iter(self.arguments), []
        for word in words:
            for _ in range(LOWERING_FLAGS.get(word, 1) - 1):
                next(words)
            kept += [word] if word not in LOWERING_FLAGS else []
        return kept


def cases() -> Iterator[Case]:
    """Yield the cases of all kinds."""
    for kind in KINDS:
        yield from (Case(folder) for folder in sorted((FIXTURES / kind).iterdir()) if folder.is_dir())


def finding_cases() -> list[Path]:
    """Return the folders with errors that are found without policies."""
    folders = (FIXTURES / "findings").iterdir()
    return sorted(folder for folder in folders if folder.is_dir() and folder.name != "policies")


def mistake_cases() -> list[Path]:
    """Return the folders with an error that a policy detects."""
    return sorted(folder for folder in (FIXTURES / "findings" / "policies").iterdir() if folder.is_dir())


def copy(files: list[Path], folder: Path, to: Path) -> None:
    """Copy ``files`` of ``folder`` to ``to``, so that no path of this machine is in a golden file."""
    for file in files:
        target = to / file.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)


def podplan(*arguments: str) -> Run:
    """Run ``podplan arguments`` in this process, with the same bytes on standard output."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["podplan", *arguments])
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        with pytest.raises(SystemExit) as end:
            main()
    assert isinstance(end.value.code, int)
    return Run(end.value.code, _text(out), _text(err))


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def produced(case: Case) -> tuple[list[JobPlan], LoadedPlans]:
    """Return the plans of a case in the current folder, as ``podplan lower`` builds them."""
    made: list[JobPlan] = []
    flags = lower_command.make_context("lower", [case.input, *case.arguments]).params
    paths = flags.pop("paths")
    for one in ("fold", "compare", "adopt", "format_"):
        flags.pop(one)
    return made, load_job_plans(
        paths, frozenset({"profile", "cr"}), lambda plan, _: made.append(plan), **flags
    )
