"""Every line and file that lowering emits, read by the launchers that will read them: torchrun and deepspeed.

Where their interpreter is not there (see tests/launcher_questions.py), only bash, ssh and pdsh are asked.
"""

from __future__ import annotations

import getpass
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podplan.launchers.colossalai import parse_colossalai as read_colossalai
from podplan.launchers.words import Word
from podplan.lint.analysis.remote_arguments import DEEPSPEED_REGIMES, survives_transmission, transmit_word
from tests.launcher_questions import (
    INTERPRETER,
    REQUIRED,
    Asked,
    ask,
    emitted,
    files,
    lines,
    on_a_worker,
    replaced,
)
from tests.lowered_objects import API_VERSION, Object, objects
from tests.policy_examples import findings
from tests.test_launchers_answers import check_deepspeed, check_torchrun
from tests.thoroughness import examples


@pytest.fixture(scope="module")
def asked() -> Asked:
    if not (REQUIRED or Path(INTERPRETER).is_file()):
        pytest.skip(f"{INTERPRETER} is not there: make conformance installs torch and deepspeed")
    return ask()


@pytest.mark.long
def test_the_fixtures_have_lines_of_both_launchers(asked: Asked) -> None:
    assert {line.launcher for line, _ in asked.lines} == {"torchrun", "deepspeed"}
    assert len(asked.lines) > 30
    assert len(asked.generated) > 10


@pytest.mark.long
def test_launchers_take_every_line_of_the_fixtures(asked: Asked) -> None:
    assert [line for line, answer in asked.lines if not answer["accepted"]] == []


@pytest.mark.long
def test_colossalai_run_takes_every_line_of_the_fixtures(asked: Asked) -> None:
    if asked.colossalai is None and not REQUIRED:
        pytest.skip(f"colossalai is not installed beside {INTERPRETER}")
    assert asked.colossalai
    for line, answer in asked.colossalai:
        mine = read_colossalai(tuple(map(Word, line.words)), Word("colossalai"))
        assert answer is not None, line
        assert mine.errors == ()
        assert (mine.hostfile, mine.processes) == (answer["hostfile"], answer["nproc_per_node"])
        assert mine.command_line.script is not None
        assert mine.command_line.script.text == answer["user_script"]
        assert [word.text for word in mine.command_line.arguments] == answer["user_args"]


@pytest.mark.long
def test_we_read_every_line_as_the_launchers_do(asked: Asked) -> None:
    check = {"torchrun": check_torchrun, "deepspeed": check_deepspeed}
    for line, answer in [*asked.lines, *asked.generated]:
        check[line.launcher](answer)


@pytest.mark.long
def test_torchrun_is_told_of_the_pods_that_there_are(asked: Asked) -> None:
    jobs = dict(emitted())
    for line, answer in asked.lines:
        if line.launcher == "torchrun":
            job, _, pod = line.where.partition(" ")
            label = _find_job_label(jobs[job].of("Pod")[pod])
            pods = [one for one in jobs[job].of("Pod").values() if _find_job_label(one) == label]
            # Only the words are asked about; an operator may give the number of nodes in a variable.
            variables = {one["name"]: one.get("value") for one in jobs[job].container(pod).get("env", ())}
            nodes = variables.get("PET_NNODES")
            least, most = map(int, f"{nodes}:{nodes}".split(":")[:2]) if nodes else answer["nodes"]
            assert least <= len(pods) <= most, line


def _find_job_label(pod: Object) -> str | None:
    """The Job of a Pod, if a Job created it: a fixture may lower several."""
    name: str | None = pod["metadata"].get("labels", {}).get("batch.kubernetes.io/job-name")
    return name


@pytest.mark.long
def test_deepspeed_reads_the_hosts_and_slots_of_the_workers(asked: Asked) -> None:
    for where, (lowered, answer) in asked.launches.items():
        pods = [name for name, pod in lowered.of("Pod").items()]
        assert list(answer["hosts"]) == pods, where
        assert len(set(answer["hosts"].values())) == 1


@pytest.mark.long
def test_deepspeed_starts_pdsh_for_several_workers_and_none_for_one(asked: Asked) -> None:
    for where, (_, answer) in asked.launches.items():
        hosts = ",".join(answer["hosts"])
        assert (answer["command"][:6] == ["pdsh", "-S", "-f", "1024", "-w", hosts]) is ("," in hosts), where


@pytest.mark.long
def test_the_env_file_reaches_the_workers(asked: Asked) -> None:
    seen = 0
    for where, (lowered, answer) in asked.launches.items():
        if len(answer["hosts"]) == 1:
            continue
        [first, *_] = lowered.of("Pod").values()
        [container] = [each for each in first["spec"]["containers"] if "command" in each][:1]
        plain = {
            entry["name"]: entry.get("value", "")
            for entry in container.get("env", [])
            if "valueFrom" not in entry
        }
        if files(lowered)[1] is None:
            continue
        got = on_a_worker(answer)["env"]
        assert {name: got.get(name) for name in plain} == plain, where
        seen += 1
    assert seen


