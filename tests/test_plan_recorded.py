"""podplan plan says of each recorded situation what Kueue did with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podplan.cli.plan import plan_paths
from podplan.kubernetes.quantities import parse_quantity
from podplan.report import plan_json
from tests.command import podplan
from tests.rows import check_rows

RECORDED = Path(__file__).parents[1] / "fixtures" / "kueue" / "recorded.jsonl"
# The message names a place in the Go type of the object, or one of several at random.
OTHER_WORDS = ("admission webhook", "is invalid", "is inactive", "not found")


def load_situations() -> Iterator[dict[str, Any]]:
    yield from map(json.loads, RECORDED.read_text(encoding="utf-8").splitlines())


def write_repository(situation: dict[str, Any], folder: Path) -> None:
    (folder / ".git").mkdir(parents=True)
    (folder / "job.yaml").write_text(json.dumps(situation["job"]))
    (folder / "cluster.yaml").write_text("\n---\n".join(map(json.dumps, situation["objects"])))
    if "config" in situation:
        head = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
        document = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "kueue-manager-config", "namespace": "kueue-system"},
            "data": {"controller_manager_config.yaml": json.dumps({**head, **situation["config"]})},
        }
        (folder / "config.yaml").write_text(json.dumps(document))


def normalize(pod_sets: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [
        (
            one["name"],
            one["count"],
            {name: units for name, value in one["requests"].items() if (units := parse_quantity(value))},
            one["flavors"],
        )
        for one in pod_sets
    ]


def test_each_situation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def compare(situation: dict[str, Any], folder: Path) -> None:
        write_repository(situation, folder)
        monkeypatch.chdir(folder)
        [job] = [
            one
            for one in plan_json.build_document(plan_paths((".",), isolated=True)[0])["jobs"]
            if one["name"] == situation["job"]["metadata"]["name"]
        ]
        if situation["verdict"] == "rejected" and job["verdict"] != "rejected":
            # An object that the job does not use is refused.
            assert podplan("check", "--isolated", "--no-cache", ".").code == 1
            return
        assert job["verdict"] == situation["verdict"], job["message"]
        wanted = situation.get("message", "")
        if job["verdict"] in ("admitted", "pending", "inadmissible") and not any(
            words in wanted for words in OTHER_WORDS
        ):
            assert wanted.startswith(job["message"])  # podplan does not count excluded nodes
        if situation["podSets"] and job["verdict"] != "inadmissible":
            assert normalize(job["podSets"]) == normalize(situation["podSets"])

    situations = list(load_situations())
    assert len(situations) > 200
    table = {
        one["case"]: {"situation": one, "folder": tmp_path / str(number)}
        for number, one in enumerate(situations)
    }
    check_rows(compare, table)
