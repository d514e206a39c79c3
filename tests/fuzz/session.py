"""Runs one target with atheris, in a separate process.

python -m tests.fuzz.session TARGET FOLDER SECONDS SEEDS SEED RUNS, as in ``Asked``. Failing inputs are kept
in FOLDER/found, one for each code location, and the run continues; only a hang, lack of memory or a crash of
the interpreter ends it.
"""

from __future__ import annotations

import hashlib
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.fuzz.mutating import mutated
from tests.fuzz.targets import TARGETS, Target

MAX_BYTES = 8192
MEMORY = 2048  # MiB
FOUND = "FOUND"  # the prefix of the log line that names an input


class Asked(NamedTuple):
    """The order for a session: at most so many seconds and runs (0: no limit), from so many seeds on.

    ``seed`` initializes the random generator. With the same one, the same commit, Python and atheris try the
    same inputs, if the folder is empty; fewer runs or seconds try the first of them.
    """

    name: str
    folder: Path
    seconds: int
    seeds: int
    seed: int
    runs: int

    @property
    def log(self) -> Path:
        return self.folder / "log"


def main(asked: Asked) -> None:
    import atheris

    target = TARGETS[asked.name]
    begin, corpus, found = (asked.folder / name for name in ("seeds", "corpus", "found"))
    for one in (begin, corpus, found):
        one.mkdir(parents=True, exist_ok=True)
    start = picked(target, asked.seeds)
    keep = Keeping(found)
    # Modules that a target imports when it is called are instrumented, too, inside this block.
    with atheris.instrument_imports(include=["podplan"]):
        run = target.run
        for seed in start[:12]:
            keep.tried(run, seed)
    words = [word.encode() for word in target.words]
    lines = [line for seed in start for line in seed.split(b"\n")] if target.lines else []
    flags = [
        f"-max_total_time={asked.seconds}",
        f"-runs={asked.runs or -1}",
        f"-seed={asked.seed}",
        f"-seed_inputs=@{listed(start, begin)}",
        "-reload=0",  # which would read the folder again after some time
        f"-entropic={0 if asked.runs else 1}",  # which chooses better, but differently in each process
        f"-timeout={target.seconds}",
        f"-rss_limit_mb={MEMORY}",
        f"-max_len={MAX_BYTES}",
        f"-artifact_prefix={found}/",
        "-print_final_stats=1",
        "-verbosity=1",
    ]

    def change(data: bytes, max_size: int, seed: int) -> bytes:
        return mutated(data, max_size, seed, words, lines, atheris.Mutate)

    atheris.Setup(
        [sys.argv[0], *flags, str(corpus)], lambda data: keep.tried(run, data), custom_mutator=change
    )
    atheris.Fuzz()


def picked(target: Target, most: int) -> list[bytes]:
    """Return at most ``most`` seeds, evenly spread by a fixed choice."""
    seeds = sorted(set(target.seeds()), key=lambda seed: (len(seed), seed))
    return seeds if len(seeds) <= most else Random(1).sample(seeds, most)


def listed(seeds: list[bytes], folder: Path) -> Path:
    """Write a file that lists a file for each seed, in order: the order of a folder depends on the
    machine."""
    files = [folder / f"{number:04}" for number in range(len(seeds))]
    for file, seed in zip(files, seeds, strict=True):
        file.write_bytes(seed)
    names = folder / "names"
    names.write_text(",".join(map(str, files)))
    return names


class Keeping:
    """Keeps failing inputs, the first for each code location."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places: set[str] = set()

    def tried(self, run: Callable[[bytes], None], data: bytes) -> None:
        try:
            run(data)
        except Exception as error:
            place = failure(error)
            if place in self._places:
                return
            self._places.add(place)
            file = self._folder / f"crash-{hashlib.sha1(data).hexdigest()[:12]}"
            file.write_bytes(data)
            told = "".join(traceback.format_exception(error)[-12:])
            print(f"{FOUND} {file}\n{told}", file=sys.stderr, flush=True)


def failure(error: Exception) -> str:
    """Return the identity of an error for counting: its type, and its last two locations in podplan."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [
        f"{frame.filename}:{frame.lineno}"
        for frame in frames
        if "podplan" in frame.filename or "tests" in frame.filename
    ]
    return " ".join([type(error).__name__, *ours[-2:]])


if __name__ == "__main__":
    _, name, folder, *numbers = sys.argv
    main(Asked(name, Path(folder), *map(int, numbers)))
