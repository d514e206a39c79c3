"""Proposes options from the command lines and the variables of the training container."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from itertools import pairwise

from podplan.core.findings import Path
from podplan.core.provenance import root_cursor
from podplan.core.typing import Any
from podplan.kinds.lowering_options import WORD_PATTERN, list_lowering_options
from podplan.kinds.spec import iter_replica_types
from podplan.tools.cluster_diff.name_patterns import Placeholders, find_common_pattern, insert_placeholders
from podplan.tools.cluster_diff.object_matching import ObjectPair
from podplan.tools.cluster_diff.observed_job import ClusterDiff, build_placeholders
from podplan.tools.cluster_diff.options_from_files import find_first_host

# The most likely placeholder for the value of an option, if several have the same value.
_PLACEHOLDER_BY_FLAG = {
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
_VALUE_PLACEHOLDERS = ("base", "job", "master-addr", "hostfile", "type")


def propose_commands(comparison: ClusterDiff) -> Iterator[tuple[str, Any]]:
    """Propose the options of torchrun, colossalai and deepspeed, and how sshd is started."""
    proposed = comparison.kind_spec.proposed_options
    for pair, number in sorted(_iter_training_containers(comparison), key=lambda one: not _starts_sshd(*one)):
        predicted, real = (_read_words(one, number, "command") for one in (pair.predicted.object, pair.real))
        if predicted == real or not predicted or not real:
            continue
        if proposed.launch_arguments and predicted[0] in ("torchrun", "colossalai"):
            yield from _propose_arguments(comparison, pair, predicted, real)
        if proposed.shell_launcher and proposed.shell_launcher in predicted[-1]:
            yield from _propose_shell(comparison, predicted, real)
        if predicted[0].endswith("sshd"):
            yield "ssh.sshd-path", real[0]
            yield "ssh.sshd-arguments", real[1:]


def _starts_sshd(pair: ObjectPair, container_index: int) -> bool:
    """Whether a replica only runs sshd: it is handled first, because other command lines repeat its
    values."""
    return any(
        word.endswith("sshd") for word in _read_words(pair.predicted.object, container_index, "command")[:1]
    )


def propose_variables(comparison: ClusterDiff) -> Iterator[tuple[str, Any]]:
    """Propose the variables that the controller sets: those that are not in the template, in order."""
    options = comparison.kind_spec.proposed_options.env
    option_id = next((id_ for path, id_ in options if not path or _is_true(comparison, path)), "")
    if not option_id:
        return
    option = comparison.current_option(option_id)
    observations: dict[str, list[tuple[str, Placeholders]]] = {}
    for rank, (pair, number) in enumerate(_iter_training_containers(comparison)):
        template_names = {one["name"] for one in _list_template_env(comparison, pair, number)}
        placeholders = _build_training_placeholders(comparison, pair, rank)
        for variable in pair.real["spec"]["containers"][number].get("env") or []:
            if variable.get("name") not in template_names and isinstance(variable.get("value", ""), str):
                observations.setdefault(str(variable["name"]), []).append(
                    (variable.get("value", ""), placeholders)
                )
    patterns = {
        name: _find_variable_pattern(name, option.value, values, option.placeholders)
        for name, values in observations.items()
    }
    if None not in patterns.values():
        yield option.id, patterns
    for name, pattern in patterns.items():
        if pattern is not None:
            yield option.id, {**option.value, name: pattern}
    for name in option.value:
        if name not in patterns:
            yield option.id, {key: value for key, value in option.value.items() if key != name}


def _is_true(comparison: ClusterDiff, path: Path) -> bool:
    return root_cursor(comparison.cr).get(*path).value is True


def _find_variable_pattern(
    name: str, configured: dict[str, str], values: list[tuple[str, Placeholders]], words: tuple[str, ...]
) -> str | None:
    """Return the configured pattern of a variable if it fits the observed values; else a pattern from
    these."""
    current_pattern = configured.get(name)
    if current_pattern is not None and all(
        _fill_pattern(current_pattern, known) == text for text, known in values
    ):
        return current_pattern
    return find_common_pattern(values, words)


def _fill_pattern(pattern: str, placeholders: Placeholders) -> str:
    return WORD_PATTERN.sub(lambda match: placeholders.get(match[1], ""), pattern)


def _iter_training_containers(comparison: ClusterDiff) -> Iterator[tuple[ObjectPair, int]]:
    """Yield the Pods with the index of their training container, in order of their rank."""
    for pair in comparison.pairs_of_kind("Pod"):
        number = pair.predicted.group.training_container_index
        real_containers = pair.real["spec"].get("containers")
        if number is not None and isinstance(real_containers, list) and number < len(real_containers):
            yield pair, number


def _read_words(pod: dict[str, Any], container_index: int, key: str) -> list[str]:
    return [str(word) for word in pod["spec"]["containers"][container_index].get(key) or []]


def _list_template_env(
    comparison: ClusterDiff, pair: ObjectPair, container_index: int
) -> list[dict[str, Any]]:
    """Return the env in the template of a Pod."""
    for entry in iter_replica_types(comparison.kind_spec, comparison.cr.data):
        if entry.type == pair.predicted.group.replica_type:
            env = entry.data["template"]["spec"]["containers"][container_index].get("env") or []
            return [one for one in env if "name" in one]
    return []


def _build_training_placeholders(comparison: ClusterDiff, pair: ObjectPair, rank: int) -> dict[str, str]:
    spec = comparison.cr.data["spec"]
    config, elastic = spec.get("torchrunConfig") or {}, spec.get("elastic") or {}
    total = sum(
        group.replicas
        for group in {
            id(one.predicted.group): one.predicted.group for one in comparison.pairs_of_kind("Pod")
        }.values()
    )
    is_elastic = elastic.get("enabled") is True and config.get("enabled") is True
    placeholders = build_placeholders(comparison, pair.predicted, pair.real)
    placeholders |= {
        "rank": str(rank),
        "replicas": str(total),
        "world-size": str(total),
        "nnodes": f"{elastic.get('minReplicas')}:{elastic.get('maxReplicas')}" if is_elastic else str(total),
        "processes": str(config.get("procPerNode") or ""),
        "max-restarts": str(config.get("maxRestarts", "")),
        "rdzv-backend": str(
            config.get("rdzvBackend") or comparison.current_option("pytorch.rdzv-backend").value
        ),
        "master-port": str(comparison.current_option("pytorch.master-port").value),
    }
    address = _find_predicted_address(pair)
    return placeholders | ({"master-addr": address} if address else {})


def _find_predicted_address(pair: ObjectPair) -> str:
    for container in pair.predicted.object["spec"]["containers"]:
        for variable in container.get("env") or []:
            if variable.get("name") == "MASTER_ADDR":
                return str(variable.get("value", ""))
    return ""


def _propose_arguments(
    comparison: ClusterDiff, pair: ObjectPair, predicted: list[str], real: list[str]
) -> Iterator[tuple[str, Any]]:
    """Propose the options of a launcher, without the words from the CR that follow them."""
    proposed = comparison.kind_spec.proposed_options
    option = comparison.current_option(proposed.launch_arguments)
    tail_length = _count_common_tail(predicted, real)
    placeholders = _build_training_placeholders(comparison, pair, pair.predicted.replica_index)
    if proposed.launch_flags:
        placeholders |= _read_flag_values(predicted, proposed.launch_flags)
        placeholders |= {"master-addr": find_first_host(comparison)}
    for length in dict.fromkeys((tail_length, *(len(one) for one in _iter_written_tails(comparison)))):
        options = _group_arguments(real[: len(real) - length])
        arguments = [
            " ".join(_parametrize_argument(words, placeholders, option.placeholders)) for words in options
        ]
        yield option.id, _add_unused_arguments(arguments, option.value, placeholders)


def _iter_written_tails(comparison: ClusterDiff) -> Iterator[list[str]]:
    """Yield the words in the CR that follow the options."""
    spec = comparison.cr.data["spec"]
    config = spec.get("torchrunConfig") or spec.get("torchConfig") or {}
    for words in (
        config.get("extraOptions"),
        config.get("script"),
        (spec.get("worker") or {}).get("command"),
    ):
        yield [str(word) for word in words or []]


def _read_flag_values(words: list[str], placeholder_by_flag: Mapping[str, str]) -> dict[str, str]:
    return {
        placeholder_by_flag[word]: after for word, after in pairwise(words) if word in placeholder_by_flag
    }


def _count_common_tail(predicted: list[str], real: list[str]) -> int:
    length = 0
    while length < min(len(predicted), len(real)) and predicted[-1 - length] == real[-1 - length]:
        length += 1
    return length


def _group_arguments(words: list[str]) -> list[list[str]]:
    """Split the words of a command line: first the program, then each option with its value."""
    groups: list[list[str]] = []
    for word in words:
        if not groups or word.startswith("--") or (word.startswith("-") and len(groups) > 1):
            groups.append([word])
        else:
            groups[-1].append(word)
    return groups


def _parametrize_argument(
    words: list[str], placeholders: Placeholders, allowed: tuple[str, ...]
) -> list[str]:
    """Return an option with placeholders in its value."""
    flag, equals, value = words[0].partition("=")
    likely_placeholder = _PLACEHOLDER_BY_FLAG.get(flag.lstrip("-").replace("-", "_"), "")
    if equals:
        return [f"{flag}={_parametrize_value(value, likely_placeholder, placeholders, allowed)}", *words[1:]]
    if not flag.startswith("-"):
        return words
    return [
        flag,
        *(_parametrize_value(word, likely_placeholder, placeholders, allowed) for word in words[1:]),
    ]


def _parametrize_value(
    value: str, likely_placeholder: str, placeholders: Placeholders, allowed: tuple[str, ...]
) -> str:
    if likely_placeholder in allowed and placeholders.get(likely_placeholder) == value:
        return f"{{{likely_placeholder}}}"
    return insert_placeholders(value, placeholders, [word for word in allowed if word in _VALUE_PLACEHOLDERS])


def _add_unused_arguments(arguments: list[str], default: list[str], placeholders: Placeholders) -> list[str]:
    """Return ``arguments`` with the default options without a value in this job, each at its usual
    position."""
    for number, option in enumerate(default):
        if all(placeholders.get(word) for word in WORD_PATTERN.findall(option)):
            continue
        flags = [_normalize_flag(one) for one in arguments]
        earlier_positions = (
            flags.index(_normalize_flag(one)) + 1
            for one in reversed(default[:number])
            if _normalize_flag(one) in flags
        )
        insert_position = next(earlier_positions, len(arguments))
        arguments = [*arguments[:insert_position], option, *arguments[insert_position:]]
    return arguments


def _normalize_flag(option: str) -> str:
    return option.split()[0].partition("=")[0].replace("-", "_")


def _propose_shell(
    comparison: ClusterDiff, predicted: list[str], real: list[str]
) -> Iterator[tuple[str, Any]]:
    """Propose the shell of worker-0, the command that starts sshd there, and the options of deepspeed."""
    yield "deepspeed.shell", real[:-1]
    predicted_line, real_line = predicted[-1], real[-1]
    sshd = predicted_line.partition(" & ")[0]
    start = real_line.find("deepspeed ")
    if start < 0:
        return
    before = real_line[:start]
    yield "deepspeed.command", before.replace(sshd, "{sshd}") + "{deepspeed}"
    for end in ("; wait", " && wait", "; sleep inf"):
        if real_line.endswith(end):
            yield "deepspeed.command", before.replace(sshd, "{sshd}") + "{deepspeed}" + end
    try:
        words, predicted_words = (
            shlex.split(real_line[start:]),
            shlex.split(predicted_line[predicted_line.find("deepspeed ") :]),
        )
    except ValueError:
        return
    path = str(comparison.current_option("deepspeed.hostfile-path").value)
    option_count = len(comparison.current_option("deepspeed.options").value)
    program = predicted_words[
        1
        + sum(
            len(option.split())
            for option in comparison.current_option("deepspeed.options").value[:option_count]
        ) :
    ]
    if program and words[len(words) - len(program) :] == program:
        options = _group_arguments(words[1 : len(words) - len(program)])
        allowed = list_lowering_options()["deepspeed.options"].placeholders
        placeholders = {
            "hostfile": path,
            "master-addr": find_first_host(comparison),
            "job": comparison.cr.data["metadata"]["name"],
        }
        yield (
            "deepspeed.options",
            [" ".join(_parametrize_argument(option, placeholders, allowed)) for option in options],
        )
