"""Configuration files of accelerate in a ConfigMap, compared with the replicas and GPUs of the job.

Source: https://huggingface.co/docs/accelerate/package_reference/cli (options that are not given come from the
file of --config_file; num_processes is the total of all machines).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from posixpath import normpath

from podplan.core.findings import TextPath
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import NamedTuple
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.launchers.commands import AccelerateCommand
from podplan.lint.analysis.cross_job import RebuildJob
from podplan.lint.analysis.jobs import count_gpus, is_mode_enabled, list_replica_places, namespace_of
from podplan.lint.analysis.launches import ContainerLaunch, find_launches
from podplan.lint.checks.outputs import mount_of, volume_of
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Violation

_COUNT = compile_lazily(
    r"(?m)^[ \t]*[\"']?(?P<name>num_machines|num_processes)[\"']?[ \t]*:[ \t]*(?P<count>\d{1,6})\b"
)
MOST_TEXT = 20_000


class AccelerateConfig(NamedTuple):
    """A ConfigMap with the numbers of its keys, or a job that reads ``key`` of one."""

    namespace: str
    name: str
    counts: tuple[tuple[str, str, int], ...]
    key: str

    @property
    def keys(self) -> list[Hashable]:
        return [(self.namespace, self.name)]

    @property
    def owner(self) -> Hashable:
        return "job" if self.key else "config"


def summarize_config(job: LoweredJob) -> AccelerateConfig | None:
    """Summarize a ConfigMap by its numbers of machines and processes, a job by the file that it reads."""
    if job.cr is None:
        data = job.groups[0].doc.data
        if get_text(data, "kind") != "ConfigMap":
            return None
        counts = tuple(
            (key, found["name"], int(found["count"]))
            for key, text in get_mapping(data, "data").items()
            if isinstance(text, str) and "num_" in text and len(text) <= MOST_TEXT
            for found in _COUNT.finditer(text)
        )
        metadata = get_mapping(data, "metadata")
        names = get_text(metadata, "namespace"), get_text(metadata, "name")
        return AccelerateConfig(*names, counts, "") if counts else None
    found = _find_use(job)
    return AccelerateConfig(namespace_of(job), found[1], (), found[2]) if found is not None else None


@check(summarize=summarize_config)
def accelerate_config_differs(
    summaries: Mapping[int, AccelerateConfig], again: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A file with another number of machines or processes.

    Values: ``key``, ``name``, ``count``, ``needs``.
    """
    configs = {(one.namespace, one.name): number for number, one in summaries.items() if not one.key}
    for number, one in summaries.items():
        other = configs.get((one.namespace, one.name)) if one.key else None
        counts = [each for each in summaries[other].counts if each[0] == one.key] if other is not None else []
        job = again(number) if counts else None
        found = _find_use(job) if job is not None else None
        if other is None or job is None or found is None:
            continue
        launch = found[0]
        facts = launch.invocation.parsed
        assert isinstance(facts, AccelerateCommand)
        machines, gpus = launch.group.replicas, count_gpus(launch.group)
        for key, name, count in counts:
            expected = machines if name == "num_machines" else machines * gpus
            given = facts.machines if name == "num_machines" else facts.processes
            if given is not None or not expected or count == expected:
                continue
            what = format_count(machines, "replica")
            needs = what if name == "num_machines" else f"{what} with {format_count(gpus, 'GPU')} each"
            config = again(other).groups[0].doc
            text = config.data["data"][key]
            place = next(one for one in _COUNT.finditer(text) if one["name"] == name)
            related = [
                (config, TextPath(("data", key), (place.start("name"), place.end())), f"it is {count} here"),
                *list_replica_places(job),
            ]
            values = {"key": key, "name": name, "count": count, "needs": needs}
            option = launch.invocation.options.get("config_file")
            word = option.word if option is not None else launch.invocation.program_word
            yield (
                number,
                Violation(
                    launch.locate_word(word), values, related, doc=launch.group.doc, group=launch.group
                ),
            )


def _find_use(job: LoweredJob) -> tuple[ContainerLaunch, str, str] | None:
    """Return the launch that reads a configuration of a ConfigMap, with the names of the object and key."""
    if is_mode_enabled(job, "debug"):
        return None
    launches = [one for one in find_launches(job) if isinstance(one.invocation.parsed, AccelerateCommand)]
    if len(launches) != 1 or launches[0].invocation.is_conditional:
        return None
    launch = launches[0]
    facts = launch.invocation.parsed
    path = normpath(facts.config_file) if isinstance(facts, AccelerateCommand) and facts.config_file else ""
    found = mount_of(launch.container, path) if path.startswith("/") else None
    if found is None:
        return None
    source = get_mapping(volume_of(launch.group, get_text(found[1], "name")), "configMap")
    below = path.removeprefix(normpath(get_text(found[1], "mountPath"))).lstrip("/")
    file = get_text(found[1], "subPath") or below
    items = {get_text(item, "path"): get_text(item, "key") for _, item in get_entries(source, "items")}
    name = get_text(source, "name")
    return (launch, name, items.get(file, file)) if name and file else None
