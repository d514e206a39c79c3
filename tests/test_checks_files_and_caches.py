"""Files that a container looks for where they are not: hidden, elsewhere, in an empty cache, or too large."""

from __future__ import annotations

from typing import Any

import pytest

from tests.policy_examples import findings

Data = dict[str, Any]
CLAIM = {"persistentVolumeClaim": {"claimName": "c"}}
EMPTY: Data = {"emptyDir": {}}


def mounts(given: dict[str, Data]) -> tuple[list[Data], list[Data]]:
    """Volumes and mounts by their paths; the same volume object twice is one volume."""
    volumes: dict[int, Data] = {}
    listed = []
    for path, volume in given.items():
        one = volumes.setdefault(id(volume), {"name": f"v{len(volumes)}", **volume})
        listed.append({"name": one["name"], "mountPath": path})
    return list(volumes.values()), listed


def job(
    command: list[str], given: dict[str, Data] | None = None, kind: str = "PyTorchTrainingJob", /, **more: Any
) -> Data:
    volumes, listed = mounts(given or {})
    pod = more.pop("pod", {})
    main = {"name": "train", "image": "train:1", "command": command, "volumeMounts": listed, **more}
    spec = {
        "replicaSpecs": [
            {"type": "worker", "template": {"spec": {"containers": [main], "volumes": volumes, **pod}}}
        ]
    }
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": kind,
        "metadata": {"name": "a"},
        "spec": spec,
    }


def said(given: Data, code: str) -> list[str]:
    return [found.message for found in findings({"object": given}, code) if found.rule == code]


def init(command: list[str], path: str = "", name: str = "v0", **more: Any) -> Data:
    listed = [{"name": name, "mountPath": path}] if path else []
    return {
        "initContainers": [{"name": "i", "image": "i:1", "command": command, "volumeMounts": listed, **more}]
    }


@pytest.mark.parametrize(
    ("command", "path", "volume", "folder"),
    [
        (["python", "/w/train.py"], "/w", EMPTY, ""),
        (["python", "train.py"], "/w", {"emptyDir": {"medium": "Memory"}}, "/w"),
        (["bash", "/w/run.sh"], "/w", EMPTY, ""),
        (["/opt/app/train", "-a"], "/opt/app", EMPTY, ""),
        (["python", "/w/src/train.py"], "/w", {"configMap": {"name": "c"}}, ""),
        (
            ["python", "/w/t.py"],
            "/w",
            {"secret": {"secretName": "c", "items": [{"key": "a", "path": "b"}]}},
            "",
        ),
    ],
)
def test_programs_that_a_mount_hides(command: list[str], path: str, volume: Data, folder: str) -> None:
    more = {"workingDir": folder} if folder else {}
    assert len(said(job(command, {path: volume}, **more), "VOL015")) == 1


@pytest.mark.parametrize(
    "given",
    [
        job(["python", "/w/train.py"], {"/w": CLAIM}),
        job(["python", "/w/train.py"], {"/w/data": EMPTY}),
        job(["python", "/w/train.py"], {"/w": EMPTY, "/w/train.py": CLAIM}),
        job(["python", "/w/train.py"], {"/w": {"configMap": {"name": "c"}}}),
        job(
            ["python", "/w/a/t.py"],
            {"/w": {"configMap": {"name": "c", "items": [{"key": "t", "path": "a/t.py"}]}}},
        ),
        job(["bash", "-c", "git clone https://a/b /w; python /w/train.py"], {"/w": EMPTY}),
        job(["python", "/w/train.py"], {"/w": EMPTY}, pod=init(["fetch"], "/x")),
        job(
            ["python", "/w/train.py"],
            {"/w": EMPTY},
            lifecycle={"postStart": {"exec": {"command": ["fetch"]}}},
        ),
        job(["python", "-m", "train"], {"/w": EMPTY}, workingDir="/w"),
    ],
)
def test_programs_that_may_be_there(given: Data) -> None:
    assert said(given, "VOL015") == []


USES = ["python", "train.py", "--model=/models/base/m"]


