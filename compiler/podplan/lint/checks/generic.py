"""The success and failure rules of a GenericJob, its env expressions, and its ports.

Source: docs/evidence/t9k-genericjob.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, TextPath
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_number, get_text, get_texts
from podplan.launchers import exec_form
from podplan.lint.analysis.jobs import (
    find_replica_places,
    format_list,
    get_replica_specs,
    is_mode_enabled,
    spec_of,
)
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

_RULE_SECTIONS = ("successRules", "failureRules")
# $$ is an escape; text with a blank is a shell command.
_REFERENCE_PATTERN = compile_lazily(r"\$\$|\$\((?P<inner>[^()$\s]+)\)")
_REPLICAS_PATTERN = compile_lazily(r"replicas\[(?P<type>[^\[\]]+)\]")
_HOST_PATTERN = compile_lazily(r"service\.(?P<type>[^\[\].]+)\[(?P<rank>\d{1,9})\]\.host")
_PORT_PATTERN = compile_lazily(r"service\.port\[(?P<name>[^\[\]]+)\]")
# The same patterns, case-insensitive.
_CASE_INSENSITIVE_FORMS = tuple(
    (compile_lazily(form, re.IGNORECASE), written)
    for form, written in (
        (r"type", "type"),
        (r"rank", "rank"),
        (r"replicas\[(?P<type>[^\[\]]+)\]", "replicas[{type}]"),
        (r"service\.port\[(?P<name>[^\[\]]+)\]", "service.port[{name}]"),
        (
            r"service\.(?P<type>[^\[\].]+)\[(?P<rank>\d{1,9})\]\.host",
            "service.{type}[{rank}].host",
        ),
    )
)
_ADDRESS_PATTERN = compile_lazily(
    r"\$\(service\.(?P<type>[^\[\].()]+)\[\d{1,9}\]\.host\)"
    r"(?::(?:\$\(service\.port\[(?P<name>[^\[\]()]+)\]\)|(?P<number>\d{2,5})(?!\d)))?"
)
MOST_PLACES = 3  # related locations of a finding
_SHELL_SPELLING = compile_lazily(
    r"\$\$?(?:\{(?P<braced>rank|type|replicas\[[^\[\]{}]+\]|service\.[^{}$]+)\}|(?P<plain>rank|type)(?!\w))"
)
_SIMILAR_VARIABLE = compile_lazily(r"(?:replicas?|services?|rank|type)[.\[].*")
_KNOWN_FORMS = "$(type), $(rank), $(replicas[TYPE]), $(service.TYPE[RANK].host) and $(service.port[NAME])"
_NO_SERVICE = "the job has no spec.service, so its replicas have no host and no port"
# Fields of a container in which variables are replaced.
_REPLACED_FIELDS = ("command", "args", "env")


@check()
def rules_unreachable(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A rule that names a type or a rank that the job does not have; values ``rules`` and ``what``."""
    job = target.job
    replicas = _count_replicas(job)
    for section, path, type_, ranks in _iter_rules(job):
        if type_ not in replicas:
            message = f"there is no type {type_}; the job has {format_list(list(replicas))}"
            yield Violation((*path, type_), {"rules": section, "what": message}, at_key=True)
            continue
        for rank_index, rank in enumerate(ranks if isinstance(ranks, list) else ()):
            count = replicas[type_]
            if str(rank).isdigit() and int(rank) >= count:
                ranks_ = (
                    f"the ranks 0 to {count - 1}" if count > 1 else "rank 0 only" if count else "no replicas"
                )
                yield Violation(
                    (*path, type_, rank_index),
                    {"rules": section, "what": f"{type_} has {ranks_}, no rank {rank}"},
                    [place for name, place in find_replica_places(job).items() if name == type_],
                )


