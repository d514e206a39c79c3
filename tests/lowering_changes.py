"""The effect of each lowering option, in a job that shows it."""

from __future__ import annotations

import base64
from typing import Any, NamedTuple

from tests.lowered_objects import Object
from tests.lowering_jobs import (
    BEAM,
    COLOSSALAI,
    DEBUG,
    DEEPSPEED,
    DEEPSPEED_DEBUG,
    ELASTIC,
    ELASTIC_FROM,
    GENERIC,
    MPI,
    MPI_JOB_V1,
    MPI_JOB_V2,
    MPI_OLD,
    MPI_OLDEST,
    PAUSED,
    PLAIN,
    PYTORCH_JOB,
    TENSORFLOW,
    TENSORFLOW_PORT,
    TENSORFLOW_SINGLE,
    TF_JOB,
    TORCHRUN,
    UID,
    WITH_PORT,
    XGBOOST,
    XGBOOST_PORT_WRITTEN,
)

POD, SERVICE = "Pod/bert-worker-0:", "Service/bert-worker-0:"
LAUNCHER = "Pod/bert-launcher:"
MASTER = "Pod/bert-master-0:"
MPIRUN, MPIRUN_OF_B = "spec.containers[a].command[2]", "spec.containers[b].command[2]"
TF_CONFIG = POD + "spec.containers[tensorflow].env[TF_CONFIG].value"
ABSENT = None


def run(words: str, prefix: str = "--prefix /usr/local ") -> str:
    """The script of a launcher that starts mpirun with these words."""
    return (
        'while read -r host _; do until getent hosts "$host" > /dev/null; do sleep 1; done; done '
        f'< /etc/mpi/hostfile\necho "services are ready!"\nexec mpirun {prefix}{words}'
    )


def tf_config(cluster: str, end: str = ',"environment":"cloud"') -> str:
    """TF_CONFIG of worker-0."""
    return f'{{"cluster":{{{cluster}}},"task":{{"type":"worker","index":0}}{end}}}'


class Change(NamedTuple):
    """An option, and the part of a lowered object that it changes; ABSENT for a part that it removes."""

    id: str
    value: Any
    cr: Object
    where: str
    becomes: Any


