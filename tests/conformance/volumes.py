"""The file system of a container: that of the machine as its image, and the volumes of its Pod.

Writes of a container go to memory and end with the node; the files of the machine stay unchanged.
"""

from __future__ import annotations

import base64
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

Command = list[str]
IMAGE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
WORKSPACE = "/workspace"
UNITS = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "k": 10**3, "M": 10**6, "G": 10**9}
# As in images for ssh (docs/evidence/ssh.md#folder-of-the-keys): otherwise sshd rejects keys in the folder of
# a Secret.
FILES = {"/etc/ssh/sshd_config.d/image.conf": "StrictModes no\n"}
# Folders of the machine that no image has, with their modes; the interpreter may be below /root.
EMPTY = {"/tmp": 1777, "/run": 755, "/root": 711, "/home": 755, "/var/tmp": 1777, "/mnt": 755}
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


class Image(NamedTuple):
    """The image: folders merged at /workspace, folders that are kept, and the text of files by path."""

    workspace: Sequence[str]
    kept: Sequence[str]
    files: Mapping[str, str]


class Unsupported(Exception):
    """A feature that this harness does not support; the message names it."""


def root(image: Image, at: Path, hosts: Path, hostname: str) -> list[Command]:
    """Return the commands that build the root file system of one container at ``at``, an empty folder in
    memory."""
    new = at / "root"
    commands = [
        ["mkdir", "-p", *(str(at / name) for name in ("root", "upper", "work", "upper-work", "work-work"))],
        ["mount", "-t", "overlay", "overlay", "-o", _layers(["/"], at, "upper", "work"), str(new)],
    ]
    for place, mode in EMPTY.items():
        memory = ["mount", "-t", "tmpfs", "-o", f"mode={mode}", "tmpfs", f"{new}{place}"]
        commands += [["mkdir", "-p", f"{new}{place}"], memory]
    for place in image.kept:
        commands += [["mkdir", "-p", f"{new}{place}"], ["mount", "--bind", place, f"{new}{place}"]]
    over = _layers(image.workspace, at, "upper-work", "work-work")
    commands += [
        ["mkdir", "-p", f"{new}{WORKSPACE}", f"{new}/run/sshd"],
        ["mount", "-t", "overlay", "overlay", "-o", over, f"{new}{WORKSPACE}"],
        ["mount", "-t", "proc", "proc", f"{new}/proc"],
        ["mount", "-t", "sysfs", "-o", "ro", "sysfs", f"{new}/sys"],
        ["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", f"{new}/dev"],
        ["mkdir", f"{new}/dev/pts", f"{new}/dev/shm"],
        [
            "mount",
            "-t",
            "devpts",
            "-o",
            "newinstance,ptmxmode=0666,mode=620,gid=5",
            "devpts",
            f"{new}/dev/pts",
        ],
        # 64 MiB is the default of container runtimes without a volume.
        ["mount", "-t", "tmpfs", "-o", "size=65536k,mode=1777", "tmpfs", f"{new}/dev/shm"],
        ["ln", "-s", "pts/ptmx", f"{new}/dev/ptmx"],
        ["ln", "-s", "/proc/self/fd", f"{new}/dev/fd"],
    ]
    for path, text in image.files.items():
        write = f"mkdir -p {new}{path.rpartition('/')[0]}; printf %s {shlex.quote(text)} > {new}{path}"
        commands.append(["sh", "-c", write])
    for number, stream in enumerate(("stdin", "stdout", "stderr")):
        commands.append(["ln", "-s", f"/proc/self/fd/{number}", f"{new}/dev/{stream}"])
    for device in DEVICES:
        commands += [
            ["touch", f"{new}/dev/{device}"],
            ["mount", "--bind", f"/dev/{device}", f"{new}/dev/{device}"],
        ]
    commands += [
        ["rm", "-f", f"{new}/etc/hosts", f"{new}/etc/hostname", f"{new}/etc/resolv.conf"],
        ["touch", f"{new}/etc/hosts", f"{new}/etc/resolv.conf"],
        ["mount", "--bind", str(hosts), f"{new}/etc/hosts"],
        ["sh", "-c", f"echo {hostname} > {new}/etc/hostname"],
        # Host names come only from the hosts file: any other is unknown, as in the DNS of a cluster.
        ["sh", "-c", f"echo 'hosts: files' > {new}/etc/nsswitch.conf"],
        ["hostname", hostname],
    ]
    return commands


