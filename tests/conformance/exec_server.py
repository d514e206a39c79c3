"""Runs commands in Pods for other Pods, as ``kubectl exec`` does through the API server and the kubelet.

Only programs/entrypoints/kubectl connects: it sends one line of JSON with the name of the Pod and the words,
and gets back the exit code. Output goes to a log file of the Pod.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Mapping
from itertools import count
from pathlib import Path

from tests.conformance import network
from tests.conformance.kubelet import Pod

PORT = 10250  # of the kubelet
NOT_RUNNING = 1


class ExecServer:
    """Serves while it is entered."""

    def __init__(self, pods: Mapping[str, Pod], logs: Path) -> None:
        self.pods, self.logs = pods, logs
        self.numbers = count()
        self.server = socket.create_server((network.GATEWAY, PORT))

    def __enter__(self) -> ExecServer:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        with client, client.makefile("rw", encoding="utf-8") as lines:
            asked = json.loads(lines.readline())
            lines.write(f"{self._run(asked['pod'], asked['command'])}\n")

    def _run(self, name: str, words: list[str]) -> int:
        pod = self.pods.get(name)
        if pod is None or not pod.runs():
            return NOT_RUNNING
        return pod.exec(words, self.logs / f"{name}.kubectl.{next(self.numbers)}.log").wait()
