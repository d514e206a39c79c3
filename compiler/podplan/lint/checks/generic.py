"""The rules of a GenericJob that say how it ends, the variables that its controller replaces, and its ports.

Source: docs/evidence/t9k-genericjob.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import pattern
from podplan.core.provenance import Doc
from podplan.core.typing import Any
from podplan.kubernetes.accessors import entries, mapping, number, text, texts
from podplan.launchers import exec_form
from podplan.lint.analysis.jobs import mode, roles, shown_list, spec_of
from podplan.lint.target import Hit, Job, Subject

_RULES = ("successRules", "failureRules")
# $$ is an escape; what has a blank is a command of a shell.
_REFERENCE = pattern(r"\$\$|\$\((?P<inner>[^()$\s]+)\)")
_REPLICAS = pattern(r"replicas\[(?P<type>[^\[\]]+)\]")
_HOST = pattern(r"service\.(?P<type>[^\[\].]+)\[(?P<rank>\d{1,9})\]\.host")
_PORT = pattern(r"service\.port\[(?P<name>[^\[\]]+)\]")
# The same forms with letters of either case.
_ANY_CASE = tuple(
    (pattern(form, re.IGNORECASE), written)
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
_ADDRESS = pattern(
    r"\$\(service\.(?P<type>[^\[\].()]+)\[\d{1,9}\]\.host\)"
    r"(?::(?:\$\(service\.port\[(?P<name>[^\[\]()]+)\]\)|(?P<number>\d{2,5})(?!\d)))?"
)
MOST_PLACES = 3  # that a finding points at besides its own
_SPELLED_FOR_SHELL = pattern(
    r"\$\$?(?:\{(?P<braced>rank|type|replicas\[[^\[\]{}]+\]|service\.[^{}$]+)\}|(?P<plain>rank|type)(?!\w))"
)
_ALIKE = pattern(r"(?:replicas?|services?|rank|type)[.\[].*")
_FORMS = "$(type), $(rank), $(replicas[TYPE]), $(service.TYPE[RANK].host) and $(service.port[NAME])"
_NO_SERVICE = "the job has no spec.service, so its replicas have neither host nor port"
# Fields of a container in which variables are replaced.
_REPLACED = ("command", "args", "env")


def rules_unreachable(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A rule that names a type or a rank that the job does not have; values ``rules`` and ``what``."""
    job = subject.job
    replicas = _replicas(job)
    for section, path, type_, ranks in _rules(job):
        if type_ not in replicas:
            what = f"there is no type {type_}; the job has {shown_list(list(replicas))}"
            yield Hit((*path, type_), {"rules": section, "what": what}, on_key=True)
            continue
        for at, rank in enumerate(ranks if isinstance(ranks, list) else ()):
            count = replicas[type_]
            if str(rank).isdigit() and int(rank) >= count:
                ranks_ = (
                    f"the ranks 0 to {count - 1}" if count > 1 else "rank 0 only" if count else "no replicas"
                )
                yield Hit(
                    (*path, type_, at), {"rules": section, "what": f"{type_} has {ranks_}, no rank {rank}"}
                )


