"""What is wrong once is said once: no finding for what only follows from another."""

from __future__ import annotations

from podplan.checker.check import check_sources
from podplan.pipeline import PipelineSettings
from podplan.workspace.loader import Loader
from podplan.yaml import parse_yaml

HEAD = "apiVersion: batch.tensorstack.dev/v1beta1\nkind: {kind}\nmetadata: {{name: job}}\nspec:\n"


def said(kind: str, spec: str) -> list[str]:
    """The findings of the schemas for a CR whose spec begins in line 5, as "LINE:COLUMN message"."""
    source = parse_yaml((HEAD.format(kind=kind) + spec).encode(), "job.yaml")
    found = check_sources([source], PipelineSettings(), Loader()).findings
    return [f"{one.location.line}:{one.location.column} {one.message}" for one in found]


def test_a_field_under_another_name_is_not_missing_too() -> None:
    spec = """\
  replicaSpecs:
    - type: worker
      template:
        spec:
          containers: [{name: pytorch, image: "i:1"}]
          volumes:
            - name: keys
              secret:
                name: keys
            - name: data
              persistentVolumeClaim: {name: data}
"""
    assert said("PyTorchTrainingJob", spec) == [
        '13:17 unknown field "name"; did you mean "secretName"?',
        '15:39 unknown field "name"; did you mean "claimName"?',
    ]


def test_what_is_missing_beside_an_unknown_field_is_told_of_the_cr() -> None:
    spec = "  replicaSpecs:\n    - {type: worker, template: {spec: {containers: [{nmae: pytorch}]}}}\n"
    assert said("PyTorchTrainingJob", spec) == [
        '6:53 required field "image" is missing in container 1',
        '6:54 unknown field "nmae"; did you mean "name"?',
    ]


WORKER = "worker: {replicas: 2, template: {spec: {containers: [{name: worker}]}}}\n"
UNSAID = "is missing, and the workers have no image that the launcher could take"


def test_a_launcher_that_nobody_wrote_wants_its_image_of_the_spec() -> None:
    assert said("ColossalAIJob", f"  {WORKER}") == [
        f"4:1 launcher.image {UNSAID}",
        '5:56 required field "image" is missing in container "worker"',
    ]


def test_a_launcher_without_an_image_wants_it_at_the_launcher() -> None:
    assert said("ColossalAIJob", f"  launcher: {{workingDir: /w}}\n  {WORKER}") == [
        f"5:13 launcher.image {UNSAID}",
        '6:56 required field "image" is missing in container "worker"',
    ]


def test_a_launcher_may_have_an_image_where_the_workers_have_none() -> None:
    assert said("ColossalAIJob", f'  launcher: {{image: "i:1"}}\n  {WORKER}') == [
        '6:56 required field "image" is missing in container "worker"'
    ]


def test_a_launcher_takes_the_image_of_the_container_worker() -> None:
    containers = '[{name: log, image: "i:1"}, {name: worker}]'
    worker = f"  worker: {{template: {{spec: {{containers: {containers}}}}}}}\n"
    assert said("ColossalAIJob", worker)[0] == f"4:1 launcher.image {UNSAID}"
    swapped = worker.replace("log", "x").replace("worker}]", "log}]").replace("x,", "worker,")
    assert [line for line in said("ColossalAIJob", swapped) if "launcher" in line] == []


def test_the_replica_specs_dialect_says_the_missing_image_of_the_worker_once() -> None:
    specs = "  replicaSpecs:\n    - {type: worker, template: {spec: {containers: [{name: worker}]}}}\n"
    once = ['6:53 required field "image" is missing in container "worker"']
    assert said("ColossalAIJob", specs) == once
    assert said("ColossalAIJob", f"{specs}    - {{type: launcher, template: {{}}}}\n") == once
    own = "    - {type: launcher, template: {spec: {containers: [{name: launcher}]}}}\n"
    assert said("ColossalAIJob", specs + own) == [
        *once,
        once[0].replace("6:53", "7:55").replace("worker", "launcher"),
    ]


def test_a_hardware_class_that_is_no_name_is_looked_up_nowhere() -> None:
    profile = "apiVersion: podplan/v1\nkind: JobProfile\nmetadata: {name: job}\nspec:\n"
    profile += '  {job: GenericJob, image: "i:1", hardware: {gpus: 8}}\n'
    found = check_sources([parse_yaml(profile.encode(), "job.yaml")], PipelineSettings(), Loader()).findings
    assert [(one.rule, one.help) for one in found if one.location.line == 5 and one.rule[:4] == "PROF"] == [
        ("PROF001", "hardware: a hardware class of the ClusterInventory")
    ]
