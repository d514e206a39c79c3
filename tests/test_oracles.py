"""Every line and file that lowering emits, read by the launchers that will read them: torchrun and deepspeed.

They live in an interpreter of their own, which PODPLAN_LAUNCHERS names (``make conformance`` makes one in
.venv-conformance); it is asked once, for everything (see tests/launcher_oracles.py).
"""

from __future__ import annotations

import getpass
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podplan.launchers import kubelet
from podplan.launchers.colossalai import read as read_colossalai
from podplan.launchers.words import Word
from podplan.lint.checks._remote_arguments import DEEPSPEED, arrives, survives
from tests.lowering import API_VERSION, Lowered, Object, objects
from tests.policies import findings
from tests.strategies import crs
from tests.test_launchers_answers import check_deepspeed, check_torchrun

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "fixtures"
INTERPRETER = os.environ.get("PODPLAN_LAUNCHERS") or str(ROOT / ".venv-conformance" / "bin" / "python")
# .ci/run installs the launchers and demands them: there, missing ones are a failure and not some tests less.
REQUIRED = bool(os.environ.get("PODPLAN_REQUIRE_LAUNCHERS"))
Answer = dict[str, Any]


class Line(NamedTuple):
    """What one container runs: the words of a launcher behind the name of the program."""

    launcher: str
    words: tuple[str, ...]
    where: str


def lines(lowered: Lowered, where: str) -> Iterator[Line]:
    """The lines of launchers with which the Pods of a job begin."""
    for name, pod in lowered.of("Pod").items():
        for container in pod["spec"]["containers"]:
            env = kubelet.environment(container)
            words = [
                kubelet.expand(str(word), env).text
                for word in [*container.get("command", []), *container.get("args", [])]
            ]
            place = f"{where} {name}"
            if words[:2] == ["colossalai", "run"]:
                yield Line("colossalai", tuple(words[2:]), place)
            elif words[:1] == ["torchrun"]:
                yield Line("torchrun", tuple(words[1:]), place)
            elif words[:2] == ["/bin/bash", "-c"] and " & deepspeed " in words[2]:
                yield Line("deepspeed", in_bash(words[2].partition(" & deepspeed ")[2]), place)


def in_bash(text: str) -> tuple[str, ...]:
    """The words that a program gets from ``bash -c``; no other program can be found by that bash."""
    done = subprocess.run(
        [str(shutil.which("bash")), "--norc", "-c", f"printf '%s\\0' : {text}"],
        capture_output=True,
        check=True,
        env={"PATH": "/nowhere", "HOME": "/root", "LC_ALL": "C.UTF-8"},
    )
    return tuple(done.stdout.decode().split("\0")[1:-1])


def written(text: str) -> dict[str, Lowered]:
    """The objects in a text that podplan lower printed, by namespace, in which no name is there twice."""
    found: dict[str, Lowered] = defaultdict(Lowered)
    for data in yaml.safe_load_all(text):
        namespace = data["metadata"].get("namespace", "")
        key = (data["kind"], data["metadata"]["name"])
        assert key not in found[namespace]
        found[namespace][key] = data
    return found


def emitted() -> Iterator[tuple[str, Lowered]]:
    """The lowered objects of all fixtures."""
    for path in sorted(FIXTURES.glob("*_job*/*/lowered.yaml")):
        for namespace, lowered in written(path.read_text(encoding="utf-8")).items():
            yield f"{path.parent.relative_to(FIXTURES).as_posix()}:{namespace}", lowered


def generated() -> list[Lowered]:
    """The lowered objects of CRs that hypothesis makes."""
    found: list[Lowered] = []

    @settings(max_examples=100, deadline=None, derandomize=True, database=None)
    @given(crs(systems=["PyTorchTrainingJob", "DeepSpeedJob"]))
    def collect(cr: Object) -> None:
        found.append(objects(cr))

    collect()
    return found


