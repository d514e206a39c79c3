"""The env file: variables that deepspeed passes to the processes that it starts over ssh."""

from __future__ import annotations

from podplan.core.provenance import Cursor, attribute_to
from podplan.kinds.common.name_patterns import fill_pattern
from podplan.kinds.t9k.child_metadata import TracedMap
from podplan.kinds.t9k.deepspeed_job import behaviors as kind_behaviors
from podplan.kinds.t9k.job import JobContext


def get_env_file_key(job: JobContext) -> str:
    """Return the key of the env file in the ConfigMap."""
    return str(job.options.resolve_behavior(kind_behaviors.DEEPSPEED_ENV_FILE_KEY).value)


def build_env_file(job: JobContext, container: Cursor) -> TracedMap:
    """Build the env file of a job as a file of its ConfigMap; empty if there is none.

    Variables with valueFrom are omitted: their values are unknown offline, and may be secret.
    """
    env, behavior = container.get("env"), job.options.resolve_behavior(kind_behaviors.DEEPSPEED_ENV_FILE)
    lines = [
        _format_line(behavior.value, entry) for entry in env.entries() if not entry.get("valueFrom").exists
    ]
    if job.spec.get("disableCustomEnv").value is True or not lines:
        return {}
    combined_behavior = job.options.first_configured(behavior, kind_behaviors.DEEPSPEED_ENV_FILE_KEY)
    return {get_env_file_key(job): attribute_to((env, combined_behavior), "".join(lines))}


def _format_line(line_pattern: str, variable: Cursor) -> str:
    parts = {part: variable.get(part).value_or("") for part in ("name", "value")}
    return f"{fill_pattern(line_pattern, parts)}\n"
