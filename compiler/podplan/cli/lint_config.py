"""The rule selection of a run, and its suppressions, from the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from podplan.cli.settings import CLOCK, LIST_KEYS, Setting, split_words
from podplan.config import Config, PathSettings
from podplan.core.builtin_rules import BUILTIN_RULES, Rule
from podplan.core.errors import UsageError
from podplan.core.findings import Severity
from podplan.core.typing import TYPE_CHECKING, Any, TypeVar
from podplan.lint.lint_config import LintConfig, PathSelection, index_rules
from podplan.lint.policy import Policy
from podplan.lint.rule_selection import (
    PRESETS,
    RuleSelection,
    enforce_standard,
    list_ignored_texts,
    require_known_rule,
)
from podplan.workspace.files import (
    OutsideRoot,
    PathNotFound,
    find_root,
    read_inside_root,
    require_inside_repository,
)

if TYPE_CHECKING:
    from podplan.lint.baseline import BaselineEntry
    from podplan.lint.custom_policies import CustomPolicies

Command = TypeVar("Command", bound=Callable[..., Any])
_RULE_KEYS = (*LIST_KEYS, "severity", "mandatory")


def rule_options(command: Command) -> Command:
    """Add --select, --ignore, --extend-select, --preset, --preview, --severity, --no-ignores and --today."""
    import click

    from podplan.cli.shell_completion import complete_rules as complete_rules

    rules: dict[str, Any] = {"metavar": "RULE,…", "multiple": True, "shell_complete": complete_rules}
    for option in reversed(
        [
            click.option("--select", **rules, help="Enable only these rules: codes, names, prefixes or ALL."),
            click.option("--extend-select", **rules, help="Enable these rules in addition."),
            click.option(
                "--ignore",
                **rules,
                help="Disable these rules; wins over --select unless that is more specific.",
            ),
            click.option(
                "--preset",
                type=click.Choice(PRESETS),
                default=None,
                help="Set of rules to start from [default].",
            ),
            click.option("--preview", is_flag=True, help="Enable rules that are not stable yet."),
            click.option(
                "--severity",
                metavar="RULE=LEVEL",
                multiple=True,
                help="Change the severity of a rule; repeatable.",
            ),
            click.option(
                "--no-ignores", is_flag=True, help="Report suppressed findings and findings in the baseline."
            ),
            click.option(
                "--today",
                metavar="YYYY-MM-DD",
                default="",
                help="Date used to decide which suppressions have expired.",
            ),
        ]
    ):
        command = option(command)
    return command


def build_lint_config(
    settings: Mapping[str, Setting],
    config: Config,
    flags: Mapping[str, Any],
    baseline_is_read: bool,
    with_policies: bool,
) -> LintConfig:
    """Build the rule selection from the settings.

    Raises UsageError: for an unknown rule, an invalid day or file.
    """
    policies = _select_builtin_policies(settings)
    custom = (
        _load_configured_policies(settings, policies)
        if settings["policies"].value and with_policies
        else None
    )
    policies = (*policies, *custom.policies) if custom is not None else policies
    try:
        _require_known_rules(
            config, flags, settings, [*BUILTIN_RULES.values(), *(policy.rule for policy in policies)]
        )
    except UsageError as error:
        raise UsageError(f"{error}{_format_broken_policy(custom)}") from None
    selection = RuleSelection(
        preset=settings["preset"].value,
        preview=settings["preview"].value,
        select=settings["select"].value,
        extend_select=settings["extend-select"].value,
        ignore=settings["ignore"].value,
        severities=settings["severity"].value,
        mandatory=settings["mandatory"].value,
    )
    respects_suppressions = not flags.get("no_ignores", False)
    return LintConfig(
        policies,
        with_policies,
        selection,
        tuple(
            PathSelection(one.folder, one.match, _build_selection_changes(one))
            for one in settings["paths"].value
        ),
        settings["require-reasons"].value,
        respects_suppressions,
        _parse_day(settings["today"]),
        _load_baseline(settings["baseline"]) if respects_suppressions and baseline_is_read else None,
        custom.diagnostics if custom is not None else (),
        custom.file_texts if custom is not None else {},
        settings["pss"].value,
    )


def list_ignored_flags(
    settings: Mapping[str, Setting], flags: Mapping[str, Any], lint_config: LintConfig
) -> Iterator[str]:
    """Yield a sentence for each rule of --select and --extend-select that stays off because it is ignored."""
    rules = list(index_rules(lint_config).values())
    for key in ("select", "extend-select"):
        texts = split_words(flags.get(key.replace("-", "_")) or ())
        for text, ignored in list_ignored_texts(texts, lint_config.selection, rules):
            source = settings["ignore"].source
            yield (
                f"--{key} {text} has no effect: {source} ignores {ignored}, which wins unless --{key} is more"
                " specific"
            )


def _select_builtin_policies(settings: Mapping[str, Setting]) -> tuple[Policy, ...]:
    """Return the bundled policies for the selected Pod Security Standard.

    Raises UsageError: if it is unknown.
    """
    from podplan.lint.registry import load_builtin_policies

    standard = settings["pss"].value
    return enforce_standard(load_builtin_policies(), standard) if standard else load_builtin_policies()


def _load_configured_policies(settings: Mapping[str, Setting], builtin: tuple[Policy, ...]) -> CustomPolicies:
    """Load the policies in the folders that the configuration names. Raises UsageError: if that fails."""
    from podplan.lint.custom_policies import load_custom_policies

    taken_names = {rule.code for rule in BUILTIN_RULES.values()} | {
        rule.name for rule in BUILTIN_RULES.values()
    }
    taken_names |= {
        text for policy in builtin for text in (policy.rule.code, policy.rule.name, *policy.rule.aliases)
    }
    try:
        return load_custom_policies(settings["policies"].value, taken_names)
    except (PathNotFound, OutsideRoot) as error:
        raise UsageError(f"{settings['policies'].source}: policies: {error}") from None


def _format_broken_policy(custom: CustomPolicies | None) -> str:
    """Return a sentence about the first invalid policy, which may be the requested one; "" if there is
    none."""
    for one in custom.diagnostics if custom is not None else ():
        source = one.doc.source if one.doc is not None else None
        if BUILTIN_RULES[one.rule].severity is Severity.ERROR and source is not None:
            line = source.span(one.path, one.on_key).line
            return f"\nthe policy at {source.file}:{line} is left out: {one.message}"
    return ""


def _build_selection_changes(path_settings: PathSettings) -> dict[str, Any]:
    """Return the changes of an entry of [[paths]] to the rule selection."""
    changes = {
        "preset": path_settings.preset,
        "preview": path_settings.preview,
        "select": path_settings.select,
        "extend_select": path_settings.extend_select or None,
        "ignore": path_settings.ignore or None,
        "severities": path_settings.severity or None,
    }
    return {key: value for key, value in changes.items() if value is not None}


def _require_known_rules(
    config: Config, flags: Mapping[str, Any], settings: Mapping[str, Setting], rules: list[Rule]
) -> None:
    """Raise UsageError, with its location, for the first text that names no rule."""
    for key in _RULE_KEYS:
        name = key.replace("-", "_")
        if key in config.locations:
            _require_known_texts(f"{config.locations[key]}: {key}", getattr(config, name), rules)
        if flags.get(name):
            _require_known_texts(f"--{key}", settings[key].value, rules)
    for path_settings in settings["paths"].value:
        for key in (*LIST_KEYS, "severity"):
            _require_known_texts(
                f"{path_settings.location}: {key}", getattr(path_settings, key.replace("-", "_")) or (), rules
            )


def _require_known_texts(location: str, texts: Iterable[str], rules: list[Rule]) -> None:
    for text in texts:
        try:
            require_known_rule(text, rules)
        except UsageError as error:
            raise UsageError(f"{location}: {error}") from None


def _parse_day(today: Setting) -> str:
    if today.value and today.source != CLOCK and not _is_day(today.value):
        raise UsageError(f'{today.source} wants a day as YYYY-MM-DD, not "{today.value}"')
    day: str = today.value
    return day


def _is_day(text: str) -> bool:
    from podplan.lint.suppression_syntax import is_calendar_date

    return is_calendar_date(text)


def _load_baseline(baseline: Setting) -> tuple[BaselineEntry, ...] | None:
    return read_baseline(baseline.value) if baseline.value else None


def read_baseline(file: str) -> tuple[BaselineEntry, ...]:
    """Return the entries of a baseline file. Raises UsageError: if it cannot be read."""
    from podplan.lint.baseline import parse_baseline

    try:
        require_inside_repository(file)
        return parse_baseline(read_inside_root(find_root(file), file).decode(), file)
    except FileNotFoundError:
        raise UsageError(f"{file}: no such file; podplan baseline create makes it") from None
    except OSError as error:
        raise UsageError(f"{file}: {(error.strerror or str(error)).lower()}") from None
    except OutsideRoot as error:
        raise UsageError(str(error)) from None
    except UnicodeDecodeError:
        raise UsageError(f"{file}: this is not UTF-8; podplan baseline create makes the file") from None
