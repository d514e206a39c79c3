"""A test double of the GitHub Actions runner for composite actions and steps with `run`, as far as needed.

It does what actions/runner does (docs/evidence/github-actions.md; https://github.com/actions/runner): a clean
environment without INPUT_ variables, new files for outputs and the summary of each step, the flags of bash,
workflow commands in the log with their escapes and limits. It rejects everything else: `uses`, expressions
other than those below, and any expression in `run`, which would allow injections.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.command import heeding

MAX_ANNOTATIONS = 10  # of a level, in one step; a composite action is one step
MAX_MESSAGE = 4096
MAX_SUMMARY = 1024 * 1024
COMMANDS = {"error", "warning", "notice", "debug", "group", "endgroup", "add-mask", "echo", "stop-commands"}
REFUSED_COMMANDS = {"set-env", "add-path", "set-output", "save-state"}  # disabled by GitHub
EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
HEREDOC = re.compile(r"([^=<]+)<<(.+)")


class Refused(Exception):
    """A feature of an action that this runner rejects, and that the action must not use."""


class Command(NamedTuple):
    """A workflow command in the log."""

    name: str
    properties: dict[str, str]
    data: str


class Step(NamedTuple):
    """The result of one step."""

    outcome: str  # success, failure or skipped
    code: int
    log: str
    commands: tuple[Command, ...]
    outputs: dict[str, str]
    summary: str


class Ran(NamedTuple):
    """The result of the action: the annotations that GitHub would show, and the warnings of the runner."""

    success: bool
    steps: tuple[Step, ...]
    outputs: dict[str, str]
    annotations: tuple[Command, ...]
    warnings: tuple[str, ...]

    @property
    def log(self) -> str:
        return "".join(step.log for step in self.steps)

    @property
    def summary(self) -> str:
        return "".join(step.summary for step in self.steps)

    def of(self, level: str) -> list[Command]:
        return [one for one in self.annotations if one.name == level]


class Machine(NamedTuple):
    """The environment of the steps: workspace, temporary folder, variables, and the contexts of the workflow
    by dotted name.

    ``timeout`` is that of the job, in seconds.
    """

    workspace: Path
    temp: Path
    environ: Mapping[str, str]
    contexts: Mapping[str, str] = {}
    timeout: float = 120


def run_action(
    action: Path, inputs: Mapping[str, str], machine: Machine, leave_out: Sequence[str] = ()
) -> Ran:
    """Run the composite action in the folder ``action``, except for the steps to ``leave_out``.

    Raises Refused.
    """
    manifest = yaml.safe_load((action / "action.yml").read_text())
    if manifest["runs"]["using"] != "composite":
        raise Refused(f"using: {manifest['runs']['using']}")
    declared = manifest.get("inputs", {})
    warnings = tuple(f"unexpected input {name}" for name in inputs if name not in declared)
    values = {name: str(about.get("default", "")) for name, about in declared.items()}
    values |= {name: value for name, value in inputs.items() if name in declared}
    contexts = {f"inputs.{name}": value for name, value in values.items()}
    contexts |= {"github.action_path": str(action), "runner.temp": str(machine.temp)}
    here = machine._replace(
        contexts={**machine.contexts, **contexts},
        environ={**machine.environ, "GITHUB_ACTION_PATH": str(action)},
    )
    wanted = [step for step in manifest["runs"]["steps"] if step.get("name") not in leave_out]
    steps, contexts = run_steps(wanted, here)
    outputs = {
        name: evaluated(about["value"], {**here.contexts, **contexts})
        for name, about in manifest.get("outputs", {}).items()
    }
    success = all(step.outcome != "failure" for step in steps)
    return Ran(success, tuple(steps), outputs, shown(steps), warnings)


def run_steps(steps: Sequence[Mapping[str, Any]], machine: Machine) -> tuple[list[Step], dict[str, str]]:
    """Run the steps in order; return them with their ``steps.…`` contexts.

    Raises Refused: before any step runs.
    """
    for step in steps:
        _demand_known(step)
    contexts: dict[str, str] = {}
    ran: list[Step] = []
    for step in steps:
        failed = any(one.outcome == "failure" for one in ran)
        known = {**machine.contexts, **contexts}
        if _wanted(str(step.get("if", "success()")), failed, known):
            done = _run(step, machine, known)
        else:
            done = Step("skipped", 0, "", (), {}, "")
        ran.append(done)
        if name := step.get("id"):
            contexts |= {f"steps.{name}.outputs.{key}": value for key, value in done.outputs.items()}
            contexts |= {f"steps.{name}.outcome": done.outcome, f"steps.{name}.conclusion": done.outcome}
    return ran, contexts


def shown(steps: Sequence[Step]) -> tuple[Command, ...]:
    """Return the annotations that GitHub shows for one step: the first of each level, truncated."""
    counts = dict.fromkeys(("error", "warning", "notice"), 0)
    found = []
    for command in (command for step in steps for command in step.commands):
        if command.name in counts:
            counts[command.name] += 1
            if counts[command.name] <= MAX_ANNOTATIONS:
                found.append(command._replace(data=command.data[:MAX_MESSAGE]))
    return tuple(found)


def evaluated(text: str, contexts: Mapping[str, str]) -> str:
    """Return ``text`` with its expressions, names of contexts, evaluated. An unset output is empty.

    Raises Refused: for any other expression.
    """

    def value(match: re.Match[str]) -> str:
        name = match[1].strip()
        if name in contexts:
            return contexts[name]
        if re.fullmatch(r"steps\.[\w-]+\.outputs\.[\w-]+", name):
            return ""
        raise Refused(f"unknown expression: {name}")

    return EXPRESSION.sub(value, text)


def _demand_known(step: Mapping[str, Any]) -> None:
    if unknown := set(step) - {"name", "id", "if", "shell", "env", "run"}:
        raise Refused(f"a step has {', '.join(sorted(unknown))}")
    if "run" not in step:
        raise Refused("a step without run")
    if "${{" in step["run"]:
        raise Refused(f"an expression in run: {step['run']}")
    if step.get("shell", "bash") != "bash":
        raise Refused(f"shell: {step['shell']}")


def _wanted(condition: str, failed: bool, contexts: Mapping[str, str]) -> bool:
    plain = {"success()": not failed, "failure()": failed, "always()": True, "!cancelled()": True}
    condition = condition.strip().removeprefix("${{").removesuffix("}}").strip()
    if condition in plain:
        return plain[condition]
    if equal := re.fullmatch(r"([\w.-]+)\s*(==|!=)\s*'([^']*)'", condition):
        value = evaluated(f"${{{{ {equal[1]} }}}}", contexts)
        return not failed and (value == equal[3]) == (equal[2] == "==")
    raise Refused(f"unknown condition: {condition}")


def _run(step: Mapping[str, Any], machine: Machine, contexts: Mapping[str, str]) -> Step:
    folder = machine.temp / "_runner_file_commands"
    folder.mkdir(exist_ok=True)
    mark = uuid.uuid4()
    names = ("output", "env", "path", "state", "step_summary")
    files = {f"GITHUB_{name.upper()}": folder / f"{name}_{mark}" for name in names}
    for file in files.values():
        file.touch()
    script = machine.temp / f"{mark}.sh"
    script.write_text(step["run"])
    environ = dict(machine.environ)
    assert not any(name.startswith("INPUT_") for name in environ)
    environ |= {"GITHUB_WORKSPACE": str(machine.workspace), "RUNNER_TEMP": str(machine.temp)}
    environ |= {"GITHUB_ACTIONS": "true", "CI": "true"}
    environ |= {name: str(file) for name, file in files.items()}
    environ |= {name: evaluated(str(value), contexts) for name, value in step.get("env", {}).items()}
    code, log = _bash(script, environ, machine)
    commands = tuple(parsed(log))
    outputs, wrong = _outputs(files["GITHUB_OUTPUT"].read_text())
    for name in ("env", "path", "state"):
        if files[f"GITHUB_{name.upper()}"].read_text():
            raise Refused(f"a step writes GITHUB_{name.upper()}")
    summary = files["GITHUB_STEP_SUMMARY"].read_text()
    if len(summary.encode()) > MAX_SUMMARY:
        wrong, summary = f"the summary has {len(summary.encode())} bytes", ""
    if wrong:
        commands += (Command("error", {}, wrong),)
    failed = code != 0 or bool(wrong) or any(one.name in REFUSED_COMMANDS for one in commands)
    return Step("failure" if failed else "success", code, log, commands, outputs, summary)


def _bash(script: Path, environ: Mapping[str, str], machine: Machine) -> tuple[int, str]:
    """Run bash as the runner does, with standard error in the same log.

    On timeout the step gets SIGINT, later SIGTERM, and then SIGKILL.
    """
    bash = shutil.which("bash", path=environ["PATH"])
    assert bash
    process = subprocess.Popen(
        [bash, "--noprofile", "--norc", "-e", "-o", "pipefail", script],
        cwd=machine.workspace,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=heeding,
    )
    wait = machine.timeout
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        try:
            out, _ = process.communicate(timeout=wait)
            break
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, number)
            wait = 7.5
    else:
        out, _ = process.communicate()
    return process.returncode, out.decode(errors="replace")


def parsed(log: str) -> Iterator[Command]:
    """Yield the commands in a log, as the runner parses them."""
    token = ""
    for line in re.split(r"\r\n|\r|\n", log):
        command = _command(line, {*COMMANDS, *REFUSED_COMMANDS, token})
        if command is None:
            continue
        if token:
            token = "" if command.name == token else token
        elif command.name == "stop-commands":
            token = command.data
        else:
            yield command


def _command(line: str, known: set[str]) -> Command | None:
    """Parse a command: ``::name key=value,…::data``, or ``##[name key=value;…]data`` anywhere in the line."""
    new = re.fullmatch(r"\s*::([^ :]*)(?: (.*?))?::(.*)", line)
    if new and new[1].lower() in known:
        pairs = (pair.split("=", 1) for pair in (new[2] or "").split(",") if "=" in pair)
        properties = {key.strip(): _unescaped(value, {":": "%3A", ",": "%2C"}) for key, value in pairs}
        return Command(new[1].lower(), properties, _unescaped(new[3], {}))
    old = re.search(r"##\[([^ \]]*)(?: ([^\]]*))?\](.*)", line)
    if old and old[1].lower() in known:
        pairs = (pair.split("=", 1) for pair in (old[2] or "").split(";") if "=" in pair)
        return Command(old[1].lower(), dict(pairs), old[3])
    return None


def _unescaped(text: str, more: Mapping[str, str]) -> str:
    for plain, escape in {"\r": "%0D", "\n": "%0A", **more, "%": "%25"}.items():
        text = text.replace(escape, plain)
    return text


def _outputs(text: str) -> tuple[dict[str, str], str]:
    """Parse GITHUB_OUTPUT; return the outputs of a step, and an error."""
    found: dict[str, str] = {}
    lines = iter(text.split("\n"))
    for line in lines:
        if not line:
            continue
        if heredoc := HEREDOC.fullmatch(line):
            value = []
            for part in lines:
                if part == heredoc[2]:
                    break
                value.append(part)
            else:
                return found, f"the delimiter {heredoc[2]} is not found"
            found[heredoc[1]] = "\n".join(value)
        elif "=" in line:
            name, _, plain = line.partition("=")
            found[name] = plain
        else:
            return found, f"not an output: {line}"
    return found, ""
