"""What is measured, in order; see DESIGN §8 and the page docs/performance.md for the targets."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import inputs
from benchmarks.measuring import TOP, UNCACHED, Cost, measure, podplan
from benchmarks.peers import POD_FILES, SAID, Peer, peers
from benchmarks.table import Row, Section

COLD = 9.0  # × python -c pass
REPLICAS = 8


def run(folder: Path, *, short: bool) -> Iterator[Section]:
    """Everything, in folders below ``folder``; ``short`` with a tenth of the sizes and fewer rounds."""
    shrink = 10 if short else 1
    steps = (_cold, _reading, _many, _again, _stages, _replicas, _shared, _findings)
    for step in steps:
        _say(step.__name__.lstrip("_"))
        yield step(folder / step.__name__, shrink)
    _say("peers")
    yield _peers(folder, shrink)


def _say(step: str) -> None:
    print(f"bench: {step}", file=sys.stderr, flush=True)


def _check(*paths: Path) -> tuple[str, ...]:
    return (*podplan("check"), *map(str, paths))


def _cold(folder: Path, shrink: int) -> Section:
    """One file, in a process that has to import everything."""
    commands = {
        "CR": _check(inputs.crs(folder / "cr", 1) / "job-00000.yaml"),
        "profile": _check(inputs.profiles(folder / "profile", 1, with_base=False) / "job-00000.yaml"),
        "with base": _check(inputs.profiles(folder / "based", 1) / "job-00000.yaml"),
    }
    costs = measure(commands, 40 if shrink == 1 else 12)
    unit = costs["pass"].cpu
    target = f"≤ {COLD:g} × `python -c pass`"

    def row(what: str, name: str, most: float | None = COLD) -> Row:
        value = costs[name].cpu / unit
        return Row(what, value, f"{value:.1f} ×", target if most else "", most)

    rows = [
        row("`check` of one CR", "CR"),
        row("`check` of one profile", "profile"),
        row("`check` of one profile with a base, an inventory and expressions", "with base", None),
    ]
    noise = max(cost.noise for cost in costs.values())
    note = (
        f"Median of {costs['CR'].runs} runs in turn; half of the runs lie within ±{noise:.0%} of it. "
        f"`python -c pass` took {unit * 1000:.1f} ms of CPU."
    )
    return Section("Cold start", rows, note)


def _reading(folder: Path, shrink: int) -> Section:
    """`read` and yaml.load in one process, on the same bytes."""
    made = {
        "CRs": inputs.crs(folder / "crs", 1000 // shrink),
        "profiles": inputs.profiles(folder / "profiles", 1000 // shrink),
    }
    rows = []
    for name, path in made.items():
        taken = _json("benchmarks.reading", str(path), "9" if shrink == 1 else "5")
        value = median(old / new for new, old in zip(taken["read"], taken["yaml.load"], strict=True))
        what = f"`read` of {1000 // shrink} {name}, with positions"
        rows.append(Row(what, value, f"{value:.2f} × as fast", "≥ 2 × `yaml.load(CSafeLoader)`", least=2.0))
    return Section("Reading YAML", rows)


def _many(folder: Path, shrink: int) -> Section:
    """CPU time and peak memory by the number of files."""
    rows: list[Row] = []
    for name, make in (("CRs", inputs.crs), ("profiles", inputs.profiles)):
        costs: dict[int, tuple[Cost, float]] = {}
        for number in (1, 100, 1000, 10_000):
            number = max(number // shrink, 1)
            if number in costs:
                continue
            measured = measure({"check": _check(make(folder / f"{name}-{number}", number))}, _rounds(number))
            costs[number] = measured["check"], measured["pass"].cpu
        rows += _growth(name, costs, 1000 // shrink)
    return Section(
        "Many files", rows, "One CR of 8 replicas in a file; profiles share a base and an inventory."
    )


def _rounds(number: int) -> int:
    return 7 if number <= 100 else 3 if number <= 1000 else 1


def _growth(name: str, costs: dict[int, tuple[Cost, float]], thousand: int) -> list[Row]:
    rows = []
    for number, (cost, unit) in costs.items():
        value = cost.cpu / unit
        measure_ = f"{value:,.0f} ×, {cost.peak_mb:.0f} MB"
        what = f"`check` of {number:,} {name if number > 1 else name.removesuffix('s')}"
        if name == "CRs" and number >= 100:
            most = sum(SAID.values()) * REPLICAS * number
            target = f"≤ {most:,.0f} × (kubeconform + kube-linter on the Pods)"
            rows.append(Row(what, value, measure_, target, most))
        else:
            rows.append(Row(what, value, measure_))
    (many, _), (most_, _) = costs[thousand], costs[max(costs)]
    value = most_.peak_mb / many.peak_mb
    what = f"peak memory, {max(costs):,} {name} against {thousand:,}"
    return [*rows, Row(what, value, f"{value:.2f} ×", "≤ 1.2 ×", 1.2)]


def _again(folder: Path, shrink: int) -> Section:
    """A second run on files that have not changed."""
    rows = []
    for number in (1, 1000 // shrink):
        command = {"check": _check(inputs.crs(folder / str(number), number))}
        first, again = (measure(command, 3, cache)["check"].cpu for cache in (None, folder / "cache"))
        what = f"`check` of {_crs(number)} again, unchanged"
        target, least = ("≥ 5 × as fast", 5.0) if number > 1 else ("", None)
        rows.append(Row(what, first / again, f"{first / again:.1f} × as fast", target, least=least))
    return Section("The cache", rows)


def _stages(folder: Path, shrink: int) -> Section:
    """Where the time of one check goes."""
    number = 1000 // shrink
    rows = []
    for name, make in (("CRs", inputs.crs), ("profiles", inputs.profiles)):
        seconds = _json("benchmarks.stages", str(make(folder / name, number)))
        whole = sum(seconds.values())
        shares = ", ".join(
            f"{stage} {part / whole:.0%}" for stage, part in seconds.items() if part / whole > 0.004
        )
        rows.append(Row(f"{number:,} {name}", whole, shares))
    return Section("Stages of a check", rows, "Shares of the CPU time, without the start of the process.")


def _replicas(folder: Path, shrink: int) -> Section:
    """The number of replicas of a job must not matter."""
    jobs = 100 // min(shrink, 4)
    commands = {
        str(replicas): _check(inputs.crs(folder / str(replicas), jobs, replicas))
        for replicas in (2, 100, 10_000)
    }
    costs = measure(commands, 9 if shrink == 1 else 3)
    rows = []
    for replicas in (100, 10_000):
        value = costs[str(replicas)].cpu / costs["2"].cpu
        most = 1.2 if replicas == 10_000 else None
        what = f"{jobs} jobs of {replicas:,} replicas against the same of 2"
        rows.append(Row(what, value, f"{value:.2f} ×", "≤ 1.2 ×" if most else "", most))
    return Section("Replicas", rows)


def _shared(folder: Path, shrink: int) -> Section:
    """What profiles share, and how many variants one has."""
    number = 1000 // shrink
    commands = {
        "shared": _check(inputs.profiles(folder / "shared", number)),
        "alone": _check(inputs.profiles(folder / "alone", number, with_base=False)),
        "sweep": _check(inputs.sweep(folder / "sweep", 24, 4)),
        "one": _check(inputs.sweep(folder / "one", 0, 1)),
    }
    costs = measure(commands, 5 if shrink == 1 else 3)
    shared = costs["shared"].cpu / costs["alone"].cpu
    variants = 25 * 8
    each = (costs["sweep"].cpu - costs["one"].cpu) / (variants - 2) / costs["pass"].cpu
    sweep = costs["sweep"].cpu / costs["pass"].cpu
    measured = f"{sweep:.0f} ×, {each:.2f} × a variant, {costs['sweep'].peak_mb:.0f} MB"
    rows = [
        Row(f"a base shared by {number:,} profiles, against none", shared, f"{shared:.2f} ×"),
        Row(f"24 environments × 8 matrix instances: {variants} variants", sweep, measured),
    ]
    return Section("Bases and variants", rows)


def _findings(folder: Path, shrink: int) -> Section:
    """A repository where much is to be said."""
    number = 3340 // shrink  # three findings a job
    loud = inputs.crs(folder / "loud", number, quiet=False)
    quiet = inputs.crs(folder / "quiet", number)
    formats = {name: (*_check(loud), "--format", name) for name in ("concise", "json", "sarif")}
    costs = measure({"quiet": _check(quiet), **formats}, 1 if shrink == 1 else 3)
    rows = []
    for name in formats:
        value = costs[name].cpu / costs["quiet"].cpu
        rows.append(
            Row(
                f"`--format {name}` with {number * 3:,} findings, against the same jobs without findings",
                value,
                f"{value:.2f} ×, {costs[name].peak_mb:.0f} MB",
            )
        )
    return Section("Many findings", rows)


def _peers(folder: Path, shrink: int) -> Section:
    """Peers on Pods, and podplan on the jobs that they are from."""
    crs = folder / "_many" / f"CRs-{1000 // shrink}"
    pods = folder / "pods"
    subprocess.run(
        [sys.executable, "-m", "benchmarks.pods", str(crs), str(pods), str(POD_FILES)],
        check=True,
        cwd=TOP,
        env=UNCACHED,
    )
    costs = measure({"one": _check(crs / "job-00000.yaml"), "all": _check(crs)}, 3)
    number = 1000 // shrink
    each = (costs["all"].cpu - costs["one"].cpu) / costs["pass"].cpu / number / REPLICAS
    found = list(peers(pods, folder / "peers", 3, shrink))
    rows = [Row("podplan, of jobs with 8 replicas", each, f"{each:.4f} ×"), *map(_peer, found)]
    said = ", ".join(peer.name for peer in found if peer.start is None)
    note = "CPU for each Pod beyond what starting costs, in units of `python -c pass`."
    if said:
        note += f" {said}: not installed here; 0.27 ms and 0.19 ms a Pod where `python -c pass` took 10 ms."
    return Section("Beside other checkers", rows, note)


def _peer(peer: Peer) -> Row:
    start = f", {peer.start:.1f} × to start" if peer.start is not None else " (measured elsewhere)"
    return Row(peer.name, peer.per_pod, f"{peer.per_pod:.4f} ×{start}")


def _crs(number: int) -> str:
    return f"{number:,} CR{'s' if number > 1 else ''}"


def _json(module: str, *arguments: str) -> dict[str, Any]:
    """What a module of this folder prints, run in a process of its own."""
    command = [sys.executable, "-m", module, *arguments]
    printed = subprocess.run(
        command, check=True, capture_output=True, encoding="utf-8", cwd=TOP, env=UNCACHED
    ).stdout
    result: dict[str, Any] = json.loads(printed)
    return result
