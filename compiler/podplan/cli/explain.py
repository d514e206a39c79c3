"""podplan explain"""

from __future__ import annotations

import os
import re

import click

from podplan.cli.options import own_policies
from podplan.cli.output import write
from podplan.cli.reporting import COLOURS, style_of
from podplan.cli.shell_completion import topics
from podplan.core.builtin_rules import RULES
from podplan.core.errors import RequestError
from podplan.core.suggestions import did_you_mean
from podplan.lint.registry import one, ours
from podplan.report.sanitization import unheard
from podplan.report.terminal_style import Style

MAX_TOPIC = 1_000
# A code, a name or VAP:NAME; a field has dots, or is the name of a kind.
OWN_CODE = re.compile(r"VAP:.+|[A-Z]{2,12}[0-9]{3}|[a-z0-9-]+")


@click.command("explain")
@click.argument("topic", shell_complete=topics)
@click.option("--examples", is_flag=True, help="All examples of a rule.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text")
@click.option(
    "--color", type=click.Choice(COLOURS), default="auto", help="Colours in text [auto: on a terminal]."
)
def command(topic: str, examples: bool, format_: str, color: str) -> int:
    """Explain a rule (RES001 or shm-missing) or a field (spec.shm, DeepSpeedJob.spec.config.slotsPerWorker).

    Of a rule: what it says, what happens on the cluster, what to do, examples, and how to configure and
    silence it. Of a field: what it means, its type and default, what lowering makes of it and how well that
    is known, and the fields below it. A kind alone lists its fields.
    """
    topic = topic[:MAX_TOPIC]
    style = style_of(color, os.environ)
    said = _rule(topic, format_, style, examples) or _own_rule(topic, format_, style, examples)
    said = said or _field(topic, format_, style)
    write(said if format_ == "json" else unheard(said))
    return 0


def _rule(topic: str, format_: str, style: Style, examples: bool) -> str:
    """The page of a rule by its code or name; "" where there is none."""
    from podplan.report.rule_text import as_json, of_builtin, of_policy, text

    code = topic.upper()
    for policy in ours():
        if code == policy.rule.code or topic == policy.rule.name:
            data = of_policy(one(policy.rule.code))
            return as_json(data) if format_ == "json" else text(data, style, examples)
    for rule in RULES.values():
        if code == rule.code or topic == rule.name:
            data = of_builtin(rule)
            return as_json(data) if format_ == "json" else text(data, style)
    return ""


def _own_rule(topic: str, format_: str, style: Style, examples: bool) -> str:
    """The page of a rule that the configuration here brings; "" where it brings none of this name."""
    from podplan.report.rule_text import as_json, of_own, text

    if not OWN_CODE.fullmatch(topic):
        return ""
    for policy in own_policies():
        if topic in (policy.rule.code, policy.rule.name):
            data = of_own(policy)
            return as_json(data) if format_ == "json" else text(data, style, examples)
    return ""


def _field(topic: str, format_: str, style: Style) -> str:
    from podplan.report.field_page import NoSuchField, as_json, explained, page

    try:
        data = explained(topic)
    except NoSuchField as error:
        names = [name for policy in ours() for name in (policy.rule.code, policy.rule.name)]
        rules = [*names, *RULES, *(rule.name for rule in RULES.values())]
        near = did_you_mean(topic, rules) if "." not in topic and "did you mean" not in str(error) else ""
        raise RequestError(f'no rule "{topic}"{near}' if near else str(error)) from None
    return as_json(data) if format_ == "json" else page(data, style)
