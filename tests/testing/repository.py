"""The files of a repository whose policies and profiles have tests."""

from __future__ import annotations

from pathlib import Path

POLICY = """\
id: ORG001
name: team-label
severity: error
basis: documented
summary: Every job says which team it belongs to.
why: Costs are charged to teams; a job without a team is charged to everybody.
scope: {level: cr}
schema: {properties: {metadata: {required: [labels], properties: {labels: {required: [team]}}}}}
message: the job has no label team
examples:
- name: no labels
  verdict: bad
  at: [/metadata]
  message: the job has no label team
  mended: {metadata: {labels: {team: vision}}}
  object: &job
    apiVersion: batch.tensorstack.dev/v1beta1
    kind: GenericJob
    metadata: {name: a}
    spec:
      replicaSpecs:
      - {type: worker, template: {spec: {containers: [{name: main, image: "busybox:1.36"}]}}}
- name: with a team
  verdict: good
  object: {<<: *job, metadata: {name: a, labels: {team: vision}}}
"""
VAP = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-host-network}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  validations:
  - {expression: "!object.spec.?hostNetwork.orValue(false)", message: no network of the node}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-host-network}
spec: {policyName: no-host-network, validationActions: [Deny]}
"""
VAP_TEST = """\
policy: no-host-network
examples:
- name: a job in the network of its nodes
  verdict: bad
  at: [/spec/replicaSpecs/0/template/spec/hostNetwork]
  message: no network of the node
  mended: {spec: {replicaSpecs: {"0": {template: {spec: {hostNetwork: null}}}}}}
  object:
    apiVersion: batch.tensorstack.dev/v1beta1
    kind: GenericJob
    metadata: {name: a}
    spec:
      replicaSpecs:
      - type: worker
        template: {spec: {hostNetwork: true, containers: [{name: main, image: "busybox:1.36"}]}}
- name: a Pod with a network of its own
  verdict: good
  object:
    apiVersion: v1
    kind: Pod
    metadata: {name: a}
    spec: {containers: [{name: main, image: "busybox:1.36"}]}
"""
PROFILE = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: resnet}
spec:
  job: PyTorchTrainingJob
  image: registry.example.com/vision/train:2.3.1
  run: [train.py]
  replicas: 4
  environments:
    dev: {replicas: 1}
    prod: {}
"""


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