@pytest.mark.parametrize(
    "command",
    [
        ["s5cmd", "cp", "s3://m/*", "/models/base"],
        ["aws", "s3", "sync", "s3://m", "/models/base/"],
        ["rclone", "copy", "m:/x", "/models/base", "--transfers=4"],
        ["wget", "-P", "/models/base", "https://a/m"],
        ["curl", "-o", "/models/base/m", "https://a/m"],
        ["git", "clone", "https://a/m", "/models/base"],
        ["huggingface-cli", "download", "org/m", "--local-dir=/models/base"],
        ["sh", "-c", "mkdir -p /models && tar -xf /work/m.tar -C /models"],
        ["cp", "-r", "/work/m", "/models/base"],
    ],
)
def test_files_outside_of_volumes(command: list[str]) -> None:
    assert len(said(job(USES, {"/work": CLAIM}, pod=init(command, "/work")), "VOL016")) == 1
    assert not said(job(USES, {"/models": CLAIM}, pod=init(command, "/models")), "VOL016")
    assert not said(job(["python", "train.py"], {"/work": CLAIM}, pod=init(command, "/work")), "VOL016")


def test_files_that_the_image_fetches() -> None:
    given = job(USES, {"/work": CLAIM}, pod=init(["x"], "/work", args=["cp", "s3://m/*", "/models/base/"]))
    pod = given["spec"]["replicaSpecs"][0]["template"]["spec"]
    del pod["initContainers"][0]["command"]
    assert said(given, "VOL016")
    pod["initContainers"][0]["args"] = ["--config", "/models/base"]
    assert not said(given, "VOL016")


def test_files_from_the_image_of_an_init_container() -> None:
    given = job(USES, {"/models": EMPTY}, pod=init(["cp", "-r", "/models/base", "/out/"], "/out"))
    assert not said(given, "VOL016")
    assert said(job(USES, {"/models": EMPTY}, pod=init(["cp", "-r", "/x", "/models/base"])), "VOL016")
    assert not said(job(USES, {"/models": CLAIM}, pod=init(["cp", "-r", "/x", "/models/base"])), "VOL016")
    unpacks = init(["sh", "-c", "wget -P /tmp https://a/x && tar -xf /tmp/x -C /work"], "/work")
    env = [{"name": "TMPDIR", "value": "/tmp"}]
    assert not said(job(USES, {"/work": CLAIM}, env=env, pod=unpacks), "VOL016")
    both = ["bash", "-c", "cp -r /a /models/base; python train.py --model=/models/base"]
    assert not said(job(both, {"/work": CLAIM}, pod=init(["cp", "/x", "/models/base"], "/work")), "VOL016")


@pytest.mark.parametrize(
    "command",
    [
        ["rclone", "copy", "a:/b", "/d"],
        ["bash", "-ec", "mkdir -p /d && aws s3 sync s3://a /d && chmod -R a+r /d"],
        ["wget", "-P", "/d", "https://a/b"],
        ["sh", "-c", "for x in a b; do curl -O https://a/$x; done"],
        ["git", "clone", "https://a/b", "/d"],
        ["hf", "download", "org/model"],
    ],
)
def test_preparation_in_a_sidecar(command: list[str]) -> None:
    assert (
        len(said(job(["./t"], {"/d": EMPTY}, pod=init(command, "/d", restartPolicy="Always")), "LIFE025"))
        == 1
    )
    assert not said(job(["./t"], {"/d": EMPTY}, pod=init(command, "/d")), "LIFE025")


@pytest.mark.parametrize(
    "command",
    [
        ["bash", "-c", "while true; do aws s3 sync /d s3://a; sleep 60; done"],
        ["bash", "-c", "rclone copy a:/b /d; sleep infinity"],
        ["rclone", "mount", "a:/b", "/d"],
        ["git-sync", "--repo=https://a/b"],
        ["python", "prepare.py"],
        ["tail", "-F", "/d/log"],
        ["rclone", "serve", "http", "a:/b"],
        ["aws", "s3", "sync", "/d", "s3://a"],
    ],
)
def test_sidecars(command: list[str]) -> None:
    assert not said(job(["./t"], {"/d": EMPTY}, pod=init(command, "/d", restartPolicy="Always")), "LIFE025")


