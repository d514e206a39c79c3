"""The capabilities that sshd needs as root, with the sshd of this machine in namespaces of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from podplan.launchers.sshd import CAPABILITIES_AS_ROOT, may_use_other_port, starts_sshd
from tests.command import podplan

TOOLS = ("sshd", "ssh", "ssh-keygen", "unshare", "setpriv", "ip", "mount")
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
LACKING = [tool for tool in TOOLS if shutil.which(tool, path=PATH) is None]
# As sshd in an image for ssh kinds: keys of the job, and no strict modes.
SCRIPT = """
set -e
mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd
ip link set lo up
ssh-keygen -q -t ed25519 -N '' -f host && ssh-keygen -q -t ed25519 -N '' -f user
setpriv --bounding-set="$1" "$(command -v sshd)" -f /dev/null -D -e -p 2222 -h "$PWD/host" \\
  -o StrictModes=no -o PidFile=none -o PermitRootLogin=yes -o AuthorizedKeysFile="$PWD/user.pub" 2>log &
for _ in 1 2 3 4 5 6 7 8 9 10; do grep -q listening log && break; sleep 0.2; done
ssh -p 2222 -i user -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \\
  root@127.0.0.1 echo let in || true
cat log
"""


def tried(folder: Path, capabilities: tuple[str, ...]) -> str:
    """What a client gets of sshd with these capabilities alone, and what sshd says."""
    bounding = ",".join(("-all", *(f"+{name.lower()}" for name in capabilities)))
    words = [
        "unshare",
        "--mount",
        "--net",
        "--pid",
        "--fork",
        "--kill-child",
        "sh",
        "-c",
        SCRIPT,
        "sh",
        bounding,
    ]
    done = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, timeout=60, check=False, env={"PATH": PATH}
    )
    return done.stdout + done.stderr


@pytest.mark.skipif(
    os.geteuid() != 0 or bool(LACKING), reason="needs root, sshd, ssh, iproute2 and util-linux"
)
@pytest.mark.parametrize("without", [None, *CAPABILITIES_AS_ROOT])
def test_sshd_lets_root_in_with_all_of_its_capabilities_only(tmp_path: Path, without: str | None) -> None:
    said = tried(tmp_path, tuple(name for name in CAPABILITIES_AS_ROOT if name != without))
    if "unshare" in said or "mount:" in said:
        pytest.skip(f"no namespaces here: {said}")
    assert ("let in" in said) is (without is None), said
    assert ("Operation not permitted [preauth]" in said) is (without is not None), said


@pytest.mark.parametrize(
    ("container", "starts"),
    [
        ({"command": ["/usr/sbin/sshd", "-D"]}, True),
        ({"command": ["sh", "-c"], "args": ["/usr/sbin/sshd -D & deepspeed train.py"]}, True),
        ({"command": ["sh", "-c", "service ssh start && sleep infinity"]}, True),
        ({"command": ["service", "ssh", "start"]}, True),
        ({"command": ["bash", "-c", "/etc/init.d/ssh start; train"]}, True),
        ({"args": ["train.py", "--sshd-port=22"]}, False),
        ({"command": ["cat", "/etc/ssh/sshd_config"]}, False),
        ({"command": ["ssh", "worker-0"]}, False),
        ({}, False),
        ({"command": "sshd", "args": None}, False),
    ],
)
def test_commands_that_start_sshd(container: dict[str, Any], starts: bool) -> None:
    assert starts_sshd(container) is starts


@pytest.mark.parametrize(
    ("command", "other"),
    [
        ("/usr/sbin/sshd -De", False),
        ("/usr/sbin/sshd -D -p 22", False),
        ("/usr/sbin/sshd -D; ssh -p 2222 worker-0", False),
        ("/usr/sbin/sshd -D -p 2222", True),
        ("mkdir -p /run/sshd; /usr/sbin/sshd -p2222 -D", True),
        ("/usr/sbin/sshd -De -o Port=2222", True),
        ("/usr/sbin/sshd -oPort=2222", True),
        ("/usr/sbin/sshd -De -f /home/mpiuser/.sshd_config", True),
    ],
)
def test_commands_that_may_give_sshd_another_port(command: str, other: bool) -> None:
    assert may_use_other_port({"command": ["bash", "-c", command]}) is other


CR = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: KIND
metadata: {name: tune, namespace: nlp}
spec:
SPEC
"""
WORKER = (
    "{template: {spec: {containers: [{name: worker, image: 'a:1', CONTEXT}, {name: log, image: 'b:1'}]}}}"
)
SPECS = {
    "DeepSpeedJob": f"  config: {{run: {{python: [train.py]}}}}\n  worker: {WORKER}",
    "ColossalAIJob": f"  torchConfig: {{script: [train.py]}}\n  replicaSpecs: [{{type: worker, {WORKER[1:]}]",
    "GenericJob": f"  replicaSpecs: [{{type: worker, {WORKER[1:]}]".replace(
        "image: 'a:1'", "image: 'a:1', command: [/usr/sbin/sshd, -De]"
    ),
    "PyTorchTrainingJob": f"  replicaSpecs: [{{type: worker, {WORKER[1:]}]".replace(
        "image: 'a:1'", "image: 'a:1', command: [bash, -c, 'service ssh start; sleep infinity']"
    ),
}


