"""Servers that only their own Pod reaches, though others connect to them.

Sources: https://etcd.io/docs/v3.5/op-guide/configuration/ (listen-client-urls is http://localhost:2379 by
default), https://redis.io/docs/latest/operate/oss_and_stack/management/security/ (bind).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, below
from podplan.core.lazy_regex import compile_lazily
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_text
from podplan.launchers.exit_status import HELPERS
from podplan.launchers.processes import Process
from podplan.launchers.words import Word
from podplan.lint.analysis.jobs import is_mode_enabled
from podplan.lint.analysis.pod_hosts import find_pod
from podplan.lint.analysis.processes import programs_of
from podplan.lint.analysis.resources import list_containers
from podplan.lint.checks.registration import check
from podplan.lint.checks.unmounted_volumes import list_texts
from podplan.lint.target import LoweredJob, Target, Violation

_ETCD_VARIABLE = "ETCD_LISTEN_CLIENT_URLS"
_HOST_OPTIONS = (
    "--host",
    "--bind",
    "--bind-address",
    "--bind_address",
    "--listen",
    "--listen-address",
    "--address",
)
_REDIS = ("redis-server", "valkey-server")
_LOOPBACK = r"(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)"
_URL = compile_lazily(rf"https?://(?P<local>{_LOOPBACK})?[^,/]*?:(?P<port>\d{{2,5}})/?")
_LOCAL_HOST = compile_lazily(rf"{_LOOPBACK}(?::(\d{{2,5}}))?")
_CONNECTION = compile_lazily(r"(?<![\w.-])([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?):(\d{2,5})(?!\d)")


class LocalServer(NamedTuple):
    """A program that listens at a port of the loopback address only, and the place that says so."""

    group: ReplicaGroup
    program: str
    port: str
    place: Path


@check()
def server_on_loopback(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A server on the loopback address that another Pod connects to.

    Values: ``program``, ``type``, ``port``.
    """
    job = target.job
    if is_mode_enabled(job, "debug"):
        return
    for server in [each for group in job.pods for each in _list_local_servers(group)]:
        connection = _find_connection(job, server)
        if connection is not None:
            group, place = connection
            values = {"program": server.program, "type": group.replica_type, "port": server.port}
            related = [(group.doc, place, "the connection")]
            yield Violation(server.place, values, related, doc=server.group.doc, group=server.group)


def _list_local_servers(group: ReplicaGroup) -> Iterator[LocalServer]:
    containers = list_containers(group)
    for base, container in containers:
        programs = programs_of(container)
        # A program beside others may be a client, which --host tells where one of them listens.
        is_alone = len(containers) == 1 and sum(each.name not in HELPERS for _, each in programs) == 1
        for command, process in programs:
            if command is not None and command.is_conditional:
                continue
            found = _find_local_port(process, container, is_alone=is_alone)
            if found is not None:
                yield LocalServer(group, process.name, found[0], below(base, found[1]))


def _find_local_port(
    process: Process, container: Mapping[str, Any], *, is_alone: bool
) -> tuple[str, Path] | None:
    """The port that a program serves at the loopback address only, and what says so."""
    options = dict(_list_options(process.words[1:]))
    if process.name == "etcd":
        return _find_etcd_port(process, options, container)
    default = "6379" if process.name in _REDIS else ""
    port = options["--port"][0] if "--port" in options else default
    for name in _HOST_OPTIONS if is_alone or default else ():
        value, word = options.get(name, ("", None))
        found = _LOCAL_HOST.fullmatch(value)
        if found is not None and word is not None and word.is_known and (found[1] or port):
            return found[1] or port, word.place
    return None


def _find_etcd_port(
    process: Process, options: Mapping[str, tuple[str, Word]], container: Mapping[str, Any]
) -> tuple[str, Path] | None:
    """The port of etcd, which serves clients at the addresses of an option or of a variable."""
    value, place = "http://localhost:2379", process.place
    for at, entry in get_entries(container, "env"):
        if get_text(entry, "name") == _ETCD_VARIABLE:
            value, place = get_text(entry, "value"), ("env", at, "value")
    for name in ("--listen-client-urls", "-listen-client-urls"):
        if name in options:
            value, place = options[name][0], options[name][1].place
    has_file = "--config-file" in options or "ETCD_CONFIG_FILE" in str(container.get("env"))
    urls = [_URL.fullmatch(url.strip()) for url in value.split(",")]
    if has_file or container.get("envFrom") or not all(url is not None and url["local"] for url in urls):
        return None
    return next(url["port"] for url in urls if url is not None), place


def _list_options(words: tuple[Word, ...]) -> Iterator[tuple[str, tuple[str, Word]]]:
    """The options of a line, each with its value and the word of the value."""
    for word, following in zip(words, (*words[1:], None), strict=False):
        name, equals, value = word.text.partition("=")
        if name.startswith("-") and equals:
            yield name, (value, word)
        elif name.startswith("-") and following is not None and not following.text.startswith("-"):
            yield name, (following.text, following)


def _find_connection(job: LoweredJob, server: LocalServer) -> tuple[ReplicaGroup, Path] | None:
    """Where a Pod of another replica type names the host of a server and its port."""
    for group in job.pods:
        for base, container in list_containers(group) if group is not server.group else ():
            for place, text in list_texts(container):
                for host, port in _CONNECTION.findall(text):
                    found = find_pod(job, host) if port == server.port else None
                    if found is not None and found[0] is server.group:
                        return group, (*base, *place)
    return None
