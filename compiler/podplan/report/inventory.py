"""The facts about the cluster, as text and for machines."""

from __future__ import annotations

import json
from collections.abc import Sequence

from podplan.core.findings import Location
from podplan.report.sanitization import escape_text, escape_workflow_commands
from podplan.tools.inventory.facts import Fact
from podplan.workspace.files import relative_to_root


def render_text(facts: Sequence[Fact]) -> str:
    """Render a line for each fact: the object, the fact and its line."""
    if not facts:
        return "nothing in the repository describes a cluster\n"
    width = max(len(fact.kind) for fact in facts)
    names = max(len(fact.name) for fact in facts)
    lines = [
        f"{fact.kind:{width}}  {fact.name:{names}}  {fact.text}  ({_format_location(fact.location)})"
        for fact in facts
    ]
    return escape_workflow_commands("\n".join(map(escape_text, lines))) + "\n"


def render_json(facts: Sequence[Fact]) -> str:
    """Render one JSON object, with ``format: 1``."""
    document = {
        "format": 1,
        "facts": [
            {
                "kind": fact.kind,
                "name": fact.name,
                "fact": fact.text,
                "file": fact.location.file if fact.location is not None else None,
                "line": fact.location.line if fact.location is not None else None,
            }
            for fact in facts
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _format_location(location: Location | None) -> str:
    return f"{relative_to_root(location.file)}:{location.line}" if location is not None else "no file"
