"""Work that replicas share by number: unprocessed parts, and output files that all replicas write.

Sources: https://kubernetes.io/docs/tasks/job/indexed-parallel-processing-static/,
https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes (volumes lock no files).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, below
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.launchers.processes import iter_commands
from podplan.launchers.words import Word
from podplan.lint.analysis.jobs import (
    has_isolated_replicas,
    is_mode_enabled,
    list_replica_places,
)
from podplan.lint.analysis.launches import (
    ContainerLaunch,
    find_launch_on_replica,
    find_launches,
    get_last_index,
)
from podplan.lint.analysis.pod_jobs import find_pod_jobs
from podplan.lint.analysis.processes import process_of
from podplan.lint.analysis.script_options import (
    LONGEST,
    PlacedOption,
    ScriptOption,
    iter_given_options,
    list_program_options,
)
from podplan.lint.checks.outputs import mount_of, volume_of
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

_NOUNS = "shard|part|partition|chunk|split|slice|bucket|fold"
_INDEX = compile_lazily(
    rf"(?:(?:this|my|current|cur)_)?(?P<noun>{_NOUNS})(?:_?(?:id|index|idx|number|no|num|rank))?"
)
_COUNT = compile_lazily(
    rf"(?:(?:num|n|nr|total|total_num|number_of)_?)(?P<noun>{_NOUNS})s?"
    rf"|(?P<plural>{_NOUNS})(?:s|_count|s_total|_total)"
)
_OUTPUT = compile_lazily(
    r"(?:\w+_)?(?:out|outputs?|save|export|results?|dest|destination)(?:_?(?:file|path|to|name|filename))?"
)
_FILE = compile_lazily(
    r"/.*\.(?:parquet|csv|tsv|jsonl?|npy|npz|pkl|pickle|h5|hdf5|pth?|safetensors|arrow|feather|tfrecords?|txt"
    r"|bin|db|sqlite3?|lmdb|zip|tar|gz|zst)"
)
_EMPTYING = (">", ">|", "&>")
_SHARED_VOLUMES = ("persistentVolumeClaim", "nfs", "hostPath", "cephfs", "csi")


class ShardRange(NamedTuple):
    """The parts of the data that the replicas of a launch process, from ``first`` to ``last``.

    ``number_option`` states the number of the part and ``count_option`` that of all parts; ``noun`` names a
    part.
    """

    launch: ContainerLaunch
    noun: str
    first: int
    last: int
    number_option: PlacedOption
    count_option: PlacedOption


@check()
def unprocessed_shards(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A number of parts that differs from the number of replicas.

    Values: ``option``, ``count``, ``taken``, ``noun``, ``effect``.
    """
    job = target.job
    if is_mode_enabled(job, "debug"):
        return
    yield from _find_equal_shards(job)
    shares = [share for launch in find_launches(job) for share in iter_shares(job, launch)]
    for noun in dict.fromkeys(share.noun for share in shares):
        same = [share for share in shares if share.noun == noun]
        taken = {number for one in same for number in range(one.first, one.last + 1)}
        counts = {one.count_option.option.number for one in same}
        total = same[0].count_option.option.number or 0
        base = 1 if min(taken) == 1 and max(taken) == total else 0
        if len(counts) != 1 or len(taken) < 2 or taken == set(range(base, total + base)):
            continue
        missing = sorted(set(range(total)) - taken)[:3]
        effect = f"nobody does {noun} {missing[0]}" if missing else f"there is no {noun} {max(taken)}"
        if base == 0 and not missing and max(taken) < total:
            continue
        values = {
            "option": same[0].count_option.option.name,
            "count": total,
            "taken": format_count(len(taken), "replica"),
            "noun": noun,
            "effect": effect,
        }
        related = [(same[0].number_option.doc, same[0].number_option.path, f"the {noun} of a replica")]
        related += list_replica_places(job)
        related += _list_variable_places(same[0].launch, same[0].count_option)
        yield Violation(
            same[0].count_option.path,
            values,
            related,
            doc=same[0].count_option.doc,
            group=same[0].launch.group,
        )


def _find_equal_shards(job: LoweredJob) -> Iterator[Violation]:
    """Find replicas that all do the same part, of as many parts as there are replicas."""
    if not has_isolated_replicas(job):
        return
    for launch in find_launches(job):
        group = launch.group
        end = find_launch_on_replica(launch, get_last_index(group))
        if group.replicas < 2 or end is None or launch.invocation.is_conditional or launch.is_launcher:
            continue
        first = {one.key: one.value for one in _list_given(launch)}
        if first != {one.key: one.value for one in _list_given(end)}:
            continue
        for noun, index, count in _match_given(job, launch)[:1]:
            if count.option.number != group.replicas:
                continue
            values = {
                "option": count.option.name,
                "count": group.replicas,
                "taken": format_count(group.replicas, "replica"),
                "noun": noun,
                "effect": f"all of them do {noun} {index.option.value}",
            }
            related = [(count.doc, count.path, f"the number of {noun}s"), *list_replica_places(job)]
            related += [*_list_variable_places(launch, index), *_list_variable_places(launch, count)]
            yield Violation(index.path, values, related, doc=index.doc, group=group)


def _match_given(job: LoweredJob, launch: ContainerLaunch) -> list[tuple[str, PlacedOption, PlacedOption]]:
    """Return the parts that the options of a program state, or else the variables of its container."""
    written = list(match_share(list(list_program_options(job, launch))))
    return written or list(match_share(_list_variables(launch)))


def _list_variables(launch: ContainerLaunch) -> list[PlacedOption]:
    return [
        PlacedOption(one, launch.group.doc, (*launch.path, *one.word.path)) for one in _iter_variables(launch)
    ]


