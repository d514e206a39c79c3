"""Other checkers on Pods, and podplan on the jobs that the Pods come from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmarks import inputs
from benchmarks.measuring import answer, check, measure, podplan
from benchmarks.peers import POD_FILES, SAID, Peer, peers
from benchmarks.scale import Scale
from benchmarks.table import Row, Section

REPLICAS = 8


def section(folder: Path, scale: Scale) -> Section:
    number = scale.many
    crs = inputs.crs(folder / "crs", number, REPLICAS)
    pods = folder / "pods"
    answer("benchmarks.pods", str(crs), str(pods), str(scale.size(POD_FILES)))
    commands = {
        "1 job": check(crs / "job-00000.yaml"),
        f"{number} jobs": podplan("check", "--jobs", "1", str(crs)),
        f"{number} jobs, shared by workers": check(crs),
    }
    unit, one, alone, shared = measure(commands, scale.turns(5)).values()
    each = (alone.cpu - one.cpu) / unit.cpu / max(number - 1, 1) / REPLICAS
    peak = alone.peak_mb
    found = {peer.name: peer for peer in peers(pods, folder / "peers", scale)}
    rows = [
        _against(number, "in one process", alone.cpu / unit.cpu, peak, found),
        _against(number, "shared by workers", shared.cpu / unit.cpu, shared.peak_mb, found),
        Row(f"podplan, of jobs with {REPLICAS} replicas", each, f"{each:.4f} × a Pod", peak_mb=peak),
        *map(_peer, found.values()),
    ]
    elsewhere = ", ".join(peer.name for peer in found.values() if peer.start is None)
    note = "The cost of a Pod is what it adds to a run, in units of `python -c pass`."
    if elsewhere:
        note += (
            f" {elsewhere}: not installed here; 0.27 and 0.19 ms per Pod where `python -c pass` took 10 ms."
        )
    return Section("Other checkers", rows, note)


def _against(jobs: int, how: str, ours: float, peak: float, found: Mapping[str, Peer]) -> Row:
    """Compare the whole run with the two checkers in Go on the Pods of all jobs, including start-up."""
    number = jobs * REPLICAS
    rivals = [found[name] for name in SAID if name in found]
    theirs = sum((peer.start or 0) + peer.per_pod * number for peer in rivals)
    what = f"`check` of {jobs:,} CRs of {REPLICAS} replicas, {how}"
    target = f"≤ {theirs:,.0f} × (kubeconform + kube-linter on the {number:,} Pods)"
    return Row(what, ours, f"{ours:,.0f} × `python -c pass`", target, theirs, peak_mb=peak)


def _peer(peer: Peer) -> Row:
    start = f", {peer.start:.1f} × to start" if peer.start is not None else " (measured elsewhere)"
    return Row(peer.name, peer.per_pod, f"{peer.per_pod:.4f} × a Pod{start}", peak_mb=peer.peak_mb)
