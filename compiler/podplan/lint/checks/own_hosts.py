"""Names of replicas that are written out, in env and in command lines, and that no Service has.

Source: docs/evidence/kubernetes-pods.md#hosts-that-exist, docs/evidence/t9k-genericjob.md#services.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import pattern
from podplan.core.replica_groups import Group
from podplan.core.typing import Any
from podplan.kubernetes.accessors import entries, mapping, text, texts
from podplan.lint.analysis import pod_hosts
from podplan.lint.analysis.jobs import mode
from podplan.lint.target import Hit, Job, Subject

_HOST_VARIABLE = pattern(r".*(?:_ADDR|_ADDRESS|_HOST|_HOSTS|_ENDPOINT|_ENDPOINTS|_SERVER|_SERVERS|_MASTER)")
_OPTION = pattern(r"--?(?:master[-_]addr|rdzv[-_]endpoint|main_process_ip|hosts?|H)")
_ASKING = r"\b(?:nslookup|getent\s+(?:ahosts|hosts)|ping(?:\s+-\S+)*|ssh|curl|nc(?:\s+-\S+)*)\s+"
_BEFORE = rf"(?:--(?:master[-_]addr|rdzv[-_]endpoint|main_process_ip|hosts?)[= ]|{_ASKING}|//)"
_PORT = pattern(r":\d{2,5}\Z")
_DOMAIN = r"(?:\.[a-z0-9-]+(?:\.svc(?:\.[a-z0-9.-]+)?)?)?"


def unknown_replica_host(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A replica of the job as a host, where there is none of that name; values ``host`` and ``why``."""
    job = subject.job
    strings = [found for group in job.pods for found in _doubtful(job, group)]
    name = pod_hosts.replica_name(job) if strings else None
    if name is None or mode(job, "debug") or mode(job, "pause"):
        return
    bare = re.sub(r"\?P<\w+>", "", name.pattern)
    word = re.compile(
        rf"(?<![\w./-])(?P<before>{_BEFORE})?(?P<host>{bare}){_DOMAIN}(?P<port>:\d{{2,5}})?(?![\w.-])"
    )
    for group, path, value, is_host in strings:
        for found in word.finditer(value):
            if not (is_host or found["before"] or found["port"]):
                continue
            why = pod_hosts.missing(job, found["host"])
            if why:
                yield Hit(path, {"host": found["host"], "why": why}, doc=group.doc, group=group)
                break


def _doubtful(job: Job, group: Group) -> Iterator[tuple[Group, Path, str, bool]]:
    """The strings of a Pod that may name a replica which is not there; most jobs have none."""
    begins = f"{pod_hosts.job_name(job)}-"
    for path, value, is_host in _strings(group, begins):
        if not pod_hosts.has_service(job, _PORT.sub("", value)):
            yield group, path, value, is_host


def _strings(group: Group, part: str) -> Iterator[tuple[Path, str, bool]]:
    """The strings with a part in all containers of a Pod, and whether they are surely hosts."""
    spec = mapping(group.doc.data, "spec")
    for listed in ("initContainers", "containers"):
        for number, container in entries(spec, listed):
            base = ("spec", listed, number)
            for at, entry in entries(container, "env"):
                value = text(entry, "value")
                if part in value:
                    is_host = _HOST_VARIABLE.fullmatch(text(entry, "name")) is not None
                    yield (*base, "env", at, "value"), value, is_host
            for key in ("command", "args"):
                words = list(texts(container, key))
                for (at, value), (_, before) in zip(words, [(-1, ""), *words], strict=False):
                    if part in value:
                        yield (*base, key, at), value, bool(_OPTION.fullmatch(before))
