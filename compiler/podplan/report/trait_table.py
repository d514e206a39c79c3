"""The table of docs/traits.md: the traits with their meaning and the kinds that have them."""

from __future__ import annotations

from podplan.kinds.registry import PACKAGES, load_spec, name_of
from podplan.kinds.traits import TRAITS

TABLE_HEAD = "| trait | meaning | kinds |\n|---|---|---|\n"


def render_trait_table() -> str:
    """Render the table in Markdown."""
    rows = [f"| `{trait}` | {meaning} | {_list_kinds(trait)} |\n" for trait, meaning in TRAITS.items()]
    return TABLE_HEAD + "".join(rows)


def _list_kinds(trait: str) -> str:
    return ", ".join(name_of(kind) for kind in PACKAGES if trait in load_spec(kind).traits)
