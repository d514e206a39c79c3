"""What is wrong once is said once: no finding for what only follows from another."""

from __future__ import annotations

from podplan.check import check_sources
from podplan.pipeline import Settings
from podplan.reading import Reader
from podplan.source import read

HEAD = "apiVersion: batch.tensorstack.dev/v1beta1\nkind: {kind}\nmetadata: {{name: job}}\nspec:\n"


def said(kind: str, spec: str) -> list[str]:
    """The findings of the schemas for a CR whose spec begins in line 5, as "LINE:COLUMN message"."""
    source = read((HEAD.format(kind=kind) + spec).encode(), "job.yaml")
    found = check_sources([source], Settings(), Reader()).findings
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
        '6:53 required field "image" is missing in containers[0]',
        '6:54 unknown field "nmae"; did you mean "name"?',
    ]
