"""The env file: what deepspeed hands on to the processes that it starts over ssh."""

from __future__ import annotations

from podplan import facts
from podplan.kinds._children import Tree
from podplan.kinds._job import Job
from podplan.provenance import Cursor, at

KEY = "deepspeed_env"


def env_file(job: Job, container: Cursor) -> Tree:
    """The env file of a job as a file of its ConfigMap; empty where there is none.

    Variables with valueFrom are left out: their values are not known offline, and may be secret.
    """
    env = container.get("env")
    lines = [_line(entry) for entry in env.entries() if not entry.get("valueFrom").exists]
    if job.spec.get("disableCustomEnv").value is True or not lines:
        return {}
    return {KEY: at((env, facts.DEEPSPEED_ENV_FILE), "".join(lines))}


def _line(variable: Cursor) -> str:
    return f"{variable.get('name').otherwise('')}={variable.get('value').otherwise('')}\n"
