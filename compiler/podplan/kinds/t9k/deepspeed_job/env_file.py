"""The env file: what deepspeed hands on to the processes that it starts over ssh."""

from __future__ import annotations

from podplan.core.provenance import Cursor, at
from podplan.kinds.common.name_patterns import filled
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.child_metadata import Tree
from podplan.kinds.t9k.job import Job


def key(job: Job) -> str:
    """What the env file is called in the ConfigMap."""
    return str(job.options.fact(behaviors.DEEPSPEED_ENV_FILE_KEY).value)


def env_file(job: Job, container: Cursor) -> Tree:
    """The env file of a job as a file of its ConfigMap; empty where there is none.

    Variables with valueFrom are left out: their values are not known offline, and may be secret.
    """
    env, fact = container.get("env"), job.options.fact(behaviors.DEEPSPEED_ENV_FILE)
    lines = [_line(fact.value, entry) for entry in env.entries() if not entry.get("valueFrom").exists]
    if job.spec.get("disableCustomEnv").value is True or not lines:
        return {}
    told = job.options.told(fact, behaviors.DEEPSPEED_ENV_FILE_KEY)
    return {key(job): at((env, told), "".join(lines))}


def _line(form: str, variable: Cursor) -> str:
    return f"{filled(form, {part: variable.get(part).otherwise('') for part in ('name', 'value')})}\n"