CHANGES = [
    Change(
        "colossalai.hostfile-line",
        "{host} slots=1",
        COLOSSALAI,
        "ConfigMap/bert-config:data.hostfile",
        "bert-worker-0 slots=1\nbert-worker-1 slots=1\n",
    ),
    Change(
        "colossalai.hostfile-path",
        "/etc/hosts.d/h",
        COLOSSALAI,
        LAUNCHER + "spec.containers[a].command[3]",
        "/etc/hosts.d/h",
    ),
    Change(
        "colossalai.launcher",
        "{job}-start-{type}",
        COLOSSALAI,
        "Pod/bert-start-launcher:metadata.name",
        "bert-start-launcher",
    ),
    Change(
        "colossalai.launcher-container",
        "b",
        COLOSSALAI,
        LAUNCHER + "spec.containers[b].command[0]",
        "colossalai",
    ),
    Change(
        "colossalai.launcher-resources",
        {"limits": {"cpu": "1"}},
        COLOSSALAI,
        LAUNCHER + "spec.containers[a].resources",
        {"limits": {"cpu": "1"}},
    ),
    Change("colossalai.min-member", "workers", COLOSSALAI, "PodGroup/bert:spec.minMember", 2),
    Change("colossalai.processes", 8, COLOSSALAI, LAUNCHER + "spec.containers[a].command[5]", "8"),
    Change(
        "colossalai.run",
        ["torchx", "--master_addr {master-addr}"],
        COLOSSALAI,
        LAUNCHER + "spec.containers[a].command",
        ["torchx", "--master_addr", "bert-worker-0", "train.py"],
    ),
    Change(
        "colossalai.training-container",
        "b",
        COLOSSALAI,
        POD + "spec.containers[b].command[0]",
        "/usr/sbin/sshd",
    ),
    Change(
        "config-map.annotations",
        {"of": "{job}"},
        DEEPSPEED,
        "ConfigMap/bert-config:metadata.annotations.of",
        "bert",
    ),
    Change(
        "config-map.labels", {"app": "{base}"}, DEEPSPEED, "ConfigMap/bert-config:metadata.labels.app", "bert"
    ),
    Change("debug.command", ["tail", "-f"], DEBUG, POD + "spec.containers[main].command", ["tail", "-f"]),
    Change("debug.keep-args", True, DEBUG, POD + "spec.containers[main].args", ["a.py"]),
    Change(
        "deepspeed.command",
        "{sshd}; exec {deepspeed}",
        DEEPSPEED,
        POD + "spec.containers[main].command[2]",
        "/usr/sbin/sshd -D; exec deepspeed --hostfile=/t9k/hostfile train.py 'a b'",
    ),
    Change(
        "deepspeed.debug-command",
        ["sleep", "1"],
        DEEPSPEED_DEBUG,
        POD + "spec.containers[main].command",
        ["sleep", "1"],
    ),
    Change(
        "deepspeed.env-file",
        "export {name}='{value}'",
        DEEPSPEED,
        "ConfigMap/bert-config:data.deepspeed_env",
        "export A='b'\n",
    ),
    Change("deepspeed.env-file-key", "env", DEEPSPEED, "ConfigMap/bert-config:data.env", "A=b\n"),
    Change(
        "deepspeed.env-file-path",
        "/env",
        DEEPSPEED,
        POD + "spec.containers[main].volumeMounts[/env].mountPath",
        "/env",
    ),
    Change(
        "deepspeed.hostfile-line",
        "{host}:{slots}",
        DEEPSPEED,
        "ConfigMap/bert-config:data.hostfile",
        "bert-worker-0:1\nbert-worker-1:1\n",
    ),
    Change(
        "deepspeed.hostfile-path",
        "/h",
        DEEPSPEED,
        POD + "spec.containers[main].volumeMounts[/h].mountPath",
        "/h",
    ),
    Change(
        "deepspeed.options",
        ["-H {hostfile}", "--master_addr {master-addr}"],
        DEEPSPEED,
        POD + "spec.containers[main].command[2]",
        "/usr/sbin/sshd -D & deepspeed -H /t9k/hostfile --master_addr bert-worker-0 train.py 'a b'",
    ),
    Change(
        "deepspeed.quoting",
        "double",
        DEEPSPEED,
        POD + "spec.containers[main].command[2]",
        '/usr/sbin/sshd -D & deepspeed "--hostfile=/t9k/hostfile" "train.py" "a b"',
    ),
    Change("deepspeed.shell", ["sh", "-ec"], DEEPSPEED, POD + "spec.containers[main].command[1]", "-ec"),
    Change(
        "deepspeed.slots-per-worker",
        8,
        DEEPSPEED,
        "ConfigMap/bert-config:data.hostfile",
        "bert-worker-0 slots=8\nbert-worker-1 slots=8\n",
    ),
    Change(
        "deepspeed.training-container",
        "side",
        DEEPSPEED,
        "Pod/bert-worker-1:spec.containers[side].command",
        ["/usr/sbin/sshd", "-D"],
    ),
    Change(
        "elastic.missing-bound", "other-bound", ELASTIC_FROM, POD + "spec.containers[main].command[2]", "1:1"
    ),
    Change("elastic.scaling-weight", "first", ELASTIC, "Pod/bert-a-2:metadata.name", "bert-a-2"),
    Change("generic.init-substitution", True, GENERIC, POD + "spec.initContainers[wait].args[0]", "0"),
    Change(
        "generic.selector", {"pod": "{name}"}, GENERIC, SERVICE + "spec.selector", {"pod": "bert-worker-0"}
    ),
    Change("label.template", "template", PLAIN, POD + "metadata.labels.replica-type", "mine"),
    Change(
        "name.base-suffix",
        8,
        {**DEEPSPEED, "metadata": {"name": "gpt-125m", "uid": UID}},
        "Pod/gpt-125m-d02e22a6-worker-1:metadata.name",
        "gpt-125m-d02e22a6-worker-1",
    ),
    Change(
        "owner-reference.block-deletion",
        False,
        {**PLAIN, "metadata": {"name": "bert", "uid": ""}} | {"metadata": {"name": "gpt-125m", "uid": UID}},
        "Pod/gpt-125m-d02e2-worker-0:metadata.ownerReferences[0].blockOwnerDeletion",
        False,
    ),
    Change(
        "pod.annotations",
        {"sidecar.istio.io/inject": "false"},
        PLAIN,
        POD + 'metadata.annotations["sidecar.istio.io/inject"]',
        "false",
    ),
    Change("pod.labels", {"rank-of": "{type}/{index}"}, PLAIN, POD + "metadata.labels.rank-of", "worker/0"),
    Change(
        "pod.name", "{job}-x-{type}-{index}", PLAIN, "Pod/bert-x-worker-1:metadata.name", "bert-x-worker-1"
    ),
    Change("pod.restart-policy", "OnFailure", PLAIN, POD + "spec.restartPolicy", "OnFailure"),
    Change("pod.restart-policy-object", "Always", GENERIC, POD + "spec.restartPolicy", "Always"),
    Change("pod.scheduler-name", "volcano", PLAIN, POD + "spec.schedulerName", "volcano"),
    Change("podgroup.annotations", {"of": "{job}"}, PLAIN, "PodGroup/bert:metadata.annotations.of", "bert"),
    Change(
        "podgroup.api-version",
        "scheduling.volcano.sh/v1beta1",
        PLAIN,
        "PodGroup/bert:apiVersion",
        "scheduling.volcano.sh/v1beta1",
    ),
    Change(
        "podgroup.labels", {"of": "{kind}"}, PLAIN, "PodGroup/bert:metadata.labels.of", "PyTorchTrainingJob"
    ),
    Change("podgroup.name", "{job}-gang", PLAIN, "PodGroup/bert-gang:metadata.name", "bert-gang"),
    Change("podgroup.priority", 9, PLAIN, "PodGroup/bert:spec.priority", 9),
    Change("podgroup.queue", "shared", GENERIC, "PodGroup/bert:spec.queue", "shared"),
    Change("podgroup.while-paused", True, PAUSED, "PodGroup/bert:kind", "PodGroup"),
    Change("pytorch.declares-port", False, PLAIN, POD + "spec.containers[main].ports", ABSENT),
    Change(
        "pytorch.env",
        {"RANK": "{rank}", "HOST": "{master-addr}:{master-port}"},
        PLAIN,
        "Pod/bert-worker-1:spec.containers[main].env[HOST].value",
        "bert-worker-0:23456",
    ),
    Change("pytorch.env-containers", "training", PLAIN, POD + "spec.containers[side].env", ABSENT),
    Change("pytorch.env-order", "after", PLAIN, POD + "spec.containers[main].env[0].name", "A"),
    Change("pytorch.master-port", 29500, PLAIN, SERVICE + "spec.ports[0].port", 29500),
    Change("pytorch.master-port-name", "rdzv", PLAIN, SERVICE + "spec.ports[0].name", "rdzv"),
    Change("pytorch.port-by-name", False, WITH_PORT, SERVICE + "spec.ports[0].port", 23456),
    Change("pytorch.rdzv-backend", "etcd-v2", TORCHRUN, POD + "spec.containers[main].command[6]", "etcd-v2"),
    Change(
        "pytorch.torchrun-arguments",
        ["torchrun", "--rdzv_id {job}", "--max_restarts {max-restarts}"],
        TORCHRUN,
        POD + "spec.containers[main].command",
        ["torchrun", "--rdzv_id", "bert"],
    ),
    Change(
        "pytorch.torchrun-env",
        {"PET_NNODES": "{nnodes}"},
        TORCHRUN,
        POD + "spec.containers[main].env[PET_NNODES].value",
        "2",
    ),
    Change(
        "pytorch.training-container", "side", TORCHRUN, POD + "spec.containers[side].command[0]", "torchrun"
    ),
    Change(
        "pytorch.world-size", "processes", PLAIN, POD + "spec.containers[main].env[WORLD_SIZE].value", "8"
    ),
    Change("secret.labels", {"app": "{job}"}, DEEPSPEED, "Secret/bert-ssh:metadata.labels.app", "bert"),
    Change(
        "service.annotations", {"of": "{name}"}, PLAIN, SERVICE + "metadata.annotations.of", "bert-worker-0"
    ),
    Change("service.headless", False, PLAIN, SERVICE + "spec.clusterIP", ABSENT),
    Change(
        "service.host",
        "{host}.{namespace}.svc",
        PLAIN,
        "Pod/bert-worker-1:spec.containers[main].env[MASTER_ADDR].value",
        "bert-worker-0.default.svc",
    ),
    Change("service.job-name", "{job}-net", PLAIN, "Service/bert-net:metadata.name", "bert-net"),
    Change(
        "service.labels",
        {"replica": "{type}-{index}"},
        PLAIN,
        SERVICE + "metadata.labels.replica",
        "worker-0",
    ),
    Change(
        "service.name",
        "{job}-{type}-svc-{index}",
        PLAIN,
        "Pod/bert-worker-1:spec.containers[main].env[MASTER_ADDR].value",
        "bert-worker-svc-0",
    ),
    Change(
        "service.per",
        "job",
        DEEPSPEED,
        "ConfigMap/bert-config:data.hostfile",
        "bert-worker-0.bert slots=1\nbert-worker-1.bert slots=1\n",
    ),
    Change("service.publish-not-ready", True, PLAIN, SERVICE + "spec.publishNotReadyAddresses", True),
    Change("service.selector", {"app": "{job}"}, PLAIN, SERVICE + "spec.selector", {"app": "bert"}),
    Change(
        "ssh.auth-mount-path",
        "/keys",
        DEEPSPEED,
        POD + "spec.containers[main].volumeMounts[0].mountPath",
        "/keys",
    ),
    Change(
        "ssh.client-config",
        "Host *\n",
        DEEPSPEED,
        "Secret/bert-ssh:data.config",
        base64.b64encode(b"Host *\n  Port 22\n").decode(),
    ),
    Change("ssh.config-map", "{base}-files", DEEPSPEED, "ConfigMap/bert-files:metadata.name", "bert-files"),
    Change("ssh.declares-port", True, DEEPSPEED, POD + "spec.containers[main].ports[0].containerPort", 22),
    Change("ssh.files-volume", "files", DEEPSPEED, POD + "spec.volumes[1].name", "files"),
    Change(
        "ssh.hostfile-key",
        "hosts",
        DEEPSPEED,
        POD + "spec.containers[main].volumeMounts[/t9k/hostfile].subPath",
        "hosts",
    ),
    Change(
        "ssh.key-files",
        ["key:id_ed25519"],
        DEEPSPEED,
        POD + "spec.volumes[0].secret.items",
        [{"key": "key", "path": "id_ed25519"}],
    ),
    Change("ssh.key-mode", 0o400, DEEPSPEED, POD + "spec.volumes[0].secret.defaultMode", 0o400),
    Change(
        "ssh.keys-apart",
        True,
        DEEPSPEED,
        POD + "spec.containers[main].volumeMounts[0]",
        {"name": "ssh-keys", "mountPath": "/root/.ssh/id_rsa", "subPath": "id_rsa"},
    ),
    Change("ssh.keys-volume", "keys", DEEPSPEED, POD + "spec.volumes[0].name", "keys"),
    Change("ssh.port", 2222, DEEPSPEED, SERVICE + "spec.ports[0].port", 2222),
    Change("ssh.port-name", "sshd", DEEPSPEED, SERVICE + "spec.ports[0].name", "sshd"),
    Change("ssh.secret", "{job}-keys", DEEPSPEED, "Secret/bert-keys:metadata.name", "bert-keys"),
    Change(
        "ssh.sshd-arguments",
        ["-D", "-e"],
        DEEPSPEED,
        "Pod/bert-worker-1:spec.containers[main].command",
        ["/usr/sbin/sshd", "-D", "-e"],
    ),
    Change(
        "ssh.sshd-path",
        "/opt/sshd",
        DEEPSPEED,
        "Pod/bert-worker-1:spec.containers[main].command[0]",
        "/opt/sshd",
    ),
    Change(
        "mpi-operator.cluster-domain",
        "example.net",
        MPI_JOB_V2,
        "ConfigMap/bert-config:data.hostfile",
        "bert-worker-0.bert.default.svc.example.net slots=1\n",
    ),
    Change(
        "mpi-operator.scheduler-name",
        "gangs",
        MPI_JOB_V2,
        POD + "spec.schedulerName",
        "gangs",
    ),
    Change("gang-scheduler", "volcano", PYTORCH_JOB, POD + "spec.schedulerName", "volcano"),
    Change(
        "training-operator.cluster-domain",
        "example.net",
        TF_JOB,
        POD + "spec.containers[tensorflow].env[TF_CONFIG].value",
        '{"cluster":{"worker":["bert-worker-0.default.svc.example.net:2222",'
        '"bert-worker-1.default.svc.example.net:2222"]},"task":{"type":"worker","index":0},"environment":"cloud"}',
    ),
    Change(
        "training-operator.init-image",
        "busybox:1.36",
        PYTORCH_JOB,
        POD + "spec.initContainers[init-pytorch].image",
        "busybox:1.36",
    ),
    Change(
        "training-operator.init-template",
        "[{name: wait, image: 'a:{{.MaxTries}}', args: ['{{ .MasterAddr }}']}]",
        PYTORCH_JOB,
        POD + "spec.initContainers[wait]",
        {"name": "wait", "image": "a:100", "args": ["bert-master-0"]},
    ),
    Change(
        "training-operator.init-tries",
        7,
        PYTORCH_JOB,
        POD + "spec.initContainers[init-pytorch].command[2]",
        "err=1;for i in $(seq 7); do if nslookup bert-master-0; then err=0 && break; fi;"
        "echo waiting for master; sleep 2; done; exit $err",
    ),
    Change(
        "training-operator.kubectl-delivery-image",
        "kubectl:1.31",
        MPI_JOB_V1,
        LAUNCHER + "spec.initContainers[kubectl-delivery].image",
        "kubectl:1.31",
    ),
    Change(
        "training-operator.scheduler-name",
        "gangs",
        PYTORCH_JOB,
        POD + "spec.schedulerName",
        "gangs",
    ),
    Change("tensorboard.labels", {"app": "{job}"}, TORCHRUN, "TensorBoard/bert:metadata.labels.app", "bert"),
    Change("batch-job.labels", {"app": "{job}"}, BEAM, "Job/bert-batchjob:metadata.labels.app", "bert"),
    Change("beam.base", "b-{job}", BEAM, "Job/b-bert-batchjob:metadata.name", "b-bert-batchjob"),
    Change(
        "beam.flink-cluster-api", "flink/v1", BEAM, "FlinkCluster/bert-flinkcluster:apiVersion", "flink/v1"
    ),
    Change("beam.flink-cluster-name", "{beam}-f", BEAM, "FlinkCluster/bert-f:metadata.name", "bert-f"),
    Change("beam.job-name", "{beam}-j", BEAM, "Job/bert-j:metadata.name", "bert-j"),
    Change("beam.min-member", "all", BEAM, "PodGroup/bert:spec.minMember", 4),
    Change(
        "flink-cluster.labels",
        {"app": "{job}"},
        BEAM,
        "FlinkCluster/bert-flinkcluster:metadata.labels.app",
        "bert",
    ),
    Change("mpi.debug-command", ["sshd"], MPI_OLDEST, POD + "spec.containers[a].command", ["sshd"]),
    Change("mpi.env-options", ["--env {name}"], MPI, LAUNCHER + MPIRUN, run("-mca btl tcp --env A a.out")),
    Change(
        "mpi.host",
        "{pod}",
        MPI,
        "ConfigMap/bert-config:data.hostfile",
        "bert-worker-0\nbert-worker-1\n",
    ),
    Change(
        "mpi.hostfile-line",
        "{host} slots=4",
        MPI,
        "ConfigMap/bert-config:data.hostfile",
        "bert-worker-0.bert-worker slots=4\nbert-worker-1.bert-worker slots=4\n",
    ),
    Change(
        "mpi.hostfile-path",
        "/etc/h",
        MPI,
        LAUNCHER + "spec.containers[a].volumeMounts[1].mountPath",
        "/etc/h",
    ),
    Change("mpi.launcher", "{job}-start", MPI, "Pod/bert-start:metadata.name", "bert-start"),
    Change("mpi.launcher-container", "b", MPI, LAUNCHER + MPIRUN_OF_B, run("-mca btl tcp -x A a.out")),
    Change(
        "mpi.launcher-env", {"A_{job}": "{base}"}, MPI, LAUNCHER + "spec.containers[a].env[1].value", "bert"
    ),
    Change(
        "mpi.launcher-resources",
        {"limits": {"cpu": "1"}},
        MPI,
        LAUNCHER + "spec.containers[a].resources",
        {"limits": {"cpu": "1"}},
    ),
    Change("mpi.mca", ["--mca {name} {value}"], MPI, LAUNCHER + MPIRUN, run("--mca btl tcp -x A a.out")),
    Change("mpi.min-member", "workers", MPI, "PodGroup/bert:spec.minMember", 2),
    Change(
        "mpi.mpirun",
        ["mpirun", "--prefix {home}", "-np {replicas}"],
        MPI,
        LAUNCHER + MPIRUN,
        run("-np 2 -mca btl tcp -x A a.out"),
    ),
    Change(
        "mpi.options-of-processes",
        ["-npernode {processes}"],
        MPI_OLD,
        LAUNCHER + "spec.containers[launcher].command[2]",
        run("-npernode 2 a.out", ""),
    ),
    Change(
        "mpi.script", "{mpirun}", MPI, LAUNCHER + MPIRUN, "mpirun --prefix /usr/local -mca btl tcp -x A a.out"
    ),
    Change("mpi.service-name", "{base}-w", MPI, "Service/bert-w:metadata.name", "bert-w"),
    Change(
        "mpi.service-selector", {"app": "{job}"}, MPI, "Service/bert-worker:spec.selector", {"app": "bert"}
    ),
    Change("mpi.shell", ["bash", "-c"], MPI, LAUNCHER + "spec.containers[a].command[0]", "bash"),
    Change("mpi.training-container", "b", MPI, POD + "spec.containers[b].command", ["/usr/sbin/sshd", "-D"]),
    Change(
        "mpi.training-container-of-older-dialects",
        "b",
        MPI_OLD,
        POD + "spec.containers[b].command",
        ["/usr/sbin/sshd", "-D"],
    ),
    Change(
        "tensorflow.address",
        "{host}:{port}",
        TENSORFLOW,
        TF_CONFIG,
        tf_config('"worker":["bert-worker-0:2222"]'),
    ),
    Change(
        "tensorflow.cloud-environment",
        False,
        TENSORFLOW,
        TF_CONFIG,
        tf_config('"worker":["bert-worker-0.default.svc:2222"]', ""),
    ),
    Change(
        "tensorflow.config-of-one-replica",
        True,
        TENSORFLOW_SINGLE,
        TF_CONFIG,
        tf_config('"worker":["bert-worker-0.default.svc:2222"]'),
    ),
    Change(
        "tensorflow.declares-port", False, TENSORFLOW, POD + "spec.containers[tensorflow].ports[1]", ABSENT
    ),
    Change(
        "tensorflow.env-containers",
        "all",
        TENSORFLOW,
        POD + "spec.containers[side].env[0].name",
        "TF_CONFIG",
    ),
    Change(
        "tensorflow.env-order", "before", TENSORFLOW, POD + "spec.containers[tensorflow].env[1].name", "A"
    ),
    Change(
        "tensorflow.evaluator-in-cluster",
        True,
        TENSORFLOW,
        TF_CONFIG,
        tf_config(
            '"evaluator":["bert-evaluator-0.default.svc:2222"],"worker":["bert-worker-0.default.svc:2222"]'
        ),
    ),
    Change("tensorflow.port", 2223, TENSORFLOW, SERVICE + "spec.ports[0].port", 2223),
    Change("tensorflow.port-by-name", True, TENSORFLOW_PORT, SERVICE + "spec.ports[0].port", 3333),
    Change("tensorflow.port-name", "tf", TENSORFLOW, SERVICE + "spec.ports[0].name", "tf"),
    Change(
        "tensorflow.training-container",
        "side",
        TENSORFLOW,
        POD + "spec.containers[side].env[0].name",
        "TF_CONFIG",
    ),
    Change("xgboost.declares-port", False, XGBOOST, MASTER + "spec.containers[xgboost].ports", ABSENT),
    Change(
        "xgboost.env",
        {"R": "{rank}"},
        XGBOOST,
        MASTER + "spec.containers[xgboost].env[1]",
        {"name": "R", "value": "0"},
    ),
    Change("xgboost.env-containers", "training", XGBOOST, MASTER + "spec.containers[side].env", ABSENT),
    Change("xgboost.env-order", "before", XGBOOST, MASTER + "spec.containers[xgboost].env[4].name", "A"),
    Change(
        "xgboost.master-addr",
        "{host}.{namespace}.svc",
        XGBOOST,
        MASTER + "spec.containers[xgboost].env[MASTER_ADDR].value",
        "bert-master-0.default.svc",
    ),
    Change("xgboost.port", 9991, XGBOOST, "Service/bert-master-0:spec.ports[0].port", 9991),
    Change(
        "xgboost.port-by-name", False, XGBOOST_PORT_WRITTEN, "Service/bert-master-0:spec.ports[0].port", 9999
    ),
    Change("xgboost.port-name", "x", XGBOOST, "Service/bert-master-0:spec.ports[0].name", "x"),
    Change(
        "xgboost.training-container",
        "side",
        XGBOOST,
        MASTER + "spec.containers[side].ports[0].containerPort",
        9999,
    ),
]
BY_ID = {change.id: change for change in CHANGES}
# Options whose effect requires another option with a value that is not the default.
WITH = {
    "service.job-name": {"service.per": "job"},
    "mpi-operator.scheduler-name": {"gang-scheduler": "scheduler-plugins"},
    "training-operator.scheduler-name": {"gang-scheduler": "scheduler-plugins"},
}
# Where the option is in the provenance, if not at the part itself but at its parent.
TOLD_AT = {
    "colossalai.launcher-container": "spec.containers[b]",
    "colossalai.training-container": "spec.containers[b]",
    "deepspeed.training-container": "spec.containers[side]",
    "elastic.scaling-weight": "",
    "generic.init-substitution": "spec.initContainers",
    "mpi.launcher-container": "spec.containers[b]",
    "mpi.training-container": "spec.containers[b]",
    "mpi.training-container-of-older-dialects": "spec.containers[b]",
    "pytorch.env-order": "spec.containers[main].env",
    "pytorch.training-container": "spec.containers[side]",
    "tensorflow.env-order": "spec.containers[tensorflow].env",
    "tensorflow.training-container": "spec.containers[side]",
    "xgboost.env-order": "spec.containers[xgboost].env",
    "xgboost.training-container": "spec.containers[side]",
    "ssh.declares-port": "spec.containers[main].ports[0]",
}
