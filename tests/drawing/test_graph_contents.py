"""What a picture says of a job: its parts, notes and sums, and no value that is secret."""

from __future__ import annotations

import yaml

from podplan.tools.graph.layout import lay_out_graph, select_columns
from podplan.tools.graph.mermaid import render_mermaid
from podplan.tools.graph.model import describe_graph, find_shared_sides
from podplan.tools.graph.svg import render_svg
from tests.drawing.jobs import PICTURES, case_of, document_of, drawn
from tests.drawing.sound import assert_tidy
from tests.golden_cases import FIXTURES, Case
from tests.lowered_objects import job

SECRETS = """
replicaSpecs:
- type: worker
  template:
    spec:
      imagePullSecrets: [{name: registry}]
      containers:
      - name: main
        image: registry.example.com/train:1
        command: [python, train.py, --password, hunter2]
        args: ["--url=https://me:hunter2@example.com/"]
        env:
        - {name: TOKEN, value: hunter2}
        - {name: KEY, valueFrom: {secretKeyRef: {name: keys, key: api}}}
        envFrom: [{secretRef: {name: all}}]
"""


def test_values_are_not_drawn() -> None:
    made = drawn(job("GenericJob", SECRETS))
    for text in (render_svg([made]), render_mermaid([made])):
        assert "hunter2" not in text
        for name in ("keys", "all", "registry", "$KEY", "pulls images", "each key as a variable"):
            assert name in text
    keyed = drawn(job("DeepSpeedJob", "worker: {template: {spec: {containers: [{name: a, image: i}]}}}"))
    for text in (render_svg([keyed]), render_mermaid([keyed])):
        assert "bert-ssh" in text
        assert "cGxhY2Vob2xkZXI" not in text
        assert "StrictHostKeyChecking" not in text


def test_what_all_of_a_gang_have_belongs_to_its_frame() -> None:
    made = drawn(document_of(case_of("three_types")))
    names = {side.id: side.name for side in made.sides}
    assert sorted(names[id] for id in find_shared_sides(made)) == [
        "clicks",
        "feature-store",
        "models",
        "s3-ads",
    ]
    plate = lay_out_graph(made, select_columns([made]))
    assert sorted(curve.shared_end for curve in plate.curves if curve.shared_end) == [
        "left",
        "left",
        "right",
        "right",
    ]


def test_a_paused_job_says_so_and_is_drawn_as_it_goes_on() -> None:
    cr = document_of(Case(FIXTURES / "generic_job" / "paused"))
    assert "Paused: no Pods until it goes on" in render_svg([drawn(cr)])
    resumed = drawn(cr, resumed=True)
    assert not resumed.note
    assert resumed.cards


def test_what_runs_beside_a_paused_job_stands_below_its_note() -> None:
    spec = """
    runMode: {pause: {enabled: true}}
    scheduler: {t9kScheduler: {}}
    tensorboardSpec: {image: tb, logDir: {pvc: [{name: logs}]}}
    replicaSpecs: [{type: worker, template: {spec: {containers: [{name: a, image: i}]}}}]
    """
    for values in ({}, {"podgroup.while-paused": True}):
        made = drawn(job("PyTorchTrainingJob", spec), behavior_values=values)
        assert [card.kind for card in made.cards] == ["TensorBoard"]
        assert (made.gang is None) == (not values)
        assert_tidy(made)


def test_roles_of_no_replicas_say_why_nothing_runs() -> None:
    spec = "replicaSpecs: [{type: w, replicas: 0, template: {spec: {containers: [{name: a, image: i}]}}}]"
    made = drawn(job("GenericJob", spec))
    assert "every replica type has 0 replicas" in render_svg([made])
    assert made.totals == "0 Pods"


def test_the_description_says_what_the_picture_shows() -> None:
    made = drawn(document_of(case_of("three_types")))
    assert describe_graph(made).startswith(
        "wide-deep: GenericJob, 5 Pods · 4 GPUs. PodGroup wide-deep: minMember 5 of 5"
    )
    assert "chief × 1 and ps × 2: TF_CONFIG :2222." in describe_graph(made)


def test_other_devices_are_counted_by_their_name() -> None:
    crs = list(yaml.safe_load_all((PICTURES / "several_jobs" / "cr.yaml").read_text()))
    assert drawn(crs[1]).totals == "1 Pod · 2 mig-1g.10gb"


def test_memory_without_a_size_limit_is_drawn_without_a_size() -> None:
    """The kubelet sizes it by the limits of the Pod or by the node: the CR alone does not say which."""
    volumes = "volumes: [{name: shm, emptyDir: {medium: Memory}}]"
    container = "{name: a, image: i, volumeMounts: [{name: shm, mountPath: /dev/shm}]}"
    spec = f"replicaSpecs: [{{type: worker, template: {{spec: {{containers: [{container}], {volumes}}}}}}}]"
    assert "shm: no sizeLimit" in render_mermaid([drawn(job("GenericJob", spec))])
