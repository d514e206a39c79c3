"""The commands, and the module of each below podplan.cli."""

from __future__ import annotations

import os

COMMANDS = {
    "check": "check",
    "render": "render",
    "lower": "lower",
    "diff": "diff",
    "plan": "plan",
    "inventory": "inventory",
    "why": "why",
    "status": "status",
    "graph": "graph",
    "import": "import_command",
    "fmt": "fmt",
    "migrate": "migrate",
    "rules": "rules",
    "explain": "explain",
    "baseline": "baseline",
    "test": "test",
    "schema": "schema",
    "cmp": "cmp",
    "clean": "clean",
    "init": "init",
    "completion": "completion",
    "lsp": "lsp",
    "action": "action",
    "version": "version",
}


def asks_for_help(args: list[str]) -> bool:
    """Whether the arguments are "help" or "help COMMAND", and no file of that name is meant."""
    return args[:1] == ["help"] and not os.path.lexists("help")
