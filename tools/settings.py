"""Writes the files derived from behaviors and kinds: the lowering options, and the kinds of a profile.

These are schemas/Config.json, docs/lowering.md and the names of kinds in schemas/JobProfile.json.

python tools/settings.py
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from podplan.core.provenance import Behavior
from podplan.kinds.lowering_options import (
    list_fixed_behaviors,
    list_lowering_options,
    list_status_behavior_ids,
)
from podplan.kinds.registry import COMPILED_KINDS, KIND_NAMES

REPOSITORY = Path(__file__).parents[1]
SCHEMA_PATH, PAGE_PATH = Path("schemas/Config.json"), Path("docs/lowering.md")
PROFILE_SCHEMA_PATH = Path("schemas/JobProfile.json")
_LABEL_REASON = "`pod.labels`, `service.labels` and the like change or remove each label"
REASON_BY_BEHAVIOR = {
    "beam.scheduler": "`pod.scheduler-name` sets the scheduler, `podgroup.queue` the queue",
    "colossalai.labels": "`pod.labels` changes each label",
    "colossalai.launch-arguments": "`colossalai.run` decides whether and where they appear",
    "colossalai.launcher-image": "a launcher can set its image",
    "jobset.topology-domain": "only the cluster knows the names of its topology domains",
    "label.component": _LABEL_REASON,
    "label.owner-kind": _LABEL_REASON,
    "mpi-operator.cut-workers": "the values of PriorityClasses belong to the cluster, not to the operator",
    "mpi.launcher-image": "a launcher can set its image",
    "mpi.passed-env": "a launcher can set its variables",
    "mpi.replica-labels": _LABEL_REASON,
    "pytorch.master-addr": "`service.host` sets the names of replicas, `pytorch.env` the value",
    "service.per-replica": "`service.per` sets the number of Services",
    "ssh.hostfile": "`deepspeed.hostfile-line` and `colossalai.hostfile-line` set its lines",
    "ssh.key-placeholder": "only the cluster creates the keys",
}
_JSON_TYPES = {bool: "boolean", int: "integer", str: "string", list: "array", dict: "object"}
_DEFINITIONS = re.compile(r'^    "ofAllKinds": \{$.*?^    \}\n(?=  \}\n)', re.DOTALL | re.MULTILINE)
_JOB_KINDS = re.compile(r'("job": \{\s*"description": [^\n]*\n\s*"enum": )\[[^]]*\]')
_TABLE = r"(<!-- settings of {0} -->\n).*?(<!-- end -->)"


def build_files() -> dict[Path, str]:
    """Return the expected files."""
    options = list_lowering_options()
    schema = _DEFINITIONS.sub(
        lambda _: _format_definitions(options), (REPOSITORY / SCHEMA_PATH).read_text(encoding="utf-8")
    )
    page = (REPOSITORY / PAGE_PATH).read_text(encoding="utf-8")
    for section, option_ids in (
        ("lowering", set(options) - list_status_behavior_ids()),
        ("status", list_status_behavior_ids()),
    ):
        table = _format_table(fact for fact in options.values() if fact.id in option_ids)
        page = _replace_table(page, section, table)
    page = _replace_table(page, "nothing", _format_reasons())
    profile_schema = (REPOSITORY / PROFILE_SCHEMA_PATH).read_text(encoding="utf-8")
    profile_schema = _JOB_KINDS.sub(lambda match: match[1] + json.dumps(list(COMPILED_KINDS)), profile_schema)
    return {SCHEMA_PATH: schema, PAGE_PATH: page, PROFILE_SCHEMA_PATH: profile_schema}


def _format_reasons() -> str:
    """Format the behaviors that are neither documented nor options, each with the reason."""
    unconfigurable = [fact for fact in list_fixed_behaviors() if fact.id not in list_status_behavior_ids()]
    rows = "".join(
        f"| `{fact.id}`: {fact.text} | {REASON_BY_BEHAVIOR[fact.id]} |\n" for fact in unconfigurable
    )
    return f"| behaviour | reason |\n|---|---|\n{rows}"


def _replace_table(page: str, section: str, table: str) -> str:
    return re.sub(_TABLE.format(section), lambda match: match[1] + table + match[2], page, flags=re.DOTALL)


def _format_definitions(options: dict[str, Behavior]) -> str:
    """Format the definitions ``ofAllKinds``, ``ofOneKind`` and one for each option."""
    of_kinds = {kind: {"$ref": "#/$defs/ofOneKind"} for kind in KIND_NAMES}
    each = {id_: {"$ref": f"#/$defs/{id_}"} for id_ in options}
    definition_entries: list[tuple[str, dict[str, Any]]] = [
        ("ofAllKinds", of_kinds | each),
        ("ofOneKind", each),
    ]
    lines: list[str] = []
    for name, properties in definition_entries:
        property_lines = ",\n".join(
            f"        {json.dumps(key)}: {json.dumps(value)}" for key, value in properties.items()
        )
        lines.append(
            f'    "{name}": {{\n      "type": "object",\n      "properties": {{\n{property_lines}\n     '
            ' },\n      "additionalProperties": false\n    }'
        )
    for id_, option in options.items():
        property_lines = ",\n".join(
            f"      {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
            for key, value in _build_schema(option).items()
        )
        lines.append(f"    {json.dumps(id_)}: {{\n{property_lines}\n    }}")
    return ",\n".join(lines) + "\n"


def _build_schema(option: Behavior) -> dict[str, Any]:
    """Return the schema of an option, with its default."""
    schema: dict[str, Any] = {"description": f"Without it, {option.text} ({option.basis})."}
    if option.choices:
        return schema | {"enum": list(option.choices), "default": option.value}
    schema |= {"type": _JSON_TYPES[type(option.value)], "default": option.value}
    if isinstance(option.value, list):
        schema["items"] = {"type": _JSON_TYPES[type(option.value[0])]}
    if isinstance(option.value, dict) and option.placeholders:
        value_types = "string" if option.value else ["string", "boolean"]
        schema["additionalProperties"] = {"type": value_types}
    return schema


def _format_table(options: Iterable[Behavior]) -> str:
    """Format the options as a Markdown table: each with its default, its basis and its source."""
    rows = [
        f"| `{fact.id}` | {_format_default(fact)} | {fact.text} | {fact.basis} | {fact.source} |"
        for fact in options
    ]
    head = "| setting | default | behaviour | basis | source |\n|---|---|---|---|---|\n"
    return head + "".join(f"{row}\n" for row in rows)


def _format_default(option: Behavior) -> str:
    text = json.dumps(option.value, ensure_ascii=False).replace("|", "\\|")
    other_choices = [json.dumps(choice) for choice in option.choices if choice != option.value]
    return f"`{text}`" + (f", or `{'`, `'.join(other_choices)}`" if other_choices else "")


def main() -> None:
    for path, text in build_files().items():
        (REPOSITORY / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
