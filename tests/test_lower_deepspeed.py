from __future__ import annotations

import base64
import shlex
import subprocess
from typing import Any

import pytest

from podplan import kubernetes
from podplan.core.limits import LimitExceeded
from podplan.core.replica_groups import expand_group
from tests.lowered_objects import Object, end, fact_at, group_of, job, keys_at, lost, lower, names, objects

SPEC = """
config:
  slotsPerWorker: 8
  run: {python: [train.py, --deepspeed]}
worker:
  replicas: 3
  template:
    spec:
      containers:
      - {name: side, image: b, command: [serve]}
      - name: worker
        image: a
        command: [ignored]
        args: [ignored, too]
        env:
        - {name: NCCL_DEBUG, value: INFO}
        - {name: TOKEN, valueFrom: {secretKeyRef: {name: hub, key: token}}}
        - {name: EMPTY}
        volumeMounts: [{name: data, mountPath: /data}]
      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
"""
NASTY = [
    "train.py",
    "two words",
    "it's",
    '{"lr": 1}',
    "$HOME",
    "`id`",
    "a;b & c | d > e",
    "back\\slash",
    "new\nline",
    "",
    "*",
    "~",
    "#",
    "!",
    "ünï",
    "--x=$(NAME)",
]


def deepspeed(config: Any = None, spec: str = SPEC, **metadata: str) -> Object:
    cr = job("DeepSpeedJob", spec, **metadata)
    if config is not None:
        cr["spec"]["config"] = config
    return cr


def line(cr: Object, **options: Any) -> str:
    """What the shell of worker-0 is to run."""
    command = objects(cr, **options).container("bert-worker-0", 1)["command"]
    assert command[:2] == ["/bin/bash", "-c"]
    return str(command[2])


def deepspeed_words(cr: Object) -> list[str]:
    """The words that deepspeed is started with, as a real shell gives them to it."""
    _, _, after = line(cr).partition(" & deepspeed ")
    script = f"deepspeed() {{ printf '%s\\0' \"$@\"; }}; deepspeed {after}"
    out = subprocess.run(["bash", "-c", script], check=True, capture_output=True, cwd="/").stdout
    return out.decode().split("\0")[:-1]


def test_the_objects_of_a_job() -> None:
    assert names(deepspeed()) == [
        "Secret/bert-ssh",
        "ConfigMap/bert-config",
        "Service/bert-worker-0",
        "Service/bert-worker-1",
        "Service/bert-worker-2",
        "Pod/bert-worker-0",
        "Pod/bert-worker-1",
        "Pod/bert-worker-2",
    ]


def test_a_uid_gives_the_names_that_were_seen_on_a_cluster() -> None:
    cr = deepspeed(name="gpt-125m", uid="e2a69076-1c19-46ce-9c70-2cdf20176e01")
    assert "Pod/gpt-125m-d02e2-worker-0" in names(cr)
    assert objects(cr)["ConfigMap", "gpt-125m-d02e2-config"]["data"]["hostfile"] == (
        "gpt-125m-d02e2-worker-0 slots=8\ngpt-125m-d02e2-worker-1 slots=8\ngpt-125m-d02e2-worker-2 slots=8\n"
    )


def test_worker_0_runs_sshd_and_deepspeed_and_the_others_sshd() -> None:
    lowered = objects(deepspeed())
    assert lowered.container("bert-worker-0", 1)["command"] == [
        "/bin/bash",
        "-c",
        "/usr/sbin/sshd -D & deepspeed --hostfile=/t9k/hostfile train.py --deepspeed",
    ]
    assert lowered.container("bert-worker-2", 1)["command"] == ["/usr/sbin/sshd", "-D"]
    for name in ("bert-worker-0", "bert-worker-2"):
        assert "args" not in lowered.container(name, 1)
        assert lowered.container(name, 0)["command"] == ["serve"]


