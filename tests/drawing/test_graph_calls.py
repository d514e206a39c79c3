"""Who reaches whom: the arrows of a picture, by variables, hostfiles and hosts in texts."""

from __future__ import annotations

import pytest

from podplan.tools.graph.model import Graph
from tests.drawing.jobs import case_of, document_of, drawn
from tests.golden_cases import FIXTURES, Case
from tests.lowered_objects import job

MASTER_AND_WORKERS = """
replicaSpecs:
- {type: master, template: &t {spec: {containers: [{name: pytorch, image: i, command: [./train]}]}}}
- {type: worker, replicas: 3, template: *t}
"""


def calls(made: Graph) -> list[tuple[str, str, str, bool]]:
    titles = {card.id: card.title for card in made.cards}
    return [(titles[c.source], titles[c.target], c.label, c.is_mutual) for c in made.calls]


def test_who_reaches_whom_by_variables() -> None:
    made = drawn(job("PyTorchTrainingJob", MASTER_AND_WORKERS))
    assert calls(made) == [("worker × 3", "master × 1", "MASTER_ADDR :23456", False)]


@pytest.mark.parametrize("per", ["replica", "job", "first"])
def test_who_reaches_whom_with_other_services(per: str) -> None:
    made = drawn(job("PyTorchTrainingJob", MASTER_AND_WORKERS), behavior_values={"service.per": per})
    assert calls(made) == [("worker × 3", "master × 1", "MASTER_ADDR :23456", False)]
    served = {link.card for link in made.links if link.side.startswith("v")}
    assert served == ({"p0"} if per == "first" else {"p0", "p1"})


def test_the_last_port_counts() -> None:
    cr = document_of(Case(FIXTURES / "pytorch_training_job" / "env_launch"))
    assert [call.labels for call in drawn(cr).calls] == [("MASTER_ADDR :29400",)]


def test_workers_that_are_named_by_a_hostfile_are_reached_by_ssh() -> None:
    cr = document_of(Case(FIXTURES / "colossalai_job_launcher" / "palm"))
    assert calls(drawn(cr)) == [("launcher × 1", "worker × 3", "hostfile :22", False)]


def test_a_hostfile_that_no_command_names_reaches_nobody() -> None:
    spec = """
    runMode: {debug: {enabled: true}}
    worker: {replicas: 2, template: {spec: {containers: [{name: worker, image: i}]}}}
    """
    assert not drawn(job("DeepSpeedJob", spec)).calls


def test_everybody_who_names_everybody_is_told_once() -> None:
    made = drawn(document_of(case_of("three_types")))
    assert calls(made) == [
        ("chief × 1", "ps × 2", "TF_CONFIG :2222", True),
        ("chief × 1", "worker × 2", "TF_CONFIG :2222", True),
        ("ps × 2", "worker × 2", "TF_CONFIG :2222", True),
    ]
    assert [dict(card.fields).get("peers") for card in made.cards] == [None, *["TF_CONFIG :2222"] * 2]


@pytest.mark.parametrize(
    ("argument", "label"),
    [
        ("--peer=$(service.ps[1].host)", "args :80, :81"),
        ("--peer=$(service.ps[0].host):9000", "args :9000"),
        ("--peer=$(service.ps[0].host).vision.svc:81/x", "args :81"),
        ("--peer=x$(service.ps[0].host)", ""),
        ("--peer=bert-ps-7", ""),
        ("--peer=bert-ps-0x", ""),
        ("--peer=bert-ps", ""),
    ],
)
def test_hosts_in_texts(argument: str, label: str) -> None:
    spec = f"""
    service: {{ports: [{{name: a, port: 80}}, {{name: b, port: 81}}]}}
    replicaSpecs:
    - {{type: ps, replicas: 2, template: {{spec: {{containers: [{{name: a, image: i}}]}}}}}}
    - {{type: worker, template: {{spec: {{containers: [{{name: a, image: i, args: ["{argument}"]}}]}}}}}}
    """
    wanted = [("worker × 1", "ps × 2", label, False)] if label else []
    assert calls(drawn(job("GenericJob", spec))) == wanted
