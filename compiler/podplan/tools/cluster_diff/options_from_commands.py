"""What settings the command lines and the variables of the training container tell."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import pairwise

from podplan.core.typing import Any
from podplan.kinds.lowering_options import WORD, settings
from podplan.tools.cluster_diff.name_patterns import Known, for_all, worded
from podplan.tools.cluster_diff.object_matching import Pair
from podplan.tools.cluster_diff.observed_job import Compared, words_of
from podplan.tools.cluster_diff.options_from_files import first_host

# The word that the value of an option is likely to be, whatever else has the same value.
_BY_OPTION = {
    "nnodes": "nnodes",
    "nproc_per_node": "processes",
    "rdzv_backend": "rdzv-backend",
    "max_restarts": "max-restarts",
    "role": "type",
    "hostfile": "hostfile",
    "extra_launch_args": "launch-arguments",
    "master_addr": "master-addr",
    "master_port": "master-port",
}
_IN_VALUES = ("base", "job", "master-addr", "hostfile", "type")
_LINES = {"PyTorchTrainingJob": "pytorch.torchrun-arguments", "ColossalAIJob": "colossalai.run"}


def commands(found: Compared) -> Iterator[tuple[str, Any]]:
    """The options of torchrun, colossalai and deepspeed, and how sshd is started."""
    for pair, number in sorted(_training(found), key=lambda one: not _starts_sshd(*one)):
        predicted, real = (_words(one, number, "command") for one in (pair.predicted.object, pair.real))
        if predicted == real or not predicted or not real:
            continue
        if found.kind in _LINES and predicted[0] in ("torchrun", "colossalai"):
            yield from _options(found, pair, predicted, real)
        if found.kind == "DeepSpeedJob" and "deepspeed" in predicted[-1]:
            yield from _shell_line(found, predicted, real)
        if predicted[0].endswith("sshd"):
            yield "ssh.sshd-path", real[0]
            yield "ssh.sshd-arguments", real[1:]


def _starts_sshd(pair: Pair, number: int) -> bool:
    """Whether a replica only runs sshd: what it tells comes first, since other command lines repeat it."""
    return any(word.endswith("sshd") for word in _words(pair.predicted.object, number, "command")[:1])


def variables(found: Compared) -> Iterator[tuple[str, Any]]:
    """The variables that the controller sets: those that the template does not have, in their order."""
    if found.kind != "PyTorchTrainingJob":
        return
    torchrun = found.cr.data["spec"].get("torchrunConfig", {}).get("enabled") is True
    fact = found.fact("pytorch.torchrun-env" if torchrun else "pytorch.env")
    seen: dict[str, list[tuple[str, Known]]] = {}
    for rank, (pair, number) in enumerate(_training(found)):
        written = {one["name"] for one in _written(found, pair, number)}
        known = _words_of_training(found, pair, rank)
        for one in pair.real["spec"]["containers"][number].get("env") or []:
            if one.get("name") not in written and isinstance(one.get("value", ""), str):
                seen.setdefault(str(one["name"]), []).append((one.get("value", ""), known))
    forms = {name: _form(name, fact.value, values, fact.words) for name, values in seen.items()}
    if None not in forms.values():
        yield fact.id, forms
    for name, form in forms.items():
        if form is not None:
            yield fact.id, {**fact.value, name: form}
    for name in fact.value:
        if name not in forms:
            yield fact.id, {key: value for key, value in fact.value.items() if key != name}


def _form(
    name: str, told: dict[str, str], values: list[tuple[str, Known]], words: tuple[str, ...]
) -> str | None:
    """How a variable is told, if that fits what was seen; else what was seen."""
    now = told.get(name)
    if now is not None and all(_filled(now, known) == text for text, known in values):
        return now
    return for_all(values, words)


def _filled(form: str, known: Known) -> str:
    return WORD.sub(lambda match: known.get(match[1], ""), form)


def _training(found: Compared) -> Iterator[tuple[Pair, int]]:
    """The Pods with the index of their training container, in order of their rank."""
    for pair in found.pairs("Pod"):
        number = pair.predicted.group.training
        listed = pair.real["spec"].get("containers")
        if number is not None and isinstance(listed, list) and number < len(listed):
            yield pair, number


def _words(pod: dict[str, Any], number: int, key: str) -> list[str]:
    return [str(word) for word in pod["spec"]["containers"][number].get(key) or []]


def _written(found: Compared, pair: Pair, number: int) -> list[dict[str, Any]]:
    """The env of the template of a Pod."""
    for entry in found.cr.data["spec"].get("replicaSpecs") or []:
        if entry.get("type") == pair.predicted.group.role:
            env = entry["template"]["spec"]["containers"][number].get("env") or []
            return [one for one in env if "name" in one]
    return []


def _words_of_training(found: Compared, pair: Pair, rank: int) -> dict[str, str]:
    spec = found.cr.data["spec"]
    config, elastic = spec.get("torchrunConfig") or {}, spec.get("elastic") or {}
    total = sum(
        group.replicas
        for group in {id(one.predicted.group): one.predicted.group for one in found.pairs("Pod")}.values()
    )
    ranged = elastic.get("enabled") is True and config.get("enabled") is True
    known = words_of(found, pair.predicted, pair.real)
    known |= {
        "rank": str(rank),
        "replicas": str(total),
        "world-size": str(total),
        "nnodes": f"{elastic.get('minReplicas')}:{elastic.get('maxReplicas')}" if ranged else str(total),
        "processes": str(config.get("procPerNode") or ""),
        "max-restarts": str(config.get("maxRestarts", "")),
        "rdzv-backend": str(config.get("rdzvBackend") or found.fact("pytorch.rdzv-backend").value),
        "master-port": str(found.fact("pytorch.master-port").value),
    }
    address = _predicted_address(pair)
    return known | ({"master-addr": address} if address else {})


def _predicted_address(pair: Pair) -> str:
    for container in pair.predicted.object["spec"]["containers"]:
        for one in container.get("env") or []:
            if one.get("name") == "MASTER_ADDR":
                return str(one.get("value", ""))
    return ""


def _options(found: Compared, pair: Pair, predicted: list[str], real: list[str]) -> Iterator[tuple[str, Any]]:
    """The options of a launcher, without what the CR says after them."""
    fact = found.fact(_LINES[found.kind])
    tail = _common_tail(predicted, real)
    known = _words_of_training(found, pair, pair.predicted.number)
    if found.kind == "ColossalAIJob":
        known |= _after_options(predicted, {"--hostfile": "hostfile", "--nproc_per_node": "processes"})
        known |= _after_options(predicted, {"--extra_launch_args": "launch-arguments"})
        known |= {"master-addr": first_host(found)}
    for length in dict.fromkeys((tail, *(len(one) for one in _written_tails(found)))):
        options = _grouped(real[: len(real) - length])
        told = [" ".join(_option(words, known, fact.words)) for words in options]
        yield fact.id, _with_unseen(told, fact.value, known)


def _written_tails(found: Compared) -> Iterator[list[str]]:
    """What the CR says that comes after the options."""
    spec = found.cr.data["spec"]
    config = spec.get("torchrunConfig") or spec.get("torchConfig") or {}
    for words in (
        config.get("extraOptions"),
        config.get("script"),
        (spec.get("worker") or {}).get("command"),
    ):
        yield [str(word) for word in words or []]


def _after_options(words: list[str], wanted: dict[str, str]) -> dict[str, str]:
    return {wanted[word]: after for word, after in pairwise(words) if word in wanted}


def _common_tail(one: list[str], other: list[str]) -> int:
    length = 0
    while length < min(len(one), len(other)) and one[-1 - length] == other[-1 - length]:
        length += 1
    return length


def _grouped(words: list[str]) -> list[list[str]]:
    """The words of a command line, each option with its value; first the program."""
    groups: list[list[str]] = []
    for word in words:
        if not groups or word.startswith("--") or (word.startswith("-") and len(groups) > 1):
            groups.append([word])
        else:
            groups[-1].append(word)
    return groups


def _option(words: list[str], known: Known, allowed: tuple[str, ...]) -> list[str]:
    """An option with words in braces for its value."""
    flag, equals, value = words[0].partition("=")
    likely = _BY_OPTION.get(flag.lstrip("-").replace("-", "_"), "")
    if equals:
        return [f"{flag}={_value(value, likely, known, allowed)}", *words[1:]]
    if not flag.startswith("-"):
        return words
    return [flag, *(_value(word, likely, known, allowed) for word in words[1:])]


def _value(value: str, likely: str, known: Known, allowed: tuple[str, ...]) -> str:
    if likely in allowed and known.get(likely) == value:
        return f"{{{likely}}}"
    return worded(value, known, [word for word in allowed if word in _IN_VALUES])


def _with_unseen(told: list[str], default: list[str], known: Known) -> list[str]:
    """``told`` with the options that this job has no value for, each after the one it stood after."""
    for number, option in enumerate(default):
        if all(known.get(word) for word in WORD.findall(option)):
            continue
        flags = [_flag(one) for one in told]
        earlier = (flags.index(_flag(one)) + 1 for one in reversed(default[:number]) if _flag(one) in flags)
        place = next(earlier, len(told))
        told = [*told[:place], option, *told[place:]]
    return told


def _flag(option: str) -> str:
    return option.split()[0].partition("=")[0].replace("-", "_")


def _shell_line(found: Compared, predicted: list[str], real: list[str]) -> Iterator[tuple[str, Any]]:
    """The shell of worker-0, what starts sshd there, and the options of deepspeed."""
    yield "deepspeed.shell", real[:-1]
    ours, theirs = predicted[-1], real[-1]
    sshd = ours.partition(" & ")[0]
    start = theirs.find("deepspeed ")
    if start < 0:
        return
    before = theirs[:start]
    yield "deepspeed.command", before.replace(sshd, "{sshd}") + "{deepspeed}"
    for end in ("; wait", " && wait", "; sleep inf"):
        if theirs.endswith(end):
            yield "deepspeed.command", before.replace(sshd, "{sshd}") + "{deepspeed}" + end
    try:
        words, mine = shlex.split(theirs[start:]), shlex.split(ours[ours.find("deepspeed ") :])
    except ValueError:
        return
    path = str(found.fact("deepspeed.hostfile-path").value)
    told = len(found.fact("deepspeed.options").value)
    program = mine[1 + sum(len(option.split()) for option in found.fact("deepspeed.options").value[:told]) :]
    if program and words[len(words) - len(program) :] == program:
        options = _grouped(words[1 : len(words) - len(program)])
        allowed = settings()["deepspeed.options"].words
        known = {"hostfile": path, "master-addr": first_host(found), "job": found.cr.data["metadata"]["name"]}
        yield "deepspeed.options", [" ".join(_option(option, known, allowed)) for option in options]