def _layers(lower: Sequence[str], at: Path, upper: str, work: str) -> str:
    return f"lowerdir={':'.join(lower)},upperdir={at / upper},workdir={at / work}"


def make(
    volume: Mapping[str, Any], objects: Sequence[Mapping[str, Any]], at: Path, claims: Path
) -> list[Command]:
    """Write the volume below ``at`` and return the commands that finish it; claims are in ``claims``.

    Raises Unsupported: for a volume that needs a real cluster.
    """
    place = at / volume["name"]
    kind = next((key for key in volume if key != "name"), "emptyDir")
    source = volume.get(kind) or {}
    if kind == "persistentVolumeClaim":
        (claims / source["claimName"]).mkdir(parents=True, exist_ok=True)
        place.symlink_to(claims / source["claimName"])
        return []
    place.mkdir(parents=True)
    if kind == "emptyDir":
        if source.get("medium") != "Memory":
            place.chmod(0o777)
            return []
        size = f"size={quantity(source['sizeLimit'])}," if "sizeLimit" in source else ""
        return [["mount", "-t", "tmpfs", "-o", f"{size}mode=1777", "tmpfs", str(place)]]
    if kind in ("configMap", "secret"):
        name = source.get("name") or source.get("secretName")
        _files(place, source, content(named(objects, kind, str(name))))
        # The kubelet makes both accessible for everyone.
        place.chmod(0o1777 if kind == "secret" else 0o777)
        return []
    raise Unsupported(f"a volume of the type {kind}")


def owned(volume: Mapping[str, Any], at: Path, group: int | None) -> list[Command]:
    """Return the commands that give a volume to the fsGroup of its Pod, as the kubelet does; empty without
    one."""
    if group is None or "persistentVolumeClaim" in volume:
        return []
    may = "g+rX" if {"secret", "configMap"} & volume.keys() else "g+rwX"
    place = str(at / volume["name"])
    return [["chgrp", "-R", str(group), place], ["chmod", "-R", may, place]]


def _files(place: Path, source: Mapping[str, Any], data: Mapping[str, bytes]) -> None:
    items = source.get("items") or [{"key": key, "path": key} for key in data]
    for item in items:
        path = place / item["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data[item["key"]])
        path.chmod(item.get("mode", source.get("defaultMode", 0o644)))


def content(found: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files of a ConfigMap or a Secret, by key."""
    plain = {**found.get("stringData", {}), **(found.get("data", {}) if found["kind"] == "ConfigMap" else {})}
    coded = found.get("binaryData", {}) if found["kind"] == "ConfigMap" else found.get("data", {})
    return {key: str(text).encode() for key, text in plain.items()} | {
        key: base64.b64decode(text) for key, text in coded.items()
    }


def named(objects: Sequence[Mapping[str, Any]], kind: str, name: str) -> Mapping[str, Any]:
    """Return the ConfigMap or Secret with this name. Raises Unsupported: if it does not exist."""
    for one in objects:
        if one["kind"].lower() == kind.lower() and one["metadata"]["name"] == name:
            return one
    raise Unsupported(f"the {kind} {name}, which is not among the objects")


def mount(entry: Mapping[str, Any], volumes: Path, new: Path) -> list[Command]:
    """Return the commands that mount one volume of the Pod into the root ``new`` of a container."""
    source = f"{volumes / entry['name']}" + (f"/{entry['subPath']}" if "subPath" in entry else "")
    target = f"{new}{entry['mountPath']}"
    parent = target.rstrip("/").rpartition("/")[0]
    there = f"if [ -d {source}/ ]; then mkdir -p {target}; else mkdir -p {parent}; touch {target}; fi"
    commands = [["sh", "-c", there], ["mount", "--bind", source, target]]
    return [*commands, ["mount", "-o", "remount,ro,bind", target]] if entry.get("readOnly") else commands


def quantity(text: str | int) -> int:
    """Return the number of bytes of a Kubernetes quantity."""
    text = str(text)
    number = text.rstrip("".join(UNITS))
    return int(float(number) * UNITS[text[len(number) :]])
