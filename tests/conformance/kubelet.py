"""Runs one Pod on the node: its network, volumes and containers, from the start to the exit codes."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.conformance import network, volumes
from tests.conformance.expansion import expanded
from tests.conformance.probes import Probe

SIGNALLED = 128
_ENTRY = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")


class Node(NamedTuple):
    """What all Pods of a run share: objects, the image, and folders for logs and everything else."""

    objects: Sequence[Mapping[str, Any]]
    image: volumes.Image
    path: str
    logs: Path
    memory: Path


class Pod:
    """A running Pod: init containers one after the other, then all containers together."""

    def __init__(self, spec: Mapping[str, Any], number: int, attempt: int, node: Node) -> None:
        self.spec, self.attempt, self.node = spec, attempt, node
        self.name: str = spec["metadata"]["name"]
        self.address = network.address(number)
        self.namespace = network.sandbox(number)
        self.folder = node.memory / f"pod{number}"
        self.hosts = self.folder / "hosts"
        (self.folder / "volumes").mkdir(parents=True)
        self.hosts.write_text("")
        group = spec["spec"].get("securityContext", {}).get("fsGroup")
        for volume in spec["spec"].get("volumes", ()):
            place = self.folder / "volumes"
            made = volumes.make(volume, node.objects, place, node.memory / "claims")
            for command in [*made, *volumes.owned(volume, place, group)]:
                subprocess.run(command, check=True, timeout=10)
        self.waiting = [*spec["spec"].get("initContainers", ())]
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.started = False
        self.probes = [
            Probe(container, self.address, self._answers)
            for container in spec["spec"]["containers"]
            if "readinessProbe" in container
        ]

    def step(self) -> None:
        """Start the containers that are due."""
        if self.started or any(code is None for code in self._codes().values()):
            return
        if any(self._codes().values()):
            self.started = True  # an init container failed, and restartPolicy is Never
        elif self.waiting:
            self._start(self.waiting.pop(0))
        else:
            self.started = True
            for container in self.spec["spec"]["containers"]:
                self._start(container)

    def _codes(self) -> dict[str, int | None]:
        return {name: process.poll() for name, process in self.running.items()}

    def exits(self) -> dict[str, int]:
        """Return the exit codes of the containers that ended, as the kubelet reports them."""
        codes = {name: code for name, code in self._codes().items() if code is not None}
        return {name: SIGNALLED - code if code < 0 else code for name, code in codes.items()}

    def phase(self) -> str:
        """Return the phase of the Pod: Pending while its init containers run, Succeeded or Failed at the
        end."""
        exits = self.exits()
        if not self.started:
            return "Pending"
        if len(exits) < len(self.running):
            return "Running"
        return "Failed" if any(exits.values()) else "Succeeded"

    def ready(self) -> bool:
        """Whether the Services of the Pod publish its address."""
        return self.runs() and all(probe.holds() for probe in self.probes)

    def runs(self) -> bool:
        """Whether all containers run."""
        # The root file system of a container is complete when this file exists; see _start.
        up = all((self.folder / name / "up").exists() for name in self.running)
        return up and self.phase() == "Running"

    def know(self, text: str) -> None:
        """Write the hosts file of the Pod in place, because containers have it mounted."""
        if self.hosts.read_text() != text:
            self.hosts.write_text(text)

    def _start(self, container: Mapping[str, Any]) -> None:
        root = self.folder / container["name"]
        new = root / "root"
        commands = volumes.root(self.node.image, root, self.hosts, network.hostname(self.spec))
        mounts = sorted(container.get("volumeMounts", ()), key=lambda entry: str(entry["mountPath"]))
        for entry in mounts:
            commands += volumes.mount(entry, self.folder / "volumes", new)
        env = environment(self.spec, container, self.node.objects, self.address)
        command = container.get("command") or self._entrypoint(container)
        words = [expanded(word, env) for word in (*command, *container.get("args", ()))]
        where = container.get("workingDir", volumes.WORKSPACE)
        commands += [["mkdir", "-p", f"{new}{where}"], ["touch", str(root / "up")]]
        script = "set -e\n" + "\n".join(map(shlex.join, commands))
        chroot = ["chroot", *self._user(container), str(new)]
        script += f"\nexec {shlex.join([*chroot, *self._command(env, where, words)])}\n"
        apart = ["unshare", "--mount", "--pid", "--uts", "--ipc", "--fork", "sh", "-c", script]
        log = self.node.logs / f"{self.name}.{container['name']}.{self.attempt}.log"
        with log.open("wb") as out:
            self.running[container["name"]] = subprocess.Popen(
                ["nsenter", f"--net={self.namespace}", *apart],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def _entrypoint(self, container: Mapping[str, Any]) -> list[str]:
        """Return the program that stands in for the entry point of an image. Raises Unsupported: if none
        does."""
        path = f"entrypoints/{container['image'].rpartition('/')[2].partition(':')[0]}"
        if any(Path(folder, path).is_file() for folder in self.node.image.workspace):
            return [f"{volumes.WORKSPACE}/{path}"]
        raise volumes.Unsupported(f"the container {container['name']} without a command: there is no image")

    def _user(self, container: Mapping[str, Any]) -> list[str]:
        """Return the options of chroot for the user and groups of a container; empty for root."""
        said = {**self.spec["spec"].get("securityContext", {}), **container.get("securityContext", {})}
        if not {"runAsUser", "runAsGroup", "fsGroup"} & said.keys():
            return []
        groups = [*said.get("supplementalGroups", ()), *([said["fsGroup"]] if "fsGroup" in said else ())]
        user = f"--userspec={said.get('runAsUser', 0)}:{said.get('runAsGroup', 0)}"
        return [user, f"--groups={','.join(map(str, groups))}"]

    def _command(self, env: Mapping[str, str], where: str, words: Sequence[str]) -> list[str]:
        folders = f"{self.node.path}:{volumes.IMAGE_PATH}:{volumes.WORKSPACE}/bin"
        image = {"PATH": folders, "HOME": "/root"}
        given = image | {"HOSTNAME": network.hostname(self.spec)} | dict(env)
        return ["env", "-i", "-C", where, *(f"{name}={value}" for name, value in given.items()), *words]

    def exec(self, words: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
        """Run a command in the first container, as ``kubectl exec`` does."""
        container = self.spec["spec"]["containers"][0]
        inner = self._first(container["name"])
        env = environment(self.spec, container, self.node.objects, self.address)
        where = container.get("workingDir", volumes.WORKSPACE)
        enter = ["nsenter", "-t", inner, "--mount", "--pid", "--uts", "--ipc", "--net"]
        enter += ["chroot", str(self.folder / container["name"] / "root")]
        with log.open("wb") as out:
            return subprocess.Popen(
                [*enter, *self._command(env, where, words)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def _answers(self, words: Sequence[str], timeout: float) -> bool:
        asked = self.exec(words, self.node.logs / f"{self.name}.probe.log")
        try:
            return asked.wait(timeout) == 0
        except subprocess.TimeoutExpired:
            asked.kill()
            return False

    def _first(self, name: str) -> str:
        """Return the id of the first process of a container, as seen by the node."""
        outer = self.running[name].pid
        return Path(f"/proc/{outer}/task/{outer}/children").read_text().split()[0]


def environment(
    pod: Mapping[str, Any], container: Mapping[str, Any], objects: Sequence[Mapping[str, Any]], address: str
) -> dict[str, str]:
    """Return the variables of a container, in the order in which the kubelet sets them."""
    env: dict[str, str] = {}
    for source in container.get("envFrom", ()):
        for key in ("configMapRef", "secretRef"):
            if key in source:
                found = _data(objects, key.removesuffix("Ref"), source[key]["name"])
                env |= {source.get("prefix", "") + name: text for name, text in found.items()}
    for entry in container.get("env", ()):
        env[entry["name"]] = (
            _from(entry["valueFrom"], pod, objects, address)
            if "valueFrom" in entry
            else expanded(str(entry.get("value", "")), env)
        )
    return env


def _from(
    source: Mapping[str, Any], pod: Mapping[str, Any], objects: Sequence[Mapping[str, Any]], address: str
) -> str:
    if "fieldRef" in source:
        fields = {
            "metadata.name": pod["metadata"]["name"],
            "metadata.namespace": pod["metadata"].get("namespace", "default"),
            "status.podIP": address,
        }
        path = str(source["fieldRef"]["fieldPath"])
        if entry := _ENTRY.fullmatch(path):
            return str(pod["metadata"].get(entry[1], {}).get(entry[2], ""))
        return str(fields[path])
    for key in ("configMapKeyRef", "secretKeyRef"):
        if key in source:
            return _data(objects, key.removesuffix("KeyRef"), source[key]["name"])[source[key]["key"]]
    raise volumes.Unsupported(f"a variable from {', '.join(source)}")


def _data(objects: Sequence[Mapping[str, Any]], kind: str, name: str) -> dict[str, str]:
    return {key: value.decode() for key, value in volumes.content(volumes.named(objects, kind, name)).items()}
