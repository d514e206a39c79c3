"""Common flags, and the settings of a run from flags and configuration."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from podplan import kubernetes
from podplan.cli.lint_config import build_lint_config, list_ignored_flags
from podplan.cli.output import write_escaped_stderr
from podplan.cli.settings import Setting, resolve_settings
from podplan.config import Config, load_config_file, load_config_for
from podplan.config.files import list_unused_configs
from podplan.core.errors import UsageError
from podplan.core.findings import Severity
from podplan.core.lazy_regex import compile_lazily
from podplan.core.replica_groups import LoweringOptions
from podplan.core.truncation import truncate
from podplan.core.typing import Any, NamedTuple, TypeVar
from podplan.kinds.common.gitops_tools import GITOPS_TOOLS
from podplan.lint.policy import Policy
from podplan.pipeline import PipelineSettings
from podplan.workspace.files import require_inside_repository

Command = TypeVar("Command", bound=Callable[..., Any])
_UUID = compile_lazily("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_MAX_SHOWN_LENGTH = 200  # characters of an invalid flag in a message
FAIL_ON_CHOICES = ("error", "warning", "info", "never")


class RunSettings(NamedTuple):
    """The settings of a run, including those that the pipeline does not need.

    ``settings_by_key`` are the settings with their sources. ``jobs`` is the number of worker processes, 0 for
    the default.
    """

    settings: PipelineSettings
    fail_on: Severity | None
    exclude: tuple[str, ...]
    settings_by_key: Mapping[str, Setting]
    jobs: int = 0


def input_options(command: Command) -> Command:
    """Add -e, --set, --inventory, --exclude, --gitops, --k8s-version, --stdin-filename, --config, --isolated,
    --fail-on."""
    import click

    from podplan.cli.shell_completion import complete_environments, complete_files

    for option in reversed(
        [
            click.option(
                "-e",
                "--env",
                "environments",
                metavar="NAME",
                multiple=True,
                shell_complete=complete_environments,
                help="Environment to compile; repeat it for several, or use all.",
            ),
            click.option(
                "--set",
                "sets",
                metavar="KEY=VALUE",
                multiple=True,
                help="Set a profile field or param; repeatable.",
            ),
            click.option(
                "--inventory",
                metavar="FILE",
                shell_complete=complete_files,
                default="",
                help="ClusterInventory file [the nearest].",
            ),
            exclude_option(),
            click.option(
                "--gitops",
                type=click.Choice(GITOPS_TOOLS),
                default=None,
                help="GitOps tool that applies the CRs; adds its annotations against pruning [none].",
            ),
            click.option(
                "--k8s-version", metavar="1.NN", default="", help="Kubernetes version to check against."
            ),
            click.option(
                "--stdin-filename",
                metavar="FILE",
                default="",
                help="File name to report for standard input (-).",
            ),
            click.option(
                "--config",
                metavar="FILE",
                shell_complete=complete_files,
                default="",
                help="Configuration file to use instead of the nearest one.",
            ),
            click.option("--isolated", is_flag=True, help="Ignore configuration files."),
            click.option(
                "--fail-on",
                type=click.Choice(FAIL_ON_CHOICES),
                default=None,
                help="Lowest severity for exit code 1 [error].",
            ),
        ]
    ):
        command = option(command)
    return command


def exclude_option() -> Callable[[Command], Command]:
    """Return the decorator that adds --exclude."""
    import click

    return click.option(
        "--exclude",
        metavar="PATTERN",
        multiple=True,
        help="Shell pattern of paths and names to skip in folders; repeatable.",
    )


def quiet_option() -> Callable[[Command], Command]:
    """Return the decorator that adds -q/--quiet for the counts at the end."""
    import click

    return click.option("-q", "--quiet", is_flag=True, help="Print no counts at the end.")


def kustomize_option(command: Command) -> Command:
    """Add -k/--kustomize."""
    import click

    from podplan.cli.shell_completion import complete_files

    return click.option(
        "-k",
        "--kustomize",
        metavar="DIR",
        shell_complete=complete_files,
        default="",
        help="Kustomization to build, with kustomize or kubectl, and to read instead of files.",
    )(command)


def require_no_paths(paths: Sequence[str], kustomize: str) -> tuple[str, ...]:
    """Return the paths, or the folder of -k. Raises UsageError: if both are given."""
    if kustomize and paths:
        raise UsageError("-k DIR replaces the paths; give one of them")
    return (kustomize,) if kustomize else default_paths(paths)


def lowering_options(command: Command) -> Command:
    """Add --uid and --resumed."""
    import click

    for option in (
        click.option("--resumed", is_flag=True, help="Lower paused jobs as if they were resumed."),
        click.option(
            "--uid",
            metavar="UID",
            default="",
            help="metadata.uid of the CR; determines the names of its Pods.",
        ),
    ):
        command = option(command)
    return command


def resolve_run_settings(
    paths: Sequence[str],
    clock: str = "",
    baseline_is_read: bool = True,
    with_policies: bool = False,
    **flags: Any,
) -> RunSettings:
    """Resolve the settings from flags and the nearest configuration; flags take precedence.

    A flag that is omitted, empty or false counts as not given. ``clock`` is the default day, for commands
    that may use the current date.

    Raises UsageError: for an invalid setting. Raises OutsideRoot: for a file outside of the root.
    """
    for path in paths:
        require_inside_repository(path)
    config = load_configuration(paths, flags.get("config", ""), flags.get("isolated", False))
    settings_by_key = resolve_settings(config, flags, clock)
    lint_config = build_lint_config(settings_by_key, config, flags, baseline_is_read, with_policies)
    for message in list_ignored_flags(settings_by_key, flags, lint_config):
        _print_once(f"podplan: {message}\n")
    pipeline_settings = PipelineSettings(
        kubernetes_version=_parse_version(settings_by_key["k8s-version"].value),
        environments=_parse_environments(flags.get("environments", ())),
        param_values=_parse_sets(flags.get("sets", ())),
        lowering_options=LoweringOptions(
            _parse_uid(flags.get("uid", "")), flags.get("resumed", False), settings_by_key["lowering"].value
        ),
        lowering_locations=config.locations,
        inventory_path=settings_by_key["inventory"].value,
        runtime_folders=settings_by_key["runtimes"].value.get("paths", ()),
        cluster_paths=settings_by_key["inventory-objects"].value,
        gitops_tool=settings_by_key["gitops"].value.get("tool", "none"),
        lint_config=lint_config,
    )
    return RunSettings(
        pipeline_settings,
        _parse_severity(settings_by_key["fail-on"].value),
        settings_by_key["exclude"].value,
        settings_by_key,
    )


def list_custom_policies(config: str = "", isolated: bool = False) -> list[Policy]:
    """Return the custom policies of the nearest configuration, an admission policy with several bindings
    once.

    Raises UsageError: if the configuration or a policy is invalid.
    """
    run_settings = resolve_run_settings(
        default_paths(()), "", False, True, environments=("all",), config=config, isolated=isolated
    )
    custom_policies = [
        policy for policy in run_settings.settings.lint_config.all_policies if policy.origin_doc is not None
    ]
    return list({policy.rule.code: policy for policy in custom_policies}.values())


def load_operator_versions() -> Mapping[str, str]:
    """Return the versions of operators that the nearest configuration states, by API group.

    Raises UsageError: if the configuration is invalid.
    """
    config = load_configuration(default_paths(()), "", False)
    return LoweringOptions(behavior_values=config.lowering).operator_versions


def load_configuration(paths: Sequence[str], config_path: str, isolated: bool) -> Config:
    """Load the named configuration, else the one nearest to the first path.

    Raises UsageError: if it is invalid.
    """
    if config_path:
        return load_config_file(config_path)
    if isolated or not paths:
        return Config()
    paths = ["." if path == "-" else path for path in paths]
    config = load_config_for(paths[0])
    for message in list_unused_configs(paths, config.file):
        _print_once(f"podplan: {message}\n")
    return config


@cache
def _print_once(text: str) -> None:
    """Print a message to standard error, once: the language server loads configurations again and again."""
    write_escaped_stderr(text)


def _parse_version(version: str) -> str:
    if version not in kubernetes.supported_versions():
        versions = kubernetes.supported_versions()
        raise UsageError(f"Kubernetes {version} is not known; there are {versions[0]} to {versions[-1]}")
    return version


def _parse_uid(uid: str) -> str:
    if uid and not _UUID.fullmatch(uid):
        expected = "a UUID such as 422e8cc7-163f-4d49-9fb8-d059e490a09b (8-4-4-4-12 hexadecimal digits)"
        raise UsageError(f'--uid wants {expected}, not "{uid}"')
    return uid


def _parse_environments(names: Iterable[str]) -> Any:
    """Return None for no flag, "all", or the names."""
    environments = tuple(dict.fromkeys(names))
    return "all" if "all" in environments else environments or None


def _parse_sets(pairs: Iterable[str]) -> dict[str, str]:
    parsed: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            key = pair.partition("=")[0].partition(" ")[0]  # the rest may be a secret
            raise UsageError(f'--set wants KEY=VALUE, not "{truncate(key, _MAX_SHOWN_LENGTH)}"')
        parsed[key] = value
    return parsed


def _parse_severity(name: str) -> Severity | None:
    return None if name == "never" else Severity[name.upper()]


def default_paths(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the given paths, or the current folder."""
    return tuple(paths) or (os.curdir,)