def advised(
    folder: Path, kind: str, code: str, context: str = "securityContext: {}"
) -> dict[str, tuple[str, str]]:
    """Message and help of a rule, by the container that the message names."""
    (folder / "job.yaml").write_text(
        CR.replace("KIND", kind).replace("SPEC", SPECS[kind]).replace("CONTEXT", context)
    )
    said = json.loads(podplan("check", "--format", "json", "--select", code, "job.yaml", cwd=folder).out)
    found = [(one["message"], one["help"] or "") for one in said["findings"] if one["rule"] == code]
    return {next((name for name in ("worker", "log") if f'"{name}"' in one[0]), ""): one for one in found}


@pytest.mark.parametrize("kind", SPECS)
def test_sshd_as_root_is_told_to_keep_the_capabilities_that_it_needs(tmp_path: Path, kind: str) -> None:
    said = advised(tmp_path, kind, "SEC018")
    assert said["worker"][0].endswith("and capabilities.add SYS_CHROOT, SETUID and SETGID for sshd")
    assert said["worker"][1].startswith("sshd needs SYS_CHROOT, SETUID and SETGID as root")
    assert said["log"][0].endswith("capabilities.drop must have ALL")
    assert said["log"][1] == ""
    dropped = "securityContext: {capabilities: {drop: [ALL], add: [SYS_CHROOT]}}"
    said = advised(tmp_path, kind, "SEC018", dropped)
    assert said["worker"][0].endswith("NET_BIND_SERVICE is the only one allowed, but sshd needs it")
    assert "namespace of the level baseline" in said["worker"][1]
    assert advised(tmp_path, kind, "SEC003", dropped) == {}, (
        "what sshd needs is allowed at the level baseline"
    )


@pytest.mark.parametrize("kind", SPECS)
def test_nobody_is_told_to_run_sshd_as_another_user_without_a_word(tmp_path: Path, kind: str) -> None:
    [(message, help_text)] = advised(tmp_path, kind, "SEC015").values()
    assert message.endswith("set it to true, unless sshd needs root")
    assert "namespace of the level baseline" in help_text
    [(message, help_text)] = advised(tmp_path, kind, "SEC016", "securityContext: {runAsUser: 0}").values()
    assert message.endswith("leave runAsUser out, unless sshd needs root")
    assert "namespace of the level baseline" in help_text


def test_sshd_of_another_user_has_its_port_by_a_file_capability(tmp_path: Path) -> None:
    as_user = "securityContext: {runAsUser: 1000}"
    assert "file capability" in advised(tmp_path, "GenericJob", "SEC014", as_user)["worker"][1]
    message, help_text = advised(tmp_path, "GenericJob", "SEC018", as_user)["worker"]
    assert message.endswith("capabilities.drop must have ALL")
    assert help_text == "beside drop: [ALL] sshd needs NET_BIND_SERVICE for a port below 1024"
    assert advised(tmp_path, "GenericJob", "SEC014")["worker"][1] == "", "root needs no file capability"
