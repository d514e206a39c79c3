"""Host files in a ConfigMap that name replicas which the job does not have.

Source: docs/evidence/mpi-operator.md (the worker Pods are counted from 0), and the hosts of other kinds in
docs/evidence/t9k-common.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from posixpath import normpath

from podplan.core.findings import TextPath
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import NamedTuple
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.launchers.commands import DeepSpeedCommand, HorovodrunCommand, MpirunCommand
from podplan.lint.analysis.cross_job import RebuildJob
from podplan.lint.analysis.jobs import (
    count_replicas_by_type,
    is_mode_enabled,
    list_replica_places,
    namespace_of,
)
from podplan.lint.analysis.launches import ContainerLaunch, find_launches
from podplan.lint.analysis.pod_hosts import build_replica_name_pattern
from podplan.lint.checks.outputs import mount_of, volume_of
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Violation

_HOST = compile_lazily(r"(?m)^[ \t]*(?P<host>[a-z0-9][a-z0-9.-]{0,252})")
MOST_TEXT = 100_000


class WrittenHostfile(NamedTuple):
    """A ConfigMap with the hosts in its keys, or a job that reads ``key`` of one."""

    namespace: str
    name: str
    hosts: tuple[tuple[str, str, int], ...]
    key: str

    @property
    def keys(self) -> list[Hashable]:
        return [(self.namespace, self.name)]

    @property
    def owner(self) -> Hashable:
        return "job" if self.key else "hostfile"


def summarize_hostfile(job: LoweredJob) -> WrittenHostfile | None:
    """Summarize a ConfigMap by the first words of its lines, a job by the host file that it reads."""
    if job.cr is None:
        data = job.groups[0].doc.data
        if get_text(data, "kind") != "ConfigMap":
            return None
        hosts = tuple(
            (key, found["host"], found.start("host"))
            for key, text in get_mapping(data, "data").items()
            if isinstance(text, str) and "host" in key.lower() and len(text) <= MOST_TEXT
            for found in _HOST.finditer(text)
        )
        metadata = get_mapping(data, "metadata")
        names = get_text(metadata, "namespace"), get_text(metadata, "name")
        return WrittenHostfile(*names, hosts, "") if hosts else None
    found = _find_use(job)
    return WrittenHostfile(namespace_of(job), found[1], (), found[2]) if found is not None else None


@check(summarize=summarize_hostfile)
def hostfile_of_other_replicas(
    summaries: Mapping[int, WrittenHostfile], rebuild_job: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A host file with a replica that does not exist. Values: ``key``, ``host``, ``type``, ``ranks``."""
    files = {(one.namespace, one.name): number for number, one in summaries.items() if not one.key}
    for number, one in summaries.items():
        other = files.get((one.namespace, one.name)) if one.key else None
        if other is None:
            continue
        job = rebuild_job(number)
        found = _find_use(job)
        pattern = build_replica_name_pattern(job)
        counts = {name.lower(): count for name, count in count_replicas_by_type(job).items()}
        for key, host, start in summaries[other].hosts if found is not None and pattern is not None else ():
            named = pattern.fullmatch(host.partition(".")[0]) if pattern is not None else None
            count = counts.get(named["type"], 0) if named is not None else 0
            if key != one.key or found is None or named is None or not 0 < count <= int(named["index"]):
                continue
            launch, config = found[0], rebuild_job(other).groups[0].doc
            related = [
                (config, TextPath(("data", key), (start, start + len(host))), "the host"),
                *list_replica_places(job),
            ]
            ranks = f"{format_count(count, 'Pod')}, counted from 0"
            values = {"key": key, "host": host, "type": named["type"], "ranks": ranks}
            option = launch.invocation.options.get("hostfile")
            word = option.word if option is not None else launch.invocation.program_word
            place = launch.locate_word(word)
            yield number, Violation(place, values, related, doc=launch.group.doc, group=launch.group)
            break


def _find_use(job: LoweredJob) -> tuple[ContainerLaunch, str, str] | None:
    """Return the launch that reads a host file of a ConfigMap, with the names of the object and the key."""
    if is_mode_enabled(job, "debug"):
        return None
    for launch in find_launches(job):
        facts = launch.invocation.parsed
        given = (
            facts.hostfile if isinstance(facts, (DeepSpeedCommand, HorovodrunCommand, MpirunCommand)) else ""
        )
        path = normpath(given) if given and given.startswith("/") else ""
        found = mount_of(launch.container, path) if path else None
        if found is None or launch.invocation.is_conditional:
            continue
        source = get_mapping(volume_of(launch.group, get_text(found[1], "name")), "configMap")
        below = path.removeprefix(normpath(get_text(found[1], "mountPath"))).lstrip("/")
        file = get_text(found[1], "subPath") or below
        items = {get_text(item, "path"): get_text(item, "key") for _, item in get_entries(source, "items")}
        if get_text(source, "name") and file:
            return launch, get_text(source, "name"), items.get(file, file)
    return None
