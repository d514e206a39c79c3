"""What the shell may complete: each function gives the words for what was typed so far, and never raises.

docs/completion.md; https://click.palletsprojects.com/en/stable/shell-completion/
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from podplan.core.typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

    Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

MAX_FILES = 20
MAX_BYTES = 256 * 1024


def files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Files, by the shell itself."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Codes of rules, with their names; after a comma, those of the next one."""
    before, comma, word = incomplete.rpartition(",")
    return completion_items(
        ((f"{before}{comma}{code}", name) for code, name in _rules()), f"{before}{comma}{word.upper()}"
    )


def topics(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """What podplan explain explains: rules by code and name, kinds, and the fields of what is typed."""
    found: list[tuple[str, str]] = []
    with suppress(Exception):
        from podplan import kubernetes
        from podplan.schema import catalog
        from podplan.schema.fields import at, fields

        above, dot, _ = incomplete.rpartition(".")
        if dot:
            kind, *steps = above.split(".")
            if kind in ("spec", "metadata"):
                kind, steps = "JobProfile", [kind, *steps]
            whole = catalog.show(kind, kubernetes.DEFAULT_VERSION)
            return completion_items(
                ((f"{above}.{name}", "") for name in fields(at(whole, steps), whole)), incomplete
            )
        found += [(name, "") for name in ("spec", *catalog.names())]
    found += [pair for code, name in _rules() for pair in ((code, name), (name, code))]
    return completion_items(found, incomplete)


def environments(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """The environments of the profiles that are on the line, and all."""
    found = {"all": "each of them"}
    with suppress(Exception):
        # An option that still wants its value keeps click from handing out the arguments.
        named = [*(ctx.params.get("paths") or ()), ctx.params.get("file"), *ctx.args]
        for path in [str(one) for one in named if one][:MAX_FILES]:
            found |= dict.fromkeys(_environments(path), path)
    return completion_items(found.items(), incomplete)


def completion_items(found: Iterable[tuple[str, str]], incomplete: str) -> list[CompletionItem]:
    """The words that begin as what was typed, with what the shell shows beside each."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(word, help=told or None) for word, told in found if word.startswith(incomplete)]


def _rules() -> Iterator[tuple[str, str]]:
    with suppress(Exception):
        from podplan.core.builtin_rules import RULES
        from podplan.lint.registry import ours

        yield from ((policy.rule.code, policy.rule.name) for policy in ours())
        yield from ((rule.code, rule.name) for rule in RULES.values())


def _environments(path: str) -> Iterator[str]:
    """The environments of the profiles in a file, those of their bases included."""
    from podplan.profile import environments, extends
    from podplan.workspace import Reader
    from podplan.workspace.documents import items
    from podplan.workspace.files import demand_inside, read_inside, root_of
    from podplan.yaml import read

    if not os.path.isfile(path) or os.path.getsize(path) > MAX_BYTES:
        return
    demand_inside(path)
    source = read(read_inside(root_of(path), path), path)
    for item in items(source):
        if item.what == "profile":
            merged = extends.extend(item.doc, Reader().load, [])
            yield from (name for name in environments.names(merged) if name.isprintable())
