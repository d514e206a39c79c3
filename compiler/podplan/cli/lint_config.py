"""The rules that a run goes by, and what may silence them, from its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from podplan.cli.settings import CLOCK, LISTS, Setting
from podplan.config import Config, PathSettings
from podplan.core.builtin_rules import RULES, Rule
from podplan.core.errors import RequestError
from podplan.core.findings import Severity
from podplan.core.typing import TYPE_CHECKING, Any, TypeVar
from podplan.lint.lint_config import Section, Terms
from podplan.lint.policy import Policy
from podplan.lint.rule_selection import PRESETS, Selection, demand_known, raised
from podplan.workspace.files import NoSuchPath, OutsideRoot, demand_inside, read_inside, root_of

if TYPE_CHECKING:
    from podplan.lint.baseline import Entry
    from podplan.lint.custom_policies import Organisation

Command = TypeVar("Command", bound=Callable[..., Any])
_NAMING = (*LISTS, "severity", "mandatory")


def rule_options(command: Command) -> Command:
    """--select, --ignore, --extend-select, --preset, --preview, --severity, --no-ignores and --today."""
    import click

    from podplan.cli.shell_completion import rules as complete_rules

    rules: dict[str, Any] = {"metavar": "RULE,…", "multiple": True, "shell_complete": complete_rules}
    for option in reversed(
        [
            click.option("--select", **rules, help="Only these rules: codes, names, prefixes, ALL."),
            click.option("--extend-select", **rules, help="These rules besides."),
            click.option("--ignore", **rules, help="Not these rules."),
            click.option("--preset", type=click.Choice(PRESETS), default=None, help="The rules [default]."),
            click.option("--preview", is_flag=True, help="Also rules that may still change."),
            click.option("--severity", metavar="RULE=LEVEL", multiple=True, help="Another severity."),
            click.option(
                "--no-ignores", is_flag=True, help="As if no comment or baseline silenced anything."
            ),
            click.option(
                "--today", metavar="YYYY-MM-DD", default="", help="The day by which suppressions expire."
            ),
        ]
    ):
        command = option(command)
    return command


def terms_of(
    found: Mapping[str, Setting], config: Config, flags: Mapping[str, Any], baseline_is_read: bool = True
) -> Terms:
    """The terms that the settings come to. Raises RequestError for what means no rule, day or file."""
    known = _shipped(found)
    brought = _brought(found, known) if found["policies"].value and "select" in flags else None
    known = (*known, *brought.policies) if brought is not None else known
    try:
        _demand_rules(config, flags, found, [*RULES.values(), *(policy.rule for policy in known)])
    except RequestError as error:
        raise RequestError(f"{error}{_broken(brought)}") from None
    selection = Selection(
        preset=found["preset"].value,
        preview=found["preview"].value,
        select=found["select"].value,
        extend_select=found["extend-select"].value,
        ignore=found["ignore"].value,
        severities=found["severity"].value,
        mandatory=found["mandatory"].value,
    )
    heed = not flags.get("no_ignores", False)
    return Terms(
        known,
        True,
        selection,
        tuple(Section(one.folder, one.match, _changes(one)) for one in found["paths"].value),
        found["require-reasons"].value,
        heed,
        _day(found["today"]),
        _baseline(found["baseline"]) if heed and baseline_is_read else None,
        brought.problems if brought is not None else (),
        brought.texts if brought is not None else {},
        found["pss"].value,
    )


def _shipped(found: Mapping[str, Setting]) -> tuple[Policy, ...]:
    """Our own policies, as the Pod Security Standard in force has them. Raises RequestError."""
    from podplan.lint.registry import ours

    standard = found["pss"].value
    return raised(ours(), standard) if standard else ours()


def _brought(found: Mapping[str, Setting], shipped: tuple[Policy, ...]) -> Organisation:
    """The policies in the folders that the configuration names. Raises RequestError."""
    from podplan.lint.custom_policies import organisation

    taken = {rule.code for rule in RULES.values()} | {rule.name for rule in RULES.values()}
    taken |= {text for policy in shipped for text in (policy.rule.code, policy.rule.name)}
    try:
        return organisation(found["policies"].value, taken)
    except (NoSuchPath, OutsideRoot) as error:
        raise RequestError(f"{found['policies'].source}: policies: {error}") from None


def _broken(brought: Organisation | None) -> str:
    """The first policy that is left out for its faults: it may be the one that is asked for. "" for none."""
    for doc, problem in brought.problems if brought is not None else ():
        if RULES[problem.rule].severity is Severity.ERROR and doc.source is not None:
            line = doc.source.span(problem.path, problem.on_key).line
            return f"\nthe policy at {doc.name}:{line} is left out: {problem.message}"
    return ""


def _changes(one: PathSettings) -> dict[str, Any]:
    """What an entry of [[paths]] says of a Selection."""
    said = {
        "preset": one.preset,
        "preview": one.preview,
        "select": one.select,
        "extend_select": one.extend_select or None,
        "ignore": one.ignore or None,
        "severities": one.severity or None,
    }
    return {key: value for key, value in said.items() if value is not None}


def _demand_rules(
    config: Config, flags: Mapping[str, Any], found: Mapping[str, Setting], rules: list[Rule]
) -> None:
    """Raises RequestError with the place of the first text that means no rule."""
    for key in _NAMING:
        name = key.replace("-", "_")
        if key in config.places:
            _demand(f"{config.places[key]}: {key}", getattr(config, name), rules)
        if flags.get(name):
            _demand(f"--{key}", found[key].value, rules)
    for one in found["paths"].value:
        for key in (*LISTS, "severity"):
            _demand(f"{one.place}: {key}", getattr(one, key.replace("-", "_")) or (), rules)


def _demand(place: str, texts: Iterable[str], rules: list[Rule]) -> None:
    for text in texts:
        try:
            demand_known(text, rules)
        except RequestError as error:
            raise RequestError(f"{place}: {error}") from None


def _day(today: Setting) -> str:
    if today.value and today.source != CLOCK and not _is_day(today.value):
        raise RequestError(f'{today.source} wants a day as YYYY-MM-DD, not "{today.value}"')
    day: str = today.value
    return day


def _is_day(text: str) -> bool:
    from podplan.lint.suppression_syntax import is_day

    return is_day(text)


def _baseline(baseline: Setting) -> tuple[Entry, ...] | None:
    return read_baseline(baseline.value) if baseline.value else None


def read_baseline(file: str) -> tuple[Entry, ...]:
    """The entries of a baseline file. Raises RequestError."""
    from podplan.lint.baseline import parsed

    try:
        demand_inside(file)
        return parsed(read_inside(root_of(file), file).decode(), file)
    except FileNotFoundError:
        raise RequestError(f"{file}: no such file; podplan baseline create makes it") from None
    except OSError as error:
        raise RequestError(f"{file}: {(error.strerror or str(error)).lower()}") from None
    except OutsideRoot as error:
        raise RequestError(str(error)) from None
    except UnicodeDecodeError:
        raise RequestError(f"{file}: this is not UTF-8; podplan baseline create makes the file") from None
