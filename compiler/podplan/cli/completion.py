"""podplan completion"""

from __future__ import annotations

import click

from podplan.cli.help import HelpCommand
from podplan.cli.output import write_stdout


@click.command("completion", cls=HelpCommand)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print the shell script that completes commands, options, rules and environments.

    bash: add eval "$(podplan completion bash)" to ~/.bashrc. zsh: the same with zsh in ~/.zshrc, below
    compinit. fish: podplan completion fish > ~/.config/fish/completions/podplan.fish
    """
    from click.shell_completion import get_completion_class

    from podplan.cli.commands import podplan

    completion_class = get_completion_class(shell)
    assert completion_class is not None
    completion = completion_class(podplan, {}, "podplan", "_PODPLAN_COMPLETE")
    write_stdout(completion.source_template % completion.source_vars())
    return 0
