"""Flags that several commands share, and the settings that flags and configuration make together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence

from podplan import kubernetes
from podplan.cli.lint_config import terms_of
from podplan.cli.settings import Setting, settings
from podplan.config import Config, config_for, config_from
from podplan.core.errors import RequestError
from podplan.core.findings import Severity
from podplan.core.lazy_regex import pattern
from podplan.core.replica_groups import Options
from podplan.core.truncation import shortened
from podplan.core.typing import Any, NamedTuple, TypeVar
from podplan.kinds.common.gitops_tools import TOOLS
from podplan.lint.lint_config import default_ruling
from podplan.lint.policy import Policy
from podplan.pipeline import Settings
from podplan.workspace.files import demand_inside

Command = TypeVar("Command", bound=Callable[..., Any])
_UUID = pattern("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_LONGEST_SHOWN = 200  # characters of a flag that is refused
FAIL_ON = ("error", "warning", "info", "never")


class Request(NamedTuple):
    """The settings of a run, with the parts of the configuration that are not for the pipeline.

    ``origins`` are the settings by key, each with what gives it. ``jobs`` are the processes that check at
    once, 0 for as many as pay.
    """

    settings: Settings
    fail_on: Severity | None
    exclude: tuple[str, ...]
    origins: Mapping[str, Setting]
    jobs: int = 0


# What input_options gives where nobody says anything.
NO_INPUT_FLAGS: Mapping[str, Any] = {
    "environments": (),
    "sets": (),
    "inventory": "",
    "gitops": None,
    "k8s_version": "",
    "stdin_filename": "",
    "config": "",
    "isolated": False,
    "fail_on": None,
}


def input_options(command: Command) -> Command:
    """-e, --set, --inventory, --gitops, --k8s-version, --stdin-filename, --config, --isolated, --fail-on."""
    import click

    from podplan.cli.shell_completion import environments, files

    for option in reversed(
        [
            click.option(
                "-e",
                "--env",
                "environments",
                metavar="NAME",
                multiple=True,
                shell_complete=environments,
                help="Environment; all for each.",
            ),
            click.option(
                "--set",
                "sets",
                metavar="KEY=VALUE",
                multiple=True,
                help="Set a field or a param of profiles.",
            ),
            click.option(
                "--inventory",
                metavar="FILE",
                shell_complete=files,
                default="",
                help="The ClusterInventory to use.",
            ),
            click.option(
                "--gitops",
                type=click.Choice(TOOLS),
                default=None,
                help="Tool that applies the CRs, and is told not to prune them [none].",
            ),
            click.option(
                "--k8s-version", metavar="1.NN", default="", help="Kubernetes version to check against."
            ),
            click.option(
                "--stdin-filename", metavar="FILE", default="", help="What standard input (-) is called."
            ),
            click.option(
                "--config",
                metavar="FILE",
                shell_complete=files,
                default="",
                help="This configuration, not the nearest.",
            ),
            click.option("--isolated", is_flag=True, help="No configuration file."),
            click.option(
                "--fail-on",
                type=click.Choice(FAIL_ON),
                default=None,
                help="Severity that makes the exit code 1 [error].",
            ),
        ]
    ):
        command = option(command)
    return command


def lowering_options(command: Command) -> Command:
    """--uid and --resumed."""
    import click

    for option in (
        click.option("--resumed", is_flag=True, help="Lower paused jobs as they are once they go on."),
        click.option(
            "--uid",
            metavar="UID",
            default="",
            help="metadata.uid of the CR, for the real names of its children.",
        ),
    ):
        command = option(command)
    return command


def request(paths: Sequence[str], clock: str = "", baseline_is_read: bool = True, **flags: Any) -> Request:
    """What flags and the nearest configuration ask for; flags win. Raises RequestError and OutsideRoot.

    ``clock`` is the day where neither says which, for commands that may look at the clock. Commands without
    flags for rules do not ask the policies.
    """
    for path in paths:
        demand_inside(path)
    config = configuration(paths, flags["config"], flags["isolated"])
    found = settings(config, flags, clock)
    terms = terms_of(found, config, flags, baseline_is_read)._replace(asks_policies="select" in flags)
    asked = Settings(
        k8s_version=_version(found["k8s-version"].value),
        environments=_environments(flags["environments"]),
        sets=_sets(flags["sets"]),
        options=Options(_uid(flags.get("uid", "")), flags.get("resumed", False), found["lowering"].value),
        inventory=found["inventory"].value,
        gitops=found["gitops"].value.get("tool", "none"),
        policies=default_ruling(terms).policies,
        terms=terms,
    )
    return Request(asked, _severity(found["fail-on"].value), found["exclude"].value, found)


def own_policies(config: str = "", isolated: bool = False) -> list[Policy]:
    """The policies that the configuration here brings, an admission policy with several bindings once.

    Raises RequestError.
    """
    flags: dict[str, Any] = {"environments": ("all",), "sets": (), "select": ()}
    asked = request(default_paths(()), "", False, **flags, config=config, isolated=isolated)
    own = [policy for policy in asked.settings.terms.known if policy.origin is not None]
    return list({policy.rule.code: policy for policy in own}.values())


def configuration(paths: Sequence[str], named: str, isolated: bool) -> Config:
    """The configuration that is named, else the nearest to the first path. Raises RequestError."""
    if named:
        return config_from(named)
    if isolated or not paths:
        return Config()
    return config_for("." if paths[0] == "-" else paths[0])


def _version(wanted: str) -> str:
    if wanted not in kubernetes.versions():
        known = kubernetes.versions()
        raise RequestError(f"Kubernetes {wanted} is not known; there are {known[0]} to {known[-1]}")
    return wanted


def _uid(written: str) -> str:
    if written and not _UUID.fullmatch(written):
        form = "a UUID such as 422e8cc7-163f-4d49-9fb8-d059e490a09b (8-4-4-4-12 hexadecimal digits)"
        raise RequestError(f'--uid wants {form}, not "{written}"')
    return written


def _environments(names: Iterable[str]) -> Any:
    """None for no flag, "all", or the names."""
    wanted = tuple(dict.fromkeys(names))
    return "all" if "all" in wanted else wanted or None


def _sets(pairs: Iterable[str]) -> dict[str, str]:
    parsed: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            key = pair.partition("=")[0].partition(" ")[0]  # what follows may be a secret
            raise RequestError(f'--set wants KEY=VALUE, not "{shortened(key, _LONGEST_SHOWN)}"')
        parsed[key] = value
    return parsed


def _severity(name: str) -> Severity | None:
    return None if name == "never" else Severity[name.upper()]


def default_paths(paths: Sequence[str]) -> tuple[str, ...]:
    """The paths given, or the folder one stands in."""
    return tuple(paths) or (os.curdir,)
