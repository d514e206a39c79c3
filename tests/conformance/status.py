"""The states of Pods as kubectl prints them, and the status that podplan derives from them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.conformance.command import podplan
from tests.conformance.controller import role


def phase(folder: Path, cr: Mapping[str, Any], objects: Iterable[Mapping[str, Any]], pods: Any) -> str:
    """Return the phase that ``podplan status`` computes from the states of ``pods``, as observed by the
    node."""
    specs = [one for one in objects if one["kind"] == "Pod"]
    (folder / "states.yaml").write_text(yaml.safe_dump(listed(specs, pods)))
    (folder / "observed.yaml").write_text(
        yaml.safe_dump({**cr, "status": before(specs, pods)}, sort_keys=False)
    )
    words = ("status", "--isolated", "--format", "json", "observed.yaml", "--pods", "states.yaml")
    done = podplan(folder, *words)
    if done.returncode:
        raise ValueError(f"podplan status: {done.stderr}{done.stdout}")
    return str(json.loads(done.stdout)["phase"])


def before(specs: Iterable[Mapping[str, Any]], pods: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the part of the status that is not in Pods: the restarts of each role."""
    times: Counter[str] = Counter()
    for spec in specs:
        times[role(spec)] += pods.get(spec["metadata"]["name"], {}).get("restarts", 0)
    tasks = [{"type": name, "restartCount": n, "replicas": []} for name, n in times.items() if n]
    return {"backoffCount": times.total(), "tasks": tasks} if tasks else {}


def listed(specs: Iterable[Mapping[str, Any]], pods: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return a List of Pods with their states; those that were never created are Pending."""
    return {"apiVersion": "v1", "kind": "List", "items": [_pod(one, pods) for one in specs]}


def _pod(spec: Mapping[str, Any], pods: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    pod = pods.get(spec["metadata"]["name"], {"phase": "Pending", "exits": {}})
    statuses = [
        {
            "name": container["name"],
            "state": {"terminated": {"exitCode": pod["exits"][container["name"]]}}
            if container["name"] in pod["exits"]
            else {"running": {}},
        }
        for container in spec["spec"]["containers"]
    ]
    status = {"phase": pod["phase"]} | ({} if pod["phase"] == "Pending" else {"containerStatuses": statuses})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": spec["metadata"], "status": status}
