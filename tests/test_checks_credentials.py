"""Passwords and tokens in command lines: what is one, and that no report shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from podplan.cli.commands import podplan
from tests.policy_examples import findings

Data = dict[str, Any]
SECRET = "Ahx7-qTz9w-Vnm2rK4e"


def pod(**fields: Any) -> Data:
    container = {"name": "train", "image": "a:1", **fields}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [container]}}


def said(given: Data) -> list[str]:
    return [found.message for found in findings({"object": given}, "SEC021") if found.rule == "SEC021"]


@pytest.mark.parametrize(
    "command",
    [
        ["git", "clone", f"https://robot:{SECRET}@git.example.com/a.git"],
        ["pip", "install", "-i", f"https://u:{SECRET}@pypi.example.com/simple", "x"],
        ["bash", "-c", f"git clone https://oauth2:{SECRET}@git.example.com/a.git && python a.py"],
        ["python", "a.py", f"--api-key={SECRET}"],
        ["python", "a.py", "--hf_token", "hf_" + "a1" * 17],
        ["python", "a.py", "--password", SECRET],
        ["bash", "-c", f"export WANDB_API_KEY={SECRET}; python a.py"],
        ["bash", "-c", f"WANDB_API_KEY='{SECRET}' python a.py"],
        ["curl", "-H", f"Authorization: Bearer {SECRET}", "https://example.com"],
        ["bash", "-c", f"curl -u robot:{SECRET} https://example.com"],
        ["bash", "-c", "huggingface-cli login --token hf_" + "Ab1" * 12],
        ["bash", "-c", "echo ghp_" + "x1" * 18 + " | gh auth login --with-token"],
    ],
)
def test_secrets_in_commands(command: list[str]) -> None:
    assert said(pod(command=command))
    assert said(pod(command=command[:1], args=command[1:]))
    assert said(pod(lifecycle={"postStart": {"exec": {"command": command}}}))
    assert said(pod(livenessProbe={"exec": {"command": command}}))
    assert not any(SECRET in message for message in said(pod(command=command)))


@pytest.mark.parametrize(
    "command",
    [
        ["git", "clone", "https://git.example.com/a.git"],
        ["git", "clone", "git@git.example.com:a/b.git"],
        ["git", "clone", "https://robot@git.example.com/a.git"],
        ["git", "clone", "https://robot:$(TOKEN)@git.example.com/a.git"],
        ["bash", "-c", "git clone https://robot:${TOKEN}@git.example.com/a.git"],
        ["bash", "-c", 'export WANDB_API_KEY="$KEY"; python a.py --api-key $KEY --token "$(cat /token)"'],
        ["bash", "-c", "export HF_TOKEN=$(cat /secrets/token)"],
        ["python", "a.py", "--token-file=/secrets/token", "--password_file", "/p"],
        ["python", "a.py", "--placeholder_token", "sks-dog-toy", "--eos_token=</s>", "--max_tokens=100000"],
        ["python", "a.py", "--api-key=<your-api-key>", "--password", "none"],
        ["docker", "run", "--user", "1000:1000", "-u", "ml:users-group"],
        ["python", "-u", "a.py", "--secret_path=/a", "--tokenizer", "bert-base:uncased"],
        ["bash", "-c", "SORT_KEY=abcdefgh PAD_TOKEN=abcdefgh python a.py"],
        ["torchrun", "--rdzv_endpoint=train-worker-0:29500", "a.py"],
    ],
)
def test_what_is_no_secret(command: list[str]) -> None:
    assert said(pod(command=command)) == []


@pytest.mark.parametrize("form", ["full", "concise", "json", "sarif", "github"])
def test_no_report_shows_the_secret(form: str, tmp_path: Path) -> None:
    given = pod(command=["git", "clone", f"https://robot:{SECRET}@git.example.com/a.git"])
    (tmp_path / "pod.yaml").write_text(yaml.safe_dump(given))
    run = CliRunner().invoke(
        podplan, ["check", "--isolated", "--no-cache", "--format", form, str(tmp_path / "pod.yaml")]
    )
    assert "SEC021" in run.output
    assert SECRET not in run.output
    if form == "json":
        (found,) = [one for one in json.loads(run.stdout)["findings"] if one["rule"] == "SEC021"]
        assert found["severity"] == "warning"


def test_a_secret_in_a_script_is_no_value_of_the_option_of_the_shell() -> None:
    url = f"https://oauth2:{SECRET}@git.example.com/a.git"
    for script in (f"git clone {url}", f"set -u\ngit clone \\\n  {url} /src\n"):
        (found,) = findings({"object": pod(command=["sh", "-ec"], args=[script])}, "SEC021")
        assert "contains the password of a URL" in found.message
    (message,) = said(pod(command=["login", "--password", SECRET]))
    assert "the value of --password" in message
