"""podplan --help: what every command prints, and that each option is shown under one heading."""

from __future__ import annotations

import click
import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from podplan.cli import help as help_layout
from podplan.cli.commands import podplan as podplan_group
from tests.command import podplan
from tests.golden_cases import FIXTURES


def _list_commands(group: click.Group, prefix: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = [prefix]
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        path = (*prefix, name)
        found += _list_commands(command, path) if isinstance(command, click.Group) else [path]
    return found


@pytest.mark.parametrize("path", _list_commands(podplan_group), ids="-".join)
def test_help(path: tuple[str, ...], file_regression: FileRegressionFixture) -> None:
    shown = podplan(*path, "--help")
    assert shown.code == 0
    golden = FIXTURES / "help" / f"{'-'.join(('podplan', *path))}.txt"
    file_regression.check(shown.out, fullpath=golden, encoding="utf-8", newline="")


def test_every_grouped_option_and_listed_command_exists() -> None:
    options: set[str] = set()
    for path in _list_commands(podplan_group):
        command: click.Command = podplan_group
        for name in path:
            assert isinstance(command, click.Group)
            found = command.get_command(click.Context(command), name)
            assert found is not None
            command = found
        options |= {name.lstrip("-") for param in command.params for name in param.opts}
    assert {name for names in help_layout._OPTION_GROUPS.values() for name in names} <= options
    listed = {name for names in help_layout._COMMAND_SECTIONS.values() for name in names}
    assert listed == set(podplan_group.list_commands(click.Context(podplan_group)))