def code(path: str, name: str = "code", **more: Any) -> Data:
    given = job(["python", "train.py"], {path: CLAIM}, **{"workingDir": "/workspace/gpt", **more})
    pod = given["spec"]["replicaSpecs"][0]["template"]["spec"]
    pod["volumes"][0]["name"] = pod["containers"][0]["volumeMounts"][0]["name"] = name
    return given


def test_code_that_is_mounted_elsewhere() -> None:
    for path, name in (
        ("/code", "code"),
        ("/mnt/src", "my-src"),
        ("/repo", "repo-claim"),
        ("/scripts", "scripts"),
    ):
        assert len(said(code(path, name), "VOL017")) == 1, path
    assert not said(code("/workspace", "code"), "VOL017")
    assert not said(code("/data", "code"), "VOL017")
    assert not said(code("/code", "codellama-data"), "VOL017")
    assert not said(code("/code", env=[{"name": "PYTHONPATH", "value": "/code/lib"}]), "VOL017")
    assert not said(code("/code", command=["python", "/code/train.py"]), "VOL017")
    assert not said(code("/code", command=["bash", "-c", "cd /x; python train.py"]), "VOL017")
    assert not said(code("/code", workingDir=""), "VOL017"), "the image may begin there"


def hub(words: list[str], volume: Data, path: str = "/cache", **env: str) -> Data:
    listed = [{"name": name, "value": value} for name, value in env.items()]
    return job(["python", "t.py", *words], {path: volume}, env=listed)


MODEL = ["--model_name_or_path=org/Model-7B"]


