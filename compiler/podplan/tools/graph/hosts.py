"""Who names the host of whom: in variables, on the command line, or in a file that the command names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from podplan.core.indexed_text import Indexed, Listing
from podplan.core.provenance import Doc, Path
from podplan.core.replica_groups import Group
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import entries, mapping, text, texts

_PORT = re.compile(r"(?:\.[\w.-]+)?(?::(\d{1,5})(?!\d))?", re.ASCII)  # after a host, which may go on
_MOST_DIGITS = 7


class Mention(NamedTuple):
    """Pods named by their host: the ``replica`` of their role or all, ``by`` what, and on which ports."""

    role: str
    replica: int | None
    by: str
    ports: str


class _Host(NamedTuple):
    """A host name of a role, with its ports for where nobody says which. ``offset`` is of the index."""

    pattern: str
    role: str
    ports: str
    offset: int = 0


class Hosts(NamedTuple):
    """The names under which the Pods of a job are reached, with one pattern that finds any of them."""

    known: tuple[_Host, ...]
    pattern: re.Pattern[str] | None


def hosts(services: Sequence[Group], pods: Sequence[Group]) -> Hosts:
    """The hosts of a job: its Services by name, and Pods by theirs where one Service is for the whole job."""
    known = {host.pattern: host for host in (_host(one, _ports(one.doc.data)) for one in services)}
    whole = [_ports(service.doc.data) for service in services if not service.role]
    for pod in pods if whole else ():
        host = _host(pod, whole[0])
        known.setdefault(host.pattern, host)
    if not known:
        return Hosts((), None)
    ordered = sorted(known.values(), key=lambda host: -len(host.pattern))
    names = "|".join(f"(?P<h{i}>{host.pattern.replace('<i>', f'<i{i}>')})" for i, host in enumerate(ordered))
    return Hosts(tuple(ordered), re.compile(rf"(?<![\w.-])(?:{names})(?![\w-])", re.ASCII))


def _host(named: Group, ports: str) -> _Host:
    name = named.doc.varies.get(("metadata", "name"))
    if not isinstance(name, Indexed):
        return _Host(re.escape(named.doc.data["metadata"]["name"]), named.role, ports)
    pattern, offset = "", 0
    for part in name.parts:
        if isinstance(part, str):
            pattern += re.escape(part)
        elif "<i>" not in pattern:
            pattern, offset = pattern + rf"(?P<i>\d{{1,{_MOST_DIGITS}}})", part
        else:
            pattern += rf"\d{{1,{_MOST_DIGITS}}}"
    return _Host(pattern, named.role, ports, offset)


def _ports(service: Mapping[str, Any]) -> str:
    listed = [entry for _, entry in entries(service.get("spec"), "ports") if entry.get("port") is not None]
    return ", ".join(f":{entry['port']}" for entry in listed[:2]) + (", …" if len(listed) > 2 else "")


def mentions(pod: Group, known: Hosts, files: Mapping[str, Doc]) -> list[Mention]:
    """The hosts that the Pods of a group name, each once. ``files`` are the ConfigMaps of the job by name."""
    if known.pattern is None:
        return []
    found: dict[Mention, None] = {}
    for path, container in _containers(pod.doc.data):
        variables = [entry for _, entry in entries(container, "env")]
        said = {text(entry, "name"): text(entry, "value") for entry in variables}
        for i, entry in entries(container, "env"):
            name = text(entry, "name")
            sample = _samples(pod.doc, (*path, "env", i, "value"), text(entry, "value"))
            found |= dict.fromkeys(_find(sample, known, name, _port_of(name, said)))
        words = [(field, i) for field in ("command", "args") for i, _ in texts(container, field)]
        for field, i in words:
            sample = _samples(pod.doc, (*path, field, i), container[field][i])
            found |= dict.fromkeys(_find(sample, known, field))
        line = " ".join(container[field][i] for field, i in words)
        for doc, key in _named_files(pod.doc.data, container, line, files):
            sample = _samples(doc, ("data", key), doc.data["data"][key])
            found |= dict.fromkeys(_find(sample, known, key))
    return list(found)


def _containers(pod: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    for field in ("containers", "initContainers"):
        for i, container in entries(pod.get("spec"), field):
            yield ("spec", field, i), container


def _samples(doc: Doc, path: Path, written: str) -> list[str]:
    """A text, with the first and the last piece of each run of replicas in place of all of them."""
    varying = doc.varies.get(path)
    if not isinstance(varying, Listing):
        return [written]
    pieces: list[str] = []
    for piece in varying.pieces:
        if isinstance(piece, str):
            pieces.append(piece)
        elif piece.replicas:
            ends = dict.fromkeys((piece.start, piece.start + piece.replicas - 1))
            pieces += [piece.line.text(index) for index in ends]
    return pieces


def _port_of(variable: str, said: Mapping[str, str]) -> str:
    """What the variable with the port says, of a variable with a host: MASTER_PORT of MASTER_ADDR."""
    stem = re.sub("(ADDR|ADDRESS|HOST)$", "PORT", variable)
    port = said.get(stem, "") if stem != variable else ""
    return port if port.isascii() and port.isdigit() and len(port) <= 5 else ""


def _find(pieces: Iterable[str], known: Hosts, why: str, port: str = "") -> Iterator[Mention]:
    assert known.pattern is not None
    for piece in pieces:
        for match in known.pattern.finditer(piece):
            assert match.lastgroup is not None
            which = int(match.lastgroup[1:])
            host = known.known[which]
            index = int(match[f"i{which}"]) - host.offset if "<i>" in host.pattern else None
            after = _PORT.match(piece, match.end())
            said = (after and after[1]) or port
            if not said and not host.role:
                continue  # a Service of the whole job is called like the job: the word alone says nothing
            ports = f":{said}" if said else host.ports
            yield Mention(host.role, index, why, ports)


def _named_files(
    pod: Mapping[str, Any], container: Mapping[str, Any], line: str, files: Mapping[str, Doc]
) -> Iterator[tuple[Doc, str]]:
    """The keys of the job's ConfigMaps that are mounted as files which the command line names."""
    volumes = {
        text(volume, "name"): text(mapping(volume, "configMap"), "name")
        for _, volume in entries(pod.get("spec"), "volumes")
    }
    for _, mount in entries(container, "volumeMounts"):
        doc = files.get(volumes.get(text(mount, "name"), ""))
        where, only = text(mount, "mountPath"), text(mount, "subPath")
        for key in mapping(doc.data, "data") if doc is not None else ():
            path = where if only else f"{where.rstrip('/')}/{key}"
            if only in ("", key) and re.search(rf"(?<![\w./-]){re.escape(path)}(?![\w/-])", line):
                assert doc is not None
                yield doc, key
