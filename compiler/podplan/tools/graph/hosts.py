"""Finds which Pods name the hosts of others: in variables, on the command line, or in a file that the
command names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from podplan.core.indexed_text import IndexDigits, Indexed, Listing
from podplan.core.provenance import Path, TracedDocument
from podplan.core.replica_groups import ReplicaGroup, find_name_text, find_object_name
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts

_PORT_SUFFIX = re.compile(r"(?:\.[\w.-]+)?(?::(\d{1,5})(?!\d))?", re.ASCII)  # after a host
_MAX_INDEX_DIGITS = 7


class HostMention(NamedTuple):
    """Pods that are named by their host: one ``replica`` of a role or all, in which ``source``, and the
    ports."""

    role: str
    replica: int | None
    source: str
    ports: str


class _HostPattern(NamedTuple):
    """A host name of a role, with its default ports. ``offset`` is that of the index."""

    pattern: str
    role: str
    ports: str
    offset: int = 0


class HostIndex(NamedTuple):
    """The host names of the Pods of a job, with one pattern that matches any of them."""

    host_patterns: tuple[_HostPattern, ...]
    pattern: re.Pattern[str] | None


def build_host_index(services: Sequence[ReplicaGroup], pods: Sequence[ReplicaGroup]) -> HostIndex:
    """Build the hosts of a job: its Services by name, and Pods by theirs if one Service is for the whole
    job."""
    pattern_by_text = {
        host.pattern: host
        for host in (_build_host_pattern(one, _format_ports(one.doc.data)) for one in services)
    }
    job_ports = [_format_ports(service.doc.data) for service in services if not service.replica_type]
    for pod in pods if job_ports else ():
        host = _build_host_pattern(pod, job_ports[0])
        pattern_by_text.setdefault(host.pattern, host)
    if not pattern_by_text:
        return HostIndex((), None)
    ordered = sorted(pattern_by_text.values(), key=lambda host: -len(host.pattern))
    names = "|".join(f"(?P<h{i}>{host.pattern.replace('<i>', f'<i{i}>')})" for i, host in enumerate(ordered))
    return HostIndex(tuple(ordered), re.compile(rf"(?<![\w.-])(?:{names})(?![\w-])", re.ASCII))


def _build_host_pattern(group: ReplicaGroup, ports: str) -> _HostPattern:
    name = find_name_text(group.doc)
    if not isinstance(name, Indexed):
        return _HostPattern(re.escape(find_object_name(group.doc)), group.replica_type, ports)
    pattern, offset = "", 0
    for part in name.parts:
        if isinstance(part, str):
            pattern += re.escape(part)
        elif "<i>" not in pattern:
            offset = part.offset if isinstance(part, IndexDigits) else part
            pattern += rf"(?P<i>\d{{1,{_MAX_INDEX_DIGITS}}})"
        else:
            pattern += rf"\d{{1,{_MAX_INDEX_DIGITS}}}"
    return _HostPattern(pattern, group.replica_type, ports, offset)


def _format_ports(service: Mapping[str, Any]) -> str:
    ports = [entry for _, entry in get_entries(service.get("spec"), "ports") if entry.get("port") is not None]
    return ", ".join(f":{entry['port']}" for entry in ports[:2]) + (", …" if len(ports) > 2 else "")


def find_mentions(
    pod: ReplicaGroup, host_index: HostIndex, files: Mapping[str, TracedDocument]
) -> list[HostMention]:
    """Find the hosts that the Pods of a group name, each once.

    ``files`` are the ConfigMaps of the job by name.
    """
    if host_index.pattern is None:
        return []
    found_mentions: dict[HostMention, None] = {}
    for path, container in _iter_containers(pod.doc.data):
        variables = [entry for _, entry in get_entries(container, "env")]
        value_by_name = {get_text(entry, "name"): get_text(entry, "value") for entry in variables}
        for i, entry in get_entries(container, "env"):
            name = get_text(entry, "name")
            sample = _list_samples(pod.doc, (*path, "env", i, "value"), get_text(entry, "value"))
            found_mentions |= dict.fromkeys(
                _iter_mentions(sample, host_index, name, _find_port(name, value_by_name))
            )
        words = [(field, i) for field in ("command", "args") for i, _ in get_texts(container, field)]
        for field, i in words:
            sample = _list_samples(pod.doc, (*path, field, i), container[field][i])
            found_mentions |= dict.fromkeys(_iter_mentions(sample, host_index, field))
        line = " ".join(container[field][i] for field, i in words)
        for doc, key in _iter_named_files(pod.doc.data, container, line, files):
            sample = _list_samples(doc, ("data", key), doc.data["data"][key])
            found_mentions |= dict.fromkeys(_iter_mentions(sample, host_index, key))
    return list(found_mentions)


def _iter_containers(pod: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    for field in ("containers", "initContainers"):
        for i, container in get_entries(pod.get("spec"), field):
            yield ("spec", field, i), container


def _list_samples(doc: TracedDocument, path: Path, plain_text: str) -> list[str]:
    """Return a text with only the first and the last line of each run of replicas."""
    varying = doc.replica_texts.get(path)
    if not isinstance(varying, Listing):
        return [plain_text]
    pieces: list[str] = []
    for piece in varying.pieces:
        if isinstance(piece, str):
            pieces.append(piece)
        elif isinstance(piece, Indexed):
            pieces.append(piece.text_at(0))
        elif piece.replicas:
            end_indexes = dict.fromkeys((piece.start, piece.start + piece.replicas - 1))
            pieces += [piece.line.text_at(index) for index in end_indexes]
    return pieces


def _find_port(variable: str, value_by_name: Mapping[str, str]) -> str:
    """Return the value of the variable with the port for a variable with a host: MASTER_PORT for
    MASTER_ADDR."""
    port_variable = re.sub("(ADDR|ADDRESS|HOST)$", "PORT", variable)
    port = value_by_name.get(port_variable, "") if port_variable != variable else ""
    return port if port.isascii() and port.isdigit() and len(port) <= 5 else ""


def _iter_mentions(
    pieces: Iterable[str], host_index: HostIndex, source: str, port: str = ""
) -> Iterator[HostMention]:
    assert host_index.pattern is not None
    for piece in pieces:
        for match in host_index.pattern.finditer(piece):
            assert match.lastgroup is not None
            pattern_index = int(match.lastgroup[1:])
            host = host_index.host_patterns[pattern_index]
            index = int(match[f"i{pattern_index}"]) - host.offset if "<i>" in host.pattern else None
            after = _PORT_SUFFIX.match(piece, match.end())
            port_text = (after and after[1]) or port
            if not port_text and not host.role:
                continue  # a Service of the whole job has the name of the job, which is too ambiguous
            ports = f":{port_text}" if port_text else host.ports
            yield HostMention(host.role, index, source, ports)


def _iter_named_files(
    pod: Mapping[str, Any], container: Mapping[str, Any], line: str, files: Mapping[str, TracedDocument]
) -> Iterator[tuple[TracedDocument, str]]:
    """Yield the keys of the job's ConfigMaps that are mounted as files named by the command line."""
    volumes = {
        get_text(volume, "name"): get_text(get_mapping(volume, "configMap"), "name")
        for _, volume in get_entries(pod.get("spec"), "volumes")
    }
    for _, mount in get_entries(container, "volumeMounts"):
        doc = files.get(volumes.get(get_text(mount, "name"), ""))
        mount_path, sub_path = get_text(mount, "mountPath"), get_text(mount, "subPath")
        for key in get_mapping(doc.data, "data") if doc is not None else ():
            path = mount_path if sub_path else f"{mount_path.rstrip('/')}/{key}"
            if sub_path in ("", key) and re.search(rf"(?<![\w./-]){re.escape(path)}(?![\w/-])", line):
                assert doc is not None
                yield doc, key