def no_success_rule(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Nothing that says when the job has succeeded; values ``what``, and ``rule``: one that could."""
    spec = spec_of(subject.job)
    first = next((role.type for role in roles(subject.job) if role.type), "worker")
    could = {"rule": f"{{{first}: [0]}}"}
    if not spec.get("successRules"):
        path: Path = ("spec", "successRules") if "successRules" in spec else ("spec",)
        yield Hit(path, {**could, "what": "the job has no successRules"})
        return
    for at, rule in entries(spec, "successRules"):
        if not any(rule.values()):
            yield Hit(("spec", "successRules", at), {**could, "what": "this rule names no replica"})


def generic_variable(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Variables that the controller leaves as they are; values ``left``, ``why`` and ``instead``."""
    job = subject.job
    for role in roles(job):
        spec = mapping(mapping(role.data, "template"), "spec")
        base = (*role.path, "template", "spec")
        for listed in ("initContainers", "containers"):
            for at, container in entries(spec, listed):
                yield from _in_container(job, (*base, listed, at), container)
        rest = {key: value for key, value in spec.items() if key not in ("initContainers", "containers")}
        yield from _elsewhere(rest, base, frozenset())
        yield from _elsewhere(
            mapping(mapping(role.data, "template"), "metadata"), (*base[:-1], "metadata"), frozenset()
        )


def _in_container(job: Job, base: Path, container: Mapping[str, Any]) -> Iterator[Hit]:
    names = frozenset(text(entry, "name") for _, entry in entries(container, "env"))
    complete = not container.get("envFrom")
    for path, value in _replaced(job, container):
        left: dict[str, list[str]] = {}
        for found in _REFERENCE.finditer(value):
            inner = found["inner"] or ""
            why = _why(job, inner, names)
            if not why and inner not in names and (complete or not inner.isidentifier()):
                meant = _in_lower_case(inner)
                why = f"the variables of the controller are in lower case; write $({meant})" if meant else ""
            if why:
                left.setdefault(why, []).append(found[0])
        for why, variables in left.items():
            declared = (place for variable in variables for place in _declarations(job, variable[2:-1]))
            related = list({place[1]: place for place in declared}.values())
            yield Hit((*base, *path), _left(variables, why), related[:MOST_PLACES])
    for path, value in _unread(job, container):
        for found in _SPELLED_FOR_SHELL.finditer(value):
            inner = found["braced"] or found["plain"]
            if inner not in names and not found[0].startswith("$$"):
                why = f"the controller replaces $(NAME) only; write $({inner})"
                yield Hit((*base, *path), _left([found[0]], why))
                break
    yield from _elsewhere(
        {key: value for key, value in container.items() if key not in _REPLACED}, base, names
    )


def _unread(job: Job, container: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """The words that no shell reads, and the values of env, in which variables are replaced."""
    lines = [] if mode(job, "debug") else exec_form.lines(container)
    for line in lines:
        if line.expansion == "all":
            for at in exec_form.literal_words(line):
                yield line.paths[at], line.texts[at]
    yield from ((path, value) for path, value in _texts(container) if path[0] == "env")


def _left(variables: list[str], why: str) -> dict[str, str]:
    """The values of a hit: variables of one text that nobody replaces, and the reason of them all."""
    different = list(dict.fromkeys(variables))
    stay = "stays as it is" if len(different) == 1 else "stay as they are"
    instead = ""
    if why == _NO_SERVICE:
        ports = dict.fromkeys(found["name"] for text in different for found in _PORT.finditer(text))
        named = ", ".join(f"{{name: {name}, port: PORT}}" for name in ports or ("NAME",))
        instead = f"write spec.service: {{ports: [{named}]}} (ports: in a profile)"
    return {"left": f"{shown_list(different, 2)} {stay}", "why": why, "instead": instead}


def _replaced(job: Job, container: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """The strings of a container in which variables are replaced."""
    debug = mode(job, "debug")
    return ((path, value) for path, value in _texts(container) if path[0] == "env" or not debug)


def _texts(container: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """The command, the args and the values of env of a container."""
    for key in ("command", "args"):
        for at, value in texts(container, key):
            yield (key, at), value
    for at, entry in entries(container, "env"):
        yield ("env", at, "value"), text(entry, "value")


def _why(job: Job, inner: str, names: frozenset[str]) -> str:
    """Why a variable is not replaced; "" where it is, or is a variable of the container."""
    replicas = _replicas(job)
    types = shown_list(list(replicas))
    if found := _REPLICAS.fullmatch(inner):
        return "" if found["type"] in replicas else f"there is no type {found['type']}; the job has {types}"
    ports = [text(port, "name") for _, port in entries(mapping(spec_of(job), "service"), "ports")]
    host, port = _HOST.fullmatch(inner), _PORT.fullmatch(inner)
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
        known = shown_list([name for name in ports if name])
        return (
            ""
            if port["name"] in ports
            else f"spec.service has no port {port['name']}; it has {known or 'none with a name'}"
        )
    if inner not in names and _ALIKE.fullmatch(inner):
        return f"the controller knows {_FORMS}"
    return ""


def _declarations(job: Job, inner: str) -> list[tuple[Doc, Path, str]]:
    """Where the job declares what a variable that is not replaced should name: its ports, or its types."""
    if job.cr is None:
        return []
    if _PORT.fullmatch(inner):
        ports = entries(mapping(spec_of(job), "service"), "ports")
        path: Path = ("spec", "service", "ports")
        return [
            (job.cr, (*path, at, "name"), f"port {text(port, 'name')}")
            for at, port in ports
            if "name" in port
        ]
    of_service = _HOST.fullmatch(inner) if mapping(spec_of(job), "service") else None
    named = of_service or _REPLICAS.fullmatch(inner)
    if named is None:
        return []
    same = [role for role in roles(job) if role.type == named["type"] and "replicas" in role.data]
    if same:
        return [(job.cr, (*same[0].path, "replicas"), f"the replicas of {same[0].type}")]
    return [(job.cr, (*role.path, "type"), f"type {role.type}") for role in roles(job) if role.type]


def _in_lower_case(inner: str) -> str:
    """The variable of the controller that is written in another case; "" where it is none."""
    for form, written in _ANY_CASE:
        found = form.fullmatch(inner)
        if found:
            meant = written.format(**found.groupdict())
            return meant if meant != inner else ""
    return ""


def variable_in_init_container(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Variables of the controller that stay in the init containers of a Pod; value ``left``."""
    for group in subject.job.pods:
        for at, container in entries(mapping(group.doc.data, "spec"), "initContainers"):
            names = frozenset(text(entry, "name") for _, entry in entries(container, "env"))
            for path, value in _texts(container):
                variables = (found["inner"] or "" for found in _REFERENCE.finditer(value))
                left = [f"$({inner})" for inner in variables if inner not in names and _is_variable(inner)]
                if left:
                    where = ("spec", "initContainers", at, *path)
                    yield Hit(where, _left(left, ""), doc=group.doc, group=group)


def port_without_listener(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A port at which one replica is said to reach another, whose containers declare other ports only.

    Values: ``type``, ``port``, and the ports ``declared``.
    """
    job = subject.job
    services = {text(port, "name"): port for _, port in entries(mapping(spec_of(job), "service"), "ports")}
    by_type = {role.type: role for role in reversed(roles(job))}
    seen: set[tuple[str, int]] = set()
    for role in roles(job):
        for at, container in entries(mapping(mapping(role.data, "template"), "spec"), "containers"):
            for path, type_, name, port in _reached(job, container, services):
                if type_ not in by_type or (type_, port) in seen or _is_mapped(services.get(name, {}), port):
                    continue
                target = mapping(mapping(by_type[type_].data, "template"), "spec")
                declared = _declared(target)
                if not declared or port in declared or _mentions(target, name, port):
                    continue
                seen.add((type_, port))
                values = {"type": type_, "port": port, "declared": shown_list([str(one) for one in declared])}
                yield Hit((*role.path, "template", "spec", "containers", at, *path), values)


def _reached(
    job: Job, container: Mapping[str, Any], services: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[Path, str, str, int]]:
    """Where a container names the host and the port of a replica: path, type, name of the port, port."""
    hosts: set[str] = set()
    ports: list[tuple[Path, str]] = []
    for path, value in _replaced(job, container):
        for found in _ADDRESS.finditer(value):
            hosts.add(found["type"])
            name = found["name"] or ""
            port = number(services.get(name, {}), "port") if name else int(found["number"] or 0)
            if port:
                yield path, found["type"], name, port
        ports += [(path, found["name"]) for found in _PORT.finditer(value)]
    if len(hosts) == 1:
        for path, name in ports:
            if port := number(services.get(name, {}), "port"):
                yield path, next(iter(hosts)), name, port


def _is_mapped(service: Mapping[str, Any], port: int) -> bool:
    """Whether a port of the Service has a target of its own, which NET010 reports."""
    return bool(service.get("targetPort", port) != port)


def _declared(spec: Mapping[str, Any]) -> list[int]:
    """The TCP ports that the containers of a Pod declare."""
    return [
        number(port, "containerPort")
        for listed in ("initContainers", "containers")
        for _, container in entries(spec, listed)
        for _, port in entries(container, "ports")
        if (text(port, "protocol") or "TCP") == "TCP"
    ]


def _mentions(spec: Mapping[str, Any], name: str, port: int) -> bool:
    """Whether the containers of a Pod are told of a port, so that they may well listen on it."""
    told = re.compile(rf"(?<!\d){port}(?!\d)" + (rf"|\$\(service\.port\[{re.escape(name)}\]" if name else ""))
    return any(
        told.search(value)
        for listed in ("initContainers", "containers")
        for _, container in entries(spec, listed)
        for _, value in _texts(container)
    )


def _elsewhere(data: Any, path: Path, names: frozenset[str]) -> Iterator[Hit]:
    """Variables in fields where nobody replaces them."""
    if isinstance(data, str):
        for found in _REFERENCE.finditer(data):
            inner = found["inner"] or ""
            if inner not in names and _is_variable(inner):
                why = "variables are replaced in command, args and values of env only"
                yield Hit(path, _left([found[0]], why))
    elif isinstance(data, dict | list):
        for step, value in data.items() if isinstance(data, dict) else enumerate(data):
            if isinstance(value, dict | list) or (isinstance(value, str) and "$(" in value):
                yield from _elsewhere(value, (*path, step), names)


def _is_variable(inner: str) -> bool:
    return inner in ("type", "rank") or any(form.fullmatch(inner) for form in (_REPLICAS, _HOST, _PORT))


def _replicas(job: Job) -> dict[str, int]:
    """The types of the job with their numbers of replicas."""
    return {role.type: number(role.data, "replicas") if "replicas" in role.data else 1 for role in roles(job)}


def _rules(job: Job) -> Iterator[tuple[str, Path, str, Any]]:
    """Each type of each rule: section, path of the rule, type, ranks."""
    for section in _RULES:
        for at, rule in entries(spec_of(job), section):
            for type_, ranks in rule.items():
                yield section, ("spec", section, at), type_, ranks
