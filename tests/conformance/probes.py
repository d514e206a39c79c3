"""Readiness probes: the Services of a Pod publish its address once its probes succeed."""

from __future__ import annotations

import socket
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Exec = Callable[[Sequence[str], float], bool]


class Probe:
    """One readiness probe and its last result; it runs every periodSeconds."""

    def __init__(self, container: Mapping[str, Any], address: str, run: Exec) -> None:
        self.probe: Mapping[str, Any] = container["readinessProbe"]
        self.ports = {port.get("name"): port["containerPort"] for port in container.get("ports", ())}
        self.address, self.run = address, run
        self.next = time.monotonic() + self.probe.get("initialDelaySeconds", 0)
        self.row = 0
        self.ready = False

    def holds(self) -> bool:
        """Whether the container is ready; runs the probe if it is due."""
        if time.monotonic() >= self.next:
            self.next = time.monotonic() + self.probe.get("periodSeconds", 10)
            answer = self._ask(self.probe.get("timeoutSeconds", 1))
            self.row = self.row + 1 if answer != self.ready else 0
            needed = "failureThreshold" if self.ready else "successThreshold"
            if self.row >= self.probe.get(needed, 3 if self.ready else 1):
                self.ready, self.row = answer, 0
        return self.ready

    def _ask(self, timeout: float) -> bool:
        try:
            if "exec" in self.probe:
                return self.run(self.probe["exec"]["command"], timeout)
            if "tcpSocket" in self.probe:
                socket.create_connection((self.address, self._port("tcpSocket")), timeout).close()
                return True
            path = self.probe["httpGet"].get("path", "/")
            url = f"http://{self.address}:{self._port('httpGet')}{path}"
            with urllib.request.urlopen(url, timeout=timeout) as answer:
                return bool(answer.status < 400)
        except OSError:
            return False

    def _port(self, kind: str) -> int:
        port = self.probe[kind]["port"]
        return int(self.ports.get(port, port))
