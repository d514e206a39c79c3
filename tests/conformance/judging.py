"""Whether a job did what its case expects."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from tests.conformance.cases import Expectation
from tests.conformance.cluster import Outcome

TRAINED = re.compile(r"trained rank=(\d+) world=(\d+)")


def failures(expect: Expectation, outcome: Outcome) -> Iterator[str]:
    """Yield what differs from the expectation, each in one sentence."""
    if outcome.trouble:
        yield outcome.trouble
        return
    if unknown := {*expect.restarts, *_codes(expect)} - outcome.pods.keys():
        yield f"there is no Pod {', '.join(sorted(unknown))}"
        return
    yield from _exits(expect, outcome)
    text = "\n".join(outcome.logs.values())
    if expect.world is not None:
        seen = Counter((int(rank), int(world)) for rank, world in TRAINED.findall(text))
        wanted = Counter((rank, expect.world) for rank in range(expect.world))
        if seen != wanted:
            yield f"expected each rank of {expect.world} once, saw {_ranks(seen)}"
    for name, lines in expect.log.items():
        logs = "\n".join(log for file, log in outcome.logs.items() if file.startswith(f"{name}."))
        yield from (f"the log of {name} lacks: {line}" for line in lines if line not in logs)
    for line, times in expect.lines.items():
        if text.count(line) != times:
            yield f"expected {times} times, and seen {text.count(line)} times: {line}"
    for name, times in expect.restarts.items():
        if outcome.pods[name]["restarts"] != times:
            yield f"{name} was made anew {outcome.pods[name]['restarts']} times, not {times}"
    if any(outcome.execs):
        yield f"commands run in the Pods ended with {outcome.execs}"
    if expect.phase is not None and outcome.phase != expect.phase:
        yield f"podplan status says {outcome.phase}, expected {expect.phase}"


def _exits(expect: Expectation, outcome: Outcome) -> Iterator[str]:
    every = {} if expect.exit is None else dict.fromkeys(outcome.pods, expect.exit)
    for name, code in (_codes(expect) or every).items():
        seen = seen_exit(outcome, name)
        if seen != code and not (code == "failed" and isinstance(seen, int) and seen):
            yield f"{name} ended with {seen}, expected {code}"


def _codes(expect: Expectation) -> Mapping[str, int | str | None]:
    return expect.exit if isinstance(expect.exit, Mapping) else {}


def seen_exit(outcome: Outcome, name: str) -> int | str:
    """Return the exit code of a Pod, the first that is not 0; or its phase in lower case if it has not
    ended."""
    pod = outcome.pods[name]
    if pod["phase"] not in ("Succeeded", "Failed"):
        return str(pod["phase"]).lower()
    return next((code for code in pod["exits"].values() if code), 0)


def _ranks(seen: Counter[tuple[int, int]]) -> str:
    return (
        ", ".join(f"rank {rank} of {world} {n} times" for (rank, world), n in sorted(seen.items())) or "none"
    )
