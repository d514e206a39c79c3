"""Outputs that are deleted with their Pod, and outputs where nothing can be written: forms and exceptions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.policy_examples import findings

Data = dict[str, Any]
CLAIM = {"persistentVolumeClaim": {"claimName": "c"}}


def job(command: list[str], mounts: dict[str, Data] | None = None, *more: Data, **fields: Any) -> Data:
    """A job of one Pod; ``mounts`` gives for each path the volume, with ``readOnly`` for the mount."""
    volumes, listed = [], []
    for number, (path, volume) in enumerate((mounts or {}).items()):
        given = dict(volume)
        listed.append({"name": f"v{number}", "mountPath": path, "readOnly": given.pop("readOnly", False)})
        volumes.append({"name": f"v{number}", **given})
    main = {"name": "train", "image": "train:1", "command": command, "volumeMounts": listed, **fields}
    template = {"spec": {"containers": [main, *more], "volumes": volumes}}
    spec = {"replicaSpecs": [{"type": "worker", "template": template}]}
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "PyTorchTrainingJob",
        "metadata": {"name": "a"},
        "spec": spec,
    }


def said(given: Data, code: str) -> list[str]:
    return [found.message for found in findings({"object": given}, code) if found.rule == code]


@pytest.mark.parametrize(
    "words",
    [
        ["--output_dir=/o/run"],
        ["--output-dir", "/o/run"],
        ["--save_path=/o/m"],
        ["--save", "/o/run"],
        ["--out=/o/x.h5"],
        ["--results-dir=/o"],
        ["--default_root_dir=/o"],
        ["--work-dir", "/o"],
        ["trainer.default_local_dir=/o"],
        ["+hydra.run.dir=/o", "model.save_dir=/o/m"],
        ["--config=a.yaml", "exp_manager.exp_dir=/o"],
    ],
)
def test_options_that_name_an_output(words: list[str]) -> None:
    assert said(job(["python", "train.py", *words], {"/o": {"emptyDir": {}}}), "VOL008")
    assert said(
        job(["bash", "-c", f"cd /app && python train.py {' '.join(words)}"], {"/o": {"emptyDir": {}}}),
        "VOL008",
    )
    assert said(job(["python", "train.py", *words]), "VOL008")
    assert not said(job(["python", "train.py", *words], {"/o": CLAIM}), "VOL008")


def test_checkpoints_are_written_where_nothing_can_be_read() -> None:
    command = ["python", "train.py", "--ckpt-dir", "/o/a"]
    empty: dict[str, Data] = {"/o": {"emptyDir": {}}}
    assert said(job(command, empty), "VOL008")
    assert not said(job(command, {"/o": {"emptyDir": {"medium": "Memory"}}}), "VOL008")
    assert not said(job(command, {"/o": CLAIM}), "VOL008")
    assert not said(job(command), "VOL008"), "the image may have it"
    assert not said(job(["python", "evaluate.py", *command[2:]], empty), "VOL008")
    filled = job(command, empty)
    pod = filled["spec"]["replicaSpecs"][0]["template"]["spec"]
    mounts = [{"name": "v0", "mountPath": "/w"}]
    pod["initContainers"] = [{"name": "i", "image": "i:1", "command": ["fetch"], "volumeMounts": mounts}]
    assert not said(filled, "VOL008")


@pytest.mark.parametrize(
    "words",
    [
        ["--output_dim=3", "--out_channels", "64", "--save_steps=10", "--output_format=/x"],
        ["--output_dir=s3://bucket/run"],
        ["--output_dir=$OUT"],
        ["--logging_dir=/o/logs"],
        ["--cache_dir=/o", "--tmp_dir=/o", "--data_dir=/o"],
        ["--checkpoint=/o/a.pt"],
        ["--load_from_output_dir=/o", "--resume_output=/o"],
        ["--output_dir=/o", "--push_to_hub"],
        ["--save_total_limit=2", "--export=true"],
    ],
)
def test_what_is_no_output_or_not_lost(words: list[str]) -> None:
    assert said(job(["python", "train.py", *words], {"/o": {"emptyDir": {}}}), "VOL008") == []


def test_an_output_that_somebody_copies_is_not_lost() -> None:
    empty: dict[str, Data] = {"/o": {"emptyDir": {}}}
    shared = {"name": "ship", "image": "a:1", "volumeMounts": [{"name": "v0", "mountPath": "/in"}]}
    train = "python train.py --output_dir=/o/run"
    assert not said(job(["bash", "-ec", f"{train}; aws s3 sync /o s3://bucket"], empty), "VOL008")
    assert not said(job(["bash", "-ec", f"{train}; python upload.py /o/run/model"], empty), "VOL008")
    assert said(job(["bash", "-ec", f"mkdir -p /o/run; {train}; ls /o"], empty), "VOL008")
    assert not said(job(["bash", "-c", train], empty, shared), "VOL008")
    hook = {"preStop": {"exec": {"command": ["cp", "-r", "/o", "/claim"]}}}
    assert not said(job(["bash", "-c", train], empty, lifecycle=hook), "VOL008")
    keys = [{"name": "AWS_ACCESS_KEY_ID", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}]
    assert not said(job(["bash", "-c", train], empty, env=keys), "VOL008")


def test_relative_outputs_lie_in_the_working_directory() -> None:
    command = ["python", "train.py", "--output_dir=./runs"]
    assert said(job(command, {"/app": {"emptyDir": {}}}, workingDir="/app"), "VOL008")
    assert not said(job(command, {"/app": CLAIM}, workingDir="/app"), "VOL008")
    assert not said(job(command), "VOL008")  # where the image begins is not known


def test_variables_name_outputs_too() -> None:
    def with_variable(name: str) -> Data:
        return job(["python", "train.py"], {"/o": {"emptyDir": {}}}, env=[{"name": name, "value": "/o/run"}])

    assert said(with_variable("OUTPUT_DIR"), "VOL008")
    assert said(with_variable("MODEL_SAVE_PATH"), "VOL008")
    assert not said(with_variable("CACHE_DIR"), "VOL008")
    assert not said(with_variable("OUTPUT"), "VOL008")


def test_the_closest_mount_counts() -> None:
    mounts: dict[str, Data] = {"/o": CLAIM, "/o/tmp": {"emptyDir": {}}}
    assert said(job(["python", "train.py", "--output_dir=/o/tmp/run"], mounts), "VOL008")
    assert not said(job(["python", "train.py", "--output_dir=/o/tmpx/run"], mounts), "VOL008")


READ_ONLY: list[Data] = [
    {**CLAIM, "readOnly": True},
    {"persistentVolumeClaim": {"claimName": "c", "readOnly": True}},
    {"configMap": {"name": "a"}},
    {"secret": {"secretName": "a"}},
]


@pytest.mark.parametrize("volume", READ_ONLY)
@pytest.mark.parametrize(
    "command",
    [
        ["python", "train.py", "--output_dir=/d/o"],
        ["python", "train.py", "--log_dir", "/d/logs"],
        ["python", "train.py", "--checkpoint-dir=/d/ckpt"],
        ["bash", "-c", "set -o pipefail; python train.py | tee -a /d/log"],
        ["bash", "-ec", "cp -r /a /d/b; python train.py"],
        ["sh", "-c", "git clone https://git.example.com/a.git /d/a"],
        ["sh", "-c", "curl -o /d/a https://example.com/a"],
        ["sh", "-c", "tar -xzf a.tgz -C /d"],
    ],
)
def test_what_is_written_where_nothing_can_be(volume: Data, command: list[str]) -> None:
    assert said(job(command, {"/d": volume}), "VOL010")
    assert not said(job(command, {"/d": CLAIM}), "VOL010")


@pytest.mark.parametrize(
    "command",
    [
        ["python", "eval.py", "--checkpoint-dir=/d/ckpt"],
        ["python", "-m", "lm_eval.evaluate", "--ckpt_path=/d/ckpt"],
        ["python", "train.py", "--checkpoint_path=/d/base.safetensors"],
        ["python", "train.py", "--checkpoint_dir=/d/base", "--output_dir=/o"],
        ["python", "train.py", "--pretrained_output_dir=/d/base"],
        ["bash", "-c", "tar -czf /o/a.tgz -C /d . && cp /d/a /o && mkdir -p /d"],
        ["bash", "-c", "cat /d/a | tee /o/b"],
    ],
)
def test_what_is_only_read(command: list[str]) -> None:
    assert said(job(command, {"/d": {**CLAIM, "readOnly": True}, "/o": CLAIM}), "VOL010") == []


def test_a_read_only_root_file_system() -> None:
    command = ["python", "train.py", "--output_dir=/o"]
    context = {"readOnlyRootFilesystem": True}
    (message,) = said(job(command, securityContext=context), "VOL010")
    assert "the file system of the container is read-only" in message
    assert not said(job(command, {"/o": {"emptyDir": {}}}, securityContext=context), "VOL010")


def test_the_workers_of_a_colossalai_job_write() -> None:
    mount = [{"name": "data", "mountPath": "/data", "readOnly": True}]
    worker = {"name": "worker", "image": "a:1", "volumeMounts": mount}
    spec = {
        "torchConfig": {"procPerWorker": 1, "script": ["/a/train.py", "--output_dir=/data/out"]},
        "replicaSpecs": [
            {
                "type": "launcher",
                "template": {"spec": {"containers": [{"name": "launcher", "image": "a:1"}]}},
            },
            {
                "type": "worker",
                "template": {"spec": {"containers": [worker], "volumes": [{"name": "data", **CLAIM}]}},
            },
        ],
    }
    given = {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "ColossalAIJob",
        "metadata": {"name": "a"},
        "spec": spec,
    }
    assert said(given, "VOL010")
    mount[0]["readOnly"] = False
    assert not said(given, "VOL010")
