"""Jobs of a set that never end, although the set or another Job of it waits for their end.

Source: https://jobset.sigs.k8s.io/docs/concepts/ (successPolicy: All waits for all targets, by default all
Jobs; dependsOn: Complete waits for the end of a Job).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from podplan.core.findings import Path, below
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.truncation import truncate
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.lint.analysis.features import PYTHON_TEXT, SEVERAL_TYPES, list_features
from podplan.lint.analysis.launches import ContainerLaunch, find_launches
from podplan.lint.analysis.pod_jobs import find_job_set
from podplan.lint.analysis.processes import find_endless_process
from podplan.lint.analysis.resources import find_training_container
from podplan.lint.analysis.script_options import iter_given_options
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

_SERVER_NAME = compile_lazily(r"(?:.*[./_-])?(?:serve|server|serving)(?:\.py)?")


class _Server(NamedTuple):
    """A process that never ends: its text, and its place."""

    doc: TracedDocument
    text: str
    path: Path


@check(requires=(SEVERAL_TYPES,))
def server_awaited(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A server whose end a JobSet or one of its Jobs awaits. Values: ``server``, ``text``, ``what``."""
    job, doc = target.job, target.job.cr
    if doc is None or find_job_set(job) is not doc:
        return
    servers = {group.replica_type: found for group in job.pods if (found := _find_server(job, group))}
    entries = get_entries(get_mapping(doc.data, "spec"), "replicatedJobs")
    names = {get_text(entry, "name") for _, entry in entries}
    if not servers or servers.keys() >= names:
        return
    dependencies = list(_iter_dependencies(entries, servers))
    for path, name, what in dependencies or _iter_awaited_by_policy(doc, entries, servers):
        server = servers[name]
        values = {"server": name, "text": server.text, "what": what}
        related = [(server.doc, server.path, "what never ends")]
        yield Violation(path, values, related, doc=doc)


def _iter_dependencies(
    entries: Sequence[tuple[int, Mapping[str, Any]]], servers: Mapping[str, _Server]
) -> Iterator[tuple[Path, str, str]]:
    """Yield the dependencies on the end of a server."""
    for number, entry in entries:
        for at, other in get_entries(entry, "dependsOn"):
            name = get_text(other, "name")
            if other.get("status") == "Complete" and name in servers:
                path: Path = ("spec", "replicatedJobs", number, "dependsOn", at, "status")
                yield path, name, f"{get_text(entry, 'name')} waits until it is complete, and never starts"


def _iter_awaited_by_policy(
    doc: TracedDocument, entries: Sequence[tuple[int, Mapping[str, Any]]], servers: Mapping[str, _Server]
) -> Iterator[tuple[Path, str, str]]:
    """Yield the first server that has to end before the set succeeds."""
    policy = get_mapping(get_mapping(doc.data, "spec"), "successPolicy")
    if policy.get("operator", "All") != "All":
        return
    what = "the job waits until it is complete, also when all others have finished"
    targets = list(get_texts(policy, "targetReplicatedJobs"))
    for at, name in targets:
        if name in servers:
            yield ("spec", "successPolicy", "targetReplicatedJobs", at), name, what
            return
    for number, entry in entries if not targets else ():
        name = get_text(entry, "name")
        if name in servers:
            path: Path = ("spec", "replicatedJobs", number, "name")
            yield ("spec", "successPolicy", "operator") if "operator" in policy else path, name, what
            return


def _find_server(job: LoweredJob, group: ReplicaGroup) -> _Server | None:
    """Return the main process of a Pod that never ends: a known server, or one by its name and port."""
    main = find_training_container(group)
    if main is None:
        return None
    endless = find_endless_process(main[1])
    if endless is not None and not endless.after_training and not endless.beside_training:
        return _Server(group.doc, endless.text, below(main[0], endless.words[0].place))
    if PYTHON_TEXT in list_features(job):
        from podplan.lint.checks.endless_scripts import find_endless_script

        joins = find_endless_script(job, group)
        if joins is not None:
            return _Server(joins.doc, f"{joins.text} in {joins.name}", joins.path)
    launches = [each for each in find_launches(job) if each.group is group]
    if len(launches) == 1 and _serves(job, launches[0]):
        word = launches[0].invocation.script or launches[0].invocation.program_word
        return _Server(group.doc, truncate(word.text, 60), launches[0].locate_word(word))
    return None


def _serves(job: LoweredJob, launch: ContainerLaunch) -> bool:
    """Whether a script is a server by its name, with a port that the container declares and others name."""
    script = launch.invocation.script
    if script is None or launch.invocation.launcher != "python" or not _SERVER_NAME.fullmatch(script.text):
        return False
    declared = {str(port.get("containerPort")) for _, port in get_entries(launch.container, "ports")}
    options = iter_given_options(launch.invocation.arguments)
    given = {option.value for option in options if option.key == "port"}
    others = (each.invocation for each in find_launches(job) if each.group is not launch.group)
    words = [word.text for each in others for word in each.arguments]
    return any(any(f":{port}" in word for word in words) for port in declared & given if port)