# Words and values as people write them, sent to two workers.
WORDS = [
    *("plain", "--lr=1e-4", "--p=x y", "a b", "it's", "'a b'", '"q"', "'it'", "a,b", "x#y", "#x", "# x y"),
    *('--j={"lr":1}', '{"lr": 1}', "--betas={0.9,0.95}", "{a}", "--r=[1,2]", "a=b", "", "-x", "a\\b", "\\"),
    *("$HOME/x", "${NOBODY}", "a;b", "a&b", "(1)", "a>b", "a|b", "`b`", "~", "~/x", "*", "100%", "'$A'"),
    *("--q='a b'", '--q="a b"', "--q='a;b'", "'{\"lr\":1}'", "%h", "%n", "%u", "%%", "%d", "50%%", "日本"),
    *("a\tb", "a\nb", 'say "x"', "a'b c'd", "--date=%Y-%m-%d_%H-%M", "!x", "x!"),
]
VALUES = [
    *(
        "plain",
        "two words",
        "it's",
        'a"b',
        '{"stage": 3}',
        "{a,b}",
        "a,b:c=d",
        "$HOME",
        "^a$b",
        "`b`",
        "a\\b",
    ),
    *(
        "a\\\\b",
        "a;b",
        "a#b",
        "a #b",
        "",
        " a ",
        "~",
        "*",
        "(x)",
        "a&b c",
        "%h",
        "100%",
        "日本",
        "a=b=c",
        "a!b",
    ),
]
TWO = "a slots=1\nb slots=1\n"


def question(words: tuple[str, ...], hostfile: str, env_file: str | None = None) -> Answer:
    return {"words": list(words), "hostfile": hostfile, "env_file": env_file, "cwd": "/"}


class Asked(NamedTuple):
    """What the launchers said, by what they were asked."""

    lines: list[tuple[Line, Answer]]
    colossalai: list[tuple[Line, Answer | None]] | None
    generated: list[tuple[Line, Answer]]
    launches: dict[str, tuple[Lowered, Answer]]
    words: dict[str, Answer]
    values: dict[str, Answer]


