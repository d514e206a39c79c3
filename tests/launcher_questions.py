"""Collects what lowering emits for launchers, and asks the launchers about it (see tests/test_oracles.py).

They are in a separate interpreter, which PODPLAN_LAUNCHERS names (``make conformance`` creates one in
.venv-conformance); it is called once, for everything (see tests/launcher_oracles.py).
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from hypothesis import given, settings

from tests.conformance.expansion import expanded
from tests.lowered_objects import Lowered, Object, objects
from tests.strategies import crs
from tests.thoroughness import examples

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "fixtures"
INTERPRETER = os.environ.get("PODPLAN_LAUNCHERS") or str(ROOT / ".venv-conformance" / "bin" / "python")
# Where launchers are required, such as in CI, missing ones are a failure instead of skipped tests.
REQUIRED = bool(os.environ.get("PODPLAN_REQUIRE_LAUNCHERS"))
Answer = dict[str, Any]
FIELD_OF_METADATA = re.compile(r"metadata\.(annotations|labels)\['(.+)'\]")


class Line(NamedTuple):
    """The command of one container: the words of a launcher after the name of the program."""

    launcher: str
    words: tuple[str, ...]
    where: str


def read_value(entry: Any, pod: Object) -> str:
    """Return the value of a variable, which may be an annotation or a label of its Pod."""
    path = entry.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath", "")
    field = FIELD_OF_METADATA.fullmatch(path)
    value = pod["metadata"].get(field[1], {}).get(field[2], "") if field else entry.get("value", "")
    return str(value)


def lines(lowered: Lowered, where: str) -> Iterator[Line]:
    """Yield the launcher lines of the Pods of a job."""
    for name, pod in lowered.of("Pod").items():
        for container in pod["spec"]["containers"]:
            env: dict[str, str] = {}
            for entry in container.get("env", []):
                env[entry["name"]] = expanded(read_value(entry, pod), env)
            line = [*container.get("command", []), *container.get("args", [])]
            words = [expanded(str(word), env) for word in line]
            place = f"{where} {name}"
            if words[:2] == ["colossalai", "run"]:
                yield Line("colossalai", tuple(words[2:]), place)
            elif words[:1] == ["torchrun"]:
                yield Line("torchrun", tuple(words[1:]), place)
            elif words[:2] == ["/bin/bash", "-c"] and " & deepspeed " in words[2]:
                yield Line("deepspeed", in_bash(words[2].partition(" & deepspeed ")[2]), place)


def in_bash(text: str) -> tuple[str, ...]:
    """Return the words that a program receives from ``bash -c``; bash can find no other program."""
    done = subprocess.run(
        [str(shutil.which("bash")), "--norc", "-c", f"printf '%s\\0' : {text}"],
        capture_output=True,
        check=True,
        env={"PATH": "/nowhere", "HOME": "/root", "LC_ALL": "C.UTF-8"},
    )
    return tuple(done.stdout.decode().split("\0")[1:-1])


def written(text: str) -> dict[str, Lowered]:
    """Return the objects that podplan lower printed, by namespace, in which names must be unique.

    A Job lets the API server name its Pods; here they are counted.
    """
    found: dict[str, Lowered] = defaultdict(Lowered)
    for number, data in enumerate(yaml.load_all(text, yaml.CSafeLoader)):
        metadata = data["metadata"]
        namespace = metadata.get("namespace", "")
        key = (data["kind"], metadata.get("name") or f"{metadata['generateName']}{number}")
        assert key not in found[namespace]
        found[namespace][key] = data
    return found


def emitted() -> Iterator[tuple[str, Lowered]]:
    """Yield the lowered objects of all fixtures."""
    for path in sorted(FIXTURES.glob("*_job*/*/lowered.yaml")):
        for namespace, lowered in written(path.read_text(encoding="utf-8")).items():
            yield f"{path.parent.relative_to(FIXTURES).as_posix()}:{namespace}", lowered


def generated() -> list[Lowered]:
    """Return the lowered objects of CRs that hypothesis generates."""
    found: list[Lowered] = []

    @settings(max_examples=examples(150, short=50), deadline=None, derandomize=True, database=None)
    @given(crs(systems=["PyTorchTrainingJob", "DeepSpeedJob"]))
    def collect(cr: Object) -> None:
        found.append(objects(cr))

    collect()
    return found


# Typical words and values, sent to two workers.
WORDS = [
    *("plain", "--lr=1e-4", "--p=x y", "a b", "it's", "'a b'", '"q"', "'it'", "a,b", "x#y", "#x", "# x y"),
    *('--j={"lr":1}', '{"lr": 1}', "--betas={0.9,0.95}", "{a}", "--r=[1,2]", "a=b", "", "-x", "a\\b", "\\"),
    *("$HOME/x", "${NOBODY}", "a;b", "a&b", "(1)", "a>b", "a|b", "`b`", "~", "~/x", "*", "100%", "'$A'"),
    *("--q='a b'", '--q="a b"', "--q='a;b'", "'{\"lr\":1}'", "%h", "%n", "%u", "%%", "%d", "50%%", "日本"),
    *("a\tb", "a\nb", 'say "x"', "a'b c'd", "--date=%Y-%m-%d_%H-%M", "!x", "x!"),
]
VALUES = [
    *("plain", "two words", "it's", 'a"b', '{"stage": 3}', "{a,b}", "a,b:c=d", "$HOME", "^a$b", "`b`"),
    *("a\\b", "a\\\\b", "a;b", "a#b", "a #b", "", " a ", "~", "*", "(x)", "a&b c", "%h", "100%"),
    *("日本", "a=b=c", "a!b"),
]
TWO = "a slots=1\nb slots=1\n"


def question(words: tuple[str, ...], hostfile: str, env_file: str | None = None) -> Answer:
    return {"words": list(words), "hostfile": hostfile, "env_file": env_file, "cwd": "/"}


class Asked(NamedTuple):
    """The answers of the launchers, by question."""

    lines: list[tuple[Line, Answer]]
    colossalai: list[tuple[Line, Answer | None]] | None
    generated: list[tuple[Line, Answer]]
    launches: dict[str, tuple[Lowered, Answer]]
    words: dict[str, Answer]
    values: dict[str, Answer]


def ask() -> Asked:
    """Ask the launchers everything, in one process."""
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
    """Return the hostfile and the env file of a job."""
    [config_map] = lowered.of("ConfigMap").values()
    return config_map["data"]["hostfile"], config_map["data"].get("deepspeed_env")


STUB = "import json, os, sys; json.dump({'argv': sys.argv[1:], 'env': dict(os.environ)}, sys.stdout)"


def on_a_worker(answer: Answer) -> Answer:
    """Return the arguments and variables of ``deepspeed.launcher.launch`` on worker 0, started by bash in
    place of ssh.

    pdsh joins the words by blanks, as ssh does, and replaces %h, %n, %u and %% in them. The launch module is
    replaced by a program that prints its arguments. Empty if bash rejects the line or nothing was printed.
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
    """Return ``text`` with each of the two characters replaced, from the left."""
    parts: list[str] = []
    at = 0
    while at < len(text):
        two = text[at : at + 2]
        parts.append(by.get(two, text[at]))
        at += 2 if two in by else 1
    return "".join(parts)
