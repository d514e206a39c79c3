"""Scripts of parameter servers: which Pods certainly wait for ever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.test_python_sources import build_documents, list_findings

CREATE = "import tensorflow as tf\nserver = tf.distribute.Server(cluster)\n"
JOIN = "server.join()\n"


def build_servers(text: str) -> list[dict[str, Any]]:
    """A GenericJob whose parameter server and worker run the same script, and end in its success rule."""
    code, job = build_documents(text)
    template = job["spec"]["replicaSpecs"][0]["template"]
    policy = {"policy": "Never"}
    job["kind"] = "GenericJob"
    job["spec"] = {
        "successRules": [{"ps": [0], "worker": [0]}],
        "failureRules": [{"ps": [0]}],
        "replicaSpecs": [
            {"type": name, "replicas": 1, "restartPolicy": policy, "template": template}
            for name in ("ps", "worker")
        ],
    }
    return [code, job]


@pytest.mark.parametrize(
    "text",
    [
        f"{CREATE}if role == 'ps':\n  {JOIN}else:\n  train()\n",
        f"{CREATE}if role in ('ps', 'evaluator'):\n  {JOIN}",
        f"{CREATE}if role != 'worker':\n  {JOIN}",
        f"{CREATE}def serve():\n  {JOIN}if role == 'worker':\n  train()\nelse:\n  serve()\n",
        f"{CREATE}def main():\n  if role == 'worker':\n    return\n  {JOIN}main()\n",
    ],
)
def test_a_parameter_server_is_found(tmp_path: Path, text: str) -> None:
    (found,) = list_findings(tmp_path, build_servers(text), "LIFE021")
    assert '"ps", which never ends ("server.join() in train.py")' in found["message"]


@pytest.mark.parametrize(
    "text",
    [
        f"{CREATE}if role == mode:\n  {JOIN}",
        f"{CREATE}if role == 'ps':\n  sys.exit()\n  {JOIN}",
        f"{CREATE}if done():\n  sys.exit()\nif role == 'ps':\n  {JOIN}",
        "server = threading.Thread()\nif role == 'ps':\n  server.join()\n",
        f"{CREATE}if role == 'a':\n  pass\n" + "elif role == 'worker':\n  pass\n" * 1200 + f"else:\n  {JOIN}",
        f"{CREATE}if role == 'chief':\n  pass\n"
        + "elif role == 'worker':\n  pass\n" * 1200
        + f"else:\n  {JOIN}",
    ],
)
def test_another_script_may_end(tmp_path: Path, text: str) -> None:
    assert list_findings(tmp_path, build_servers(text), "LIFE021") == []
    assert list_findings(tmp_path, build_servers(text), "RUN001") == []