@pytest.fixture(scope="module")
def asked() -> Asked:
    if not (REQUIRED or Path(INTERPRETER).is_file()):
        pytest.skip(f"{INTERPRETER} is not there: make conformance installs torch and deepspeed")
    jobs = dict(emitted())
    every = [line for where, lowered in jobs.items() for line in lines(lowered, where)]
    ours = [line for line in every if line.launcher != "colossalai"]
    colossalai = [line for line in every if line.launcher == "colossalai"]
    made = [line for number, lowered in enumerate(generated()) for line in lines(lowered, f"CR {number}")]
    started = {
        line.where.split()[0]: line
        for line in ours
        if line.launcher == "deepspeed" and not any("--autotuning" in word for word in line.words)
    }
    launches = [question(line.words, *files(jobs[where])) for where, line in started.items()]
    launches += [question(("t.py", word, "end"), TWO) for word in WORDS]
    launches += [question(("t.py",), TWO, f"VALUE={value}\n") for value in VALUES]
    questions: dict[str, Any] = {
        name: [[line.words, {}] for line in [*ours, *made] if line.launcher == name]
        for name in ("torchrun", "deepspeed")
    }
    done = subprocess.run(
        [INTERPRETER, "-m", "tests.launcher_oracles"],
        cwd=ROOT,
        input=json.dumps(
            {**questions, "launches": launches, "colossalai": [line.words for line in colossalai]}
        ),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    by_line = {name: iter(answers[name]) for name in questions}
    both = [(line, next(by_line[line.launcher])) for line in [*ours, *made]]
    of_launches = iter(answers["launches"])
    return Asked(
        both[: len(ours)],
        answers["colossalai"] and list(zip(colossalai, answers["colossalai"], strict=True)),
        both[len(ours) :],
        {where: (jobs[where], next(of_launches)) for where in started},
        {word: next(of_launches) for word in WORDS},
        {value: next(of_launches) for value in VALUES},
    )


def files(lowered: Lowered) -> tuple[str, str | None]:
    """The hostfile and the env file of a job."""
    [config_map] = lowered.of("ConfigMap").values()
    return config_map["data"]["hostfile"], config_map["data"].get("deepspeed_env")


def test_the_fixtures_have_lines_of_both_launchers(asked: Asked) -> None:
    assert {line.launcher for line, _ in asked.lines} == {"torchrun", "deepspeed"}
    assert len(asked.lines) > 30
    assert len(asked.generated) > 20


def test_launchers_take_every_line_of_the_fixtures(asked: Asked) -> None:
    assert [line for line, answer in asked.lines if not answer["accepted"]] == []


def test_colossalai_run_takes_every_line_of_the_fixtures(asked: Asked) -> None:
    if asked.colossalai is None and not REQUIRED:
        pytest.skip(f"colossalai is not installed beside {INTERPRETER}")
    assert asked.colossalai
    for line, answer in asked.colossalai:
        mine = read_colossalai(tuple(map(Word, line.words)), Word("colossalai"))
        assert answer is not None, line
        assert mine.errors == ()
        assert (mine.hostfile, mine.processes) == (answer["hostfile"], answer["nproc_per_node"])
        assert mine.line.script is not None
        assert mine.line.script.text == answer["user_script"]
        assert [word.text for word in mine.line.arguments] == answer["user_args"]


def test_we_read_every_line_as_the_launchers_do(asked: Asked) -> None:
    check = {"torchrun": check_torchrun, "deepspeed": check_deepspeed}
    for line, answer in [*asked.lines, *asked.generated]:
        check[line.launcher](answer)


def test_torchrun_is_told_of_the_pods_that_there_are(asked: Asked) -> None:
    jobs = dict(emitted())
    for line, answer in asked.lines:
        if line.launcher == "torchrun":
            least, most = answer["nodes"]
            pods = jobs[line.where.split()[0]].of("Pod")
            assert least <= len(pods) <= most, line


def test_deepspeed_reads_the_hosts_and_slots_of_the_workers(asked: Asked) -> None:
    for where, (lowered, answer) in asked.launches.items():
        pods = [name for name, pod in lowered.of("Pod").items()]
        assert list(answer["hosts"]) == pods, where
        assert len(set(answer["hosts"].values())) == 1


def test_deepspeed_starts_pdsh_for_several_workers_and_none_for_one(asked: Asked) -> None:
    for where, (_, answer) in asked.launches.items():
        hosts = ",".join(answer["hosts"])
        assert (answer["command"][:6] == ["pdsh", "-S", "-f", "1024", "-w", hosts]) is ("," in hosts), where


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


STUB = "import json, os, sys; json.dump({'argv': sys.argv[1:], 'env': dict(os.environ)}, sys.stdout)"


def on_a_worker(answer: Answer) -> Answer:
    """The arguments and variables of ``deepspeed.launcher.launch`` on worker 0, which a bash starts for ssh.

    pdsh joins the words by blanks, as ssh does, and replaces %h, %n, %u and %% in them. The launch module is
    replaced by a program that tells what it got. Empty where bash refuses the line or nothing was told.
    """
    words = answer["command"]
    behind = words[words.index("-w") + 2 :]
    at = behind.index("deepspeed.launcher.launch")
    line = " ".join([*behind[: at - 3], shlex.join([sys.executable, "-c", STUB]), *behind[at + 1 :]])
    told = {"%h": words[words.index("-w") + 1].split(",")[0], "%n": "0", "%u": "root", "%%": "%"}
    done = subprocess.run(
        [str(shutil.which("bash")), "--norc", "-c", replaced(line, told)],
        capture_output=True,
        text=True,
        timeout=20,
        env={"PATH": "/nowhere", "HOME": "/root", "LC_ALL": "C.UTF-8"},
        check=False,
    )
    try:
        found: Answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        return {"argv": [], "env": {}}
    return found


def replaced(text: str, by: dict[str, str]) -> str:
    """``text`` with each of the two characters replaced, from the left."""
    parts: list[str] = []
    at = 0
    while at < len(text):
        two = text[at : at + 2]
        parts.append(by.get(two, text[at]))
        at += 2 if two in by else 1
    return "".join(parts)


def test_words_reach_a_worker_as_the_policies_say(asked: Asked) -> None:
    newest = DEEPSPEED[-1]
    wrong = {}
    for word, answer in asked.words.items():
        argv = on_a_worker(answer)["argv"]
        arrived = argv[argv.index("t.py") + 1 :] if "t.py" in argv else []
        said = arrives(word, newest)
        if survives(word, newest):
            right = arrived == [*said.words, "end"]
        elif said.fault or said.ends or said.replaced or said.swallows:
            right = arrived != [word, "end"]
        else:
            right = arrived == [*said.words, "end"]
        if not right:
            wrong[word] = (arrived[:4], said)
    assert wrong == {}, "\n".join(map(str, wrong.items()))


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


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.text(st.characters(categories=("L", "N", "P", "S", "Zs"), exclude_characters="$"), max_size=12),
        max_size=5,
    ),
    st.sampled_from(["needed", "double"]),
)
def test_bash_hands_the_words_of_the_job_to_deepspeed(words: list[str], quoting: str) -> None:
    cr = deepspeed_job(["t.py", *words], {"name": "worker", "image": "a"})
    lowered = objects(cr, values={"deepspeed.quoting": quoting})
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