@pytest.mark.parametrize("index", [0, 1])
def test_the_ignored_command_is_kept_as_what_lost(index: int) -> None:
    group = [g for g in lower(deepspeed()) if g.doc.data["kind"] == "Pod"][index]
    container = ("spec", "worker", "template", "spec", "containers", 1)
    assert lost(group, ("spec", "containers", 1, "command")) == [
        (*container, "command"),
        (*container, "args"),
    ]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"run": {"python": ["train.py"]}}, "train.py"),
        ({"run": {"module": ["pkg.train", "-v"]}}, "--module pkg.train -v"),
        ({"run": {"exec": ["./train", "-v"]}}, "--no_python ./train -v"),
        ({"run": {"python": [], "module": ["m"]}}, "--module m"),
        ({"localRank": True, "run": {"python": ["a"]}}, "a"),
        ({"localRank": False, "run": {"python": ["a"]}}, "--no_local_rank a"),
        ({"autotune": "none", "run": {"python": ["a"]}}, "a"),
        ({"autotune": "tune", "run": {"python": ["a"]}}, "--autotuning=tune a"),
        (
            {
                "otherArgs": ["--master_port", "1"],
                "run": {"module": ["m"]},
                "localRank": False,
                "autotune": "run",
            },
            "--no_local_rank --autotuning=run --module --master_port 1 m",
        ),
    ],
)
def test_options_come_in_order(config: Object, expected: str) -> None:
    assert line(deepspeed(config)) == f"/usr/sbin/sshd -D & deepspeed --hostfile=/t9k/hostfile {expected}"


@pytest.mark.parametrize("config", [{}, {"run": {}}, {"run": {"python": []}}, {"run": None}])
def test_without_a_program_deepspeed_stands_alone(config: Object) -> None:
    assert line(deepspeed(config)) == "/usr/sbin/sshd -D & deepspeed --hostfile=/t9k/hostfile"


def test_a_custom_command_is_taken_as_it_is() -> None:
    config = {"customCommand": 'cd "$X" && deepspeed train.py', "slotsPerWorker": 2, "otherArgs": ["lost"]}
    cr = deepspeed(config)
    assert line(cr) == '/usr/sbin/sshd -D & cd "$X" && deepspeed train.py'
    assert objects(cr)["ConfigMap", "bert-config"]["data"]["hostfile"].startswith("bert-worker-0 slots=2\n")
    group = group_of(lower(cr), "Pod")
    assert end(group, ("spec", "containers", 1, "command", 2)).path == ("spec", "config", "customCommand")


def test_the_shell_gives_every_word_back_as_it_is_written() -> None:
    assert deepspeed_words(deepspeed({"run": {"python": NASTY}})) == ["--hostfile=/t9k/hostfile", *NASTY]
    assert deepspeed_words(deepspeed({"otherArgs": NASTY, "run": {"exec": NASTY}})) == [
        "--hostfile=/t9k/hostfile",
        "--no_python",
        *NASTY,
        *NASTY,
    ]


def test_the_line_leads_to_the_program_in_the_file() -> None:
    group = group_of(lower(deepspeed()), "Pod")
    path = ("spec", "containers", 1, "command", 2)
    fact = fact_at(group, path)
    assert (fact.id, fact.basis) == ("deepspeed.command", "assumed") if fact else False
    assert end(group, path).path == ("spec", "config", "run", "python")


def test_the_hostfile_has_a_line_for_each_worker() -> None:
    data = objects(deepspeed())["ConfigMap", "bert-config"]["data"]
    assert data["hostfile"] == "bert-worker-0 slots=8\nbert-worker-1 slots=8\nbert-worker-2 slots=8\n"
    cr = deepspeed({"run": {"python": ["a"]}})
    cr["spec"]["worker"]["replicas"] = 1
    assert objects(cr)["ConfigMap", "bert-config"]["data"]["hostfile"] == "bert-worker-0 slots=1\n"


def test_the_env_file_has_what_has_a_plain_value() -> None:
    data = objects(deepspeed())["ConfigMap", "bert-config"]["data"]
    assert data["deepspeed_env"] == "NCCL_DEBUG=INFO\nEMPTY=\n"
    container = objects(deepspeed()).container("bert-worker-0", 1)
    assert [variable["name"] for variable in container["env"]] == ["NCCL_DEBUG", "TOKEN", "EMPTY"]