@pytest.mark.long
def test_words_reach_a_worker_as_the_policies_say(asked: Asked) -> None:
    newest = DEEPSPEED_REGIMES[-1]
    wrong = {}
    for word, answer in asked.words.items():
        argv = on_a_worker(answer)["argv"]
        arrived = argv[argv.index("t.py") + 1 :] if "t.py" in argv else []
        said = transmit_word(word, newest)
        if survives_transmission(word, newest):
            right = arrived == [*said.words, "end"]
        elif said.error or said.terminator or said.substitution or said.absorbs_next:
            right = arrived != [word, "end"]
        else:
            right = arrived == [*said.words, "end"]
        if not right:
            wrong[word] = (arrived[:4], said)
    assert wrong == {}, "\n".join(map(str, wrong.items()))


@pytest.mark.long
def test_values_reach_a_worker_as_the_policies_say(asked: Asked) -> None:
    wrong = {}
    for value, answer in asked.values.items():
        arrived = on_a_worker(answer)["env"].get("VALUE")
        if (arrived == value.strip()) is not ("SSH002" not in found_in(value)):
            wrong[value] = (arrived, found_in(value))
    assert wrong == {}, "\n".join(map(str, wrong.items()))


def deepspeed_job(words: list[str], container: Object) -> Object:
    """A job of two workers that runs a script with these words."""
    spec = {
        "config": {"slotsPerWorker": 1, "run": {"python": words}},
        "worker": {"replicas": 2, "template": {"spec": {"containers": [container]}}},
    }
    return {"apiVersion": API_VERSION, "kind": "DeepSpeedJob", "metadata": {"name": "train"}, "spec": spec}


def found_in(value: str) -> set[str]:
    """The policies that find something in a job whose workers have a variable of that value."""
    env = [{"name": "VALUE", "value": value}]
    worker = {"name": "worker", "image": "registry.example.com/deepspeed:0.19.8", "env": env}
    cr = deepspeed_job(["t.py"], worker)
    return {str(finding.rule) for finding in findings({"object": cr}, "SSH002")}


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.text(st.characters(categories=("L", "N", "P", "S", "Zs"), exclude_characters="$"), max_size=12),
        max_size=5,
    ),
    st.sampled_from(["needed", "double"]),
)
def test_bash_hands_the_words_of_the_job_to_deepspeed(words: list[str], quoting: str) -> None:
    cr = deepspeed_job(["t.py", *words], {"name": "worker", "image": "a"})
    lowered = objects(cr, behavior_values={"deepspeed.quoting": quoting})
    [line] = lines(lowered, "")
    assert line.words == ("--hostfile=/t9k/hostfile", "t.py", *words)


SSHD = shutil.which("sshd", path="/usr/sbin:/sbin:/usr/local/sbin")


@pytest.mark.skipif(
    not (REQUIRED or (SSHD and shutil.which("ssh"))), reason="ssh and sshd are not installed here"
)
def test_ssh_joins_words_by_blanks_for_a_shell(tmp_path: Path) -> None:
    """As ``bash -c`` does with the words joined; sshd and ssh talk over a pipe, and no port is open."""
    for key in ("host", "user"):
        subprocess.run(["ssh-keygen", "-qt", "ed25519", "-N", "", "-f", tmp_path / key], check=True)
    settings_ = (
        f"HostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/user.pub\nStrictModes no\nUsePAM no\n"
    )
    (tmp_path / "sshd_config").write_text(settings_)
    sshd = f"{SSHD} -i -f {tmp_path}/sshd_config"
    if os.geteuid() == 0:  # sshd of root asks for a folder that only services make
        sshd = f"unshare -m sh -c {shlex.quote(f'mount -t tmpfs t /run && mkdir /run/sshd && exec {sshd}')}"
    options = [
        f"ProxyCommand={sshd}",
        "StrictHostKeyChecking=no",
        "UserKnownHostsFile=/dev/null",
        "BatchMode=yes",
    ]
    ssh = ["ssh", "-qF", "none", "-i", str(tmp_path / "user"), *(f"-o{option}" for option in options), "host"]
    words = ["printf", "'%s\\0'", "a", "b c", "'d e'", '"f"', "it\\'s", '{"x":1}', "\\$HOME", "'a;b'", '""']
    over_ssh = subprocess.run([*ssh, *words], capture_output=True, check=True, timeout=30).stdout
    here = subprocess.run([str(shutil.which("bash")), "-c", " ".join(words)], capture_output=True, check=True)
    assert over_ssh == here.stdout
    assert over_ssh.split(b"\0")[:4] == [b"a", b"b", b"c", b"d e"]


@pytest.mark.skipif(not (REQUIRED or shutil.which("pdsh")), reason="pdsh is not installed here")
def test_pdsh_replaces_what_the_policies_say() -> None:
    text = "%h %n %u %% 50%% %d %Y-%m-%d x"
    told = {"%h": "a", "%n": "0", "%u": getpass.getuser(), "%%": "%"}
    said = subprocess.run(
        ["pdsh", "-N", "-R", "exec", "-w", "a", "echo", text], capture_output=True, text=True, check=True
    )
    assert said.stdout.rstrip("\n") == replaced(text, told)
