"""The node: runs the Pods of one job inside its own namespaces, and ends with all of them.

cluster.py starts ``python -m tests.conformance.node FOLDER`` as the first process of a PID namespace: when it
ends for any reason, the kernel kills all its children and removes the mounts and networks.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.conformance import controller, network, volumes
from tests.conformance.exec_server import ExecServer
from tests.conformance.kubelet import Node, Pod

TICK = 0.05


def main(folder: Path) -> None:
    """Run the plan in ``folder``/plan.json; write logs, and the results of the Pods to result.json."""
    plan = json.loads((folder / "plan.json").read_text())
    memory = folder / "memory"
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(memory)], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    network.bridge()
    job = Job(plan, folder, memory)
    try:
        with ExecServer(job.pods, job.logs):
            job.run()
    except volumes.Unsupported as why:
        job.trouble = f"cannot run {why}"
    (folder / "result.json").write_text(json.dumps(job.result()))


class Job:
    """The Pods of a job, and the part of the controller that handles them while they run."""

    def __init__(self, plan: Mapping[str, Any], folder: Path, memory: Path) -> None:
        self.plan = plan
        self.specs = {one["metadata"]["name"]: one for one in plan["objects"] if one["kind"] == "Pod"}
        self.jobs = {one["metadata"]["name"]: one for one in plan["objects"] if one["kind"] == "Job"}
        self.services = [one for one in plan["objects"] if one["kind"] == "Service"]
        image = volumes.Image(plan["workspace"], plan["kept"], plan["image"])
        self.logs = folder / "logs"
        self.node = Node(plan["objects"], image, plan["path"], self.logs, memory)
        self.due = {name: plan["late"].get(name, 0.0) for name in self.specs if name not in plan["absent"]}
        self.pods: dict[str, Pod] = {}
        self.past: list[dict[str, Any]] = []
        self.again: dict[str, int] = {}
        self.settled: set[str] = set()
        self.execs: list[subprocess.Popen[bytes]] | None = None
        self.numbers = iter(range(10_000))
        self.begin = time.monotonic()
        self.trouble = ""

    def run(self) -> None:
        """Run until the job is over or its time is up."""
        while not self.over() and self.elapsed() < self.plan["seconds"]:
            for name in [
                name for name, when in self.due.items() if when <= self.elapsed() and self.may(name)
            ]:
                del self.due[name]
                self.pods[name] = Pod(self.specs[name], next(self.numbers), self.attempts(name), self.node)
            for pod in self.pods.values():
                pod.step()
            self.names()
            self.exec()
            self.restart()
            time.sleep(TICK)

    def may(self, name: str) -> bool:
        """Whether the controller creates the Pod yet."""
        others = [other for other in self.specs if other != name]
        waits = controller.waits(self.plan["cr"], controller.role(self.specs[name]))
        return not waits or all(other in self.pods and self.pods[other].ready() for other in others)

    def elapsed(self) -> float:
        """Return the seconds since the start of the job."""
        return time.monotonic() - self.begin

    def attempts(self, name: str) -> int:
        """Return how often the Pod was re-created."""
        return sum(one["name"] == name for one in self.past)

    def names(self) -> None:
        """Write the addresses of running Pods to the hosts files of all."""
        ready = {name: pod.address for name, pod in self.pods.items() if pod.ready()}
        started = {name: pod.address for name, pod in self.pods.items()}
        for name, pod in self.pods.items():
            specs = self.specs.values()
            pod.know(network.hosts(self.specs[name], pod.address, self.services, ready, specs, started))

    def exec(self) -> None:
        """Run the commands of the case in the Pods, once all run."""
        if self.execs is None and not self.due and all(pod.runs() for pod in self.pods.values()):
            self.execs = [
                self.pods[name].exec(entry["command"], self.logs / f"{name}.exec.{number}.log")
                for number, entry in enumerate(self.plan["exec"])
                for name in (entry.get("pods") or self.pods)
            ]

    def restart(self) -> None:
        """Re-create the Pods that the restart policy of the CR requires."""
        for name, pod in [*self.pods.items()]:
            if name in self.settled or pod.phase() not in ("Failed", "Succeeded"):
                continue
            codes = pod.exits()
            code = next((code for code in codes.values() if code), 0)
            role = controller.role(self.specs[name])
            if self.runs_again(name, role, code):
                self.again[role] = self.again.get(role, 0) + 1
                self.past.append({"name": name, "exits": codes})
                del self.pods[name]
                self.due[name] = self.elapsed()
            else:
                self.settled.add(name)

    def runs_again(self, name: str, role: str, code: int) -> bool:
        """Whether a Pod that ended with ``code`` runs again, by the rules of its Job or else of the CR."""
        owner = self.specs[name]["metadata"].get("labels", {}).get("batch.kubernetes.io/job-name")
        if owner in self.jobs:
            return controller.restarts_of_job(self.jobs[owner], code, self.again.get(role, 0))
        return controller.restarts(self.plan["cr"], role, code, self.again)

    def over(self) -> bool:
        """Whether the Pods that the case waits for, or else all, have ended, and its commands too."""
        if self.due or not self.pods:
            return False
        if self.plan["exec"]:
            return self.execs is not None and all(one.poll() is not None for one in self.execs)
        wanted = self.plan["until"] or self.pods
        return self.settled.issuperset(wanted)

    def result(self) -> dict[str, Any]:
        """Return phases, exit codes by container, restarts, and the duration."""
        return {
            "pods": {
                name: {
                    "phase": self.pods[name].phase() if name in self.pods else "Pending",
                    "exits": self.pods[name].exits() if name in self.pods else {},
                    "restarts": self.attempts(name),
                }
                for name in self.specs
                if name not in self.plan["absent"]
            },
            "past": self.past,
            "execs": [one.poll() for one in self.execs or ()],
            "seconds": self.elapsed(),
            "trouble": self.trouble,
        }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