def test_a_job_may_do_without_the_env_file() -> None:
    cr = deepspeed()
    cr["spec"]["disableCustomEnv"] = True
    lowered = objects(cr)
    assert list(lowered["ConfigMap", "bert-config"]["data"]) == ["hostfile"]
    mounts = lowered.container("bert-worker-0", 1)["volumeMounts"]
    assert "/root/.deepspeed_env" not in [mount["mountPath"] for mount in mounts]


def test_keys_hostfile_and_env_file_are_mounted_at_their_reserved_places() -> None:
    lowered = objects(deepspeed())
    for name in ("bert-worker-0", "bert-worker-1"):
        assert lowered.container(name, 1)["volumeMounts"] == [
            {"name": "data", "mountPath": "/data"},
            *keys_at("/root/.ssh"),
            {"name": "job-files", "mountPath": "/t9k/hostfile", "subPath": "hostfile"},
            {"name": "job-files", "mountPath": "/root/.deepspeed_env", "subPath": "deepspeed_env"},
        ]
        data, keys, files = lowered.pod(name)["spec"]["volumes"]
        assert data["name"] == "data"
        assert keys["secret"]["secretName"] == "bert-ssh"
        assert keys["secret"]["defaultMode"] == 0o600
        paths = [item["path"] for item in keys["secret"]["items"]]
        assert paths == ["id_rsa", "id_rsa.pub", "authorized_keys", "config"]
        assert files == {"name": "job-files", "configMap": {"name": "bert-config"}}
    assert "volumeMounts" not in lowered.container("bert-worker-0", 0)


def test_the_secret_has_no_key_in_it_but_is_one_that_the_server_takes() -> None:
    secret = objects(deepspeed())["Secret", "bert-ssh"]
    assert secret["type"] == "kubernetes.io/ssh-auth"
    assert kubernetes.validate_object(secret) == []
    decoded = {key: base64.b64decode(value).decode() for key, value in secret["data"].items()}
    assert (
        decoded["ssh-privatekey"] == decoded["ssh-publickey"] == "placeholder written by podplan, not a key\n"
    )
    assert decoded["config"].splitlines() == [
        "Host *",
        "  StrictHostKeyChecking no",
        "  UserKnownHostsFile /dev/null",
        "  ConnectionAttempts 10",
        "  Port 22",
    ]


def test_each_worker_is_reached_over_ssh_by_its_name() -> None:
    service = objects(deepspeed())["Service", "bert-worker-2"]
    assert service["spec"]["ports"] == [{"name": "ssh", "port": 22}]
    assert service["spec"]["selector"]["replica-index"] == "2"


def test_labels() -> None:
    lowered = objects(deepspeed())
    labels = {
        "tensorstack.dev/owner-name": "bert",
        "tensorstack.dev/owner-kind": "DeepSpeedJob",
        "tensorstack.dev/component": "deepspeedjob",
        "tensorstack.dev/component-type": "user",
        "replica-type": "worker",
    }
    first, last = (lowered.pod(f"bert-worker-{index}")["metadata"]["labels"] for index in (0, 2))
    assert first == {**labels, "replica-index": "0", "job-role": "master"}
    assert last == {**labels, "replica-index": "2"}


def test_a_gang_of_all_workers() -> None:
    cr = deepspeed()
    cr["spec"]["scheduler"] = {"t9kScheduler": {"queue": "q"}}
    lowered = objects(cr)
    assert lowered["PodGroup", "bert"]["spec"] == {"minMember": 3, "priority": 0, "queue": "q"}
    assert lowered.pod("bert-worker-1")["metadata"]["labels"]["scheduler.tensorstack.dev/role"] == "worker"