@check()
def no_success_rule(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A job without a success rule; values ``what``, and ``rule``: a possible rule."""
    spec = spec_of(target.job)
    first = next((role.type for role in get_replica_specs(target.job) if role.type), "worker")
    example = {"rule": f"{{{first}: [0]}}"}
    if not spec.get("successRules"):
        path: Path = ("spec", "successRules") if "successRules" in spec else ("spec",)
        yield Violation(path, {**example, "what": "the job has no successRules"})
        return
    for index, rule in get_entries(spec, "successRules"):
        if not any(rule.values()):
            yield Violation(("spec", "successRules", index), {**example, "what": "the rule lists no replica"})


@check()
def generic_variable(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Variables that the controller does not replace; values ``left``, ``why`` and ``instead``."""
    job = target.job
    for replica_spec in get_replica_specs(job):
        spec = get_mapping(get_mapping(replica_spec.data, "template"), "spec")
        base = (*replica_spec.path, "template", "spec")
        for list_key in ("initContainers", "containers"):
            for index, container in get_entries(spec, list_key):
                yield from _iter_container_violations(job, (*base, list_key, index), container)
        other_fields = {
            key: value for key, value in spec.items() if key not in ("initContainers", "containers")
        }
        yield from _iter_unreplaced_fields(other_fields, base, frozenset())
        yield from _iter_unreplaced_fields(
            get_mapping(get_mapping(replica_spec.data, "template"), "metadata"),
            (*base[:-1], "metadata"),
            frozenset(),
        )


def _iter_container_violations(
    job: LoweredJob, base: Path, container: Mapping[str, Any]
) -> Iterator[Violation]:
    names = frozenset(get_text(entry, "name") for _, entry in get_entries(container, "env"))
    complete = not container.get("envFrom")
    for path, value in _iter_replaced_texts(job, container):
        unreplaced: dict[str, list[str]] = {}
        places: dict[str, Path] = {}
        for match in _REFERENCE_PATTERN.finditer(value):
            inner = match["inner"] or ""
            reason = _explain_unreplaced(job, inner, names)
            if not reason and inner not in names and (complete or not inner.isidentifier()):
                lower_case = _to_lower_case(inner)
                reason = (
                    f"the variables of the controller are in lower case; write $({lower_case})"
                    if lower_case
                    else ""
                )
            if reason:
                unreplaced.setdefault(reason, []).append(match[0])
                places.setdefault(reason, TextPath((*base, *path), match.span()))
        for reason, variables in unreplaced.items():
            declared = (place for variable in variables for place in _declarations(job, variable[2:-1]))
            related = list({place[1]: place for place in declared}.values())
            yield Violation(places[reason], _build_values(variables, reason), related[:MOST_PLACES])
    for path, value in _iter_literal_texts(job, container):
        for match in _SHELL_SPELLING.finditer(value):
            inner = match["braced"] or match["plain"]
            if inner not in names and not match[0].startswith("$$"):
                reason = f"the controller replaces $(NAME) only; write $({inner})"
                yield Violation((*base, *path), _build_values([match[0]], reason))
                break
    yield from _iter_unreplaced_fields(
        {key: value for key, value in container.items() if key not in _REPLACED_FIELDS}, base, names
    )


def _iter_literal_texts(job: LoweredJob, container: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield the replaced texts that no shell reads: words of exec commands, and values of env."""
    lines = [] if is_mode_enabled(job, "debug") else exec_form.list_exec_commands(container)
    for line in lines:
        if line.expansion == "all":
            for index in exec_form.iter_literal_words(line):
                yield line.paths[index], line.texts[index]
    yield from ((path, value) for path, value in _iter_texts(container) if path[0] == "env")


def _build_values(variables: list[str], reason: str) -> dict[str, str]:
    """Build the values of a violation: the unreplaced variables of a text, and their common reason."""
    distinct = list(dict.fromkeys(variables))
    verb = "is not replaced" if len(distinct) == 1 else "are not replaced"
    instead = ""
    if reason == _NO_SERVICE:
        ports = dict.fromkeys(found["name"] for text in distinct for found in _PORT_PATTERN.finditer(text))
        named = ", ".join(f"{{name: {name}, port: PORT}}" for name in ports or ("NAME",))
        instead = f"write spec.service: {{ports: [{named}]}} (ports: in a profile)"
    return {"left": f"{format_list(distinct, 2)} {verb}", "why": reason, "instead": instead}


def _iter_replaced_texts(job: LoweredJob, container: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield the strings of a container in which the controller replaces variables."""
    debug = is_mode_enabled(job, "debug")
    return ((path, value) for path, value in _iter_texts(container) if path[0] == "env" or not debug)


def _iter_texts(container: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield the command, the args and the values of env of a container."""
    for key in ("command", "args"):
        for index, value in get_texts(container, key):
            yield (key, index), value
    for index, entry in get_entries(container, "env"):
        yield ("env", index, "value"), get_text(entry, "value")


def _explain_unreplaced(job: LoweredJob, inner: str, names: frozenset[str]) -> str:
    """Explain why a variable is not replaced; "" if it is, or if it is a variable of the container."""
    replicas = _count_replicas(job)
    types = format_list(list(replicas))
    if match := _REPLICAS_PATTERN.fullmatch(inner):
        return "" if match["type"] in replicas else f"there is no type {match['type']}; the job has {types}"
    ports = [get_text(port, "name") for _, port in get_entries(get_mapping(spec_of(job), "service"), "ports")]
    host, port = _HOST_PATTERN.fullmatch(inner), _PORT_PATTERN.fullmatch(inner)
    if (host or port) and not ports:
        return _NO_SERVICE
    if host:
        type_, rank = host["type"], int(host["rank"])
        if type_ not in replicas:
            return f"there is no type {type_}; the job has {types}"
        count = replicas[type_]
        return (
            f"{type_} has {count} replica{'s' if count != 1 else ''}, ranks from 0" if rank >= count else ""
        )
    if port:
        port_names = format_list([name for name in ports if name])
        return (
            ""
            if port["name"] in ports
            else f"spec.service has no port {port['name']}; it has {port_names or 'none with a name'}"
        )
    if inner not in names and _SIMILAR_VARIABLE.fullmatch(inner):
        return f"the controller replaces {_KNOWN_FORMS}"
    return ""


def _declarations(job: LoweredJob, inner: str) -> list[tuple[TracedDocument, Path, str]]:
    """Return the declarations that an unreplaced variable could name: ports or replica types of the job."""
    if job.cr is None:
        return []
    if _PORT_PATTERN.fullmatch(inner):
        ports = get_entries(get_mapping(spec_of(job), "service"), "ports")
        path: Path = ("spec", "service", "ports")
        return [
            (job.cr, (*path, at, "name"), f"port {get_text(port, 'name')}")
            for at, port in ports
            if "name" in port
        ]
    of_service = _HOST_PATTERN.fullmatch(inner) if get_mapping(spec_of(job), "service") else None
    named = of_service or _REPLICAS_PATTERN.fullmatch(inner)
    if named is None:
        return []
    same = [role for role in get_replica_specs(job) if role.type == named["type"] and "replicas" in role.data]
    if same:
        return [(job.cr, (*same[0].path, "replicas"), f"the replicas of {same[0].type}")]
    return [
        (job.cr, (*role.path, "type"), f"type {role.type}") for role in get_replica_specs(job) if role.type
    ]


def _to_lower_case(inner: str) -> str:
    """Return the variable of the controller with correct case; "" if the text is none."""
    for form, template in _CASE_INSENSITIVE_FORMS:
        match = form.fullmatch(inner)
        if match:
            lower_case = template.format(**match.groupdict())
            return lower_case if lower_case != inner else ""
    return ""


@check()
def variable_in_init_container(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Variables that the controller does not replace in init containers; value ``left``."""
    for group in target.job.pods:
        for index, container in get_entries(get_mapping(group.doc.data, "spec"), "initContainers"):
            names = frozenset(get_text(entry, "name") for _, entry in get_entries(container, "env"))
            for path, value in _iter_texts(container):
                variables = (found["inner"] or "" for found in _REFERENCE_PATTERN.finditer(value))
                unreplaced = [
                    f"$({inner})"
                    for inner in variables
                    if inner not in names and _is_controller_variable(inner)
                ]
                if unreplaced:
                    violation_path = ("spec", "initContainers", index, *path)
                    yield Violation(violation_path, _build_values(unreplaced, ""), doc=group.doc, group=group)


@check()
def port_without_listener(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A port by which one replica names another, whose containers declare other ports only.

    Values: ``type``, ``port``, and the ports ``declared``.
    """
    job = target.job
    service_ports = {
        get_text(port, "name"): port for _, port in get_entries(get_mapping(spec_of(job), "service"), "ports")
    }
    by_type = {role.type: role for role in reversed(get_replica_specs(job))}
    reported: set[tuple[str, int]] = set()
    for replica_spec in get_replica_specs(job):
        for index, container in get_entries(
            get_mapping(get_mapping(replica_spec.data, "template"), "spec"), "containers"
        ):
            for path, type_, name, port in _iter_reached_ports(job, container, service_ports):
                if (
                    type_ not in by_type
                    or (type_, port) in reported
                    or _has_target_port(service_ports.get(name, {}), port)
                ):
                    continue
                target_spec = get_mapping(get_mapping(by_type[type_].data, "template"), "spec")
                declared_ports = _find_declared_ports(target_spec)
                if not declared_ports or port in declared_ports or _mentions_port(target_spec, name, port):
                    continue
                reported.add((type_, port))
                values = {
                    "type": type_,
                    "port": port,
                    "declared": format_list([str(one) for one in declared_ports]),
                }
                yield Violation((*replica_spec.path, "template", "spec", "containers", index, *path), values)


def _iter_reached_ports(
    job: LoweredJob, container: Mapping[str, Any], services: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[Path, str, str, int]]:
    """Yield each host and port of a replica in a container: path, type, name of the port, port."""
    hosts: set[str] = set()
    ports: list[tuple[Path, str]] = []
    for path, value in _iter_replaced_texts(job, container):
        for match in _ADDRESS_PATTERN.finditer(value):
            hosts.add(match["type"])
            name = match["name"] or ""
            port = get_number(services.get(name, {}), "port") if name else int(match["number"] or 0)
            if port:
                yield path, match["type"], name, port
        ports += [(path, found["name"]) for found in _PORT_PATTERN.finditer(value)]
    if len(hosts) == 1:
        for path, name in ports:
            if port := get_number(services.get(name, {}), "port"):
                yield path, next(iter(hosts)), name, port


def _has_target_port(service: Mapping[str, Any], port: int) -> bool:
    """Whether a port of the Service has a target of its own, which NET010 reports."""
    return bool(service.get("targetPort", port) != port)


def _find_declared_ports(spec: Mapping[str, Any]) -> list[int]:
    """The TCP ports that the containers of a Pod declare."""
    return [
        get_number(port, "containerPort")
        for listed in ("initContainers", "containers")
        for _, container in get_entries(spec, listed)
        for _, port in get_entries(container, "ports")
        if (get_text(port, "protocol") or "TCP") == "TCP"
    ]


def _mentions_port(spec: Mapping[str, Any], name: str, port: int) -> bool:
    """Whether the containers of a Pod mention a port, so that they may listen on it."""
    port_pattern = re.compile(
        rf"(?<!\d){port}(?!\d)" + (rf"|\$\(service\.port\[{re.escape(name)}\]" if name else "")
    )
    return any(
        port_pattern.search(value)
        for listed in ("initContainers", "containers")
        for _, container in get_entries(spec, listed)
        for _, value in _iter_texts(container)
    )


def _iter_unreplaced_fields(data: Any, path: Path, names: frozenset[str]) -> Iterator[Violation]:
    """Yield variables in fields where the controller does not replace them."""
    if isinstance(data, str):
        for match in _REFERENCE_PATTERN.finditer(data):
            inner = match["inner"] or ""
            if inner not in names and _is_controller_variable(inner):
                reason = "variables are replaced in command, args and values of env only"
                yield Violation(path, _build_values([match[0]], reason))
    elif isinstance(data, dict | list):
        for step, value in data.items() if isinstance(data, dict) else enumerate(data):
            if isinstance(value, dict | list) or (isinstance(value, str) and "$(" in value):
                yield from _iter_unreplaced_fields(value, (*path, step), names)


def _is_controller_variable(inner: str) -> bool:
    return inner in ("type", "rank") or any(
        form.fullmatch(inner) for form in (_REPLICAS_PATTERN, _HOST_PATTERN, _PORT_PATTERN)
    )


def _count_replicas(job: LoweredJob) -> dict[str, int]:
    """Return the number of replicas by replica type."""
    return {
        role.type: get_number(role.data, "replicas") if "replicas" in role.data else 1
        for role in get_replica_specs(job)
    }


def _iter_rules(job: LoweredJob) -> Iterator[tuple[str, Path, str, Any]]:
    """Yield each type of each rule: section, path of the rule, type, ranks."""
    for section in _RULE_SECTIONS:
        for index, rule in get_entries(spec_of(job), section):
            for type_, ranks in rule.items():
                yield section, ("spec", section, index), type_, ranks
