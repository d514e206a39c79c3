"""Writes what is made from the facts: the settings of lowering in schemas/Config.json and docs/lowering.md.

python tools/settings.py
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from podplan.core.provenance import Fact
from podplan.kinds.lowering_options import of_status, settings, without_setting
from podplan.kinds.registry import KIND_NAMES

TOP = Path(__file__).parents[1]
SCHEMA, PAGE = Path("schemas/Config.json"), Path("docs/lowering.md")
_EACH_LABEL = "`pod.labels`, `service.labels` and the like change or remove each label"
WHY_NOT = {
    "colossalai.labels": "`pod.labels` changes each label",
    "colossalai.launch-arguments": "`colossalai.run` decides whether and where they appear",
    "colossalai.launcher-image": "a launcher can set its image",
    "label.component": _EACH_LABEL,
    "label.owner-kind": _EACH_LABEL,
    "pytorch.master-addr": "`service.host` sets the names of replicas, `pytorch.env` the value",
    "service.per-replica": "`service.per` sets the number of Services",
    "ssh.hostfile": "`deepspeed.hostfile-line` and `colossalai.hostfile-line` set its lines",
    "ssh.key-placeholder": "only the cluster creates the keys",
}
_TYPES = {bool: "boolean", int: "integer", str: "string", list: "array", dict: "object"}
_DEFINITIONS = re.compile(r'^    "ofAllKinds": \{$.*?^    \}\n(?=  \}\n)', re.DOTALL | re.MULTILINE)
_TABLE = r"(<!-- settings of {0} -->\n).*?(<!-- end -->)"


def made() -> dict[Path, str]:
    """The files, as they should be."""
    known = settings()
    schema = _DEFINITIONS.sub(lambda _: _definitions(known), (TOP / SCHEMA).read_text(encoding="utf-8"))
    page = (TOP / PAGE).read_text(encoding="utf-8")
    for what, told in (("lowering", set(known) - of_status()), ("status", of_status())):
        table = _table(fact for fact in known.values() if fact.id in told)
        page = _with_table(page, what, table)
    page = _with_table(page, "nothing", _reasons())
    return {SCHEMA: schema, PAGE: page}


def _reasons() -> str:
    """The facts that are not documented and have no setting, each with why not."""
    told = [fact for fact in without_setting() if fact.id not in of_status()]
    rows = "".join(f"| `{fact.id}`: {fact.text} | {WHY_NOT[fact.id]} |\n" for fact in told)
    return f"| behaviour | reason |\n|---|---|\n{rows}"


def _with_table(page: str, what: str, table: str) -> str:
    return re.sub(_TABLE.format(what), lambda match: match[1] + table + match[2], page, flags=re.DOTALL)


def _definitions(known: dict[str, Fact]) -> str:
    """The definitions ``ofAllKinds``, ``ofOneKind`` and one of each setting."""
    of_kinds = {kind: {"$ref": "#/$defs/ofOneKind"} for kind in KIND_NAMES}
    each = {id_: {"$ref": f"#/$defs/{id_}"} for id_ in known}
    listed: list[tuple[str, dict[str, Any]]] = [("ofAllKinds", of_kinds | each), ("ofOneKind", each)]
    lines: list[str] = []
    for name, properties in listed:
        told = ",\n".join(
            f"        {json.dumps(key)}: {json.dumps(value)}" for key, value in properties.items()
        )
        lines.append(
            f'    "{name}": {{\n      "type": "object",\n      "properties": {{\n{told}\n      }},\n'
            '      "additionalProperties": false\n    }'
        )
    for id_, fact in known.items():
        told = ",\n".join(
            f"      {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
            for key, value in _schema(fact).items()
        )
        lines.append(f"    {json.dumps(id_)}: {{\n{told}\n    }}")
    return ",\n".join(lines) + "\n"


def _schema(fact: Fact) -> dict[str, Any]:
    """What a setting may be, with what is taken to be so without it."""
    schema: dict[str, Any] = {"description": f"Without it, {fact.text} ({fact.basis})."}
    if fact.choices:
        return schema | {"enum": list(fact.choices), "default": fact.value}
    schema |= {"type": _TYPES[type(fact.value)], "default": fact.value}
    if isinstance(fact.value, list):
        schema["items"] = {"type": _TYPES[type(fact.value[0])]}
    if isinstance(fact.value, dict) and fact.words:
        may_be = "string" if fact.value else ["string", "boolean"]
        schema["additionalProperties"] = {"type": may_be}
    return schema


def _table(told: Iterable[Fact]) -> str:
    """The settings as a Markdown table: each with its default, its basis and its source."""
    rows = [
        f"| `{fact.id}` | {_default(fact)} | {fact.text} | {fact.basis} | {fact.source} |" for fact in told
    ]
    head = "| setting | default | behaviour | basis | source |\n|---|---|---|---|---|\n"
    return head + "".join(f"{row}\n" for row in rows)


def _default(fact: Fact) -> str:
    text = json.dumps(fact.value, ensure_ascii=False).replace("|", "\\|")
    others = [json.dumps(choice) for choice in fact.choices if choice != fact.value]
    return f"`{text}`" + (f", or `{'`, `'.join(others)}`" if others else "")


def main() -> None:
    for path, text in made().items():
        (TOP / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