def test_an_elastic_job_has_the_expected_workers_and_needs_the_fewest() -> None:
    cr = deepspeed()
    cr["spec"]["scheduler"] = {"t9kScheduler": {}}
    cr["spec"]["elastic"] = {"enabled": True, "minReplicas": 1, "maxReplicas": 4, "expectedReplicas": 2}
    lowered = objects(cr)
    assert list(lowered.of("Pod")) == ["bert-worker-0", "bert-worker-1"]
    assert lowered["PodGroup", "bert"]["spec"]["minMember"] == 1
    assert lowered["ConfigMap", "bert-config"]["data"]["hostfile"].count("\n") == 2
    cr["spec"]["elastic"]["enabled"] = False
    assert len(objects(cr).of("Pod")) == 3


@pytest.mark.parametrize(
    ("written", "fewest"),
    [({}, 3), ({"minReplicas": 2}, 2), ({"maxReplicas": 5}, 3), ({"maxReplicas": 2}, 2)],
)
def test_the_gang_of_an_elastic_job_that_says_some_bounds(written: dict[str, int], fewest: int) -> None:
    cr = deepspeed()
    cr["spec"] |= {"elastic": {"enabled": True, **written}, "scheduler": {"t9kScheduler": {}}}
    assert objects(cr)["PodGroup", "bert"]["spec"]["minMember"] == fewest


def test_in_debug_mode_every_worker_waits_as_sshd() -> None:
    cr = deepspeed()
    cr["spec"]["runMode"] = {"debug": {"enabled": True}}
    lowered = objects(cr)
    for name in lowered.of("Pod"):
        assert lowered.container(name, 1)["command"] == ["/usr/sbin/sshd", "-D"]
        assert lowered.container(name, 0)["command"] == ["serve"]
    cr["spec"]["runMode"]["debug"]["replicaSpecs"] = [{"type": "worker", "command": ["sleep", "1"]}]
    assert objects(cr).container("bert-worker-0", 1)["command"] == ["sleep", "1"]


def test_debug_mode_needs_no_config() -> None:
    cr = deepspeed()
    del cr["spec"]["config"]
    assert line(cr) == "/usr/sbin/sshd -D & deepspeed --hostfile=/t9k/hostfile"
    cr["spec"]["runMode"] = {"debug": {"enabled": True}}
    assert objects(cr).container("bert-worker-0", 1)["command"] == ["/usr/sbin/sshd", "-D"]


def test_a_paused_job_keeps_all_but_pods_and_gang() -> None:
    cr = deepspeed()
    cr["spec"] |= {"runMode": {"pause": {"enabled": True}}, "scheduler": {"t9kScheduler": {}}}
    assert {kind for kind, _ in objects(cr)} == {"Secret", "ConfigMap", "Service"}


def test_a_resumed_job_runs_what_its_resume_specs_say() -> None:
    cr = deepspeed()
    cr["spec"]["worker"]["template"]["spec"]["initContainers"] = [{"name": "i", "image": "b"}]
    resume = {"type": "worker", "command": ["bash", "-c", "again"], "skipInitContainer": True}
    cr["spec"]["runMode"] = {"pause": {"enabled": True, "resumeSpecs": [resume]}}
    lowered = objects(cr, resumed=True)
    assert lowered.container("bert-worker-0", 1)["command"] == ["bash", "-c", "again"]
    assert "initContainers" not in lowered.pod("bert-worker-0")["spec"]
    del cr["spec"]["runMode"]["pause"]["resumeSpecs"]
    assert "deepspeed" in line(cr, resumed=True)


def test_without_a_container_called_worker_the_first_one_trains() -> None:
    cr = deepspeed()
    cr["spec"]["worker"]["template"]["spec"]["containers"][1]["name"] = "main"
    lowered = objects(cr)
    assert lowered.container("bert-worker-1", 0)["command"] == ["/usr/sbin/sshd", "-D"]
    assert lowered.container("bert-worker-1", 1)["command"] == ["ignored"]
    assert "deepspeed_env" not in lowered["ConfigMap", "bert-config"]["data"]


