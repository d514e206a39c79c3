"""Jobs of every kind that show the effect of a lowering option."""

from __future__ import annotations

from tests.lowered_objects import job

UID = "e2a69076-1c19-46ce-9c70-2cdf20176e01"
SCHEDULER = "scheduler: {t9kScheduler: {queue: nlp}}"
PLAIN = job(
    "PyTorchTrainingJob",
    f"""
    {SCHEDULER}
    torchrunConfig: {{procPerNode: "4"}}
    replicaSpecs:
    - type: worker
      replicas: 2
      template:
        metadata: {{labels: {{replica-type: mine}}}}
        spec: {{containers: [{{name: main, env: [{{name: A, value: b}}]}}, {{name: side}}]}}
    """,
)
WITH_PORT = job(
    "PyTorchTrainingJob",
    """
    replicaSpecs:
    - type: worker
      template:
        spec: {containers: [{name: main, ports: [{name: pytorchjob-port, containerPort: 29500}]}]}
    """,
)
TORCHRUN = job(
    "PyTorchTrainingJob",
    """
    torchrunConfig: {enabled: true, procPerNode: "4"}
    tensorboardSpec: {image: tensorboard}
    replicaSpecs:
    - {type: worker, replicas: 2, template: {spec: {containers: [{name: main, args: [a.py]}, {name: side}]}}}
    """,
)
ELASTIC = job(
    "PyTorchTrainingJob",
    """
    torchrunConfig: {enabled: true}
    elastic: {enabled: true, minReplicas: 1, maxReplicas: 8, expectedReplicas: 5}
    replicaSpecs:
    - {type: a, template: {spec: {containers: [{name: main}]}}}
    - {type: b, template: {spec: {containers: [{name: main}]}}}
    - {type: c, template: {spec: {containers: [{name: main}]}}}
    """,
)
ELASTIC_FROM = job(
    "PyTorchTrainingJob",
    """
    torchrunConfig: {enabled: true}
    elastic: {enabled: true, minReplicas: 1}
    replicaSpecs: [{type: worker, replicas: 2, template: {spec: {containers: [{name: main}]}}}]
    """,
)
DEBUG = job(
    "PyTorchTrainingJob",
    """
    runMode: {debug: {enabled: true}}
    replicaSpecs: [{type: worker, template: {spec: {containers: [{name: main, args: [a.py]}]}}}]
    """,
)
PAUSED = job(
    "PyTorchTrainingJob",
    f"""
    {SCHEDULER}
    runMode: {{pause: {{enabled: true}}}}
    replicaSpecs: [{{type: worker, template: {{spec: {{containers: [{{name: main}}]}}}}}}]
    """,
)
GENERIC = job(
    "GenericJob",
    """
    scheduler: {t9kScheduler: {}}
    service: {ports: [{name: http, port: 80}]}
    replicaSpecs:
    - type: worker
      replicas: 2
      template:
        spec:
          initContainers: [{name: wait, args: [$(rank)]}]
          containers: [{name: main, args: ["$(service.worker[1].host)"]}]
    """,
)
DEEPSPEED = job(
    "DeepSpeedJob",
    """
    config: {run: {python: [train.py, "a b"]}}
    worker:
      replicas: 2
      template: {spec: {containers: [{name: main, env: [{name: A, value: b}]}, {name: side}]}}
    """,
)
DEEPSPEED_DEBUG = {**DEEPSPEED, "spec": {**DEEPSPEED["spec"], "runMode": {"debug": {"enabled": True}}}}
COLOSSALAI = job(
    "ColossalAIJob",
    f"""
    {SCHEDULER}
    torchConfig: {{script: [train.py]}}
    replicaSpecs:
    - {{type: launcher, template: {{spec: {{containers: [{{name: a, image: i}}, {{name: b, image: i}}]}}}}}}
    - type: worker
      replicas: 2
      template: {{spec: {{containers: [{{name: a, image: i}}, {{name: b, image: i}}]}}}}
    """,
)
PYTORCH_JOB = job(
    "PyTorchJob",
    """
    pytorchReplicaSpecs:
      Master: {replicas: 1, template: {spec: {containers: [{name: pytorch, image: i}]}}}
      Worker: {replicas: 1, template: {spec: {containers: [{name: pytorch, image: i}]}}}
    """,
    api_version="kubeflow.org/v1",
)
TF_JOB = job(
    "TFJob",
    "tfReplicaSpecs: {Worker: {replicas: 2, template: {spec: {containers: [{name: tensorflow, image: i}]}}}}",
    api_version="kubeflow.org/v1",
)
MPI_JOB_V2 = job(
    "MPIJob",
    "mpiReplicaSpecs: {Launcher: {template: {spec: {containers: [{name: mpi, image: i}]}}},"
    " Worker: {replicas: 1, template: {spec: {containers: [{name: mpi, image: i}]}}}}",
    api_version="kubeflow.org/v2beta1",
)
MPI_JOB_V1 = job(
    "MPIJob",
    "mpiReplicaSpecs: {Launcher: {template: {spec: {containers: [{name: mpi, image: i}]}}}}",
    api_version="kubeflow.org/v1",
)
TENSORFLOW = job(
    "TensorFlowTrainingJob",
    """
    replicaSpecs:
    - type: worker
      replicas: 1
      template:
        spec:
          containers:
          - {name: tensorflow, env: [{name: A, value: b}], ports: [{name: http, containerPort: 80}]}
          - {name: side, ports: [{name: tfjob-port, containerPort: 3333}]}
    - {type: evaluator, template: {spec: {containers: [{name: tensorflow}]}}}
    """,
)
TENSORFLOW_PORT = job(
    "TensorFlowTrainingJob",
    """
    replicaSpecs:
    - type: worker
      replicas: 2
      template:
        spec: {containers: [{name: tensorflow, ports: [{name: tfjob-port, containerPort: 3333}]}]}
    """,
)
TENSORFLOW_SINGLE = job(
    "TensorFlowTrainingJob",
    "replicaSpecs: [{type: worker, template: {spec: {containers: [{name: tensorflow}]}}}]",
)
XGBOOST = job(
    "XGBoostTrainingJob",
    """
    replicaSpecs:
    - type: master
      template:
        spec: {containers: [{name: xgboost, env: [{name: A, value: b}]}, {name: side}]}
    - {type: worker, template: {spec: {containers: [{name: xgboost}]}}}
    """,
)
XGBOOST_PORT_WRITTEN = job(
    "XGBoostTrainingJob",
    """
    replicaSpecs:
    - type: master
      template:
        spec: {containers: [{name: xgboost, ports: [{name: xgboost-port, containerPort: 9991}]}]}
    """,
)
MPI = job(
    "MPIJob",
    f"""
    {SCHEDULER}
    mpiConfig: {{home: /usr/local, mca: {{btl: tcp}}, script: [a.out]}}
    replicaSpecs:
    - {{type: launcher, template: {{spec: {{containers: [{{name: a}}, {{name: b}}]}}}}}}
    - type: worker
      replicas: 2
      template:
        spec: {{containers: [{{name: a, image: i, env: [{{name: A, value: b}}]}}, {{name: b, image: i}}]}}
    """,
)
MPI_OLDEST = job(
    "MPIJob",
    """
    runMode: {debug: {enabled: true}}
    worker:
      processesPerWorker: 2
      cmd: [a.out]
      template: {spec: {containers: [{name: a, image: i}, {name: b, image: i}]}}
    """,
)
MPI_OLD = {**MPI_OLDEST, "spec": {key: MPI_OLDEST["spec"][key] for key in ("worker",)}}
BEAM = job(
    "BeamJob",
    f"""
    {SCHEDULER}
    flinkClusterTemplate: {{spec: {{taskManager: {{replicas: 2}}}}}}
    jobTemplate:
      spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: main, image: i}}]}}}}}}
    """,
)