def _list_variable_places(
    launch: ContainerLaunch, option: PlacedOption
) -> list[tuple[TracedDocument, Path, str]]:
    """Return the variables of the kind and value of an option, as related locations."""
    pattern = _COUNT if _COUNT.fullmatch(option.option.last) else _INDEX
    return [
        (one.doc, one.path, f"the value of {option.option.name}")
        for one in _list_variables(launch)
        if pattern.fullmatch(one.option.last)
        and one.option.value == option.option.value
        and one.path != option.path
    ]


def _list_given(launch: ContainerLaunch) -> list[ScriptOption]:
    return [*iter_given_options(launch.invocation.words), *_iter_variables(launch)]


def _iter_variables(launch: ContainerLaunch) -> Iterator[ScriptOption]:
    """Yield the variables of a container like options."""
    for at, entry in get_entries(launch.container, "env"):
        name, value = get_text(entry, "name"), get_text(entry, "value")
        if name and value and len(value) <= LONGEST:
            yield ScriptOption(name, name.lower(), value, Word(value, ("env", at, "value"), 0, len(value)))


def iter_shares(job: LoweredJob, launch: ContainerLaunch) -> Iterator[ShardRange]:
    """Yield the parts of a launch whose replicas select a part by their own number."""
    group = launch.group
    end = find_launch_on_replica(launch, get_last_index(group))
    if group.replicas < 2 or end is None or launch.invocation.is_conditional or launch.is_launcher:
        return
    final = {one.key: one for one in _list_given(end)}
    for noun, index, count in _match_given(job, launch):
        other = final.get(index.option.key)
        first, last = _read_number(index.option), _read_number(other) if other is not None else None
        if first is not None and last is not None and last - first == group.replicas - 1:
            yield ShardRange(launch, noun, first, first + _count_takers(job, group) - 1, index, count)


def _count_takers(job: LoweredJob, group: ReplicaGroup) -> int:
    """Count the replicas that process a part, also those that start after others."""
    pod_jobs = find_pod_jobs(job, group)
    return max(pod_jobs.completions, group.replicas) if pod_jobs is not None else group.replicas


def match_share(options: list[PlacedOption]) -> Iterator[tuple[str, PlacedOption, PlacedOption]]:
    """Yield pairs of options for the part of a program and the number of parts: noun, index and count."""
    for index in options:
        found = _INDEX.fullmatch(index.option.last)
        for count in options if found is not None and _read_number(index.option) is not None else ():
            named = _COUNT.fullmatch(count.option.last)
            noun = named["noun"] or named["plural"] if named is not None else ""
            if found is not None and noun == found["noun"] and count.option.number and count is not index:
                yield noun, index, count


def _read_number(option: ScriptOption) -> int | None:
    """Parse a value as an integer >= 0."""
    value = option.value or ""
    return int(value) if value.isdecimal() and len(value) < 8 else None


@check()
def shared_output_file(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A file to which each replica writes its own part. Values: ``option``, ``path``, ``pods``."""
    job = target.job
    if is_mode_enabled(job, "debug") or not has_isolated_replicas(job):
        return
    for launch in find_launches(job):
        group = launch.group
        end = find_launch_on_replica(launch, get_last_index(group))
        if group.replicas < 2 or end is None or launch.is_launcher or launch.invocation.is_conditional:
            continue
        final = {one.key: one.value for one in iter_given_options(end.invocation.words)}
        for place, path in _iter_redirected(launch, end):
            mount = _find_shared_mount(launch, path) if path.startswith("/") else None
            if mount is not None:
                yield _build_shared_output(job, launch, "the output of the program", path, mount, place)
        options = list(list_program_options(job, launch))
        own = [one for one in options if final.get(one.option.key) != one.option.value]
        for placed in options if own else ():
            path = placed.option.value or ""
            if _OUTPUT.fullmatch(placed.option.last) and _FILE.fullmatch(path) and placed not in own:
                mount = _find_shared_mount(launch, path)
                if mount is not None:
                    name = placed.option.name
                    found = _build_shared_output(job, launch, name, path, mount, placed.path)
                    yield found._replace(doc=placed.doc)


def _build_shared_output(
    job: LoweredJob, launch: ContainerLaunch, option: str, path: str, mount: int, place: Path
) -> Violation:
    group = launch.group
    values = {"option": option, "path": path, "pods": format_count(group.replicas, "Pod")}
    related = [(group.doc, (*launch.path, "volumeMounts", mount), "the volume that they share")]
    related += list_replica_places(job)
    return Violation(place, values, related, doc=group.doc, group=group)


def _iter_redirected(launch: ContainerLaunch, end: ContainerLaunch) -> Iterator[tuple[Path, str]]:
    """Yield the files that a shell overwrites with the output of a program that differs by replica."""
    first, last = process_of(launch.container).string, process_of(end.container).string
    if first is None or last is None:
        return
    pairs = list(zip(iter_commands(first.nodes), iter_commands(last.nodes), strict=False))
    for command, other in pairs:
        is_own = [word.text for word in command.words] != [word.text for word in other.words]
        if not is_own or command.is_conditional or len(command.redirections) != len(other.redirections):
            continue
        for (operator, target), (_, at_end) in zip(command.redirections, other.redirections, strict=True):
            if operator in _EMPTYING and target.is_known and target.text == at_end.text:
                yield below(launch.path, first.place_word(target).place), target.text


def _find_shared_mount(launch: ContainerLaunch, path: str) -> int | None:
    """Return the index of the mount of a path, if all replicas share the files there."""
    found = mount_of(launch.container, path)
    if found is None or "subPathExpr" in found[1]:
        return None
    volume = volume_of(launch.group, get_text(found[1], "name"))
    is_shared = any(get_mapping(volume, kind) for kind in _SHARED_VOLUMES)
    return found[0] if is_shared else None
