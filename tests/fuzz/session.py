"""One target under atheris, in a process of its own.

python -m tests.fuzz.session TARGET FOLDER SECONDS SEEDS: so many seeds to begin with. What fails is kept in
FOLDER/found, once for each place in the code, and the run goes on; only a hang, a lack of memory or a crash
of the interpreter ends it.
"""

from __future__ import annotations

import hashlib
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.fuzz.mutating import mutated
from tests.fuzz.targets import TARGETS, Target

MAX_BYTES = 8192
MEMORY = 2048  # MiB


def main(name: str, folder: Path, seconds: int, seeds: int) -> None:
    import atheris

    target = TARGETS[name]
    corpus, found = folder / "corpus", folder / "found"
    for one in (corpus, found):
        one.mkdir(parents=True, exist_ok=True)
    start = picked(target, seeds)
    for seed in start:
        (corpus / hashlib.sha1(seed).hexdigest()).write_bytes(seed)
    keep = Keeping(found)
    # Modules that a target imports when it is called are instrumented too, as long as this is open.
    with atheris.instrument_imports(include=["podplan"]):
        run = target.run
        for seed in start[:12]:
            keep.tried(run, seed)
    words = [word.encode() for word in target.words]
    lines = [line for seed in start for line in seed.split(b"\n")] if target.lines else []
    flags = [
        f"-max_total_time={seconds}",
        f"-timeout={target.seconds}",
        f"-rss_limit_mb={MEMORY}",
        f"-max_len={MAX_BYTES}",
        f"-artifact_prefix={found}/",
        "-print_final_stats=1",
        "-verbosity=1",
        "-seed=1",
    ]

    def change(data: bytes, max_size: int, seed: int) -> bytes:
        return mutated(data, max_size, seed, words, lines, atheris.Mutate)

    atheris.Setup(
        [sys.argv[0], *flags, str(corpus)], lambda data: keep.tried(run, data), custom_mutator=change
    )
    atheris.Fuzz()


def picked(target: Target, most: int) -> list[bytes]:
    """At most so many of the seeds, spread over all of them by a fixed choice."""
    seeds = sorted(set(target.seeds()), key=lambda seed: (len(seed), seed))
    return seeds if len(seeds) <= most else Random(1).sample(seeds, most)


class Keeping:
    """Keeps what fails, the first input for each place."""

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
            print(f"FOUND {file}\n{told}", file=sys.stderr, flush=True)


def failure(error: Exception) -> str:
    """What an error is called for counting: its type, and the last two places of ours."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [
        f"{frame.filename}:{frame.lineno}"
        for frame in frames
        if "podplan" in frame.filename or "tests" in frame.filename
    ]
    return " ".join([type(error).__name__, *ours[-2:]])


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).absolute(), int(sys.argv[3]), int(sys.argv[4]))
