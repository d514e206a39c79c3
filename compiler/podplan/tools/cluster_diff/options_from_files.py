"""Proposes options from the files of a job: those in its ConfigMap, and those that its Pods mount."""

from __future__ import annotations

import re
from collections.abc import Iterator

from podplan.core.typing import Any
from podplan.kinds.lowering_options import list_lowering_options
from podplan.tools.cluster_diff.name_patterns import insert_placeholders
from podplan.tools.cluster_diff.observed_job import ClusterDiff, build_placeholders

_HOST_PATTERN = re.compile(r"\{(host|pod|service)\}(\..*)?")
_SAMPLE_PODS = 2  # Pods that are searched for mounts of keys


def propose_hosts(comparison: ClusterDiff) -> Iterator[tuple[str, Any]]:
    """Propose the host names of replicas, from MASTER_ADDR and the first line of the hostfile."""
    option = comparison.current_option("service.host")
    pods = [
        pair
        for pair in comparison.pairs_of_kind("Pod")
        if "index" in build_placeholders(comparison, pair.predicted, pair.real)
    ]
    services = {pair.predicted.name: pair.real for pair in comparison.pairs_of_kind("Service")}
    if not pods:
        return
    first_placeholders = build_placeholders(comparison, pods[0].predicted, pods[0].real)
    service = services.get(pods[0].predicted.name)
    if service is None and len(comparison.pairs_of_kind("Service")) == 1:
        service = comparison.pairs_of_kind("Service")[0].real
    placeholders = {
        **first_placeholders,
        "service": service["metadata"]["name"] if service else "",
        "namespace": str(pods[0].real["metadata"].get("namespace", "")),
    }
    yield option.id, list_lowering_options()[option.id].value
    for predicted, real in _iter_first_hosts(comparison):
        patterns = (
            insert_placeholders(real, {**placeholders, "host": predicted}, ("host", "namespace")),
            insert_placeholders(real, placeholders, option.placeholders),
        )
        yield from ((option.id, form) for form in patterns if _HOST_PATTERN.fullmatch(form))
        own_id = f"{comparison.kind_spec.option_prefix}.host"
        if own_id in list_lowering_options():
            # A Service may be called as its Pods begin, so the name of the Pod is looked for first.
            pod, names = str(placeholders["pod"]), list_lowering_options()[own_id].placeholders
            if real.startswith(pod):
                yield own_id, "{pod}" + insert_placeholders(real[len(pod) :], placeholders, names)


def _iter_first_hosts(comparison: ClusterDiff) -> Iterator[tuple[str, str]]:
    """Yield pairs of a predicted and a real host."""
    for pair in comparison.pairs_of_kind("Pod"):
        names = [_read_variable(one, "MASTER_ADDR") for one in (pair.predicted.object, pair.real)]
        if names[0] and names[1]:
            yield names[0], names[1]
            break
    for predicted_text, real_text in _iter_changed_texts(comparison):
        if predicted_text.split() and real_text.split():
            yield predicted_text.split()[0], real_text.split()[0]


def _read_variable(pod: dict[str, Any], name: str) -> str:
    container_list = pod.get("spec", {}).get("containers") or [{}]
    return next(
        (
            str(one.get("value", ""))
            for container in container_list
            for one in container.get("env") or []
            if one.get("name") == name
        ),
        "",
    )


def find_first_host(comparison: ClusterDiff) -> str:
    """Return the first host of the predicted hostfile."""
    key = comparison.current_option("ssh.hostfile-key").value
    texts = [pair.predicted.object["data"].get(key, "") for pair in comparison.pairs_of_kind("ConfigMap")]
    return next((text.split()[0] for text in texts if text.split()), "")


def _iter_changed_texts(comparison: ClusterDiff) -> Iterator[tuple[str, str]]:
    """Yield the texts of ConfigMaps that differ."""
    for difference in comparison.differences:
        is_text = isinstance(difference.predicted, str) and isinstance(difference.real, str)
        if difference.kind == "ConfigMap" and difference.path[:1] == ("data",) and is_text:
            yield difference.predicted, difference.real


def propose_files(comparison: ClusterDiff) -> Iterator[tuple[str, Any]]:
    """Propose the names of the files, the form of their lines, and the mounts of the keys."""
    for pair in comparison.pairs_of_kind("ConfigMap"):
        data = pair.real.get("data") or {}
        new_keys = [key for key in data if key not in pair.predicted.object["data"]]
        for key in new_keys:
            yield "ssh.hostfile-key", key
            yield "deepspeed.env-file-key", key
    for predicted_text, real_text in _iter_changed_texts(comparison):
        yield from _propose_lines(comparison, predicted_text, real_text)
    if comparison.kind_spec.proposed_options.hostfile_line:
        yield from (("ssh.auth-mount-path", folder) for folder in _list_mount_folders(comparison))
    for difference in comparison.differences:
        if "items" in difference.real_path:
            yield from _propose_key_files(difference.real_object, difference.real_path)


def _list_mount_folders(comparison: ClusterDiff) -> dict[str, None]:
    """Return the folders that are mount points, or contain mounted files."""
    mounts = [
        mount
        for pair in comparison.pairs_of_kind("Pod")[:_SAMPLE_PODS]
        for container in pair.real["spec"].get("containers") or []
        for mount in container.get("volumeMounts") or []
    ]
    paths = (str(mount.get("mountPath", "")).removesuffix(f"/{mount.get('subPath', '')}") for mount in mounts)
    return dict.fromkeys(path for path in paths if path.startswith("/"))


def _propose_lines(comparison: ClusterDiff, predicted_text: str, real_text: str) -> Iterator[tuple[str, Any]]:
    """Propose the form of the lines of a file, from its first predicted and real line."""
    id_ = comparison.kind_spec.proposed_options.hostfile_line
    line, real = predicted_text.splitlines()[:1], real_text.splitlines()[:1]
    if not id_ or not real or not "".join(line).strip():
        return
    host, slots = line[0].split()[0], line[0].partition("slots=")[2]
    slot_words = real[0].partition("slots=")[2].split()
    if slot_words and slot_words[0].isdecimal():
        yield "deepspeed.slots-per-worker", int(slot_words[0])
    yield (
        id_,
        insert_placeholders(
            real[0], {"host": host, "slots": slots}, list_lowering_options()[id_].placeholders
        ),
    )
    variable, _, value = line[0].partition("=")
    if variable and value:
        pattern = insert_placeholders(real[0], {"name": variable}, ("name",))
        yield "deepspeed.env-file", pattern.replace(value, "{value}")


def _propose_key_files(real: dict[str, Any] | None, path: tuple[str | int, ...]) -> Iterator[tuple[str, Any]]:
    """Propose the key files, from the volume of a path."""
    value: Any = real
    for step in path[: path.index("items") + 1]:
        value = value.get(step) if isinstance(value, dict) else value[int(step)]
    if isinstance(value, list) and all(isinstance(entry, dict) for entry in value):
        yield "ssh.key-files", [f"{entry.get('key', '')}:{entry.get('path', '')}" for entry in value]
