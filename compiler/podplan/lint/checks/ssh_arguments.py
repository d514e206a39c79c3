"""Arguments that the shells of the workers make something else of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import pattern
from podplan.core.truncation import shortened
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import mapping
from podplan.launchers.kubelet import environment, expand
from podplan.lint.analysis.deepspeed_line import line_of
from podplan.lint.analysis.jobs import kind_of, spec_of
from podplan.lint.analysis.over_ssh import hosts_place, over_ssh
from podplan.lint.analysis.remote_arguments import (
    COLOSSALAI,
    SCRIPT,
    Regime,
    arrives,
    deepspeed_version,
    is_plain,
    regimes_of,
    spelling,
    survives,
)
from podplan.lint.analysis.remote_shell import Arrival
from podplan.lint.analysis.training import Written, role_called, training
from podplan.lint.target import Hit, Job, Subject, for_one
from podplan.redaction.secret_names import names_secret

_LONGEST_SHOWN = 60
# What somebody writes who wants it to be replaced.
_VARIABLE = pattern(r"\$[A-Za-z_]\w*|\$\{[A-Za-z_]\w*\}")


class Sent(NamedTuple):
    """A word on its way to the workers: where and how it is written, what it is by then, how it is sent.

    ``by_hand``: it stands among others in a command that somebody wrote as one text.
    """

    path: Path
    written: str
    word: str
    regimes: tuple[Regime, ...]
    expanded: Callable[[str], str]
    by_hand: bool = False


def ssh_arguments(subject: Subject, params: Mapping[str, Any]) -> Iterator[Hit]:
    """Arguments that do not reach the workers as they are written; values ``what`` and ``instead``.

    ``params["certain"]`` says which: those that certainly do not, or those that do with some versions of
    DeepSpeed, where the image does not tell the version. Variables of the shell are another check's.
    """
    for sent, broken in _broken(subject.job):
        if (len(broken) == len(sent.regimes)) is not params["certain"]:
            continue
        got = arrives(sent.word, broken[-1])
        if _VARIABLE.fullmatch(got.replaced):
            continue
        said = broken[-1].name
        if len(sent.regimes) > 1 and params["certain"]:
            said = "every version of DeepSpeed"
        better = "" if sent.by_hand else spelling(sent.written, sent.regimes, sent.expanded)
        instead = f"write {_shown(better)} as the value itself, inside quotes of YAML or after |-"
        instead = instead if better else "put the value into a file that the script reads"
        what = _what(sent.word, got)
        if sent.by_hand and not names_secret(sent.word.partition("=")[0]):
            what = what.replace("this argument", _shown(sent.word))
        values = {"what": f"{what} ({said})", "instead": instead}
        yield Hit(sent.path, values, hosts_place(subject))


def variable_over_ssh(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Arguments in which the shells of the workers replace a variable; values ``variable`` and ``by``."""
    for sent, broken in _broken(subject.job):
        variable = arrives(sent.word, broken[-1]).replaced
        if _VARIABLE.fullmatch(variable):
            values = {"variable": variable, "by": broken[-1].name}
            yield Hit(sent.path, values, hosts_place(subject))


@for_one
def _broken(job: Job) -> list[tuple[Sent, list[Regime]]]:
    """The words that do not arrive, each with the regimes under which it does not."""
    sent = ((one, [how for how in one.regimes if not survives(one.word, how)]) for one in _arguments(job))
    return [(one, broken) for one, broken in sent if broken]


def _arguments(job: Job) -> Iterator[Sent]:
    """The words that the launcher sends to the workers, without those that are the same to every shell."""
    if not over_ssh(job):
        return
    path, words, container = _program(job)
    regimes: tuple[Regime, ...] = (COLOSSALAI,)
    if kind_of(job) == "DeepSpeedJob":
        regimes = regimes_of(deepspeed_version(container.data.get("image")) if container else None)
    script = SCRIPT._replace(by_pdsh=regimes[0].by_pdsh)
    variables = environment(container.data) if container else {}
    complete = container is not None and not container.data.get("envFrom")

    def expanded(word: str) -> str:
        return expand(word, variables, complete=complete).text

    for index, written in enumerate(words):
        if not isinstance(written, str):
            continue
        made = expand(written, variables, complete=complete)
        if made.known and not is_plain(made.text):
            sent_as = regimes if index else (script,)
            yield Sent((*path, index), written, made.text, sent_as, expanded)
    line = line_of(job)
    if line is not None and line.custom:
        for word in line.read.line.arguments:
            if word.known and not word.pattern and not is_plain(word.text):
                yield Sent(line.place(word), word.text, word.text, regimes, expanded, by_hand=True)


def _program(job: Job) -> tuple[Path, list[Any], Written | None]:
    """The script with its arguments, and the container that launches it."""
    spec = spec_of(job)
    worker, launcher = role_called(job, "worker"), role_called(job, "launcher")
    starter = launcher if kind_of(job) == "ColossalAIJob" else worker
    container = training(job, starter) if starter else None
    places: list[Path] = [("torchConfig", "script"), ("worker", "command")]
    if kind_of(job) == "DeepSpeedJob":
        config = mapping(spec, "config")
        places = (
            [] if config.get("customCommand") else [("config", "run", f) for f in config.get("run") or ()]
        )
    for place in places:
        *steps, last = place
        parent: Any = spec
        for step in steps:
            parent = mapping(parent, str(step))
        found = parent.get(last)
        if isinstance(found, list) and found:
            return ("spec", *place), found, container
    return (), [], container


def _what(word: str, got: Arrival) -> str:
    """What happens to an argument, in words."""
    if got.fault:
        return f"the shell of the workers cannot read this argument: {got.fault}"
    if got.ends:
        sign = "the line break" if got.ends == "\n" else f'"{got.ends}"'
        return f"the shell of the workers takes {sign} in this argument for the end of the command"
    if got.replaced.startswith("%"):
        return (
            f"pdsh replaces {got.replaced} in this argument by the host, the user or the number of a worker"
        )
    if got.replaced:
        return f"the shell of the workers replaces {_shown(got.replaced)} in this argument"
    if got.swallows:
        return "this argument takes what follows it away in the shell of the workers"
    if not got.words:
        return "this argument does not reach the workers"
    if names_secret(word.partition("=")[0]):
        return "the shell of the workers changes this argument"
    if len(got.words) == 1:
        return f"the workers get {_shown(got.words[0])} instead of {_shown(word)}"
    parts = " and ".join(map(_shown, got.words[:3])) + (" …" if len(got.words) > 3 else "")
    return f"the workers get {len(got.words)} arguments, {parts}, instead of {_shown(word)}"


def _shown(word: str) -> str:
    return shortened(word, _LONGEST_SHOWN)