def test_offline_with_an_empty_cache() -> None:
    home = {"HF_HOME": "/cache/hf"}
    assert said(hub(MODEL, EMPTY, HF_HUB_OFFLINE="1", **home), "VOL018")
    assert said(
        hub(["--model", "org/m"], EMPTY, TRANSFORMERS_OFFLINE="true", HF_HUB_CACHE="/cache"), "VOL018"
    )
    assert said(hub(["--dataset_name=org/d"], EMPTY, HF_DATASETS_OFFLINE="1", **home), "VOL018")
    assert said(hub(MODEL, EMPTY, "/root/.cache", HF_HUB_OFFLINE="1"), "VOL018")
    assert said(hub(MODEL, EMPTY, "/h", HF_HUB_OFFLINE="YES", HOME="/h"), "VOL018")
    assert not said(hub(MODEL, EMPTY, HF_HUB_OFFLINE="0", **home), "VOL018")
    assert not said(hub(MODEL, CLAIM, HF_HUB_OFFLINE="1", **home), "VOL018")
    assert not said(hub(MODEL, EMPTY, "/other", HF_HUB_OFFLINE="1", **home), "VOL018")
    for local in ("/models/m", "./m", "checkpoints/m", "org/m.yaml", "gpt2"):
        assert not said(hub([f"--model={local}"], EMPTY, HF_HUB_OFFLINE="1", **home), "VOL018"), local
    assert not said(hub([*MODEL, "--cache_dir=/m"], EMPTY, HF_HUB_OFFLINE="1", **home), "VOL018")
    assert not said(hub(MODEL, EMPTY, HF_HUB_OFFLINE="1", TRANSFORMERS_CACHE="/m", **home), "VOL018")
    filled = hub(MODEL, EMPTY, HF_HUB_OFFLINE="1", **home)
    filled["spec"]["replicaSpecs"][0]["template"]["spec"] |= init(["fetch"], "/cache")
    assert not said(filled, "VOL018")
    command = ["bash", "-c", "HF_HUB_OFFLINE=0 hf download org/m && python t.py --model=org/m"]
    itself = hub(MODEL, EMPTY, HF_HUB_OFFLINE="1", **home)
    itself["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["command"] = command
    assert not said(itself, "VOL018")


def board(log_dir: Data, words: list[str], path: str = "/runs", **mount: Any) -> Data:
    given = job(["python", "t.py", *words], {path: CLAIM})
    main = given["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]
    main["volumeMounts"][0] |= mount
    given["spec"]["tensorboardSpec"] = {"image": "tb:1", **log_dir}
    return given


def claim(name: str, *folders: str) -> Data:
    return {"logDir": {"pvc": [{"name": name, "subPath": list(folders)}]}}


def test_logs_that_the_tensorboard_does_not_read() -> None:
    assert said(board(claim("other", "tb"), ["--logdir=/runs/tb"]), "VOL019")
    assert said(board(claim("c", "tb"), ["--logging_dir", "/runs/logs/a"]), "VOL019")
    assert said(board(claim("c", "tb"), ["--logdir=/runs/tb"], subPath="a"), "VOL019")
    assert said(board({"trainingLogFilesets": ["t9k://pvc/other/tb"]}, ["--tensorboard=/runs/tb"]), "VOL019")
    assert said(board(claim("other", "tb"), []), "VOL019"), "no Pod mounts it"
    assert not said(board(claim("c", "tb"), ["--logdir=/runs/tb"]), "VOL019")
    assert not said(board(claim("c", "a/tb"), ["--logdir=/runs/tb"], subPath="a"), "VOL019")
    assert not said(board(claim("c"), ["--logdir=/runs/tb"]), "VOL019")
    assert not said(board(claim("c", "tb"), ["--logdir=/runs"]), "VOL019")
    assert not said(board(claim("c", "x"), []), "VOL019")
    assert not said(board(claim("$(params.claim)", "tb"), []), "VOL019"), "a workflow fills it in"
    assert not said(
        board({"logDir": {"s3": {"secretRef": {"name": "s"}, "uri": ["s3://a/b"]}}}, []), "VOL019"
    )


def limited(volume: Data, *limits: str) -> Data:
    given = job(["./t"], {"/c": volume})
    main = given["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"]
    main[:] = [
        {**main[0], "name": f"c{at}", "resources": {"limits": {"ephemeral-storage": limit} if limit else {}}}
        for at, limit in enumerate(limits)
    ]
    return given


def test_folders_beyond_the_limit_of_a_pod() -> None:
    folder = {"emptyDir": {"sizeLimit": "50Gi"}}
    assert said(limited(folder, "40Gi"), "RES014")
    assert said(limited(folder, "40Gi", ""), "RES014"), "a container without a limit adds nothing"
    assert not said(limited(folder, "30Gi", "30Gi"), "RES014"), "the limits of all count together"
    assert not said(limited(folder, "50Gi"), "RES014")
    assert not said(limited(folder, ""), "RES014")
    assert not said(limited({"emptyDir": {"sizeLimit": "50Gi", "medium": "Memory"}}, "40Gi"), "RES014")
    assert not said(limited(EMPTY, "40Gi"), "RES014")


def test_debug_mode_that_no_deadline_ends() -> None:
    def debug(replicas: int, gpus: int, **more: Any) -> Data:
        given = job(["./t"], resources={"limits": {"nvidia.com/gpu": gpus}} if gpus else {})
        given["spec"]["replicaSpecs"][0]["replicas"] = replicas
        given["spec"] |= {"runMode": {"debug": {"enabled": True}}, **more}
        return given

    assert said(debug(2, 8), "LIFE026")
    assert not said(debug(1, 8), "LIFE026"), "somebody works in one Pod"
    assert not said(debug(2, 0), "LIFE026")
    assert not said(debug(2, 8, runPolicy={"activeDeadlineSeconds": 3600}), "LIFE026")
    off = debug(2, 8, runMode={"debug": {"enabled": False}})
    assert not said(off, "LIFE026")
    in_template = debug(2, 8)
    in_template["spec"]["replicaSpecs"][0]["template"]["spec"]["activeDeadlineSeconds"] = 3600
    assert not said(in_template, "LIFE026")


def launching(kind: str, types: dict[str, list[str]], **spec: Any) -> Data:
    def pod(command: list[str]) -> Data:
        limits = {"nvidia.com/gpu": 8}
        return {
            "containers": [{"name": "c", "image": "i:1", "command": command, "resources": {"limits": limits}}]
        }

    specs = [{"type": name, "template": {"spec": pod(words)}} for name, words in types.items()]
    given = job([], {}, kind)
    given["spec"] = {"replicaSpecs": specs, **spec}
    return given


def test_gpus_of_a_launcher() -> None:
    over_ssh: dict[str, list[str]] = {"launcher": [], "worker": []}
    colossal = launching("ColossalAIJob", over_ssh, torchConfig={"procPerWorker": 8, "script": ["t.py"]})
    assert len(said(colossal, "RES009")) == 1
    assert len(said(colossal, "RES001")) == 1, "the worker shares memory, and the launcher does not"
    generic = {"launcher": ["mpirun", "-H", "a,b", "python", "t.py"], "worker": ["/usr/sbin/sshd", "-D"]}
    assert said(launching("GenericJob", generic), "RES009")
    training = {"driver": ["torchrun", "--standalone", "t.py"], "worker": ["./work"]}
    assert not said(launching("GenericJob", training), "RES009")


def related(given: Data, code: str) -> list[str]:
    return [
        one.message
        for found in findings({"object": given}, code)
        if found.rule == code
        for one in found.related
    ]


def test_places_that_give_a_container_shared_memory() -> None:
    memory = {"emptyDir": {"medium": "Memory"}}
    limits = {"resources": {"limits": {"nvidia.com/gpu": 2}}}
    given = job(
        ["torchrun", "--standalone", "t.py", "--num_workers=8"], {"/o": CLAIM, "/x": memory}, **limits
    )
    main = given["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]
    del main["volumeMounts"][1]
    assert related(given, "RES001") == [
        "the mounts of the container, none of them at /dev/shm",
        "a volume in memory that no container mounts",
        "its GPUs",
        "its data loaders",
    ]


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("for g in 0 1; do CUDA_VISIBLE_DEVICES=$g python a.py --shard $g & done; wait", False),
        ("CUDA_VISIBLE_DEVICES=0 python a.py & CUDA_VISIBLE_DEVICES=1 python a.py & wait", False),
        ("CUDA_VISIBLE_DEVICES=0,1 python a.py --gpus 2 & wait", True),
        ("for g in 0 1; do RANK=$g CUDA_VISIBLE_DEVICES=$g python a.py & done; wait", True),
        ("for g in 0 1; do CUDA_VISIBLE_DEVICES=$g python a.py --num_workers=4 & done; wait", True),
        ("torchrun --standalone --nproc_per_node=2 a.py", True),
    ],
)
def test_processes_with_one_gpu_each_share_no_memory(script: str, found: bool) -> None:
    limits = {"resources": {"limits": {"nvidia.com/gpu": 2}}}
    assert bool(said(job(["bash", "-c", script], {}, "GenericJob", **limits), "RES001")) is found


def test_a_process_of_tensorflow_has_all_gpus_of_its_pod() -> None:
    limits = {"resources": {"limits": {"nvidia.com/gpu": 4}}}
    given = job(["python", "train.py", "--distribution_strategy=multi_worker_mirrored"], {}, **limits)
    assert said(given, "RES001")
    main = given["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]
    main["env"] = [{"name": "TF_CONFIG", "value": "{}"}]
    assert not said(given, "RES001")


def test_mounts_that_only_the_controller_adds_are_not_pointed_at() -> None:
    limits = {"resources": {"limits": {"nvidia.com/gpu": 2}}}
    worker = {"name": "worker", "image": "i", **limits}
    launcher = {"name": "launcher", "image": "i", "command": ["mpirun", "-np", "4", "python", "train.py"]}
    specs = {
        "Launcher": {"replicas": 1, "template": {"spec": {"containers": [launcher]}}},
        "Worker": {"replicas": 2, "template": {"spec": {"containers": [worker]}}},
    }
    given = {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": "m"},
        "spec": {"mpiReplicaSpecs": specs},
    }
    assert related(given, "RES001") == ["its GPUs"]


def test_pools_that_prepare_data_need_no_shared_memory() -> None:
    def without_gpus(command: list[str], kind: str = "GenericJob") -> list[str]:
        return said(job(command, {}, kind), "RES001")

    assert not without_gpus(["python", "-m", "tokenise", "--workers=31"])
    assert not without_gpus(["python", "tokenize.py", "--num-workers", "8"])
    assert without_gpus(["python", "train.py", "--num_workers=8"])
    assert without_gpus(["python", "-m", "tokenise", "--dataloader-num-workers=8"])
    assert without_gpus(["torchrun", "--standalone", "x.py", "--num_workers=8"])
    assert without_gpus(["python", "x.py", "--num_workers=8"], "PyTorchTrainingJob")
