"""Shell completion: each function returns the words for what was typed so far, and never raises.

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

MAX_COMPLETED_FILES = 20
MAX_COMPLETED_BYTES = 256 * 1024


def complete_files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Complete files, by the shell itself."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def complete_rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Complete codes of rules, with their names; after a comma, those of the next one."""
    before, comma, word = incomplete.rpartition(",")
    return completion_items(
        ((f"{before}{comma}{code}", name) for code, name in _iter_rules()), f"{before}{comma}{word.upper()}"
    )


def complete_topics(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Complete the topics of podplan explain: rules by code and name, kinds, and the fields of a typed
    kind."""
    candidates: list[tuple[str, str]] = []
    with suppress(Exception):
        from podplan import kubernetes
        from podplan.schema import catalog
        from podplan.schema.fields import collect_fields, find_schemas_at

        parent, dot, _ = incomplete.rpartition(".")
        if dot:
            kind, *steps = parent.split(".")
            if kind in ("spec", "metadata"):
                kind, steps = "JobProfile", [kind, *steps]
            kind_schema = catalog.build_schema(kind, kubernetes.DEFAULT_VERSION)
            return completion_items(
                (
                    (f"{parent}.{name}", "")
                    for name in collect_fields(find_schemas_at(kind_schema, steps), kind_schema)
                ),
                incomplete,
            )
        candidates += [(name, "") for name in ("spec", *catalog.list_schema_names())]
    candidates += [pair for code, name in _iter_rules() for pair in ((code, name), (name, code))]
    return completion_items(candidates, incomplete)


def complete_environments(
    ctx: click.Context,
    param: click.Parameter,  # noqa: ARG001
    incomplete: str,
) -> list[CompletionItem]:
    """Complete the environments of the profiles on the command line, and all."""
    candidates = {"all": "each of them"}
    with suppress(Exception):
        # While an option lacks its value, click does not pass the arguments.
        given_paths = [*(ctx.params.get("paths") or ()), ctx.params.get("file"), *ctx.args]
        for path in [str(one) for one in given_paths if one][:MAX_COMPLETED_FILES]:
            candidates |= dict.fromkeys(_iter_environments(path), path)
    return completion_items(candidates.items(), incomplete)


def completion_items(found: Iterable[tuple[str, str]], incomplete: str) -> list[CompletionItem]:
    """Return the words that begin with what was typed, each with its description."""
    from click.shell_completion import CompletionItem

    return [
        CompletionItem(word, help=summary or None) for word, summary in found if word.startswith(incomplete)
    ]


def _iter_rules() -> Iterator[tuple[str, str]]:
    with suppress(Exception):
        from podplan.core.builtin_rules import BUILTIN_RULES
        from podplan.lint.registry import load_builtin_policies

        yield from ((policy.rule.code, policy.rule.name) for policy in load_builtin_policies())
        yield from ((rule.code, rule.name) for rule in BUILTIN_RULES.values())


def _iter_environments(path: str) -> Iterator[str]:
    """Yield the environments of the profiles in a file, including those of base profiles."""
    from podplan.profile import environments, extends
    from podplan.workspace.documents import classify_documents
    from podplan.workspace.files import find_root, read_inside_root, require_inside_repository
    from podplan.workspace.loader import Loader
    from podplan.yaml import parse_yaml

    if not os.path.isfile(path) or os.path.getsize(path) > MAX_COMPLETED_BYTES:
        return
    require_inside_repository(path)
    source = parse_yaml(read_inside_root(find_root(path), path), path)
    for item in classify_documents(source):
        if item.category == "profile":
            merged = extends.merge_bases(item.doc, Loader().load_base, [])
            yield from (name for name in environments.list_environments(merged) if name.isprintable())
