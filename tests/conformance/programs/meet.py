"""Replicas that meet over plain sockets by a TF_CONFIG, the way of jobs that know nothing of torch.

Each listens at its own entry of the cluster and calls all others, and trains when all have answered it.
With ``linger SECONDS`` it then goes on for a while, as a parameter server does; with ``end CODE`` it ends so.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time

PATIENCE = 60.0


def main() -> None:
    config = json.loads(os.environ["TF_CONFIG"])
    cluster: dict[str, list[str]] = config["cluster"]
    task, index = config["task"]["type"], int(config["task"]["index"])
    everyone = [(role, i, place) for role, places in cluster.items() for i, place in enumerate(places)]
    port = int(cluster[task][index].rpartition(":")[2])
    threading.Thread(target=_answer, args=(port, f"{task}-{index}"), daemon=True).start()
    for role, i, place in everyone:
        said = _call(place)
        assert said == f"{role}-{i}", f"{place} is {said}, not {role}-{i}"
    rank = next(n for n, (role, i, _) in enumerate(everyone) if (role, i) == (task, index))
    print(f"trained rank={rank} world={len(everyone)} as={task}-{index}", flush=True)
    _after(sys.argv[1:])


def _answer(port: int, name: str) -> None:
    with socket.create_server(("", port)) as server:
        while True:
            peer, _ = server.accept()
            with peer:
                peer.sendall(name.encode())


def _call(place: str) -> str:
    host, _, port = place.rpartition(":")
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with socket.create_connection((host, int(port)), timeout=5) as peer:
                return peer.recv(100).decode()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def _after(words: list[str]) -> None:
    # Until all others have called, this one must answer.
    time.sleep(2)
    if words[:1] == ["linger"]:
        time.sleep(float(words[1]))
    if words[:1] == ["end"]:
        os._exit(int(words[1]))


if __name__ == "__main__":
    main()