def test_a_field_that_the_kind_does_not_have_moves_nothing() -> None:
    cr = deepspeed()
    cr["spec"]["ssh"] = {"authMountPath": "/keys", "sshdPath": "/x"}
    assert objects(cr) == objects(deepspeed())


def test_the_configuration_moves_paths_port_and_sshd() -> None:
    values = {
        "ssh.port": 2222,
        "ssh.sshd-path": "/opt/ssh d",
        "ssh.sshd-arguments": ["-D", "-p", "2222"],
        "ssh.auth-mount-path": "/keys",
        "deepspeed.hostfile-path": "/h",
        "deepspeed.env-file-path": "/e",
        "deepspeed.slots-per-worker": 4,
    }
    cr = deepspeed({"run": {"python": ["a"]}})
    lowered = objects(cr, behavior_values=values)
    assert line(cr, behavior_values=values) == "'/opt/ssh d' -D -p 2222 & deepspeed --hostfile=/h a"
    container = lowered.container("bert-worker-1", 1)
    assert container["command"] == ["/opt/ssh d", "-D", "-p", "2222"]
    _, *keys, hostfile, env_file = container["volumeMounts"]
    assert keys == keys_at("/keys")
    assert [hostfile["mountPath"], env_file["mountPath"]] == ["/h", "/e"]
    assert "defaultMode" not in lowered.pod("bert-worker-1")["spec"]["volumes"][1]["secret"]
    assert lowered["Service", "bert-worker-0"]["spec"]["ports"] == [{"name": "ssh", "port": 2222}]
    assert b"Port 2222\n" in base64.b64decode(lowered["Secret", "bert-ssh"]["data"]["config"])
    assert "worker-0 slots=4\n" in lowered["ConfigMap", "bert-config"]["data"]["hostfile"]
    group = group_of(lower(cr, behavior_values=values), "Service")
    fact = fact_at(group, ("spec", "ports", 0, "port"))
    assert (fact.basis, fact.source) == ("configured", "lowering.ssh.port") if fact else False


def test_no_workers() -> None:
    cr = deepspeed()
    cr["spec"]["worker"]["replicas"] = 0
    assert names(cr) == ["Secret/bert-ssh", "ConfigMap/bert-config"]
    assert objects(cr)["ConfigMap", "bert-config"]["data"]["hostfile"] == ""


def test_ten_thousand_workers_are_as_much_work_as_two() -> None:
    few, many, too_many = deepspeed(), deepspeed(), deepspeed()
    few["spec"]["worker"]["replicas"] = 2
    many["spec"]["worker"]["replicas"] = 10_000
    too_many["spec"]["worker"]["replicas"] = 2_147_483_647
    sizes = [[len(group.doc.origins) for group in lower(cr)] for cr in (few, many, too_many)]
    assert sizes[0] == sizes[1] == sizes[2]
    hosts = group_of(lower(many), "ConfigMap")
    assert hosts.doc.data["data"]["hostfile"] == "bert-worker-{0..9999} slots=8\n"
    (written,) = expand_group(hosts)
    assert len(written["data"]["hostfile"].splitlines()) == 10_000
    with pytest.raises(LimitExceeded, match="100000"):
        list(expand_group(group_of(lower(too_many), "ConfigMap")))


def test_words_read_back_without_a_shell_too() -> None:
    _, _, after = line(deepspeed({"run": {"python": NASTY}})).partition("hostfile=/t9k/hostfile ")
    assert shlex.split(after) == NASTY


def test_a_volume_of_the_template_keeps_its_name() -> None:
    spec = "{worker: {template: {spec: {containers: [{name: worker}], volumes: [{name: ssh-keys}]}}}}"
    pod = objects(job("DeepSpeedJob", spec))["Pod", "bert-worker-0"]["spec"]
    volumes = [volume["name"] for volume in pod["volumes"]]
    assert volumes == ["ssh-keys", "ssh-keys-1", "job-files"]
    assert {mount["name"] for mount in pod["containers"][0]["volumeMounts"]} == {"ssh-keys-1", "job-files"}
