"""The layout of --help: options in groups, and command summaries in full."""

from __future__ import annotations

from collections.abc import Mapping

import click

from podplan.core.typing import Any

# The group of an option, by its name: an option means the same in every command.
_OPTION_GROUPS: Mapping[str, tuple[str, ...]] = {
    "Input options": (
        "env",
        "set",
        "inventory",
        "exclude",
        "kustomize",
        "gitops",
        "k8s-version",
        "instance",
        "uid",
        "resumed",
        "stdin-filename",
    ),
    "Configuration options": ("config", "isolated", "show-settings"),
    "Rule options": (
        "select",
        "extend-select",
        "ignore",
        "preset",
        "preview",
        "severity",
        "baseline",
        "no-ignores",
        "today",
    ),
    "Change options": (
        "affected-by",
        "changed-since",
        "new-since",
        "base",
        "head",
        "base-tree",
    ),
    "Fix options": ("fix", "unsafe-fixes", "fix-only", "diff"),
    "Output options": (
        "format",
        "output",
        "output-dir",
        "level",
        "summary",
        "fold",
        "statistics",
        "show",
        "verbose",
        "quiet",
        "min-severity",
        "color",
        "no-color",
    ),
    "Exit code options": ("fail-on", "exit-zero", "exit-code", "allow-nothing", "require-tests"),
    "Performance options": ("jobs", "no-cache", "cache-dir"),
}
_GROUP_OF_OPTION = {name: group for group, names in _OPTION_GROUPS.items() for name in names}
# Options of only one command come first, --help last.
_COMMAND_GROUP, _GENERAL_GROUP = "Options", "General options"
_COMMAND_SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Check jobs": ("check", "baseline", "rules", "explain"),
    "Compile, lower and compare": ("render", "lower", "diff", "plan", "inventory", "why", "status", "graph"),
    "Write profiles and policies": ("init", "import", "fmt", "migrate", "test"),
    "Integrate": ("action", "cmp", "lsp", "schema", "completion"),
    "Maintain": ("clean", "version"),
}


class HelpCommand(click.Command):
    """A command whose --help lists its options in groups.

    ``without_effect`` are options that the command accepts for consistency, but ignores.
    """

    def __init__(self, *args: Any, without_effect: tuple[str, ...] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Those of the group do not count where the action runs a command by itself.
        self.context_settings["help_option_names"] = ["-h", "--help"]
        for param in self.params:
            if isinstance(param, click.Option) and param.opts[0] in without_effect:
                param.hidden = True

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows_by_group: dict[str, list[tuple[str, str]]] = {
            group: [] for group in (_COMMAND_GROUP, *_OPTION_GROUPS, _GENERAL_GROUP)
        }
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                rows_by_group[_find_group(param)].append(record)
        for group, rows in rows_by_group.items():
            if rows:
                with formatter.section(group):
                    formatter.write_dl(rows)


class HelpGroup(click.Group):
    """A group of commands whose --help shows the whole first sentence of each command."""

    command_class = HelpCommand

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        names = self.list_commands(ctx)
        sections = {
            title: [name for name in section if name in names] for title, section in _COMMAND_SECTIONS.items()
        }
        listed = {name for section in sections.values() for name in section}
        sections["Commands"] = [name for name in names if name not in listed]
        for title, section in sections.items():
            if section:
                with formatter.section(title):
                    formatter.write_dl([(name, self._summarize_command(ctx, name)) for name in section])

    def _summarize_command(self, ctx: click.Context, name: str) -> str:
        command = self.get_command(ctx, name)
        assert command is not None
        paragraph = (command.help or "").partition("\n\n")[0]
        return " ".join(paragraph.split())


def _find_group(param: click.Parameter) -> str:
    names = [option.lstrip("-") for option in param.opts]
    if "help" in names:
        return _GENERAL_GROUP
    return next((_GROUP_OF_OPTION[name] for name in names if name in _GROUP_OF_OPTION), _COMMAND_GROUP)
