"""What settings the files of a job tell, those in its ConfigMap and those that its Pods mount."""

from __future__ import annotations

import re
from collections.abc import Iterator

from podplan.core.typing import Any
from podplan.kinds.lowering_options import settings
from podplan.tools.cluster_diff.name_patterns import worded
from podplan.tools.cluster_diff.observed_job import Compared, words_of

_IS_HOST = re.compile(r"\{(host|pod|service)\}(\..*)?")
_FEW = 2  # Pods that are looked at for where keys are mounted
_LINES = {"DeepSpeedJob": "deepspeed.hostfile-line", "ColossalAIJob": "colossalai.hostfile-line"}


def hosts(found: Compared) -> Iterator[tuple[str, Any]]:
    """How replicas call each other, by MASTER_ADDR and by the first host of the hostfile."""
    fact = found.fact("service.host")
    pods = [pair for pair in found.pairs("Pod") if "index" in words_of(found, pair.predicted, pair.real)]
    services = {pair.predicted.name: pair.real for pair in found.pairs("Service")}
    if not pods:
        return
    first = words_of(found, pods[0].predicted, pods[0].real)
    service = services.get(pods[0].predicted.name)
    if service is None and len(found.pairs("Service")) == 1:
        service = found.pairs("Service")[0].real
    known = {
        **first,
        "service": service["metadata"]["name"] if service else "",
        "namespace": str(pods[0].real["metadata"].get("namespace", "")),
    }
    yield fact.id, settings()[fact.id].value
    for predicted, real in _first_hosts(found):
        forms = (
            worded(real, {**known, "host": predicted}, ("host", "namespace")),
            worded(real, known, fact.words),
        )
        yield from ((fact.id, form) for form in forms if _IS_HOST.fullmatch(form))


def _first_hosts(found: Compared) -> Iterator[tuple[str, str]]:
    """A host as predicted and as it really is."""
    for pair in found.pairs("Pod"):
        names = [_variable(one, "MASTER_ADDR") for one in (pair.predicted.object, pair.real)]
        if names[0] and names[1]:
            yield names[0], names[1]
            break
    for ours, theirs in _texts(found):
        if ours.split() and theirs.split():
            yield ours.split()[0], theirs.split()[0]


def _variable(pod: dict[str, Any], name: str) -> str:
    listed = pod.get("spec", {}).get("containers") or [{}]
    return next(
        (
            str(one.get("value", ""))
            for container in listed
            for one in container.get("env") or []
            if one.get("name") == name
        ),
        "",
    )


def first_host(found: Compared) -> str:
    """The first host of the hostfile, as predicted."""
    key = found.fact("ssh.hostfile-key").value
    texts = [pair.predicted.object["data"].get(key, "") for pair in found.pairs("ConfigMap")]
    return next((text.split()[0] for text in texts if text.split()), "")


def _texts(found: Compared) -> Iterator[tuple[str, str]]:
    """The texts of ConfigMaps that differ."""
    for difference in found.differences:
        is_text = isinstance(difference.predicted, str) and isinstance(difference.real, str)
        if difference.kind == "ConfigMap" and difference.path[:1] == ("data",) and is_text:
            yield difference.predicted, difference.real


def files(found: Compared) -> Iterator[tuple[str, Any]]:
    """The names of the files, the form of their lines, and how the keys are mounted."""
    for pair in found.pairs("ConfigMap"):
        data = pair.real.get("data") or {}
        new = [key for key in data if key not in pair.predicted.object["data"]]
        for key in new:
            yield "ssh.hostfile-key", key
            yield "deepspeed.env-file-key", key
    for ours, theirs in _texts(found):
        yield from _lines(found, ours, theirs)
    if found.kind in _LINES:
        yield from (("ssh.auth-mount-path", folder) for folder in _folders(found))
    for difference in found.differences:
        if "items" in difference.real_path:
            yield from _items(difference.real_in, difference.real_path)


def _folders(found: Compared) -> dict[str, None]:
    """The folders that something is mounted at, or into, a file at a time."""
    mounts = [
        mount
        for pair in found.pairs("Pod")[:_FEW]
        for container in pair.real["spec"].get("containers") or []
        for mount in container.get("volumeMounts") or []
    ]
    paths = (str(mount.get("mountPath", "")).removesuffix(f"/{mount.get('subPath', '')}") for mount in mounts)
    return dict.fromkeys(path for path in paths if path.startswith("/"))


def _lines(found: Compared, ours: str, theirs: str) -> Iterator[tuple[str, Any]]:
    """The form of the lines of a file, by the first of them, as predicted and as it really is."""
    id_ = _LINES.get(found.kind)
    line, real = ours.splitlines()[:1], theirs.splitlines()[:1]
    if not id_ or not real or not "".join(line).strip():
        return
    host, slots = line[0].split()[0], line[0].partition("slots=")[2]
    told = real[0].partition("slots=")[2].split()
    if told and told[0].isdecimal():
        yield "deepspeed.slots-per-worker", int(told[0])
    yield id_, worded(real[0], {"host": host, "slots": slots}, settings()[id_].words)
    variable, _, value = line[0].partition("=")
    if variable and value:
        form = worded(real[0], {"name": variable}, ("name",))
        yield "deepspeed.env-file", form.replace(value, "{value}")


def _items(real: dict[str, Any] | None, path: tuple[str | int, ...]) -> Iterator[tuple[str, Any]]:
    """The files of the keys, of the volume that a path leads into."""
    value: Any = real
    for step in path[: path.index("items") + 1]:
        value = value.get(step) if isinstance(value, dict) else value[int(step)]
    if isinstance(value, list) and all(isinstance(entry, dict) for entry in value):
        yield "ssh.key-files", [f"{entry.get('key', '')}:{entry.get('path', '')}" for entry in value]
